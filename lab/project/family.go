package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/design"
)

// Family is the search that family plan registers, every default filled in.
type Family struct {
	// Space has no parameters when the file names none: nothing can be planned then.
	Space       design.Space        `json:"space"`
	Constraints []design.Constraint `json:"constraints"`
	Method      design.Method       `json:"method"`
	// SHA is how successive halving goes on, nil with another method.
	SHA       *Halving  `json:"sha"`
	MaxTrials int       `json:"max_trials"`
	Objective Objective `json:"objective"`
	// Secondary are keys of metrics that are shown beside.
	Secondary     []string `json:"secondary"`
	SelectionRule string   `json:"selection_rule"`
}

// Objective is what a search wants: a metric on a series, max or min.
type Objective struct {
	Metric    string `json:"metric"`
	On        string `json:"on"`
	Direction string `json:"direction"`
}

// Halving is how many walk-forward windows the first rung has, and by what factor the
// windows grow and the trials shrink from one rung to the next.
type Halving struct {
	Eta        int `json:"eta"`
	MinWindows int `json:"min_windows"`
}

// The rules that select a trial: the best objective; the best median objective of a
// trial and its nearest neighbours; combinatorial cross-validation over the matrix of
// the trials' returns.
const (
	RuleBest    = "best_objective"
	RulePlateau = "plateau"
	RuleCPCV    = "cpcv"
)

// The words of an objective.
const (
	OnWalkForward = "walk_forward"
	Maximise      = "max"
	Minimise      = "min"
)

// DefaultFamily is what stands for a field that lab.json leaves out.
func DefaultFamily() Family {
	return Family{
		Constraints: []design.Constraint{}, Method: design.SobolMethod, MaxTrials: 64, Secondary: []string{}, SelectionRule: RuleBest,
		Objective: Objective{Metric: "sharpe_ratio", On: OnWalkForward, Direction: Maximise},
	}
}

// DefaultHalving is what method sha does unless told otherwise.
func DefaultHalving() Halving { return Halving{Eta: 3, MinWindows: 1} }

// WithMethod is the family searched by another method: only sha has rungs.
func (f Family) WithMethod(m design.Method) Family {
	if f.Method = m; m != design.SHAMethod {
		f.SHA = nil
	} else if f.SHA == nil {
		h := DefaultHalving()
		f.SHA = &h
	}
	return f
}

// ParseFamily reads the family block of lab.json strictly. The error joins a
// *design.FieldError for everything that is wrong, with pointers below the block.
func ParseFamily(text []byte) (*Family, error) {
	text, err := digest.CanonicalJSON(text)
	if err != nil {
		var broken *digest.JSONError
		if errors.As(err, &broken) {
			return nil, &design.FieldError{Pointer: broken.Pointer, Message: broken.Reason}
		}
		return nil, err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return nil, &design.FieldError{Message: "must be an object"}
	}
	f := DefaultFamily()
	parts := map[string]func(json.RawMessage) error{
		"space": func(text json.RawMessage) (err error) { f.Space, err = design.DecodeSpace(text); return err },
		"constraints": func(text json.RawMessage) (err error) {
			f.Constraints, err = design.DecodeConstraints(text)
			return err
		},
		"method":         f.readMethod,
		"sha":            f.readHalving,
		"max_trials":     func(text json.RawMessage) error { return whole(text, "", 1, &f.MaxTrials) },
		"objective":      f.readObjective,
		"secondary":      f.readSecondary,
		"selection_rule": f.readRule,
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		read := parts[name]
		if read == nil {
			errs = append(errs, &design.FieldError{Pointer: "/" + design.Escape(name), Message: "is not a known field"})
			continue
		}
		errs = append(errs, design.Below("/"+name, read(fields[name])))
	}
	if f.SHA != nil && f.Method != design.SHAMethod {
		errs = append(errs, &design.FieldError{Pointer: "/sha", Message: "is only for the method sha"})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f = f.WithMethod(f.Method)
	return &f, nil
}

func wrong(pointer, format string, args ...any) error {
	return &design.FieldError{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// whole reads an integer that is least or more.
func whole(text json.RawMessage, pointer string, least int, to *int) error {
	if string(text) == "null" || json.Unmarshal(text, to) != nil || *to < least {
		return wrong(pointer, "must be an integer from %d up", least)
	}
	return nil
}

func (f *Family) readMethod(text json.RawMessage) (err error) {
	var name string
	if json.Unmarshal(text, &name) != nil {
		name = ""
	}
	f.Method, err = design.ParseMethod(name)
	return err
}

func (f *Family) readHalving(text json.RawMessage) error {
	if string(text) == "null" {
		return nil // as a plan writes it
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return wrong("", "must be an object of eta and min_windows")
	}
	h := DefaultHalving()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "eta":
			errs = append(errs, whole(fields[name], "/eta", 2, &h.Eta))
		case "min_windows":
			errs = append(errs, whole(fields[name], "/min_windows", 1, &h.MinWindows))
		default:
			errs = append(errs, wrong("/"+design.Escape(name), "is not a known field"))
		}
	}
	f.SHA = &h
	return errors.Join(errs...)
}

// readObjective reads {"metric","on","direction"}.
func (f *Family) readObjective(text json.RawMessage) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return wrong("", "must be an object of metric, on and direction")
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		to := map[string]*string{"metric": &f.Objective.Metric, "on": &f.Objective.On, "direction": &f.Objective.Direction}[name]
		switch {
		case to == nil:
			errs = append(errs, wrong("/"+design.Escape(name), "is not a known field"))
		case json.Unmarshal(fields[name], to) != nil || string(fields[name]) == "null":
			errs = append(errs, wrong("/"+name, "must be a text"))
		}
	}
	if errs == nil {
		errs = append(errs, f.Objective.check(fields["direction"] != nil))
	}
	return errors.Join(errs...)
}

// check looks at an objective; said means that its direction is not the default.
func (o *Objective) check(said bool) error {
	var errs []error
	known := knownMetric(o.Metric)
	if !known {
		errs = append(errs, wrong("/metric", "%q is no metric of %s", o.Metric, metric.Semantics))
	}
	if o.On != OnWalkForward {
		errs = append(errs, wrong("/on", "must be %s: trials see nothing else", OnWalkForward))
	}
	if o.Direction != Maximise && o.Direction != Minimise {
		errs = append(errs, wrong("/direction", "must be max or min"))
	} else if known && !said && !growsWithProfit(o.Metric) {
		errs = append(errs, wrong("/direction", "is missing: more %s is not better for certain, so say max or min", o.Metric))
	}
	return errors.Join(errs...)
}

// growsWithProfit says that max can go without saying.
func growsWithProfit(key string) bool {
	return slices.Contains([]string{
		"total_return", "cagr", "cagr_candle", "calmar_ratio", "calmar_ratio_candle", "sharpe_ratio", "sharpe_ratio_candle", "sortino_ratio",
		"sortino_ratio_candle", "psr", "win_rate", "profit_factor", "expectancy", "average_win", "best_trade", "average_trade_return", "sqn",
	}, key)
}

func knownMetric(key string) bool {
	return slices.ContainsFunc(metric.All(), func(m metric.Metric) bool { return m.Key == key })
}

func (f *Family) readSecondary(text json.RawMessage) error {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil || list == nil {
		return wrong("", "must be a list of metrics")
	}
	var errs []error
	for i, text := range list {
		var key string
		if json.Unmarshal(text, &key) != nil || !knownMetric(key) {
			errs = append(errs, wrong(fmt.Sprintf("/%d", i), "%.64s is no metric of %s", text, metric.Semantics))
		} else if slices.Contains(f.Secondary, key) {
			errs = append(errs, wrong(fmt.Sprintf("/%d", i), "%s is there already", key))
		} else {
			f.Secondary = append(f.Secondary, key)
		}
	}
	return errors.Join(errs...)
}

func (f *Family) readRule(text json.RawMessage) error {
	rules := []string{RuleBest, RulePlateau, RuleCPCV}
	if json.Unmarshal(text, &f.SelectionRule) != nil || !slices.Contains(rules, f.SelectionRule) {
		return wrong("", "must be one of %s, %s, %s", RuleBest, RulePlateau, RuleCPCV)
	}
	return nil
}

package project

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// FileName is the evaluation file of a strategy's folder.
const FileName = "lab.json"

// Schema is the JSON Schema of lab.json, also written beside it.
//
//go:embed lab.schema.json
var Schema []byte

// maxConfig bounds lab.json.
const maxConfig = 1 << 20

// Config is lab.json, every default filled in.
type Config struct {
	Schema     string `json:"schema"`
	Slug       string `json:"slug"`
	Title      string `json:"title"`
	FamilyID   string `json:"family_id"`
	Hypothesis string `json:"hypothesis"`
	Plugin     struct {
		Build  string `json:"build"`
		Path   string `json:"path"`
		Python string `json:"python"` // module:Class
	} `json:"plugin"`
	Exchange  string   `json:"exchange"`
	Symbols   []string `json:"symbols"`
	Timeframe string   `json:"timeframe"`
	Data      struct {
		Start *string           `json:"start"`
		End   *string           `json:"end"`
		Pins  map[string]string `json:"pins"`
	} `json:"data"`
	InitialCash       json.RawMessage `json:"initial_cash"`
	Execution         json.RawMessage `json:"execution"`
	Splits            split.Scheme    `json:"splits"`
	Stress            []string        `json:"stress"`
	Seed              string          `json:"seed"`
	Params            json.RawMessage `json:"params"`
	MaxHoldingCandles int             `json:"max_holding_candles"`
	// TrainedUntil is that of sdk.Spec, for strategies whose program does not declare it.
	TrainedUntil string `json:"trained_until"`
	// Family is what family plan registers, nil if the file has none.
	Family *Family `json:"-"`
}

// Fault is one bad value of lab.json; Pointer is RFC 6901. Line and Column, from 1, are those of the value,
// or of the object that lacks it; 0 where the fault is of the whole file.
type Fault struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
}

// ConfigError lists everything that is wrong with a lab.json.
type ConfigError struct {
	File   string
	Faults []Fault
}

func (e *ConfigError) Error() string {
	first := e.Faults[0]
	text := e.File
	if first.Line > 0 {
		text += fmt.Sprintf(":%d:%d", first.Line, first.Column)
	}
	text += ": "
	if first.Pointer != "" {
		text += first.Pointer + " "
	}
	text += first.Message
	if n := len(e.Faults) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// Parse reads a lab.json strictly. The error is a *ConfigError with every fault.
func Parse(file string, text []byte) (*Config, error) {
	fail := func(faults ...Fault) error { return &ConfigError{File: file, Faults: faults} }
	if len(text) > maxConfig {
		return nil, fail(Fault{Message: fmt.Sprintf("has %d bytes, more than %d", len(text), maxConfig)})
	}
	raw := jsontext.Value(bytes.Clone(text))
	if err := raw.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, fail(notJSON(text, err))
	}
	// Every fault has its place in the text.
	fail = func(faults ...Fault) error {
		for i := range faults {
			faults[i].Line, faults[i].Column = locate(text, faults[i].Pointer)
		}
		return &ConfigError{File: file, Faults: faults}
	}
	faults, err := violations(raw)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, fail(faults...)
	}
	c := &Config{InitialCash: json.RawMessage("10000"), Seed: "1", MaxHoldingCandles: 1,
		Stress: []string{"cost_x2", "delay_1"}}
	c.Splits.Scheme, c.Plugin.Build = split.Default, "go"
	whole := struct {
		*Config
		Family json.RawMessage `json:"family"`
	}{Config: c}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fail(Fault{Message: err.Error()})
	}
	if c.Plugin.Path != "" || c.Plugin.Python != "" {
		c.Plugin.Build = ""
	}
	c.fill()
	if faults := c.check(whole.Family); len(faults) > 0 {
		return nil, fail(faults...)
	}
	return c, nil
}

func (c *Config) fill() {
	if c.FamilyID == "" {
		c.FamilyID = strings.ReplaceAll(c.Slug, "_", "-")
	}
	if c.Title == "" {
		c.Title = c.Slug
	}
	if len(c.Params) == 0 {
		c.Params = json.RawMessage("{}")
	}
	if len(c.Execution) == 0 {
		c.Execution = json.RawMessage("{}")
	}
}

// check is what the schema cannot express. It reads the family block.
func (c *Config) check(family json.RawMessage) []Fault {
	var faults []Fault
	if len(family) > 0 {
		var err error
		if c.Family, err = ParseFamily(family); err != nil {
			faults = append(faults, familyFaults(err)...)
		}
	}
	if _, err := strconv.ParseUint(c.Seed, 10, 64); err != nil {
		faults = append(faults, Fault{Pointer: "/seed", Message: "must be below 2^64"})
	}
	if _, err := market.ParseEnd(c.TrainedUntil); c.TrainedUntil != "" && err != nil {
		faults = append(faults, Fault{Pointer: "/trained_until", Message: err.Error()})
	}
	for symbol := range c.Data.Pins {
		if !slices.Contains(c.Symbols, symbol) && !candle.IsInput(symbol) {
			faults = append(faults,
				Fault{Pointer: "/data/pins/" + digest.PointerStep(symbol),
					Message: "is not one of the symbols"})
		}
	}
	for _, err := range flatten(c.Splits.Validate()) {
		var bad *split.FieldError
		if errors.As(err, &bad) {
			faults = append(faults, Fault{Pointer: "/splits" + bad.Pointer, Message: bad.Message})
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	return faults
}

func familyFaults(err error) []Fault {
	list := design.FieldErrors(err)
	if list == nil {
		return []Fault{{Pointer: "/family", Message: err.Error()}}
	}
	out := make([]Fault, len(list))
	for i, f := range list {
		out[i] = Fault{Pointer: "/family" + f.Pointer, Message: f.Message}
	}
	return out
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// violations checks a text against the schema; the error is a broken schema.
func violations(text []byte) ([]Fault, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("lab.schema.json", doc); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile("lab.schema.json")
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []Fault{{Message: err.Error()}}, nil
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(value); !errors.As(err, &invalid) {
		return nil, err
	}
	var faults []Fault
	for _, v := range hint.Violations(invalid, nil) {
		faults = append(faults, Fault{Pointer: v.Pointer, Message: v.Message})
	}
	return faults, nil
}

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

// Objective is what a search optimises: a metric on a series, max or min.
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
		Constraints: []design.Constraint{}, Method: design.SobolMethod, MaxTrials: 64, Secondary: []string{},
		SelectionRule: RuleBest,
		Objective:     Objective{Metric: "sharpe_ratio", On: OnWalkForward, Direction: Maximise},
	}
}

// DefaultHalving is what method sha does by default.
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
	f := DefaultFamily()
	errs := []error{members(text, "must be an object", map[string]func(json.RawMessage) error{
		"space": func(text json.RawMessage) (err error) {
			f.Space, err = design.DecodeSpace(text)
			return err
		},
		"constraints": func(text json.RawMessage) (err error) {
			f.Constraints, err = design.DecodeConstraints(text)
			return err
		},
		"method":         f.readMethod,
		"sha":            f.readHalving,
		"max_trials":     func(text json.RawMessage) error { return whole(text, 1, &f.MaxTrials) },
		"objective":      f.readObjective,
		"secondary":      f.readSecondary,
		"selection_rule": f.readRule,
	})}
	if f.SHA != nil && f.Method != design.SHAMethod {
		errs = append(errs, &design.FieldError{Pointer: "/sha", Message: "is only for the method sha"})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f = f.WithMethod(f.Method)
	return &f, nil
}

// members reads the fields of an object by their names and refuses others.
func members(text json.RawMessage, must string, parts map[string]func(json.RawMessage) error) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return wrong("", "%s", must)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		read := parts[name]
		if read == nil {
			read = func(json.RawMessage) error { return wrong("", "is not a known field") }
		}
		errs = append(errs, design.Below("/"+digest.PointerStep(name), read(fields[name])))
	}
	return errors.Join(errs...)
}

func wrong(pointer, format string, args ...any) error {
	return &design.FieldError{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// whole reads an integer that is least or more.
func whole(text json.RawMessage, least int, to *int) error {
	if string(text) == "null" || json.Unmarshal(text, to) != nil || *to < least {
		return wrong("", "must be an integer from %d up", least)
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
	h := DefaultHalving()
	f.SHA = &h
	return members(text, "must be an object of eta and min_windows", map[string]func(json.RawMessage) error{
		"eta":         func(text json.RawMessage) error { return whole(text, 2, &h.Eta) },
		"min_windows": func(text json.RawMessage) error { return whole(text, 1, &h.MinWindows) },
	})
}

// readObjective reads {"metric","on","direction"}.
func (f *Family) readObjective(text json.RawMessage) error {
	stated := false
	read := func(to *string) func(json.RawMessage) error {
		return func(text json.RawMessage) error {
			stated = stated || to == &f.Objective.Direction
			if json.Unmarshal(text, to) != nil || string(text) == "null" {
				return wrong("", "must be a text")
			}
			return nil
		}
	}
	err := members(text, "must be an object of metric, on and direction",
		map[string]func(json.RawMessage) error{
			"metric": read(&f.Objective.Metric), "on": read(&f.Objective.On),
			"direction": read(&f.Objective.Direction),
		})
	if err != nil {
		return err
	}
	return f.Objective.check(stated)
}

// check looks at an objective; said means that its direction is not the default.
func (o *Objective) check(stated bool) error {
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
	} else if known && !stated && !growsWithProfit(o.Metric) {
		errs = append(errs,
			wrong("/direction", "is missing: more %s is not better for certain, so say max or min", o.Metric))
	}
	return errors.Join(errs...)
}

// growsWithProfit reports whether max is the obvious direction.
func growsWithProfit(key string) bool {
	return slices.Contains([]string{
		"total_return", "cagr", "cagr_candle", "calmar_ratio", "calmar_ratio_candle", "sharpe_ratio",
		"sharpe_ratio_candle", "sortino_ratio",
		"sortino_ratio_candle", "psr", "win_rate", "profit_factor", "expectancy", "average_win", "best_trade",
		"average_trade_return", "sqn",
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
			errs = append(errs,
				wrong(fmt.Sprintf("/%d", i), "%.64s is no metric of %s", text, metric.Semantics))
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

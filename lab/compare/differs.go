package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Comparability reports whether the numbers of the runs mean the same. Runs are comparable
// when data, splits, execution and metrics are equal; engine and environment are named
// too where they differ, but are only a warning.
type Comparability struct {
	Comparable  bool     `json:"comparable"`
	Differences []Aspect `json:"differences"`
}

// Aspect is one thing in which runs differ that should be equal. Values are by run id.
type Aspect struct {
	Aspect string                     `json:"aspect"`
	Values map[string]json.RawMessage `json:"values"`
	strict bool
}

// aspects are what has to be equal, in the order in which it is shown.
func aspects() []struct {
	name   string
	strict bool
	of     func(*loaded) any
} {
	type list = []struct {
		name   string
		strict bool
		of     func(*loaded) any
	}
	return list{
		{"data", true, func(x *loaded) any {
			return dataOf(slices.Concat(x.meta.Data, x.meta.Inputs))
		}},
		{"splits", true, func(x *loaded) any { return orNull(x.meta.SplitsSHA256) }},
		{"execution", true, func(x *loaded) any { return x.meta.Execution }},
		{"metrics", true, func(x *loaded) any {
			if x.report == nil {
				return nil
			}
			return map[string]string{"metrics": x.report.Semantics.Metrics,
				"statistics": x.report.Semantics.Statistics}
		}},
		{"engine", false, func(x *loaded) any { return orNull(x.meta.Engine.SHA256) }},
		{"environment", false, func(x *loaded) any { return x.meta.Volatile.Environment }},
	}
}

// window is a Dataset without what follows from the rest.
type window struct {
	Symbol    string      `json:"symbol"`
	Timeframe string      `json:"timeframe"`
	SHA256    string      `json:"sha256"`
	Start     market.Time `json:"start"`
	End       market.Time `json:"end"`
}

func dataOf(data []artifact.Dataset) []window {
	out := []window{}
	for _, d := range data {
		out = append(out, window{d.Symbol, d.Timeframe, d.SHA256, d.Start, d.End})
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// comparability compares every aspect of the runs with the baseline's.
func comparability(runs []*loaded, base *loaded) (Comparability, error) {
	c := Comparability{Comparable: true, Differences: []Aspect{}}
	for _, a := range aspects() {
		d := Aspect{Aspect: a.name, Values: map[string]json.RawMessage{}, strict: a.strict}
		want, err := canonical(a.of(base))
		if err != nil {
			return c, err
		}
		equal := true
		for _, x := range runs {
			value, err := canonical(a.of(x))
			if err != nil {
				return c, err
			}
			d.Values[x.row.RunID] = value
			equal = equal && bytes.Equal(value, want)
		}
		if !equal {
			c.Differences = append(c.Differences, d)
			c.Comparable = c.Comparable && !a.strict
		}
	}
	return c, nil
}

// matches reports whether a run has what the baseline has.
func (c *Comparability) matches(runID, baseline string) bool {
	for _, d := range c.Differences {
		if d.strict && !bytes.Equal(d.Values[runID], d.Values[baseline]) {
			return false
		}
	}
	return true
}

// canonical is a value as canonical JSON, null for nothing.
func canonical(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return digest.CanonicalJSON(text)
}

// Difference is one value that is not the same in all runs. Pointer is RFC 6901, below
// the run; Values are by run id, null where a run does not have it.
type Difference struct {
	Pointer string                     `json:"pointer"`
	Values  map[string]json.RawMessage `json:"values"`
}

// Provenance reports where the numbers of a run come from.
type Provenance struct {
	CompletedAt  *string              `json:"completed_at"`
	Origin       string               `json:"origin"`
	RequestHash  string               `json:"request_hash"`
	ResultHash   *string              `json:"result_hash"`
	DecisionHash *string              `json:"decision_hash"`
	PluginSHA256 string               `json:"plugin_sha256"`
	SourceSHA256 string               `json:"source_sha256"`
	Engine       artifact.Engine      `json:"engine"`
	Data         []window             `json:"data"`
	SplitsSHA256 string               `json:"splits_sha256"`
	Seed         string               `json:"seed"`
	Environment  artifact.Environment `json:"environment"`
	Debug        bool                 `json:"debug"`
}

func (x *loaded) provenance() Provenance {
	m := x.meta
	p := Provenance{
		Origin: m.Volatile.Origin, RequestHash: x.row.RequestHash, ResultHash: m.ResultHash,
		DecisionHash: m.DecisionHash,
		PluginSHA256: m.Plugin.SHA256, SourceSHA256: m.Plugin.SourceSHA256, Engine: m.Engine,
		Data:         dataOf(m.Data),
		SplitsSHA256: m.SplitsSHA256, Seed: m.Seed, Environment: m.Volatile.Environment, Debug: m.Debug,
	}
	if x.row.CompletedAt != "" {
		p.CompletedAt = &x.row.CompletedAt
	}
	return p
}

// params are the parameters in canonical form.
func (x *loaded) params() json.RawMessage {
	if len(x.meta.Params) > 0 {
		if c, err := canonical(x.meta.Params); err == nil {
			return c
		}
	}
	return json.RawMessage("{}")
}

// question is what was asked, part by part in the order in which it is shown. What is
// asked is not all in the row: the stress tests stand in the report, and the initial
// cash is the first row of every equity curve.
func (x *loaded) requestParts() []struct {
	key   string
	value any
} {
	m := x.meta
	stress := []string{}
	var version, semantics any
	if x.report != nil {
		for _, s := range x.report.Stress {
			stress = append(stress, s.ID)
		}
		version, semantics = x.report.Strategy.Version, x.report.Semantics
	}
	type list = []struct {
		key   string
		value any
	}
	return list{
		{"params", x.params()},
		{"plugin", map[string]any{"sha256": orNull(m.Plugin.SHA256),
			"source_sha256": orNull(m.Plugin.SourceSHA256), "sdk_version": orNull(m.Plugin.SDKVersion),
			"go_version": orNull(m.Plugin.GoVersion), "version": version}},
		{"exchange", orNull(m.Exchange)}, {"symbols", m.Symbols}, {"timeframe", orNull(m.Timeframe)},
		{"start_date", timeOrNull(m.StartDate)}, {"end_date", timeOrNull(m.EndDate)},
		{"data", dataOf(m.Data)},
		{"initial_cash", x.initialCash()}, {"execution", m.Execution},
		{"splits_sha256", orNull(m.SplitsSHA256)}, {"stress", stress},
		{"seed", orNull(m.Seed)}, {"semantics", semantics}, {"engine", m.Engine},
		{"environment", m.Volatile.Environment},
	}
}

func timeOrNull(t market.Time) any {
	if t == 0 {
		return nil
	}
	return t
}

// initialCash is null where there is no equity curve.
func (x *loaded) initialCash() any {
	if x.report == nil || len(x.report.Splits) == 0 {
		return nil
	}
	c, err := x.equity(x.report.Splits[0].ID)
	if err != nil || len(c.Equity) == 0 {
		return nil
	}
	return c.Equity[0]
}

// differs lists every value in which the runs differ.
func differs(runs []*loaded) ([]Difference, error) {
	out := []Difference{}
	flat := make([]map[string]json.RawMessage, len(runs))
	var pointers []string
	for i, x := range runs {
		flat[i] = map[string]json.RawMessage{}
		for _, part := range x.requestParts() {
			value, err := canonical(part.value)
			if err != nil {
				return nil, fmt.Errorf("run %s: %s: %w", x.row.RunID, part.key, err)
			}
			pointers = append(pointers, flatten(flat[i], "/"+part.key, value)...)
		}
	}
	seen := map[string]bool{}
	for _, p := range group(pointers) {
		if seen[p] {
			continue
		}
		seen[p] = true
		d := Difference{Pointer: p, Values: map[string]json.RawMessage{}}
		equal := true
		for i, x := range runs {
			value, has := flat[i][p]
			if !has {
				value = json.RawMessage("null")
			}
			d.Values[x.row.RunID] = value
			equal = equal && bytes.Equal(value, d.Values[runs[0].row.RunID])
		}
		if !equal {
			out = append(out, d)
		}
	}
	return out, nil
}

// group brings pointers of the same part together, parts in the order of their first
// appearance and sorted inside.
func group(pointers []string) []string {
	part := func(p string) string {
		first, _, _ := strings.Cut(p[1:], "/")
		return first
	}
	rank := map[string]int{}
	for _, p := range pointers {
		if _, known := rank[part(p)]; !known {
			rank[part(p)] = len(rank)
		}
	}
	slices.SortFunc(pointers, func(a, b string) int {
		if c := rank[part(a)] - rank[part(b)]; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return pointers
}

// flatten puts the leaves of a canonical JSON value into out and returns their pointers.
// An empty object or array has none: it is equal to one that is missing.
func flatten(out map[string]json.RawMessage, pointer string, value json.RawMessage) []string {
	var pointers []string
	switch {
	case string(value) == "{}", string(value) == "[]":
		return nil
	case value[0] == '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) == nil {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				pointers = append(pointers, flatten(out, pointer+"/"+digest.PointerStep(key), object[key])...)
			}
			return pointers
		}
	case value[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(value, &list) == nil {
			for i, item := range list {
				pointers = append(pointers, flatten(out, fmt.Sprintf("%s/%d", pointer, i), item)...)
			}
			return pointers
		}
	}
	out[pointer] = value
	return []string{pointer}
}

// onlyChanged leaves out parameters and metrics that are equal in all runs.
func (c *Comparison) onlyChanged() {
	changed := map[string]bool{}
	for _, d := range c.Differs {
		if rest, is := strings.CutPrefix(d.Pointer, "/params/"); is {
			name, _, _ := strings.Cut(rest, "/")
			changed[strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")] = true
		}
	}
	metrics := c.changedMetrics()
	for i := range c.Runs {
		r := &c.Runs[i]
		var params map[string]json.RawMessage
		if json.Unmarshal(r.Params, &params) == nil {
			maps.DeleteFunc(params, func(name string, _ json.RawMessage) bool { return !changed[name] })
			if text, err := canonical(params); err == nil {
				r.Params = text
			}
		}
		r.Metrics, r.Delta = pick(r.Metrics, metrics), pick(r.Delta, metrics)
		maps.DeleteFunc(r.Undefined, func(key string, _ reason) bool { return !metrics[key] })
		for k := range r.Splits {
			s := &r.Splits[k]
			s.Metrics, s.Delta = pick(s.Metrics, metrics), pick(s.Delta, metrics)
			maps.DeleteFunc(s.Undefined, func(key string, _ reason) bool { return !metrics[key] })
		}
	}
}

package compare

import (
	"bytes"
	"encoding/json"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Comparability says whether the numbers of the runs mean the same. Runs are comparable
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
		{"data", true, func(x *loaded) any { return dataOf(x.meta.Data) }},
		{"splits", true, func(x *loaded) any { return orNull(x.meta.SplitsSHA256) }},
		{"execution", true, func(x *loaded) any { return x.meta.Execution }},
		{"metrics", true, func(x *loaded) any {
			if x.report == nil {
				return nil
			}
			return map[string]string{"metrics": x.report.Semantics.Metrics, "statistics": x.report.Semantics.Statistics}
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

// matches says whether a run has what the baseline has.
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

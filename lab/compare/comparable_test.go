package compare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

// TestAspects changes one thing at a time in the second of three runs.
func TestAspects(t *testing.T) {
	for _, c := range []struct {
		aspect string
		change func(*artifact.Run)
		strict bool
	}{
		{"", func(r *artifact.Run) { r.Manifest.Request.Seed = "9" }, false},
		{"", func(r *artifact.Run) { r.Manifest.Plugin.SHA256 = hash('9') }, false},
		{"data", func(r *artifact.Run) { r.Manifest.Data[0].SHA256 = hash('9') }, true},
		{"data", func(r *artifact.Run) { r.Manifest.Data[0].End -= hour }, true},
		{"splits", func(r *artifact.Run) { r.Manifest.Splits.Params = map[string]any{"purge": 5} }, true},
		{"execution", func(r *artifact.Run) {
			r.Manifest.Request.Execution = json.RawMessage(`{"profile":"bar-v1","fee_taker":0.002}`)
		}, true},
		{"engine", func(r *artifact.Run) { r.Manifest.Engine.SHA256 = hash('9') }, false},
		{"environment", func(r *artifact.Run) { r.Environment.GOARCH = "arm64" }, false},
		{"environment", func(r *artifact.Run) { r.Manifest.Sandbox = "require" }, false},
	} {
		w := newWorld(t)
		w.add(spec{id: "run_a", params: "{}", noise: 1},
			spec{id: "run_b", params: `{"x":1}`, noise: 2, change: c.change},
			spec{id: "run_c", params: `{"x":2}`, noise: 3})
		got := w.compare(Options{})
		if c.aspect == "" {
			if !got.Comparability.Comparable || len(got.Comparability.Differences) != 0 ||
				len(got.Warnings) != 0 {
				t.Errorf("%+v, %v", got.Comparability, got.Warnings)
			}
			continue
		}
		if got.Comparability.Comparable == c.strict || len(got.Comparability.Differences) != 1 {
			t.Errorf("%s: %+v", c.aspect, got.Comparability)
			continue
		}
		d := got.Comparability.Differences[0]
		if d.Aspect != c.aspect || len(d.Values) != 3 || !bytes.Equal(d.Values["run_a"], d.Values["run_c"]) ||
			bytes.Equal(d.Values["run_a"], d.Values["run_b"]) {
			t.Errorf("%s: %+v", c.aspect, d)
		}
		if got.must(t, "run_b").Comparable == c.strict || !got.must(t, "run_c").Comparable {
			t.Errorf("%s: run_b comparable %v", c.aspect, got.must(t, "run_b").Comparable)
		}
		warned := slices.ContainsFunc(got.Warnings, func(w Warning) bool {
			return w.Code == strings.ToUpper(c.aspect)+"_DIFFERS"
		})
		if warned == c.strict {
			t.Errorf("%s: warnings %v", c.aspect, got.Warnings)
		}
		marked := strings.Contains(text(got), "~ run_b")
		if marked != c.strict || strings.Contains(text(got), "~ run_c") {
			t.Errorf("%s: marked %v\n%s", c.aspect, marked, text(got))
		}
	}
}

// TestSpellingIsNoDifference: the order of keys and the form of a number are not.
func TestSpellingIsNoDifference(t *testing.T) {
	w := newWorld(t)
	w.add(spec{id: "run_a", params: `{"x":1}`, noise: 1},
		spec{id: "run_b", params: `{"x":2}`, noise: 2, change: func(r *artifact.Run) {
			r.Manifest.Request.Execution = json.RawMessage(`{ "fee_taker": 1e-3, "profile": "bar-v1" }`)
		}})
	if c := w.compare(Options{}); !c.Comparability.Comparable || len(c.Differs) != 1 {
		t.Errorf("%+v, %+v", c.Comparability, c.Differs)
	}
}

// text is the sections as one text, a cell after the other.
func text(c *Comparison) string {
	var b strings.Builder
	for _, s := range c.Sections() {
		b.WriteString("[" + s.Title + "]\n" + strings.Join(s.Notes, "\n") + "\n")
		for _, row := range s.Rows {
			b.WriteString(strings.Join(row, " | ") + "\n")
		}
	}
	return b.String()
}

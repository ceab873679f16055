package eval

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzLine asks anything: every answer is one line of JSON with a value, a reason or an
// error, and nothing panics.
func FuzzLine(f *testing.F) {
	for _, c := range examples() {
		f.Add([]byte(c.request()))
	}
	table := New()
	f.Fuzz(func(t *testing.T, text []byte) {
		out, bad := table.Line(text)
		var a map[string]any
		if err := json.Unmarshal(out, &a); err != nil || strings.Contains(string(out), "\n") {
			t.Fatalf("%s: %v", out, err)
		}
		_, value := a["value"]
		_, refused := a["error"]
		if value == refused || refused != (bad != nil) || value && a["value"] == nil && a["reason"] == nil {
			t.Fatalf("%s", out)
		}
	})
}

// FuzzInputs changes the inputs only, so that most requests reach their function.
func FuzzInputs(f *testing.F) {
	var names []string
	for _, fn := range All() {
		names = append(names, fn.Names[0])
	}
	for _, c := range examples() {
		for i := range names {
			if fn := All()[i]; fn.Answers(c.fn) {
				f.Add(uint8(i), c.inputs)
			}
		}
	}
	table := New()
	f.Fuzz(func(t *testing.T, fn uint8, inputs string) {
		name, _ := json.Marshal(names[int(fn)%len(names)])
		out, _ := table.Line([]byte(`{"fn":` + string(name) + `,"inputs":` + inputs + `}`))
		if !json.Valid(out) || strings.Contains(string(out), "NaN") &&
			!strings.Contains(string(out), `"message"`) {
			t.Fatalf("%s", out)
		}
	})
}

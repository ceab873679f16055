package design_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/design"
)

const schema = `{"type":"object","properties":{
	"fast":{"type":"integer","minimum":1,"maximum":500,"x-search":{"low":5,"high":30}},
	"slow":{"type":"integer","minimum":2,"maximum":52,"x-search":{"low":10,"high":40,"step":5}},
	"risk":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},
	"stake":{"type":"number","minimum":0},
	"edge":{"type":"number","minimum":0,"maximum":0.5,"x-ui":{"step":0.1}},
	"lots":{"type":"integer","multipleOf":4,"exclusiveMinimum":0,"exclusiveMaximum":9},
	"mode":{"type":"string","enum":["a","b"]},
	"one":{"type":"integer","enum":[1,2,3]},
	"on":{"type":"boolean"}}}`

func ranges(t testing.TB) design.Ranges {
	t.Helper()
	r, err := design.FromSchema(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// alone is the variants that move one number, as name=value.
func alone(list []design.Variant, name string) []string {
	var out []string
	for _, v := range list {
		id, moved := strings.CutPrefix(v.ID, name)
		if !moved || !strings.HasSuffix(id, "%") {
			continue
		}
		var params map[string]json.RawMessage
		_ = json.Unmarshal(v.Params, &params)
		out = append(out, id+" "+string(params[name]))
	}
	return out
}

func TestOneNumberMoved(t *testing.T) {
	for _, c := range []struct {
		name, base string
		want       string
	}{
		{"fast", "100", "-20% 80, -10% 90, -5% 95, +5% 105, +10% 110, +20% 120"},
		{"fast", "10", "-20% 8, -10% 9, +5% 11, +20% 12"}, // 5 and 10 % are one step
		{"fast", "1", "+5% 2"}, // nothing is below 1
		{"fast", "450", "-20% 360, -10% 405, -5% 427, +5% 473, +10% 495, +20% 500"},
		{"slow", "50", "-20% 40, -10% 45, +5% 52"}, // steps of 5, up to 52
		{"risk", "0.02", "-20% 0.016, -10% 0.018, -5% 0.019, +5% 0.021, +10% 0.022, +20% 0.024"},
		{"risk", "0.95", "-20% 0.76, -10% 0.855, -5% 0.9025, +5% 0.9975"},
		{"risk", "0.123456789",
			"-20% 0.0987654, -10% 0.111111, -5% 0.117284, +5% 0.12963, +10% 0.135802, +20% 0.148148"},
		{"stake", "0", ""},                   // 5 % of nothing
		{"edge", "0.3", "-20% 0.2, +5% 0.4"}, // a step at least
		{"edge", "0", "+5% 0.1"},
		{"lots", "4", "+5% 8"},
		{"one", "2", ""}, {"mode", `"a"`, ""}, {"on", "true", ""}, {"fast", `"10"`, ""},
	} {
		list, err := design.Around(json.RawMessage(fmt.Sprintf(`{%q:%s}`, c.name, c.base)), ranges(t), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(alone(list, c.name), ", "); got != c.want {
			t.Errorf("%s=%s: %s\nwant %s", c.name, c.base, got, c.want)
		}
		if c.want == "" && len(list) != 0 {
			t.Errorf("%s=%s: %v", c.name, c.base, list)
		}
	}
}

func TestStepsOfTheSpace(t *testing.T) {
	space, err := design.DecodeSpace(
		[]byte(`{"fast":{"type":"int","low":5,"high":95,"step":10},"mode":{"type":"choice","values":["a"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := design.Around(json.RawMessage(`{"fast":95,"mode":"a"}`), design.WithSpace(ranges(t), space),
		1)
	// What the space has looked at does not bound what is allowed.
	if got := strings.Join(alone(list, "fast"), ", "); err != nil ||
		got != "-20% 75, -10% 85, +5% 105, +20% 115" {
		t.Error(got, err)
	}
}

// Whatever the base: nothing leaves the bounds, nothing is there twice, what is no number
// stays, and the points of the box are within a tenth or a step.
func TestNeighboursAreAllowed(t *testing.T) {
	r := ranges(t)
	rapid.Check(t, func(t *rapid.T) {
		fast, slow := rapid.IntRange(1, 500).Draw(t, "fast"), rapid.IntRange(2, 52).Draw(t, "slow")
		risk := design.Digits6(rapid.Float64Range(0.001, 0.999).Draw(t, "risk"))
		base := fmt.Sprintf(`{"fast":%d,"slow":%d,"risk":%v,"mode":"b","one":2,"on":true,"stake":0}`, fast,
			slow, risk)
		seed := rapid.Uint64().Draw(t, "seed")
		list, err := design.Around(json.RawMessage(base), r, seed)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := design.Around(json.RawMessage(`{"one":2,"on":true,`+base[1:len(base)-1]+`}`), r, seed)
		if again != nil { // the keys are there twice then
			t.Fatal("a text with a key twice")
		}
		boxed := 0
		seen := []string{}
		for _, v := range list {
			var p struct {
				Fast, Slow  int
				Risk, Stake float64
				Mode        string
				One         int
				On          bool
			}
			if err := json.Unmarshal(v.Params, &p); err != nil {
				t.Fatal(err)
			}
			if p.Fast < 1 || p.Fast > 500 || p.Slow < 2 || p.Slow > 52 || p.Risk <= 0 || p.Risk >= 1 ||
				p.Mode != "b" || p.One != 2 || !p.On || p.Stake != 0 {
				t.Fatalf("%s: %s", v.ID, v.Params)
			}
			if p.Fast == fast && p.Slow == slow && p.Risk == risk || slices.Contains(seen, string(v.Params)) {
				t.Fatalf("%s: %s is there already", v.ID, v.Params)
			}
			seen = append(seen, string(v.Params))
			if strings.HasPrefix(v.ID, "sobol-") {
				boxed++
				near := func(x, from, step float64) bool {
					return max(x-from, from-x) <= max(step, from*0.1+step/2)+1e-6
				}
				if !near(float64(p.Fast), float64(fast), 1) || !near(float64(p.Slow), float64(slow), 5) ||
					!near(p.Risk, risk, 0) {
					t.Fatalf("%s: %s is far from %s", v.ID, v.Params, base)
				}
			}
		}
		if boxed < 8 || boxed > 32 || boxed < 30 && risk < 0.9 && fast > 20 {
			t.Fatalf("%d points of the box", boxed)
		}
		same, err := design.Around(json.RawMessage(base), r, seed)
		if err != nil || fmt.Sprint(same) != fmt.Sprint(list) {
			t.Fatal("not the same again")
		}
	})
}

func TestMoreNumbersThanDimensions(t *testing.T) {
	var properties, params []string
	for i := range design.MostDimensions + 6 {
		properties = append(properties, fmt.Sprintf(`"p%02d":{"type":"number"}`, i))
		params = append(params, fmt.Sprintf(`"p%02d":1`, i))
	}
	r, err := design.FromSchema(json.RawMessage(`{"properties":{` + strings.Join(properties, ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := design.Around(json.RawMessage("{"+strings.Join(params, ",")+"}"), r, 1)
	if want := (design.MostDimensions+6)*6 + 32; err != nil || len(list) != want {
		t.Errorf("%d variants, want %d, %v", len(list), want, err)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	if _, err := design.FromSchema(json.RawMessage(`[]`)); err == nil {
		t.Error("a schema that is no object")
	}
	for _, text := range []string{`[]`, `{`, `{"a":1,"a":2}`} {
		if _, err := design.Around(json.RawMessage(text), ranges(t), 1); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	// Words that are not a plain number's mean that it is left alone.
	r, err := design.FromSchema(
		json.RawMessage(
			`{"properties":{"a":{"type":["integer","null"]},"b":true,"c":{"type":"integer","x-search":"off"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := design.Around(json.RawMessage(`{"a":10,"b":10,"c":10,"d":10}`), r, 1); err != nil ||
		len(list) != 0 {
		t.Error(list, err)
	}
}

package compare

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
)

func TestDiffers(t *testing.T) {
	w := newWorld(t)
	w.add(
		spec{id: "run_a", params: `{"fast":10,"mode":"slow","levels":[1,2],"a/b":{"c~d":true},"gone":null}`,
			noise: 1},
		spec{id: "run_b", params: `{"fast":1e1,"mode":"quick","levels":[1,3],"a/b":{"c~d":false},"more":{}}`,
			noise: 2, change: func(r *artifact.Run) {
				r.Manifest.Plugin.SHA256 = hash('9')
				r.Manifest.Request.Seed = "2"
				r.Manifest.Request.InitialCash = json.RawMessage("5000")
				r.Evaluation.Stress = nil
				for i := range r.Splits {
					r.Splits[i].Results.Equity.Equity[0] = 5000
				}
			}},
	)
	c := w.compare(Options{})
	var got []string
	for _, d := range c.Differs {
		got = append(got, d.Pointer+" "+string(d.Values["run_a"])+" "+string(d.Values["run_b"]))
	}
	want := `/params/a~1b/c~0d true false
/params/levels/1 2 3
/params/mode "slow" "quick"
/plugin/sha256 "` + hash('a') + `" "` + hash('9') + `"
/initial_cash 10000 5000
/stress/0 "cost_x2" null
/seed "1" "2"`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	for _, line := range []string{
		"run_b | /params/mode | slow -> quick", "run_b | /plugin/sha256 | aaaaaaaa -> 99999999",
		"run_b | /stress/0 | cost_x2 -> none",
	} {
		if !strings.Contains(text(c), line) {
			t.Errorf("%q is not in\n%s", line, text(c))
		}
	}
}

func TestOnlyChanged(t *testing.T) {
	w := newWorld(t)
	w.add(spec{id: "run_a", params: `{"fast":10,"slow":50}`, noise: 1},
		spec{id: "run_b", params: `{"fast":5,"slow":50}`, noise: 2})
	c := w.compare(Options{OnlyChanged: true})
	for _, r := range c.Runs {
		if strings.Contains(string(r.Params), "slow") || !strings.Contains(string(r.Params), "fast") {
			t.Errorf("%s", r.Params)
		}
		for _, v := range append(r.Metrics, r.Delta...) {
			if v.Key == "total_trades" || v.Key == "win_rate" {
				t.Errorf("%s is equal in both", v.Key)
			}
		}
		if _, has := r.Metrics.Get("sharpe_ratio"); !has {
			t.Error("the Sharpe ratio is not equal in both")
		}
	}
	if s := text(c); strings.Contains(s, "TRADES") || !strings.Contains(s, "SHARPE") {
		t.Errorf("%s", s)
	}
}

// TestFlatten: every leaf is found again by its pointer, and nothing else is.
func TestFlatten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonValue(3).Draw(t, "value")
		raw, err := canonical(value)
		if err != nil {
			t.Fatal(err)
		}
		flat := map[string]json.RawMessage{}
		pointers := flatten(flat, "/x", raw)
		if len(pointers) != len(flat) {
			t.Fatalf("%d pointers of %d leaves: %v", len(pointers), len(flat), pointers)
		}
		if len(flat) != leaves(value) {
			t.Fatalf("%s has %d leaves, found %v", raw, leaves(value), pointers)
		}
		for _, p := range pointers {
			if got, err := canonical(resolve(t, map[string]any{"x": value}, p)); err != nil ||
				string(got) != string(flat[p]) {
				t.Fatalf("%s is %s, want %s (%v)", p, got, flat[p], err)
			}
		}
	})
}

func jsonValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]),
		rapid.Map(rapid.StringMatching(`[a-z~/"]{0,4}`), toAny[string]),
		rapid.Map(rapid.IntRange(-9, 9), func(i int) any { return float64(i) }))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(jsonValue(depth-1), 0, 3), toAny[[]any]),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z~/]{0,3}`), jsonValue(depth-1), 0, 3),
			toAny[map[string]any]))
}

func toAny[T any](x T) any { return x }

func leaves(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n += leaves(x)
		}
	case map[string]any:
		for _, x := range v {
			n += leaves(x)
		}
	default:
		return 1
	}
	return n
}

// resolve follows a JSON pointer.
func resolve(t *rapid.T, v any, pointer string) any {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch x := v.(type) {
		case map[string]any:
			v = x[token]
		case []any:
			v = x[int(token[0]-'0')]
		default:
			t.Fatalf("%s leads nowhere", pointer)
		}
	}
	return v
}

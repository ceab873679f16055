package capsule

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

const defaults = `{"a":1,"b":2,"c":3,"d":4}`

func TestSearchFindsTheLatestStartAndTheFewestParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index := rapid.Int64Range(0, 60_000).Draw(t, "index")
		last := rapid.Int64Range(0, index).Draw(t, "last") // fails from here or earlier
		// The parameters that must differ from their default; the others need not.
		needed := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}),
			func(s string) string {
				return s
			}).Draw(t, "needed")
		plays := 0
		try := func(start int64, params json.RawMessage) (bool, error) {
			plays++
			got, err := object(params)
			if err != nil || len(got) != 4 {
				t.Fatalf("%s: %v", params, err)
			}
			for _, key := range needed {
				if string(got[key]) != "9" {
					return false, nil
				}
			}
			return start <= last, nil
		}
		f, ok, err := search(index, json.RawMessage(`{"a":9,"b":9,"c":9,"d":9}`), json.RawMessage(defaults),
			try)
		if err != nil || !ok || !f.complete {
			t.Fatalf("%+v, %v, %v", f, ok, err)
		}
		if f.start != last || len(f.params) != len(needed) || plays != f.replays || plays > maxReplays {
			t.Fatalf("start %d of %d, parameters %v of %v, %d plays", f.start, last, f.params, needed, plays)
		}
	})
}

func TestSearchIsBounded(t *testing.T) {
	plays := 0
	never := errors.New("stop")
	params := json.RawMessage(`{"a":8,"b":8,"c":8,"d":8}`)
	f, ok, err := search(1<<60, params, json.RawMessage(defaults),
		func(start int64, _ json.RawMessage) (bool, error) {
			plays++
			return start < 1<<59+7, nil
		})
	if err != nil || !ok || plays > maxReplays || f.replays != plays || f.start == 0 || f.start >= 1<<59+7 {
		t.Errorf("%+v, %v, %v, %d plays", f, ok, err, plays)
	}
	if _, ok, err := search(100, params, json.RawMessage(defaults),
		func(int64, json.RawMessage) (bool, error) {
			return false, nil
		}); ok || err != nil {
		t.Errorf("nothing fails: %v, %v", ok, err)
	}
	left := 4
	f, ok, err = search(100, params, json.RawMessage(defaults),
		func(start int64, _ json.RawMessage) (bool, error) {
			if left--; left < 0 {
				return false, never
			}
			return start <= 60, nil
		})
	if !errors.Is(err, never) || !ok || f.complete || f.start == 0 || f.start > 60 {
		t.Errorf("interrupted: %+v, %v, %v", f, ok, err)
	}
}

func TestDifferingAndWith(t *testing.T) {
	mine, err := differing(json.RawMessage(`{"d":4.0,"a":1,"b":1e1,"c":"x"}`), json.RawMessage(defaults))
	if err != nil || len(mine) != 2 || string(mine["b"]) != "10" || string(mine["c"]) != `"x"` {
		t.Errorf("%v, %s", err, mine)
	}
	all, err := with(json.RawMessage(defaults), mine)
	if err != nil || string(all) != `{"a":1,"b":10,"c":"x","d":4}` {
		t.Errorf("%v, %s", err, all)
	}
	if _, err := differing(json.RawMessage(`[]`), json.RawMessage(defaults)); err == nil {
		t.Error("a list was taken for parameters")
	}
}

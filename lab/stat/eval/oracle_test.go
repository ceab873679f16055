package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oracle is one reference result, which nothing in this project has computed.
type oracle struct {
	ID, Function, Kind, Tolerance string
	Inputs                        map[string]any
	Expected                      any
}

func oracles(t *testing.T) []oracle {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "oracles", "statistics.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the reference results, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []oracle }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	byID := map[string]oracle{}
	for _, c := range file.Cases {
		byID[c.ID] = c
	}
	for _, c := range file.Cases {
		for name, v := range c.Inputs {
			if other, same := strings.CutPrefix(fmt.Sprint(v), "same as "); same {
				c.Inputs[name] = byID[other].Inputs[name]
			}
		}
	}
	return file.Cases
}

// answer is a line of output.
type answer struct {
	ID        any               `json:"id"`
	Value     any               `json:"value"`
	Reason    string            `json:"reason"`
	Undefined map[string]string `json:"undefined"`
	Error     *struct{ Code, Message, Pointer string }
}

func ask(t *testing.T, table *Table, request any) answer {
	t.Helper()
	text, ok := request.(string)
	if !ok {
		b, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	out, bad := table.Line([]byte(text))
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if (a.Error != nil) != (bad != nil) {
		t.Fatalf("%s: error %v", out, bad)
	}
	return a
}

func TestOracles(t *testing.T) {
	table := New()
	cases := oracles(t)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			a := ask(t, table, map[string]any{"fn": c.Function, "inputs": c.Inputs})
			switch text, _ := c.Expected.(string); {
			case strings.Contains(text, "error "):
				code := strings.Trim(strings.Fields(text)[1], ",")
				if a.Error == nil || a.Error.Code != code {
					t.Errorf("%+v, want %s", a, code)
				}
				return
			case strings.Contains(text, "JSON null with reason "):
				if fields := strings.Fields(text); a.Value != nil || a.Reason != fields[len(fields)-1] {
					t.Errorf("%+v, want %s", a, text)
				}
				return
			}
			tolerance := 1e-9
			if c.Tolerance == "exact" || c.Tolerance == "1e-12 abs" {
				tolerance = 1e-12
			}
			if a.Error != nil {
				t.Fatalf("%+v", *a.Error)
			}
			compare(t, "value", a.Value, c.Expected, tolerance)
		})
	}
	if len(cases) < 49 {
		t.Errorf("%d cases", len(cases))
	}
}

// compare fails unless got has every part of want, numbers within an absolute tolerance; it may
// have more members.
func compare(t *testing.T, path string, got, want any, tolerance float64) {
	t.Helper()
	switch want := want.(type) {
	case float64:
		x, ok := got.(float64)
		if !ok || !(math.Abs(x-want) <= tolerance) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s: %v, want %v", path, got, want)
			return
		}
		for i := range want {
			compare(t, fmt.Sprintf("%s/%d", path, i), list[i], want[i], tolerance)
		}
	case map[string]any:
		object, _ := got.(map[string]any)
		for name := range want {
			compare(t, path+"/"+name, object[name], want[name], tolerance)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

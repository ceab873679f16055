package digest_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
)

type base struct {
	Shared string `json:"shared"`
	Hidden string `json:"-"`
	inside int
}

type kind string

type everything struct {
	base
	B     bool               `json:"b"`
	Z     kind               `json:"z,omitempty"`
	I     int64              `json:"i"`
	F     float64            `json:"\u20ac"`
	P     *string            `json:"p,omitempty"`
	Null  *string            `json:"null"`
	List  []string           `json:"list"`
	Short []int              `json:"short,omitempty"`
	Map   map[string]float64 `json:"map"`
	Any   any                `json:"any"`
	Raw   json.RawMessage    `json:"raw,omitempty"`
	Deep  []*everything      `json:"deep,omitempty"`
	Plain int
}

type twice struct {
	base
	Shared string `json:"shared"`
}

// clash returns a value of a struct type whose two fields have one name, as vet would not let
// anybody write it.
func clash() any {
	field := func(name string) reflect.StructField {
		return reflect.StructField{Name: name, Type: reflect.TypeFor[string](), Tag: `json:"x"`}
	}
	return reflect.New(reflect.StructOf([]reflect.StructField{field("A"), field("B")})).Elem().Interface()
}

func drawn(t *rapid.T, depth int) *everything {
	text := rapid.String()
	e := &everything{
		base: base{Shared: text.Draw(t, "shared"), Hidden: "h", inside: 1}, B: rapid.Bool().Draw(t, "b"),
		Z: kind(text.Draw(t, "z")),
		I: rapid.Int64Range(-1<<54, 1<<54).Draw(t, "i"), F: rapid.Float64().Draw(t, "f"),
		List:  rapid.SliceOfN(text, 0, 3).Draw(t, "list"),
		Short: rapid.SliceOfN(rapid.Int(), 0, 2).Draw(t, "short"),
		Map:   rapid.MapOfN(text, rapid.Float64(), 0, 4).Draw(t, "map"),
		Raw: json.RawMessage(
			rapid.SampledFrom([]string{"", "null", `{"b":1, "a":[2]}`, `{"a":1,"a":2}`, "1e999", "[",
				"\"\\u00e9\""}).Draw(t, "raw")),
	}
	if rapid.Bool().Draw(t, "nil") {
		e.List, e.Map = nil, nil
	} else {
		e.P = &e.Shared
	}
	switch rapid.IntRange(0, 6).Draw(t, "any") {
	case 1:
		e.Any = map[string]any{"\U0001f600": 1.5, "\ue000": nil, "a": []any{true, "x"}}
	case 2:
		e.Any = time.Unix(1, 0).UTC()
	case 3:
		e.Any = []byte("bytes")
	case 4:
		e.Any = map[int]string{2: "b", 10: "a"}
	case 5:
		e.Any = twice{base{Shared: "below"}, "above"}
	case 6:
		e.Any = []any{clash(), uint8(3), float32(0.1), "\xff",
			math.Inf(1)}[rapid.IntRange(0, 4).Draw(t, "odd")]
	}
	for range rapid.IntRange(0, depth).Draw(t, "deep") {
		e.Deep = append(e.Deep, drawn(t, depth-1))
	}
	return e
}

// TestJCSIsMarshal: for whatever Go value, both give the same text, or both refuse it alike.
func TestJCSIsMarshal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := any(drawn(t, 2))
		if rapid.Bool().Draw(t, "by value") {
			v = *v.(*everything)
		}
		want, wantErr := digest.Marshal(v)
		got, err := digest.JCS(v)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) || err != nil &&
			err.Error() != wantErr.Error() {
			t.Fatalf("%s %v\n%s %v", got, err, want, wantErr)
		}
	})
	for _, v := range []any{nil, (*everything)(nil), "", 1, 1.5, math.Copysign(0, -1), math.NaN(),
		[]string(nil), map[string]int(nil), func() {}, make(chan int)} {
		want, wantErr := digest.Marshal(v)
		got, err := digest.JCS(v)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%T: %s %v, want %s %v", v, got, err, want, wantErr)
		}
	}
}

func BenchmarkJCS(b *testing.B) {
	e := everything{List: []string{"a", "b"}, Map: map[string]float64{"x": 1, "y": 2}, Any: "text", F: 1.5}
	for range 20 {
		e.Deep = append(e.Deep, &everything{Map: map[string]float64{"x": 1}})
	}
	for name, f := range map[string]func(any) ([]byte, error){"JCS": digest.JCS, "Marshal": digest.Marshal} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f(&e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

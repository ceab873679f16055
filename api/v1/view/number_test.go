package view

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/govalues/decimal"
)

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -5: "-5", 0.1: "0.1", 14617.56: "14617.56",
		14617.560000000001: "14617.56",
		0.1 + 0.2:          "0.3", 1e-7: "0.0000001", -1.5e-10: "-0.00000000015", 1e15: "1000000000000000",
		123456789012345678: "123456789012346000",
		1e21:               "1000000000000000000000", 0.01274925: "0.01274925",
		999999999999999.9: "1000000000000000", 1.5: "1.5", 911610: "911610", 100.25: "100.25",
	} {
		if got := string(AppendNumber(nil, x)); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(AppendNumber(nil, x)); got != "0" {
			t.Errorf("%v: %s", x, got)
		}
	}
}

func FuzzNumber(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		f.Add(math.Float64frombits(r.Uint64()))
	}
	f.Fuzz(func(t *testing.T, x float64) {
		text := string(AppendNumber(nil, x))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		if !json.Valid([]byte(text)) || strings.ContainsAny(text, "eE") {
			t.Fatalf("%v: %s", x, text)
		}
		want, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 14, 64), 64)
		got, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(got, 0) || got != want && math.Abs(x) >= 1e-300 &&
			!(x == math.Trunc(x) && math.Abs(x) < 1e15 && got == x) {
			t.Fatalf("%v: %s reads %v, want %v", x, text, got, want)
		}
	})
}

func TestMoney(t *testing.T) {
	for in, want := range map[string]string{"0.150": "0.15", "61975": "61975", "0.00000001": "0.00000001",
		"-41.20": "-41.2", "0.000": "0", "100": "100"} {
		if got, _ := json.Marshal(Money(decimal.MustParse(in))); string(got) != want {
			t.Errorf("%s: %s", in, got)
		}
		if got, _ := json.Marshal(Plain(in)); string(got) != want {
			t.Errorf("plain %s: %s", in, got)
		}
	}
	if got, _ := json.Marshal(Plain("")); string(got) != "0" {
		t.Errorf("no number: %s", got)
	}
	if got := Difference(14617.56, 10000); got != 4617.56 {
		t.Errorf("difference: %v", float64(got))
	}
	if got := Difference(1e300, 1); got != 1e300 {
		t.Errorf("difference of giants: %v", float64(got))
	}
}

package metric

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"
)

func TestRound(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 0, math.Copysign(0, -1): 0, 1.0 / 3: 0.333333333333, -2e-300 / 3: -6.66666666667e-301,
		123456789012345: 123456789012000,
		math.MaxFloat64: 1.79769313486e308, 847: 847,
	} {
		got := Round(x)
		if got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("Round(%v) = %v, want %v", x, got, want)
		}
	}
}

func drawDecimal(t *rapid.T) decimal.Decimal {
	digits := strconv.FormatUint(rapid.Uint64Range(0, 9999999999999999999).Draw(t, "coef"), 10)
	d, err := decimal.Parse(digits + "e-" + strconv.Itoa(rapid.IntRange(0, 19).Draw(t, "scale")))
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "neg") {
		d = d.Neg()
	}
	return d
}

func rat(d decimal.Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		panic("decimal " + d.String())
	}
	return r
}

// The sum is that of big.Rat, in whichever order and however it is split.
func TestSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts [2]Sum
		want := new(big.Rat)
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			a := drawDecimal(t)
			if rapid.Bool().Draw(t, "product") {
				b := drawDecimal(t)
				parts[i%2].AddProduct(a, b)
				want.Add(want, new(big.Rat).Mul(rat(a), rat(b)))
			} else {
				parts[i%2].Add(a)
				want.Add(want, rat(a))
			}
		}
		parts[0].AddSum(&parts[1])
		if f, _ := want.Float64(); parts[0].Float64() != f {
			t.Fatalf("sum %v, want %v", parts[0].Float64(), f)
		}
	})
}

// Compensation recovers what plain addition loses.
func TestCompensated(t *testing.T) {
	var s compensated
	for _, x := range []float64{1, 1e100, 1, -1e100} {
		s.add(x)
	}
	if s.value() != 2 {
		t.Errorf("sum %v, want 2", s.value())
	}
}

package sim

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/govalues/decimal"
)

// bigOf is d as an exact fraction.
func bigOf(d dec) *big.Rat {
	r := new(big.Rat).SetInt(new(big.Int).SetUint64(d.Coef()))
	r.Quo(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale())), nil)))
	if d.IsNeg() {
		r.Neg(r)
	}
	return r
}

// roundRat rounds a fraction half-even to a number of decimals, and returns the coefficient.
func roundRat(r *big.Rat, scale int) *big.Int {
	ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil))
	x := new(big.Rat)
	if scale >= 0 {
		x.Mul(r, ten)
	} else {
		x.Quo(r, ten)
	}
	neg := x.Sign() < 0
	x.Abs(x)
	q, rest := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	switch rest.Lsh(rest, 1).Cmp(x.Denom()) {
	case 1:
		q.Add(q, big.NewInt(1))
	case 0:
		if q.Bit(0) == 1 {
			q.Add(q, big.NewInt(1))
		}
	}
	if neg {
		q.Neg(q)
	}
	return q
}

func sameCoef(d dec, want *big.Int, scale int) bool {
	return bigOf(d).Cmp(new(big.Rat).SetFrac(want,
		new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))) == 0
}

func coefOf(t *testing.T, coef uint64, scale int) dec {
	t.Helper()
	d, err := fromCoef(false, coef%pow10[19], scale)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func FuzzMulRound(f *testing.F) {
	f.Add(uint64(5), uint64(1), uint8(0), uint8(1), uint8(0), false)
	f.Add(uint64(15), uint64(1), uint8(0), uint8(1), uint8(0), true)
	f.Add(uint64(9999999999999999999), uint64(9999999999999999999), uint8(19), uint8(19), uint8(10), false)
	f.Add(uint64(1), uint64(0), uint8(19), uint8(19), uint8(0), false)
	f.Add(uint64(1000000000000000000), uint64(5000000000000000000), uint8(19), uint8(19), uint8(0), false)
	f.Fuzz(func(t *testing.T, a, b uint64, as, bs, scale uint8, neg bool) {
		x, y, to := coefOf(t, a, int(as%20)), coefOf(t, b, int(bs%20)), int(scale%11)
		if neg {
			x = x.Neg()
		}
		exact := new(big.Rat).Mul(bigOf(x), bigOf(y))
		want := roundRat(exact, to)
		got, err := mulRound(x, y, to)
		fits := new(big.Int).Abs(want).Cmp(new(big.Int).SetUint64(pow10[19])) < 0
		if fits != (err == nil) {
			t.Fatalf("%s x %s to %d: error %v, want %s", x, y, to, err, want)
		}
		if fits && !sameCoef(got, want, to) {
			t.Fatalf("%s x %s to %d: %s, want %s", x, y, to, got, want)
		}
		down, err := mulFloor(x.Abs(), y, to)
		if floor := new(big.Rat).Abs(exact); err == nil && fits {
			rest := floor.Sub(floor, bigOf(down))
			if unit := bigOf(coefOf(t, 1, to)); rest.Sign() < 0 || rest.Cmp(unit) >= 0 {
				t.Fatalf("%s x %s floored to %d: %s", x, y, to, down)
			}
		}
	})
}

func FuzzMulPrice(f *testing.F) {
	f.Add(uint64(333333333333333), uint64(10005), uint8(10), uint8(4))
	f.Add(uint64(999999999999999), uint64(10005), uint8(19), uint8(4))
	f.Add(uint64(1), uint64(9995), uint8(19), uint8(4))
	f.Fuzz(func(t *testing.T, a, b uint64, as, bs uint8) {
		x, y := coefOf(t, a%pow10[15], int(as%20)), coefOf(t, b%pow10[9], int(bs%10))
		got, err := mulPrice(x, y)
		if err != nil {
			t.Skip("more than 19 digits")
		}
		exact := new(big.Rat).Mul(bigOf(x), bigOf(y))
		digits := len(new(big.Int).Quo(new(big.Int).Mul(exact.Num(), pow(40)), exact.Denom()).String()) - 40
		if want := min(priceDigits-digits, maxScale); !sameCoefAt(got, exact, want) {
			t.Fatalf("%s x %s = %s, want %d decimals of %s", x, y, got, want, exact.FloatString(30))
		}
	})
}

func pow(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// sameCoefAt compares with the fraction rounded to a number of decimals, negative ones included.
func sameCoefAt(d dec, exact *big.Rat, scale int) bool {
	want := roundRat(exact, scale)
	if scale >= 0 {
		return sameCoef(d, want, scale)
	}
	return sameCoef(d, want.Mul(want, pow(int64(-scale))), 0)
}

func FuzzToDecimal(f *testing.F) {
	for _, x := range []float64{0, 0.1, 100, 1e-8, 1e-19, 5e-20, 123456.789, 0.30000000000000004, 1e18,
		9.99e18, 1e19, 999999999999999.9, 4.35, 1e15, 2.675} {
		f.Add(x)
		f.Add(-x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			if _, err := Decimal(x); err == nil {
				t.Fatal("accepted", x)
			}
			return
		}
		got, err := Decimal(x)
		text := strconv.FormatFloat(x, 'e', 14, 64) // the definition
		if err != nil {
			if math.Abs(x) < 9e18 {
				t.Fatal(x, err)
			}
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		if exp, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:]); exp < -4 {
			want.SetFrac(roundRat(want, maxScale), pow(maxScale))
		}
		if bigOf(got).Cmp(want) != 0 {
			t.Fatalf("%v: %s, want %s", x, got, text)
		}
		if parsed, err := strconv.ParseFloat(got.String(), 64); err != nil || Float(got) != parsed {
			t.Fatalf("%s: float %v, want %v (%v)", got, Float(got), parsed, err)
		}
	})
}

func TestToDecimalOfManyPrices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		x := float64(r.Uint64N(1e12)) / math.Pow(10, float64(r.IntN(11)))
		got, err := Decimal(x)
		if err != nil {
			t.Fatal(err)
		}
		want, err := decimal.Parse(strconv.FormatFloat(x, 'e', 14, 64))
		if err != nil || got.Cmp(want) != 0 || got.Scale() > want.Scale() {
			t.Fatalf("%v: %s, want %s", x, got, want)
		}
	}
}

func FuzzProportion(f *testing.F) {
	f.Add(uint64(3010000000000), uint64(1), uint64(3), uint8(10))
	f.Add(uint64(9999999999999999999), uint64(9999999999999999998), uint64(9999999999999999999), uint8(10))
	f.Fuzz(func(t *testing.T, total, part, whole uint64, scale uint8) {
		whole = whole%pow10[19] + 1
		if whole == pow10[19] {
			whole--
		}
		a, p, w := coefOf(t, total, int(scale%11)), coefOf(t, part%(whole+1), 8), coefOf(t, whole, 8)
		got, err := proportion(a, p, w)
		if err != nil {
			t.Fatal(err)
		}
		exact := new(big.Rat).Quo(new(big.Rat).Mul(bigOf(a), bigOf(p)), bigOf(w))
		if !sameCoef(got, roundRat(exact, a.Scale()), a.Scale()) {
			t.Fatalf("%s x %s / %s: %s", a, p, w, got)
		}
	})
}

func FuzzFloorTo(f *testing.F) {
	f.Add(uint64(19999), uint64(25), uint8(4), uint8(2))
	f.Fuzz(func(t *testing.T, a, b uint64, as, bs uint8) {
		d, step := coefOf(t, a%pow10[15], int(as%16)), coefOf(t, b%pow10[9]+1, int(bs%11))
		got, err := floorTo(d, step)
		if err != nil {
			return // beyond 19 digits in steps
		}
		rest := new(big.Rat).Sub(bigOf(d), bigOf(got))
		steps := new(big.Rat).Quo(bigOf(got), bigOf(step))
		if rest.Sign() < 0 || rest.Cmp(bigOf(step)) >= 0 || !steps.IsInt() || got.Scale() != step.Scale() {
			t.Fatalf("%s in steps of %s: %s", d, step, got)
		}
	})
}

func TestRangeErrors(t *testing.T) {
	big1 := decimal.MustNew(math.MaxInt64, 0)
	if _, err := mulRound(big1, big1, 0); err == nil {
		t.Error("a product of 38 digits")
	}
	if _, err := mulPrice(big1, big1); err == nil {
		t.Error("a price of 38 digits")
	}
	if _, err := fromCoef(false, pow10[19], 0); err == nil {
		t.Error("a coefficient of 20 digits")
	}
	if d, err := fromCoef(true, pow10[19]-1, 19); err != nil || d.String() != "-0.9999999999999999999" {
		t.Error(d, err)
	}
	if d, err := Decimal(1e-40); err != nil || !d.IsZero() {
		t.Error(d, err)
	}
}

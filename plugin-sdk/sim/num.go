package sim

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/govalues/decimal"
)

// dec is short for what all money and quantities are.
type dec = decimal.Decimal

const (
	priceDigits = 15 // significant digits of every price and quantity that comes from a float64
	maxScale    = decimal.MaxScale
)

var pow10 = [20]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
	1e19,
}

// errRange is a number that does not fit into 19 decimal digits.
var errRange = fmt.Errorf("the number does not fit into %d digits", decimal.MaxPrec)

// Decimal rounds a finite float64 correctly to 15 significant digits, as every price and quantity
// of a strategy is read, in a backtest and in live books. Numbers below 10^-4 keep at most 19
// decimals. NaN, infinities and what does not fit into 19 digits are errors.
func Decimal(x float64) (dec, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dec{}, errRange
	}
	if x == 0 {
		return dec{}, nil
	}
	if coef, scale, ok := short(math.Abs(x)); ok {
		return fromCoef(x < 0, coef, scale)
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], math.Abs(x), 'e', priceDigits-1, 64)
	coef, i := uint64(0), 0
	for ; text[i] != 'e'; i++ {
		if text[i] != '.' {
			coef = coef*10 + uint64(text[i]-'0')
		}
	}
	exp, _ := strconv.Atoi(string(text[i+1:]))
	return scaled(x < 0, coef, priceDigits-1-exp)
}

// short finds the decimal of at most 15 digits and 8 decimals whose float64 x is,
// as the prices of most markets have one. It is what rounding to 15 digits gives,
// because decimals of 15 digits survive the way through a float64. Both operands of
// the division are exact, so it is correctly rounded and the test certain.
func short(x float64) (coef uint64, scale int, ok bool) {
	for scale = 0; scale <= 8; scale++ {
		p := float64(pow10[scale])
		y := float64(x * p)
		if y >= 1e15 {
			return 0, 0, false
		}
		coef = uint64(y + 0.5)
		if float64(coef)/p == x {
			return coef, scale, coef < pow10[priceDigits]
		}
	}
	return 0, 0, false
}

// scaled makes coef x 10^-scale, dropping trailing zeros, and rounding half-even
// to 19 decimals when there are more.
func scaled(neg bool, coef uint64, scale int) (dec, error) {
	for scale > 0 && coef != 0 && coef%10 == 0 {
		coef, scale = coef/10, scale-1
	}
	if scale > maxScale {
		drop := scale - maxScale
		if drop > 19 {
			return dec{}, nil
		}
		coef, scale = roundQuotient(0, coef, pow10[drop], false), maxScale
	}
	for ; scale < 0; scale++ {
		hi, lo := bits.Mul64(coef, 10)
		if hi != 0 {
			return dec{}, errRange
		}
		coef = lo
	}
	return fromCoef(neg, coef, scale)
}

// fromCoef makes coef x 10^-scale for any coefficient below 10^19.
func fromCoef(neg bool, coef uint64, scale int) (dec, error) {
	if coef >= pow10[19] {
		return dec{}, errRange
	}
	if coef <= math.MaxInt64 {
		v := int64(coef)
		if neg {
			v = -v
		}
		return decimal.New(v, scale)
	}
	d, err := decimal.New(int64(coef/2), scale)
	if err == nil {
		var rest dec
		if rest, err = decimal.New(int64(coef-coef/2), scale); err == nil {
			d, err = d.Add(rest)
		}
	}
	if neg {
		d = d.Neg()
	}
	return d, err
}

// mulRound is a x b, rounded half-even once to the given number of decimals.
// decimal.Mul would round to 19 digits first.
func mulRound(a, b dec, scale int) (dec, error) {
	hi, lo := bits.Mul64(a.Coef(), b.Coef())
	coef, ok := shiftRound(hi, lo, a.Scale()+b.Scale()-scale)
	if !ok {
		return dec{}, errRange
	}
	return fromCoef(a.IsNeg() != b.IsNeg(), coef, scale)
}

// mulPrice is a x b for positive numbers, rounded half-even to 15 significant digits.
func mulPrice(a, b dec) (dec, error) {
	hi, lo := bits.Mul64(a.Coef(), b.Coef())
	scale := a.Scale() + b.Scale()
	drop := digits128(hi, lo) - priceDigits
	if drop < 0 {
		drop = 0
	}
	if scale-drop > maxScale {
		drop = scale - maxScale
	}
	coef, ok := shiftRound(hi, lo, drop)
	if !ok {
		return dec{}, errRange
	}
	return scaled(false, coef, scale-drop)
}

// shiftRound divides a 128-bit number by 10^n, half-even; n may be negative.
func shiftRound(hi, lo uint64, n int) (uint64, bool) {
	if n <= 0 {
		if hi != 0 || n < -19 {
			return 0, hi == 0 && lo == 0
		}
		over, out := bits.Mul64(lo, pow10[-n])
		return out, over == 0
	}
	sticky := false
	for n > 19 {
		var r uint64
		hi, lo, r = div128(hi, lo, pow10[19])
		sticky = sticky || r != 0
		n -= 19
	}
	if hi >= pow10[n] {
		return 0, false
	}
	return roundQuotient(hi, lo, pow10[n], sticky), true
}

// roundQuotient divides hi:lo by d (hi < d) half-even; sticky reports whether lower
// digits were cut off already.
func roundQuotient(hi, lo, d uint64, sticky bool) uint64 {
	q, r := bits.Div64(hi, lo, d)
	half := d - r // compare r with d/2 without overflow
	if r > half || (r == half && (sticky || q&1 == 1)) {
		q++
	}
	return q
}

func div128(hi, lo, d uint64) (qhi, qlo, r uint64) {
	qhi, r = hi/d, hi%d
	qlo, r = bits.Div64(r, lo, d)
	return qhi, qlo, r
}

func digits128(hi, lo uint64) int {
	n := 0
	for hi != 0 {
		hi, lo, _ = div128(hi, lo, pow10[19])
		n += 19
	}
	for lo != 0 {
		lo /= 10
		n++
	}
	return n
}

// proportion is total x part / whole, half-even, in the scale of total; 0 <= part <= whole.
func proportion(total, part, whole dec) (dec, error) {
	scale := max(part.Scale(), whole.Scale())
	p, w := part.Pad(scale).Coef(), whole.Pad(scale).Coef()
	hi, lo := bits.Mul64(total.Coef(), p)
	if hi >= w {
		return dec{}, errRange
	}
	return fromCoef(total.IsNeg(), roundQuotient(hi, lo, w, false), total.Scale())
}

// Float returns the float64 nearest to d.
func Float(d dec) float64 {
	// Where coefficient and power of ten are exact float64, so is the quotient's rounding.
	if c, s := d.Coef(), d.Scale(); c < 1<<53 {
		f := float64(c) / float64(pow10[s])
		if d.IsNeg() {
			f = -f
		}
		return f
	}
	f, _ := d.Float64()
	return f
}

// floorTo is the largest multiple of step that is not above d; both positive.
func floorTo(d, step dec) (dec, error) {
	q, _, err := d.QuoRem(step)
	if err != nil {
		return dec{}, err
	}
	return mulRound(q, step, step.Scale())
}

// mulFloor is a x b for positive numbers, rounded down to the given number of decimals.
func mulFloor(a, b dec, scale int) (dec, error) {
	hi, lo := bits.Mul64(a.Coef(), b.Coef())
	n := a.Scale() + b.Scale() - scale
	for ; n > 19; n -= 19 {
		hi, lo, _ = div128(hi, lo, pow10[19])
	}
	if n > 0 {
		hi, lo, _ = div128(hi, lo, pow10[n])
		n = 0
	}
	if hi != 0 {
		return dec{}, errRange
	}
	return scaled(false, lo, scale+n)
}

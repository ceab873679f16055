package metric

import (
	"math/big"
	"math/bits"
	"strconv"

	"github.com/govalues/decimal"
)

// compensated is a float64 sum that carries the rounding error of every addition
// (Neumaier's sum; the error term is Knuth's branch-free one, which is the same number).
type compensated struct{ sum, lost float64 }

func (s *compensated) add(x float64) {
	t := s.sum + x
	b := t - s.sum
	s.lost += (s.sum - (t - b)) + (x - b)
	s.sum = t
}

func (s *compensated) value() float64 { return s.sum + s.lost }

// Round is x with 12 significant digits, the precision of every reported number.
// -0 becomes 0.
func Round(x float64) float64 {
	if x == 0 {
		return 0
	}
	// Cannot fail: 12 digits of even the largest float are still in range.
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 11, 64), 64)
	return r
}

const (
	sumScale = 38 // decimals of a Sum: those of a product of two decimals
	limbs    = 5  // a product takes 254 bits at most, which leaves room for 2^65 of them
)

// Sum is an exact sum of decimals: nothing is rounded until Float64. The zero value
// is 0; copies are independent.
type Sum struct {
	// Little-endian two's complement in units of 10^-38.
	words [limbs]uint64
}

// Add adds d.
func (s *Sum) Add(d decimal.Decimal) { s.add(0, d.Coef(), d.Scale(), d.IsNeg()) }

// AddProduct adds a x b.
func (s *Sum) AddProduct(a, b decimal.Decimal) {
	hi, lo := bits.Mul64(a.Coef(), b.Coef())
	s.add(hi, lo, a.Scale()+b.Scale(), a.IsNeg() != b.IsNeg())
}

// AddSum adds another sum.
func (s *Sum) AddSum(o *Sum) { s.accumulate(o.words, false) }

// Float64 is the float64 nearest to the sum.
func (s *Sum) Float64() float64 {
	v := s.words
	neg := v[limbs-1]>>63 == 1
	if neg {
		var zero Sum
		zero.accumulate(v, true)
		v = zero.words
	}
	num := new(big.Int)
	for i := limbs - 1; i >= 0; i-- {
		num.Lsh(num, 64)
		num.Or(num, new(big.Int).SetUint64(v[i]))
	}
	if neg {
		num.Neg(num)
	}
	f, _ := new(big.Rat).SetFrac(num, new(big.Int).Exp(big.NewInt(10), big.NewInt(sumScale), nil)).Float64()
	return f
}

func (s *Sum) add(hi, lo uint64, scale int, neg bool) {
	x := [limbs]uint64{lo, hi}
	for shift := sumScale - scale; shift > 0; shift -= maxPower {
		x = times(x, pow10(min(shift, maxPower)))
	}
	s.accumulate(x, neg)
}

func (s *Sum) accumulate(x [limbs]uint64, subtract bool) {
	var carry uint64
	for i := range s.words {
		if subtract {
			s.words[i], carry = bits.Sub64(s.words[i], x[i], carry)
		} else {
			s.words[i], carry = bits.Add64(s.words[i], x[i], carry)
		}
	}
}

func times(x [limbs]uint64, m uint64) [limbs]uint64 {
	var carry uint64
	for i, w := range x {
		hi, lo := bits.Mul64(w, m)
		var c uint64
		x[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	return x
}

// maxPower is the largest power of ten that fits a word.
const maxPower = 19

func pow10(n int) uint64 {
	p := uint64(1)
	for ; n > 0; n-- {
		p *= 10
	}
	return p
}

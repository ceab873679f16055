package order

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/govalues/decimal"
)

// dec is short for what prices, quantities and amounts are outside.
type dec = decimal.Decimal

var ratZero = new(big.Rat)

// exact is a decimal as a fraction.
func exact(d dec) *big.Rat {
	r := new(big.Rat).SetFrac(new(big.Int).SetUint64(d.Coef()), pow10(d.Scale()))
	if d.IsNeg() {
		r.Neg(r)
	}
	return r
}

// pow10 is a power of ten; the caller must not change it.
func pow10(n int) *big.Int { return powers[n] }

var powers = func() (p [40]*big.Int) {
	for i := range p {
		p[i] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(i)), nil)
	}
	return p
}()

func plus(a, b *big.Rat) *big.Rat  { return new(big.Rat).Add(a, b) }
func minus(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func neg(a *big.Rat) *big.Rat      { return new(big.Rat).Neg(a) }
func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

func largest(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) > 0 {
		return b
	}
	return a
}

// rounded is r with that many decimals, half-even.
func rounded(r *big.Rat, scale int) *big.Rat {
	unit := pow10(scale)
	num := new(big.Int).Mul(r.Num(), unit)
	q, rest := new(big.Int).QuoRem(num, r.Denom(), new(big.Int))
	twice := new(big.Int).Abs(rest)
	twice.Lsh(twice, 1)
	if c := twice.Cmp(r.Denom()); c > 0 || (c == 0 && q.Bit(0) == 1) {
		q.Add(q, big.NewInt(int64(num.Sign())))
	}
	return new(big.Rat).SetFrac(q, unit)
}

// toDec is r as a decimal: exact when it fits into 19 digits, else rounded half-even to as many as do.
// What has more than 19 digits before the point becomes the largest decimal.
func toDec(r *big.Rat) dec {
	if r.IsInt() && r.Num().IsInt64() {
		return decimal.MustNew(r.Num().Int64(), 0)
	}
	for scale := decimal.MaxScale; scale >= 0; scale-- {
		v := rounded(r, scale)
		d, err := decimal.Parse(v.FloatString(scale))
		if err == nil && exact(d).Cmp(v) == 0 {
			return d.Trim(0)
		}
	}
	d := decimal.MustNew(math.MaxInt64, 0)
	if r.Sign() < 0 {
		d = d.Neg()
	}
	return d
}

// fromFloat is the decimal of 15 significant digits that a strategy's float64 stands for,
// correctly rounded, as in a backtest.
func fromFloat(x float64) (dec, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dec{}, fmt.Errorf("%v is no number to trade with", x)
	}
	d, err := decimal.Parse(strconv.FormatFloat(x, 'e', 14, 64))
	if err != nil {
		return dec{}, fmt.Errorf("%v does not fit into %d digits: %w", x, decimal.MaxPrec, err)
	}
	return d.Trim(0), nil
}

// steps is how many whole steps r holds; more is false when something is left over.
func steps(r *big.Rat, step dec) (n *big.Int, whole bool) {
	q := new(big.Rat).Quo(r, exact(step))
	n, rest := new(big.Int).QuoRem(q.Num(), q.Denom(), new(big.Int))
	return n, rest.Sign() == 0
}

// floorTo is the largest multiple of step that is not above r >= 0; r itself without a step.
func floorTo(r *big.Rat, step dec) *big.Rat {
	if !step.IsPos() {
		return r
	}
	n, _ := steps(r, step)
	return times(new(big.Rat).SetInt(n), exact(step))
}

// ceilTo is the smallest multiple of step that is not below r >= 0.
func ceilTo(r *big.Rat, step dec) *big.Rat {
	if !step.IsPos() {
		return r
	}
	n, whole := steps(r, step)
	if !whole {
		n.Add(n, big.NewInt(1))
	}
	return times(new(big.Rat).SetInt(n), exact(step))
}

package order

import (
	"math"
	"math/big"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The codes of orders that the venue's rules do not allow, beside CodeBelowMinimum.
const (
	CodeAboveMaximum  = "ABOVE_MAXIMUM"
	CodePriceTooFar   = "PRICE_OUT_OF_RANGE" // beyond the venue's percent-price filter
	CodeInvalidAmount = "invalid_quantity"
)

// quoteScale is how many decimals an amount of quote currency is sent with.
const quoteScale = 8

// Rules rounds orders to what a market takes. Everything is rounded against the strategy's favour
// of more: quantities down, prices of buys down, of sells up.
type Rules struct{ exchange.Market }

// RoundPrice returns a limit or stop price on the market's ticks: a buy's down, a sell's up.
func (m Rules) RoundPrice(side market.Side, price dec) dec {
	if side == market.Buy {
		return toDec(floorTo(exact(price), m.PriceTick))
	}
	return toDec(ceilTo(exact(price), m.PriceTick))
}

// RoundQuantity returns the largest quantity the market takes that is not above q. Orders that
// fill at the market price may have a step of their own besides.
func (m Rules) RoundQuantity(typ market.OrderType, q dec) dec {
	if !q.IsPos() {
		return dec{}
	}
	return toDec(floorTo(exact(q), m.Step(typ)))
}

// Step returns what quantities of a type of order are multiples of; zero: of nothing.
func (m Rules) Step(typ market.OrderType) dec {
	if !atMarket(typ) || !m.MarketQuantityStep.IsPos() {
		return m.QuantityStep
	}
	if !m.QuantityStep.IsPos() {
		return m.MarketQuantityStep
	}
	return lcm(m.QuantityStep, m.MarketQuantityStep)
}

// atMarket reports whether an order fills at whatever the price is.
func atMarket(typ market.OrderType) bool {
	return typ == market.Market || typ == market.Stop || typ == market.TrailingStop
}

// lcm returns the smallest multiple of both steps.
func lcm(a, b dec) dec {
	scale := max(a.Scale(), b.Scale())
	x := new(big.Int).Mul(new(big.Int).SetUint64(a.Coef()), pow10(scale-a.Scale()))
	y := new(big.Int).Mul(new(big.Int).SetUint64(b.Coef()), pow10(scale-b.Scale()))
	common := new(big.Int).GCD(nil, nil, x, y)
	return toDec(new(big.Rat).SetFrac(x.Mul(x, y.Quo(y, common)), pow10(scale)))
}

// RoundAmount returns an amount of quote currency as it is sent.
func (m Rules) RoundAmount(amount dec) dec {
	if !amount.IsPos() {
		return dec{}
	}
	return amount.Floor(quoteScale).Trim(0)
}

// Check returns by which code the market does not take a rounded order; "" when it does. Last is the
// last close, which values what has no price of its own.
func (m Rules) Check(s Spec, last dec) string {
	if s.QuoteAmount.IsPos() {
		return m.checkNotional(exact(s.QuoteAmount))
	}
	if !s.Quantity.IsPos() {
		return CodeBelowMinimum
	}
	low, high := []dec{m.MinQuantity}, []dec{m.MaxQuantity}
	if atMarket(s.Type) {
		low, high = append(low, m.MarketMinQuantity), append(high, m.MarketMaxQuantity)
	}
	for i := range low {
		if low[i].IsPos() && s.Quantity.Cmp(low[i]) < 0 {
			return CodeBelowMinimum
		}
		if high[i].IsPos() && s.Quantity.Cmp(high[i]) > 0 {
			return CodeAboveMaximum
		}
	}
	if code := m.checkPrices(s, last); code != "" {
		return code
	}
	s.Reference = last
	return m.checkNotional(times(exact(s.Quantity), exact(s.Price())))
}

func (m Rules) checkPrices(s Spec, last dec) string {
	for _, p := range [...]dec{s.LimitPrice, s.StopPrice} {
		if p.IsZero() {
			continue
		}
		if last.IsPos() {
			if m.PercentPriceUp.IsPos() && exact(p).Cmp(times(exact(last), exact(m.PercentPriceUp))) > 0 {
				return CodePriceTooFar
			}
			if m.PercentPriceDown.IsPos() && exact(p).Cmp(times(exact(last), exact(m.PercentPriceDown))) < 0 {
				return CodePriceTooFar
			}
		}
	}
	if (s.Type.NeedsLimit() && !s.LimitPrice.IsPos()) || (s.Type.NeedsStop() && !s.StopPrice.IsPos()) {
		return CodePriceTooFar // rounded down to nothing
	}
	return ""
}

func (m Rules) checkNotional(n *big.Rat) string {
	switch {
	case m.MinNotional.IsPos() && n.Cmp(exact(m.MinNotional)) < 0:
		return CodeBelowMinimum
	case m.MaxNotional.IsPos() && n.Cmp(exact(m.MaxNotional)) > 0:
		return CodeAboveMaximum
	}
	return ""
}

// ExitQuantity returns what can be sold: the smaller of position and free balance, rounded down.
func (m Rules) ExitQuantity(typ market.OrderType, position, free dec) dec {
	return m.RoundQuantity(typ, position.Min(free))
}

// Dust reports whether a quantity is too small to be sold at a price.
func (m Rules) Dust(quantity, price dec) bool {
	q := m.RoundQuantity(market.Market, quantity)
	if !q.IsPos() {
		return true
	}
	return m.Check(Spec{Type: market.Market, Quantity: q}, price.Max(decimal.Zero)) == CodeBelowMinimum
}

// Spendable returns what of a budget may be asked for so that budget covers the fee too, on the venue's
// decimals.
func (m Rules) Spendable(budget dec) dec {
	if !budget.IsPos() {
		return dec{}
	}
	gross := plus(exact(decimal.One), exact(m.TakerFee.Max(decimal.Zero)))
	return m.RoundAmount(
		toDec(floorTo(new(big.Rat).Quo(exact(budget), gross), decimal.MustNew(1, quoteScale))))
}

// Affordable returns the largest quantity the market takes that a budget buys at a price, fee included.
func (m Rules) Affordable(typ market.OrderType, budget, price dec) dec {
	if !budget.IsPos() || !price.IsPos() {
		return dec{}
	}
	gross := plus(exact(decimal.One), exact(m.TakerFee.Max(m.MakerFee).Max(decimal.Zero)))
	each := times(exact(price), gross)
	return toDec(floorTo(new(big.Rat).Quo(exact(budget), each), m.Step(typ)))
}

// Times, Plus, Minus and Share are exact until they leave as decimals.
func Times(a, b dec) dec { return toDec(times(exact(a), exact(b))) }

// Plus returns a + b.
func Plus(a, b dec) dec { return toDec(plus(exact(a), exact(b))) }

// Minus returns a - b.
func Minus(a, b dec) dec { return toDec(minus(exact(a), exact(b))) }

// Share returns a / b; 0 when b is.
func Share(a, b dec) dec {
	if b.IsZero() {
		return dec{}
	}
	return toDec(new(big.Rat).Quo(exact(a), exact(b)))
}

// dec is short for what prices, quantities and amounts are outside.
type dec = decimal.Decimal

var ratZero = new(big.Rat)

// exact returns a decimal as a fraction.
func exact(d dec) *big.Rat {
	r := new(big.Rat).SetFrac(new(big.Int).SetUint64(d.Coef()), pow10(d.Scale()))
	if d.IsNeg() {
		r.Neg(r)
	}
	return r
}

// pow10 returns a power of ten; the caller must not change it.
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

// steps returns how many whole steps r holds; more is false when something is left over.
func steps(r *big.Rat, step dec) (n *big.Int, whole bool) {
	q := new(big.Rat).Quo(r, exact(step))
	n, rest := new(big.Int).QuoRem(q.Num(), q.Denom(), new(big.Int))
	return n, rest.Sign() == 0
}

// floorTo returns the largest multiple of step that is not above r >= 0; r itself without a step.
func floorTo(r *big.Rat, step dec) *big.Rat {
	if !step.IsPos() {
		return r
	}
	n, _ := steps(r, step)
	return times(new(big.Rat).SetInt(n), exact(step))
}

// ceilTo returns the smallest multiple of step that is not below r >= 0.
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

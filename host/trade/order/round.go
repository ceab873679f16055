package order

import (
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

// RoundPrice is a limit or stop price on the market's ticks: a buy's down, a sell's up.
func (m Rules) RoundPrice(side market.Side, price dec) dec {
	if side == market.Buy {
		return toDec(floorTo(exact(price), m.PriceTick))
	}
	return toDec(ceilTo(exact(price), m.PriceTick))
}

// RoundQuantity is the largest quantity the market takes that is not above q. Orders that
// fill at the market price may have a step of their own besides.
func (m Rules) RoundQuantity(typ market.OrderType, q dec) dec {
	if !q.IsPos() {
		return dec{}
	}
	return toDec(floorTo(exact(q), m.step(typ)))
}

func (m Rules) step(typ market.OrderType) dec {
	if !atMarket(typ) || !m.MarketQuantityStep.IsPos() {
		return m.QuantityStep
	}
	if !m.QuantityStep.IsPos() {
		return m.MarketQuantityStep
	}
	return lcm(m.QuantityStep, m.MarketQuantityStep)
}

// atMarket says that an order fills at whatever the price is.
func atMarket(typ market.OrderType) bool {
	return typ == market.Market || typ == market.Stop || typ == market.TrailingStop
}

// lcm is the smallest multiple of both steps.
func lcm(a, b dec) dec {
	scale := max(a.Scale(), b.Scale())
	x := new(big.Int).Mul(new(big.Int).SetUint64(a.Coef()), pow10(scale-a.Scale()))
	y := new(big.Int).Mul(new(big.Int).SetUint64(b.Coef()), pow10(scale-b.Scale()))
	common := new(big.Int).GCD(nil, nil, x, y)
	return toDec(new(big.Rat).SetFrac(x.Mul(x, y.Quo(y, common)), pow10(scale)))
}

// RoundAmount is an amount of quote currency as it is sent.
func (m Rules) RoundAmount(amount dec) dec {
	if !amount.IsPos() {
		return dec{}
	}
	return amount.Floor(quoteScale).Trim(0)
}

// Check says by which code the market does not take a rounded order; "" when it does. Last is the
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
	price := last
	if s.LimitPrice.IsPos() {
		price = s.LimitPrice
	} else if s.StopPrice.IsPos() {
		price = s.StopPrice
	}
	return m.checkNotional(times(exact(s.Quantity), exact(price)))
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

// ExitQuantity is what can be sold: the smaller of position and free balance, rounded down.
func (m Rules) ExitQuantity(typ market.OrderType, position, free dec) dec {
	return m.RoundQuantity(typ, position.Min(free))
}

// Dust says that a quantity is too small to be sold at a price.
func (m Rules) Dust(quantity, price dec) bool {
	q := m.RoundQuantity(market.Market, quantity)
	if !q.IsPos() {
		return true
	}
	return m.Check(Spec{Type: market.Market, Quantity: q}, price.Max(decimal.Zero)) == CodeBelowMinimum
}

// FromFloat is the decimal of 15 significant digits that a strategy's number stands for, as in a backtest.
func FromFloat(x float64) (decimal.Decimal, error) { return fromFloat(x) }

// Spendable is what of a budget may be asked for so that budget covers the fee too, on the venue's decimals.
func (m Rules) Spendable(budget dec) dec {
	if !budget.IsPos() {
		return dec{}
	}
	gross := plus(exact(decimal.One), exact(m.TakerFee.Max(decimal.Zero)))
	return m.RoundAmount(toDec(floorTo(new(big.Rat).Quo(exact(budget), gross), decimal.MustNew(1, quoteScale))))
}

// Affordable is the largest quantity the market takes that a budget buys at a price, fee included.
func (m Rules) Affordable(typ market.OrderType, budget, price dec) dec {
	if !budget.IsPos() || !price.IsPos() {
		return dec{}
	}
	gross := plus(exact(decimal.One), exact(m.TakerFee.Max(m.MakerFee).Max(decimal.Zero)))
	each := times(exact(price), gross)
	return toDec(floorTo(new(big.Rat).Quo(exact(budget), each), m.step(typ)))
}

// Times, Plus, Minus and Share are exact until they leave as decimals.
func Times(a, b dec) dec { return toDec(times(exact(a), exact(b))) }

// Plus is a + b.
func Plus(a, b dec) dec { return toDec(plus(exact(a), exact(b))) }

// Minus is a - b.
func Minus(a, b dec) dec { return toDec(minus(exact(a), exact(b))) }

// Share is a / b; 0 when b is.
func Share(a, b dec) dec {
	if b.IsZero() {
		return dec{}
	}
	return toDec(new(big.Rat).Quo(exact(a), exact(b)))
}

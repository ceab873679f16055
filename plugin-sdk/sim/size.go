package sim

import (
	"math/big"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// EquitySize is the quantity of an intent whose size is a share of the equity, or the code by which it can
// have none (R8.2). Last is the close of the decision. Zero without a code is less than one step: there is
// nothing to order. Backtest, paper and live share it, so that they ask for the same quantity.
func EquitySize(in *market.Intent, equity, last, step dec) (dec, market.Reason) {
	share, err := Decimal(in.Size.Value)
	if err != nil || !share.IsPos() || in.Size.Value > 1 || in.Reduces() {
		return dec{}, market.ReasonInvalidSize
	}
	reference, ok := referencePrice(in, last)
	if !ok {
		return dec{}, market.ReasonInvalidPrice
	}
	per := []dec{reference}
	if in.Size.Kind == market.SizeRiskFraction {
		if per = riskPerUnit(in, reference); per == nil {
			return dec{}, market.ReasonInvalidBracket
		}
	}
	if !equity.IsPos() {
		return dec{}, ""
	}
	var sum adder
	steps := sum.keep(new(scratch).quotient([]dec{share, equity}, append(per, step)))
	quantity := sum.keep(mulRound(steps, step, step.Scale()))
	if sum.err != nil {
		return dec{}, market.ReasonInvalidQuantity
	}
	return quantity, ""
}

// referencePrice is the price of a priced order, else the close of the decision.
func referencePrice(in *market.Intent, last dec) (dec, bool) {
	price := in.LimitPrice
	if price == 0 {
		price = in.StopPrice
	}
	if price == 0 {
		return last, last.IsPos()
	}
	d, err := Decimal(price)
	return d, err == nil && d.IsPos()
}

// riskPerUnit is what one unit loses from the reference price to its stop loss, as factors; nil without a
// stop loss on the losing side.
func riskPerUnit(in *market.Intent, reference dec) []dec {
	c := in.StopLoss
	if c == nil || !validChild(c, true, in.Side) {
		return nil
	}
	var sum adder
	switch {
	case c.Percent != 0:
		return []dec{reference, sum.keep(Decimal(c.Percent))}
	case c.TrailPercent != 0:
		return []dec{reference, sum.keep(Decimal(c.TrailPercent))}
	case c.TrailAmount != 0:
		return []dec{sum.keep(Decimal(c.TrailAmount))}
	}
	away := sum.total(reference, sum.keep(Decimal(c.Price)).Neg())
	if in.Side == market.Sell {
		away = away.Neg()
	}
	if sum.err != nil || !away.IsPos() {
		return nil
	}
	return []dec{away}
}

// equityQuantity is EquitySize, or TargetSize, at the close of the step.
func (n *intake) equityQuantity(sym int, in *market.Intent) (q dec, code market.Reason, err error) {
	equity, err := n.worth()
	if err != nil {
		return q, "", err
	}
	var last dec
	if s := &n.symbols[sym]; s.index >= 0 {
		if last, err = Decimal(s.candle.Close); err != nil {
			return q, "", err
		}
	}
	size := EquitySize
	if in.Size.Kind == market.SizeTargetFraction {
		size = TargetSize
	}
	q, code = size(in, equity, last, n.opt.QuantityStep)
	return q, code, nil
}

// clamp cuts the opening part of an order sized by equity to what the free cash pays for (R8.3).
func (e *executor) clamp(d *deal) error {
	free, err := e.ledger.free(e.opt.AllowShort)
	if err != nil {
		return err
	}
	most, err := e.ledger.sizeByCash(free, d.price, d.rate, e.opt.QuantityStep)
	if err != nil || most.Cmp(d.opening) >= 0 {
		return nil // more than can be written down is more than is asked for
	}
	d.opening, d.order.Clamped = most, true
	return nil
}

// scratch is memory for exact quotients.
type scratch struct{ num, den, tmp big.Int }

// quotient is floor(product of num / product of den), exactly, of numbers that are not negative.
func (s *scratch) quotient(num, den []dec) (dec, error) {
	s.num.SetUint64(1)
	s.den.SetUint64(1)
	shift := 0
	for _, d := range num {
		s.num.Mul(&s.num, s.tmp.SetUint64(d.Coef()))
		shift -= d.Scale()
	}
	for _, d := range den {
		s.den.Mul(&s.den, s.tmp.SetUint64(d.Coef()))
		shift += d.Scale()
	}
	for up := shift; up > 0; up -= 19 {
		s.num.Mul(&s.num, s.tmp.SetUint64(pow10[min(up, 19)]))
	}
	for down := -shift; down > 0; down -= 19 {
		s.den.Mul(&s.den, s.tmp.SetUint64(pow10[min(down, 19)]))
	}
	if s.den.Sign() == 0 {
		return dec{}, errRange
	}
	s.num.QuoRem(&s.num, &s.den, &s.tmp)
	if !s.num.IsUint64() {
		return dec{}, errRange
	}
	return fromCoef(false, s.num.Uint64(), 0)
}

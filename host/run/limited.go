package run

import (
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// limited is a Decider under the limits of a deployment: those that risk holds a live run to.
// What is too large is cut down or refused, a day that has lost too much takes no further
// entries, and a drawdown beyond its limit closes everything for good.
type limited struct {
	sim.Decider
	guard  *risk.Guard
	engine *sim.Engine
	shorts bool
	// pending is the value in quote of the market orders of this step, by symbol.
	pending map[market.Symbol]decimal.Decimal
	all     decimal.Decimal
}

// newLimited makes the guard of a run that begins to trade at a time.
func newLimited(limits risk.Limits, p *plan, start market.Time) (*limited, error) {
	guard, err := risk.NewGuard(risk.Setup{
		Limits: limits, Mode: risk.Enforce, Timeframe: p.Timeframe, StartEquity: p.Cash, Start: start,
	})
	if err != nil {
		return nil, err
	}
	return &limited{guard: guard, shorts: p.Execution.AllowShort}, nil
}

// Decide implements sim.Decider. The strategy answers each step, also when nothing of it counts
// any more.
func (l *limited) Decide(e *sim.Engine) ([]market.Intent, error) {
	l.pending, l.all = map[market.Symbol]decimal.Decimal{}, decimal.Zero
	for i := range e.Fills() {
		l.guard.OnFill(e.Fills()[i].Symbol, e.Time())
	}
	if equity, err := e.FinalValue(); err == nil {
		l.guard.OnStep(e.Time(), equity)
	}
	intents, err := l.Decider.Decide(e)
	if err != nil {
		return nil, err
	}
	if l.guard.Killed() {
		return l.close(), nil
	}
	out := make([]market.Intent, len(intents))
	for i := range intents {
		out[i] = l.fit(intents[i])
	}
	return out, nil
}

// close takes every order back and leaves every position.
func (l *limited) close() []market.Intent {
	var list []market.Intent
	for i, s := range l.engine.Symbols() {
		list = append(list, market.Intent{Action: market.CancelAll, Symbol: s})
		if held, _, _ := l.engine.Holding(i); held != 0 {
			list = append(list, market.Intent{Action: market.Close, Symbol: s})
		}
	}
	return list
}

// fit cuts a buy that is sized by cash to what the limits leave.
func (l *limited) fit(in market.Intent) market.Intent {
	if in.Action != market.Submit || in.Side != market.Buy || in.Reduces() {
		return in
	}
	want := in.Size.Value
	switch in.Size.Kind {
	case market.SizeCashFraction:
		want *= l.engine.Cash()
	case market.SizeQuoteAmount:
	default:
		return in
	}
	symbol := l.symbol(&in)
	headroom := sim.Float(l.guard.Headroom(symbol, l.account(), l.pending[symbol], l.all))
	if headroom > 0 && headroom < want {
		in.Size = market.Size{Kind: market.SizeQuoteAmount, Value: headroom}
	}
	return in
}

func (l *limited) symbol(in *market.Intent) market.Symbol {
	if in.Symbol == "" {
		return l.engine.Symbols()[0]
	}
	return in.Symbol
}

// judge is the Judge of the simulator: the code of the limit that refuses an order, "" if none does.
func (l *limited) judge(o *market.Order, in *market.Intent) market.Reason {
	symbol := l.symbol(in)
	ask := risk.Order{
		Symbol: symbol, Side: o.Side, LimitPrice: number(in.LimitPrice), StopPrice: number(in.StopPrice),
		Shrinks: l.shrinks(o, in, symbol),
	}
	switch in.Size.Kind {
	case market.SizeQuoteAmount:
		ask.QuoteAmount = number(in.Size.Value)
	case market.SizeCashFraction:
		ask.QuoteAmount = number(in.Size.Value * l.engine.Cash())
	default:
		ask.Quantity = o.Quantity
	}
	verdicts, allowed := l.guard.Check(ask, l.account())
	if !allowed {
		return market.Reason(verdicts[0].Code)
	}
	if o.Type == market.Market && !ask.Shrinks {
		value := ask.QuoteAmount
		if !value.IsPos() {
			value = product(ask.Quantity, l.lastClose(symbol))
		}
		l.pending[symbol] = sum(l.pending[symbol], value)
		l.all = sum(l.all, value)
	}
	return ""
}

// shrinks reports whether an order can only make a position smaller.
func (l *limited) shrinks(o *market.Order, in *market.Intent, symbol market.Symbol) bool {
	if in.Action == market.Close || in.Reduces() || o.Side == market.Sell && !l.shorts {
		return true
	}
	for i, s := range l.engine.Symbols() {
		if s != symbol {
			continue
		}
		held, _, _ := l.engine.Holding(i)
		against := held > 0 && o.Side == market.Sell || held < 0 && o.Side == market.Buy
		return against && (in.Size.Kind == market.SizeQuantity || in.Size.Kind.OfEquity()) &&
			o.Quantity.Cmp(number(held).Abs()) <= 0
	}
	return false
}

// account is how the run stands: positions, closes, and what resting orders may still buy.
func (l *limited) account() risk.Account {
	a := risk.Account{Now: l.engine.Time()}
	resting := map[market.Symbol]decimal.Decimal{}
	for _, o := range l.engine.OpenOrders() {
		if o.Side != market.Buy || o.ReduceOnly || o.Type == market.Market {
			continue
		}
		price := o.LimitPrice
		if !price.IsPos() {
			price = o.StopPrice
		}
		resting[o.Symbol] = sum(resting[o.Symbol], product(o.Quantity, price))
	}
	for i, s := range l.engine.Symbols() {
		held, _, _ := l.engine.Holding(i)
		a.Symbols = append(a.Symbols, risk.Symbol{
			Symbol: s, Position: number(held), LastClose: l.lastClose(s),
			LastCandle: l.engine.Candle(i).CloseTime, Working: sum(resting[s], l.pending[s]),
		})
	}
	return a
}

func (l *limited) lastClose(symbol market.Symbol) decimal.Decimal {
	for i, s := range l.engine.Symbols() {
		if s == symbol {
			return number(l.engine.Candle(i).Close)
		}
	}
	return decimal.Zero
}

// number is a float as a decimal, 0 where it is none: what has no value is refused.
func number(x float64) decimal.Decimal {
	d, err := sim.Decimal(x)
	if err != nil {
		return decimal.Zero
	}
	return d
}

// sum and product are as large as can be where they overflow, so that limits refuse them.
func sum(a, b decimal.Decimal) decimal.Decimal {
	d, err := a.Add(b)
	if err != nil {
		return decimal.MustNew(999_999_999_999_999_999, 0)
	}
	return d
}

func product(a, b decimal.Decimal) decimal.Decimal {
	d, err := a.Mul(b)
	if err != nil {
		return decimal.MustNew(999_999_999_999_999_999, 0)
	}
	return d
}

// Package risk is the last word before an order is written down: limits that the operator
// of the server sets and no request can change.
//
// A Guard checks every order, every fill and every step of one run against its Limits. In
// mode enforce a breach denies the order or changes what the run may still do (State); in
// mode shadow, which is that of paper, the verdicts are the same and nothing is blocked.
//
// Orders that may still fill count in full, those of unknown fate too; the caller hands their
// exposure in. Orders that only shrink a position are free of the limits of size: a limit that
// keeps a run in a position would be the larger risk. All comparisons are exact. Candle, day and
// hour limits use the run's clock.
package risk

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Code names a breach: the reject reason of a denied order, the reason of a state.
type Code string

// The codes.
const (
	OrderNotional    Code = "ORDER_NOTIONAL_EXCEEDED"
	PositionNotional Code = "POSITION_NOTIONAL_EXCEEDED"
	GrossNotional    Code = "GROSS_NOTIONAL_EXCEEDED"
	OutsideCollar    Code = "PRICE_OUTSIDE_COLLAR"
	CandleStale      Code = "CANDLE_STALE"
	OrderRate        Code = "ORDER_RATE_EXCEEDED"
	OrderDuplicate   Code = "ORDER_DUPLICATE"
	StateReducing    Code = "STATE_REDUCING"
	StateHalted      Code = "STATE_HALTED"
	FillRate         Code = "FILL_RATE_EXCEEDED"
	TooManyRejects   Code = "REJECTS_EXCEEDED"
	DailyLoss        Code = "DAILY_LOSS_EXCEEDED"
	// Unprotected: what is held has not had its exits at the venue for too long.
	Unprotected Code = order.CodeUnprotected
	// SizeClamped: an order is smaller than the strategy's fraction of the cash came to.
	SizeClamped    Code = "SIZE_CLAMPED"
	CandlesMissing Code = "CANDLES_MISSING"
	// Kill: cancel all, then --on-stop, and the run fails with RISK_KILL.
	Kill Code = "RISK_KILL"
)

// OrderCodes are those of orders that were refused one by one.
func OrderCodes() []Code {
	return []Code{
		OrderNotional, PositionNotional, GrossNotional, OutsideCollar, CandleStale, OrderRate, OrderDuplicate,
		StateReducing, StateHalted, SizeClamped,
	}
}

// Verdict is one breach.
type Verdict struct {
	Code Code
	// Symbol is empty when it is about the run.
	Symbol market.Symbol
	// Value broke Limit; both for people.
	Value, Limit string
	Message      string
	// Shadow reports whether nothing was done about it, Passed whether the order left all the same: it only
	// reduces a position.
	Shadow, Passed bool
}

// Order is what is about to be written down.
type Order struct {
	Symbol market.Symbol
	Side   market.Side
	// One of Quantity (base) and QuoteAmount is above 0; prices are 0 where there are none.
	Quantity, QuoteAmount dec
	LimitPrice, StopPrice dec
	// Shrinks reports whether it can only make the position smaller.
	Shrinks bool
	// Protects reports whether the host made it for a position that is there: a leg of a bracket, the sale
	// of what has none, or the operator's.
	Protects bool
}

// Symbol is how one symbol of the run stands.
type Symbol struct {
	Symbol market.Symbol
	// Position in units of the base; LastClose in quote.
	Position, LastClose dec
	// LastCandle is the close time of the last candle; Backfilled reports whether it was fetched late.
	LastCandle market.Time
	Backfilled bool
	// Working is the value in quote of what may still be bought, orders of unknown fate included.
	Working dec
}

// Account is how the run stands when an order is checked.
type Account struct {
	// Now is the run's clock.
	Now     market.Time
	Symbols []Symbol
}

// Setup is what a Guard is made for.
type Setup struct {
	Limits      Limits
	Mode        Mode
	Timeframe   market.Timeframe
	StartEquity dec
	// Start is the run's clock when trading begins.
	Start market.Time
	// Quote is the currency that messages name; "" for none.
	Quote string
}

// amount is money as messages have it.
func (s *Setup) amount(number string) string { return strings.TrimSpace(number + " " + s.Quote) }

// Guard is the risk of one run. It is not safe for concurrent use.
type Guard struct {
	Setup
	start *big.Rat
	rates map[market.Symbol]*rate
	fills map[market.Symbol][]market.Time
	state trading
	day   dayLoss
	peak  *big.Rat
	// rejects in a row and the times of the last 10 minutes.
	inRow   int
	rejects []market.Time
	killed  bool
}

// NewGuard begins with everything unused.
func NewGuard(s Setup) (*Guard, error) {
	if !s.StartEquity.IsPos() {
		return nil, fmt.Errorf("a run needs equity above 0 to trade with, it has %s", s.StartEquity)
	}
	if s.Timeframe.Approx() <= 0 {
		return nil, fmt.Errorf("risk limits need a timeframe")
	}
	g := &Guard{Setup: s, start: exact(s.StartEquity), rates: map[market.Symbol]*rate{},
		fills: map[market.Symbol][]market.Time{}}
	g.peak, g.day = g.start, dayLoss{day: dayOf(s.Start), base: g.start, last: g.start}
	return g, nil
}

// Check judges an order by every limit; it may be written down when allowed is true, and then
// counts for the limits of rate. Cancels need no check.
func (g *Guard) Check(o Order, a Account) (verdicts []Verdict, allowed bool) {
	c := &check{g: g, o: o, a: a}
	for i := range a.Symbols {
		if a.Symbols[i].Symbol == o.Symbol {
			c.s = &a.Symbols[i]
		}
	}
	if c.s == nil {
		return []Verdict{{Code: CandleStale, Symbol: o.Symbol, Message: "the symbol is not part of the run"}},
			false
	}
	if code := g.Admits(o); code != "" {
		c.breach(code, string(g.State()), "", "positions may only shrink: "+g.why(Reducing))
		if code == StateHalted {
			c.found[0].Message = "only cancels and exits leave: " + g.why(Halted)
		}
	}
	held := len(c.found) > 0
	if !o.Protects {
		c.sizes()
		c.collar()
		c.age()
		c.rates()
	}
	allowed = len(c.found) == 0 || g.Mode == Shadow || (o.Shrinks && !held)
	if allowed && !o.reduces() {
		g.rate(o.Symbol).count(o, a.Now, c.s.LastCandle, g.Limits.OrdersPerSecond)
	}
	for i := range c.found {
		f := &c.found[i]
		if f.Shadow = g.Mode == Shadow; o.Shrinks && f.Code != StateHalted {
			f.Passed, f.Message = true, f.Message+"; the order leaves, as it only reduces a position"
		}
	}
	return c.found, allowed
}

// reduces reports whether an order can only make a position smaller.
func (o Order) reduces() bool { return o.Shrinks || o.Protects }

// Admits is by which state an order may not leave now, whatever its size and price; "" when it may. What
// protects a position always may, what else reduces one unless the run is halted for another reason than
// that it has no protection.
func (g *Guard) Admits(o Order) Code {
	switch state := g.State(); {
	case state == Active, o.Protects:
		return ""
	case o.Shrinks && (state == Reducing || !g.closed()):
		return ""
	case state == Halted:
		return StateHalted
	}
	return StateReducing
}

// check is one order being judged.
type check struct {
	g     *Guard
	o     Order
	a     Account
	s     *Symbol
	found []Verdict
}

func (c *check) breach(code Code, value, limit, message string) {
	c.found = append(c.found,
		Verdict{Code: code, Symbol: c.o.Symbol, Value: value, Limit: limit, Message: message})
}

// sizes checks order, position and gross value. What shrinks a position is free of them.
func (c *check) sizes() {
	if c.o.Shrinks {
		return
	}
	l, value := c.g.Limits, c.value()
	if value == nil {
		c.breach(OrderNotional, "unknown", "", "the order has no value: there is no price yet")
		return
	}
	c.above(OrderNotional, value, c.g.bound(l.MaxOrderNotional, l.MaxOrderFraction), "the order")
	position, gross := value, value
	for i := range c.a.Symbols {
		s := &c.a.Symbols[i]
		held := plus(times(exact(s.Position.Abs()), exact(s.LastClose)), exact(s.Working))
		gross = plus(gross, held)
		if s == c.s {
			position = plus(position, held)
		}
	}
	c.above(PositionNotional, position, c.g.bound(l.MaxPositionNotional, l.MaxPositionFraction),
		"the position with all working orders")
	c.above(GrossNotional, gross, c.g.bound(l.MaxGrossNotional, l.MaxGrossFraction),
		"all positions with all working orders")
}

// Headroom returns the largest value in quote that one more order of a symbol may have, beside orders of so
// much that are about to be written down: of the symbol and of all.
func (g *Guard) Headroom(symbol market.Symbol, a Account, ofSymbol, ofAll dec) dec {
	l := g.Limits
	position, gross := exact(ofSymbol), exact(ofAll)
	for i := range a.Symbols {
		s := &a.Symbols[i]
		held := plus(times(exact(s.Position.Abs()), exact(s.LastClose)), exact(s.Working))
		if gross = plus(gross, held); s.Symbol == symbol {
			position = plus(position, held)
		}
	}
	headroom := g.bound(l.MaxOrderNotional, l.MaxOrderFraction)
	for _, left := range [...]*big.Rat{
		minus(g.bound(l.MaxPositionNotional, l.MaxPositionFraction), position),
		minus(g.bound(l.MaxGrossNotional, l.MaxGrossFraction), gross),
	} {
		if left.Cmp(headroom) < 0 {
			headroom = left
		}
	}
	d, err := decimal.Parse(headroom.FloatString(headroomScale))
	if err != nil {
		return decimal.Zero
	}
	if exact(d).Cmp(headroom) > 0 { // FloatString rounds
		d, _ = d.Sub(decimal.MustNew(1, headroomScale))
	}
	return d
}

// headroomScale is how many decimals of quote the headroom has.
const headroomScale = 8

func (c *check) above(code Code, value, limit *big.Rat, what string) {
	if value.Cmp(limit) > 0 {
		c.breach(code, text(value), text(limit),
			fmt.Sprintf("%s would be worth %s, at most %s", what, c.g.amount(atLeast(value)),
				c.g.amount(atMost(limit))))
	}
}

// bound returns the smaller of an amount and a fraction of the start equity.
func (g *Guard) bound(amount *dec, fraction dec) *big.Rat {
	limit := times(exact(fraction), g.start)
	if amount != nil {
		if a := exact(*amount); a.Cmp(limit) < 0 {
			return a
		}
	}
	return limit
}

// value of the order in quote at the highest price it may fill at: its limit, else the
// higher of its stop and the last close. Nil without any price.
func (c *check) value() *big.Rat {
	if c.o.QuoteAmount.IsPos() {
		return exact(c.o.QuoteAmount)
	}
	price := c.o.LimitPrice
	if !price.IsPos() {
		price = c.o.StopPrice.Max(c.s.LastClose)
	}
	if !price.IsPos() {
		return nil
	}
	return times(exact(c.o.Quantity), exact(price))
}

func (c *check) collar() {
	last := exact(c.s.LastClose)
	width := times(exact(c.g.Limits.PriceCollar), last)
	for _, p := range [...]dec{c.o.LimitPrice, c.o.StopPrice} {
		if p.IsZero() {
			continue
		}
		off := minus(exact(p), last)
		if off.Abs(off).Cmp(width) > 0 {
			c.breach(OutsideCollar, p.String(), c.g.Limits.PriceCollar.String(),
				fmt.Sprintf("price %s is more than %s of the last close %s away from it", p,
					c.g.Limits.PriceCollar, c.s.LastClose))
			return
		}
	}
}

func (c *check) age() {
	age := c.a.Now.Time().Sub(c.s.LastCandle.Time())
	switch {
	case c.s.LastCandle == 0:
		c.breach(CandleStale, "none", "", "there is no candle yet")
	case longer(age, c.g.Limits.MaxCandleAge, c.g.Timeframe, 0):
		c.breach(CandleStale, age.String(), c.g.Limits.MaxCandleAge.String()+" timeframes",
			"the last candle is too old to trade on")
	case c.s.Backfilled:
		c.breach(CandleStale, "backfilled", "", "the candle was fetched after a gap: its price is old")
	}
}

// longer compares exactly with a number of timeframes and something more.
func longer(d time.Duration, n dec, tf market.Timeframe, more time.Duration) bool {
	limit := times(exact(n), new(big.Rat).SetInt64(int64(tf.Approx())))
	limit = plus(limit, new(big.Rat).SetInt64(int64(more)))
	return new(big.Rat).SetInt64(int64(d)).Cmp(limit) > 0
}

func (c *check) rates() {
	r, l := c.g.rate(c.o.Symbol), c.g.Limits
	if why := r.full(c.a.Now, l); why != "" {
		c.breach(OrderRate, why, "", "too many orders: "+why)
	}
	if n := r.equal(c.o, c.s.LastCandle); n >= l.DuplicatesPerCandle {
		c.breach(OrderDuplicate, fmt.Sprint(n+1), fmt.Sprint(l.DuplicatesPerCandle),
			"the same order was sent for this candle already")
	}
}

func (g *Guard) rate(s market.Symbol) *rate {
	if g.rates[s] == nil {
		g.rates[s] = &rate{}
	}
	return g.rates[s]
}

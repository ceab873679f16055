package risk

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// State is what a run may still do.
type State string

// The states, ascending in severity.
const (
	Active   State = "active"
	Reducing State = "reducing" // cancels, and orders that shrink a position
	Halted   State = "halted"   // cancels, and orders that protect a position
)

// Clears is when a reason ends.
type Clears string

// When a reason ends.
const (
	AtEnd      Clears = "end_of_run"
	AtMidnight Clears = "midnight"  // 00:00 UTC of the run's clock
	WhenGone   Clears = "when_gone" // when what caused it is over
)

// Reason is why a run may not do everything.
type Reason struct {
	Code   Code
	State  State
	Clears Clears
	Since  market.Time
	// Message is for people.
	Message string
	// Shadow reports whether it is only watched.
	Shadow bool
}

// trading is the reasons that stand, by code.
type trading struct{ reasons []Reason }

// Raise adds a reason, from a limit or from the engine (an overfill, a balance that drifts, a suspended
// deployment); one that stands already can only get worse.
func (g *Guard) Raise(r Reason) {
	if i := g.find(r.Code); i >= 0 {
		if r.State == Halted {
			g.state.reasons[i].State = Halted
		}
		return
	}
	g.state.reasons = append(g.state.reasons, r)
}

// Clear ends a reason of the kind WhenGone; others stand until their time.
func (g *Guard) Clear(code Code) {
	if i := g.find(code); i >= 0 && g.state.reasons[i].Clears == WhenGone {
		g.state.reasons = slices.Delete(g.state.reasons, i, i+1)
	}
}

func (g *Guard) find(code Code) int {
	return slices.IndexFunc(g.state.reasons, func(r Reason) bool { return r.Code == code })
}

// Stands reports whether a reason stands.
func (g *Guard) Stands(code Code) bool { return g.find(code) >= 0 }

// State returns the worst of the reasons that count.
func (g *Guard) State() State {
	worst := Active
	for _, r := range g.state.reasons {
		switch {
		case r.Shadow:
		case r.State == Halted:
			return Halted
		default:
			worst = Reducing
		}
	}
	return worst
}

// closed reports whether a halt holds back also the sales of the strategy.
func (g *Guard) closed() bool {
	return slices.ContainsFunc(g.state.reasons, func(r Reason) bool {
		return !r.Shadow && r.State == Halted && r.Code != Unprotected
	})
}

// Reasons that stand, in the order in which they came.
func (g *Guard) Reasons() []Reason { return slices.Clone(g.state.reasons) }

// Killed reports whether the drawdown ended the run.
func (g *Guard) Killed() bool { return g.killed && g.Mode == Enforce }

func (g *Guard) why(state State) string {
	for _, r := range g.state.reasons {
		if !r.Shadow && r.State == state {
			return r.Message
		}
	}
	return ""
}

// limit raises a reason of a limit and makes its verdict. One that stands already is no news.
func (g *Guard) limit(v Verdict, state State, clears Clears, at market.Time) []Verdict {
	i := g.find(v.Code)
	if i >= 0 && (g.state.reasons[i].State == state || g.state.reasons[i].State == Halted) {
		return nil
	}
	v.Shadow = g.Mode == Shadow
	g.Raise(Reason{Code: v.Code, State: state, Clears: clears, Since: at, Message: v.Message,
		Shadow: v.Shadow})
	return []Verdict{v}
}

// dayLoss is the equity of the day.
type dayLoss struct {
	day        int64
	base, last *big.Rat
}

const dayMS = 24 * hour

func dayOf(t market.Time) int64 { return int64(t) / dayMS }

// OnStep judges the equity at the close of a step.
func (g *Guard) OnStep(at market.Time, equity dec) []Verdict {
	e := exact(equity)
	g.midnight(at, e)
	g.day.last = e
	if e.Cmp(g.peak) > 0 {
		g.peak = e
	}
	return g.losses(at, e)
}

// OnEquity judges the equity between two steps: something filled, or an order is about to be judged. The
// base of the day and the peak are those of the steps: here positions are valued at a close that may be long
// past.
func (g *Guard) OnEquity(at market.Time, equity dec) []Verdict {
	g.midnight(at, g.day.last)
	return g.losses(at, exact(equity))
}

// losses judges an equity by what the day and the run may lose.
func (g *Guard) losses(at market.Time, e *big.Rat) []Verdict {
	var found []Verdict
	loss := minus(g.day.base, e)
	limit := times(exact(g.Limits.MaxDailyLoss), g.day.base)
	if a := g.Limits.MaxDailyLossAmount; a != nil && exact(*a).Cmp(limit) < 0 {
		limit = exact(*a)
	}
	if loss.Cmp(limit) > 0 {
		found = append(found, g.limit(Verdict{Code: DailyLoss, Value: text(loss), Limit: text(limit),
			Message: fmt.Sprintf("the day lost %s, at most %s", g.amount(atLeast(loss)),
				g.amount(atMost(limit)))}, Reducing,
			AtMidnight, at)...)
	}
	down := minus(g.peak, e)
	if most := times(exact(g.Limits.MaxDrawdown), g.peak); down.Cmp(most) > 0 && !g.killed {
		g.killed = true
		found = append(found,
			Verdict{Code: Kill, Value: text(down), Limit: text(most), Shadow: g.Mode == Shadow,
				Message: fmt.Sprintf("equity is %s below its peak of %s, at most %s",
					g.amount(atLeast(down)), g.amount(atLeast(g.peak)), g.amount(atMost(most)))})
	}
	return found
}

// midnight begins a day: its base is the equity at 00:00 UTC, which a step that closes then
// has, and the last one before it otherwise.
func (g *Guard) midnight(at market.Time, e *big.Rat) {
	day := dayOf(at)
	if day < g.day.day {
		return
	}
	if day == g.day.day {
		if int64(at)%dayMS == 0 {
			g.day.base = e // the clock was a moment ahead of the step
		}
		return
	}
	g.day.day, g.day.base = day, g.day.last
	if int64(at)%dayMS == 0 {
		g.day.base = e
	}
	g.state.reasons = slices.DeleteFunc(g.state.reasons, func(r Reason) bool {
		return r.Clears == AtMidnight
	})
}

// OnTime judges the age of the candles, between steps too. The newest closes by symbol say how old they are.
func (g *Guard) OnTime(now market.Time, symbols []Symbol) []Verdict {
	g.midnight(now, g.day.last)
	worst := Active
	var of market.Symbol
	for _, s := range symbols {
		last := max(s.LastCandle, g.Start)
		age := now.Time().Sub(last.Time())
		switch {
		case longer(age, g.Limits.HaltCandles, g.Timeframe, staleGrace):
			worst, of = Halted, s.Symbol
		case longer(age, g.Limits.StaleCandles, g.Timeframe, staleGrace) && worst == Active:
			worst, of = Reducing, s.Symbol
		}
	}
	if i := g.find(CandlesMissing); worst == Active ||
		(i >= 0 && worst == Reducing && g.state.reasons[i].State == Halted) {
		g.Clear(CandlesMissing)
	}
	if worst == Active {
		return nil
	}
	limit := g.Limits.StaleCandles
	if worst == Halted {
		limit = g.Limits.HaltCandles
	}
	return g.limit(Verdict{Code: CandlesMissing, Symbol: of, Limit: limit.String() + " timeframes",
		Message: fmt.Sprintf("no candle of %s for more than %s timeframes", of, limit)}, worst, WhenGone, now)
}

// OnFill counts an order that filled, once an order.
func (g *Guard) OnFill(symbol market.Symbol, at market.Time) []Verdict {
	list := append(since(g.fills[symbol], at-hour), at)
	g.fills[symbol] = list
	if n := len(list); n > g.Limits.FillsPerHour {
		return g.limit(Verdict{Code: FillRate, Symbol: symbol, Value: fmt.Sprint(n),
			Limit: fmt.Sprint(g.Limits.FillsPerHour),
			Message: fmt.Sprintf("%d orders of %s filled within an hour, at most %d", n, symbol,
				g.Limits.FillsPerHour)}, Reducing, AtEnd, at)
	}
	return nil
}

// OnReject counts an order that the venue refused; OnAccept one that it took.
func (g *Guard) OnReject(at market.Time) []Verdict {
	g.inRow++
	g.rejects = append(since(g.rejects, at-rejectWindow), at)
	l := g.Limits
	if g.inRow < l.MaxRejectsInRow && len(g.rejects) < l.MaxRejects {
		return nil
	}
	return g.limit(Verdict{Code: TooManyRejects, Value: fmt.Sprintf("%d/%d", g.inRow, len(g.rejects)),
		Limit: fmt.Sprintf("%d/%d", l.MaxRejectsInRow, l.MaxRejects),
		Message: fmt.Sprintf("the venue refused %d orders in a row, %d within 10 minutes", g.inRow,
			len(g.rejects))}, Reducing, AtEnd, at)
}

// OnAccept ends a row of rejects.
func (g *Guard) OnAccept() { g.inRow = 0 }

// staleGrace is what a candle may be late by beyond its timeframes.
const staleGrace = 10 * time.Second

const (
	minute = 60_000
	hour   = 60 * minute
	// rejectWindow is how long a reject counts.
	rejectWindow = 10 * minute
)

// rate counts the orders of one symbol. Times are milliseconds of the run's clock, so that
// a replay counts as the run did.
type rate struct {
	last market.Time
	// used of the burst when the last one was counted.
	used   *big.Rat
	minute []market.Time
	candle market.Time
	same   map[string]int
}

// drained returns what of the burst is still used at a time: it runs out at so many orders a second.
func (r *rate) drained(now market.Time, perSecond dec) *big.Rat {
	if r.used == nil {
		return new(big.Rat)
	}
	gone := times(exact(perSecond), big.NewRat(max(int64(now-r.last), 0), 1000))
	left := minus(r.used, gone)
	if left.Sign() < 0 {
		return new(big.Rat)
	}
	return left
}

// full returns why no order fits now; "" when one does.
func (r *rate) full(now market.Time, l Limits) string {
	if plus(r.drained(now, l.OrdersPerSecond), one).Cmp(new(big.Rat).SetInt64(int64(l.Burst))) > 0 {
		return fmt.Sprintf("%s a second with a burst of %d", l.OrdersPerSecond, l.Burst)
	}
	if n := len(since(r.minute, now-minute)); n >= l.OrdersPerMinute {
		return fmt.Sprintf("%d a minute", l.OrdersPerMinute)
	}
	return ""
}

var one = big.NewRat(1, 1)

// since returns the times after one.
func since(list []market.Time, t market.Time) []market.Time {
	for i := range list {
		if list[i] > t {
			return list[i:]
		}
	}
	return nil
}

func key(o Order) string {
	return fmt.Sprintf("%s|%s|%s|%s|%s", o.Side, o.Quantity.Trim(0), o.QuoteAmount.Trim(0),
		o.LimitPrice.Trim(0), o.StopPrice.Trim(0))
}

// equal counts the orders like o that the candle caused already.
func (r *rate) equal(o Order, candle market.Time) int {
	if candle != r.candle {
		return 0
	}
	return r.same[key(o)]
}

// count takes an order that leaves.
func (r *rate) count(o Order, now, candle market.Time, perSecond dec) {
	r.used = plus(r.drained(now, perSecond), one)
	r.last = max(now, r.last)
	r.minute = append(since(r.minute, now-minute), now)
	if candle != r.candle || r.same == nil {
		r.candle, r.same = candle, map[string]int{}
	}
	r.same[key(o)]++
}

// Transfer moves what equity is measured by: money that came to the run or left it otherwise than by a trade
// is neither gain nor loss.
func (g *Guard) Transfer(amount dec) {
	a := exact(amount)
	g.start, g.peak = plus(g.start, a), plus(g.peak, a)
	g.day.base, g.day.last = plus(g.day.base, a), plus(g.day.last, a)
}

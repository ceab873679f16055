// Package randomentry is the test random_entry: the holdings of the base at random times. One
// test, one folder.
package randomentry

import (
	"cmp"
	"slices"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
)

// ID names the test.
const ID = "random_entry"

var entry = judge.Entry{
	Number: 15, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "its timing is better than chance",
	Method: "the same holdings at random times (no plugin)",
	Holm:   true,
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		m, why, err := NewRandomEntry(b.Run)
		if err != nil {
			return nil, err
		}
		var list []judge.Replay
		if why == "" {
			for i, d := range m.Draw(b.Seed, b.Profile.Permutations()) {
				list = append(list, judge.Replay{
					Variant: "random", Replica: i, Status: judge.Completed, Sharpe: d.Sharpe,
					TotalReturn: &d.Return, MaxDrawdown: &d.MaxDrawdown,
					Trades: b.Judge.Base.Trades, NetPnL: judge.Plain(d.NetMoney),
				})
			}
		}
		return battery.Spread(Judge(&b.Judge, list, why), list), nil
	})
}

// Judge judges random_entry by the Sharpe ratios of the same holdings at random times, 0 where
// nothing was traded; why is the reason that NewRandomEntry gave.
func Judge(j *judge.Judge, list []judge.Replay, why stat.Reason) *judge.Test {
	t := j.Begin(entry, len(list), j.Levels())
	if j.TooLittle(t) {
		return judge.WithoutP(t, stat.Insufficient)
	}
	if why != "" {
		return judge.WithoutP(t, why).End(judge.Inconclusive, string(why),
			"its holdings cannot be placed at other times")
	}
	return j.ByChance(t, judge.Ratios(list), nil)
}

// RandomEntry is the null model "same holdings at random times". The closed trades of a
// run give per symbol a number of holdings: direction, candles held, share of equity, and
// what they cost, fees and slippage over what was turned over. A replica puts them at
// other times, so that every arrangement without overlap is equally likely, and enters
// and leaves at opens, never at the first, which no decision comes before.
type RandomEntry struct {
	grid  *account.Grid
	books []book
}

// book is the holdings of one symbol and the candles that are free of them.
type book struct {
	holdings []holding
	free     int
}

type holding struct {
	sign    float64 // 1 long, -1 short
	candles int
	share   float64 // of the equity before
	cost    float64 // of the notional, each way
}

// NewRandomEntry takes the holdings of a run. The reasons are NoTrades, and NotApplicable
// when the holdings do not fit in beside each other: a trade that was entered and left in
// one candle is held for one here.
func NewRandomEntry(r *account.Run) (*RandomEntry, stat.Reason, error) {
	g, err := account.NewGrid(r)
	if err != nil {
		return nil, "", err
	}
	m := &RandomEntry{grid: g, books: make([]book, len(r.Candles))}
	for i, s := range r.Candles {
		b := &m.books[i]
		b.free = len(g.Steps[i]) - 2 // the candles between the second open and the last
		for k := range r.Input.Trades {
			t := &r.Input.Trades[k]
			if t.Symbol != s.Symbol {
				continue
			}
			h := holding{sign: 1, candles: max(t.CandlesHeld, 1)}
			if t.Direction != 0 {
				h.sign = -1
			}
			quantity := account.Float(t.Quantity)
			entry, exit := quantity*account.Float(t.EntryPrice), quantity*account.Float(t.ExitPrice)
			h.share = entry / g.Before(t.EntryTime)
			h.cost = (account.Float(t.Fees) + account.Float(t.Slippage)) / (entry + exit)
			b.holdings = append(b.holdings, h)
			b.free -= h.candles
		}
		if len(b.holdings) > 0 && b.free < 0 {
			return nil, stat.NotApplicable, nil
		}
	}
	if !slices.ContainsFunc(m.books, func(b book) bool { return len(b.holdings) > 0 }) {
		return nil, stat.NoTrades, nil
	}
	return m, "", nil
}

// Drawn is how one replica has done: its Sharpe ratio, nil where it is undefined, its
// return and its largest drawdown, fractions, and its profit in the quote currency.
type Drawn struct {
	Sharpe                        *float64
	Return, MaxDrawdown, NetMoney float64
}

// Draw plays so many replicas. Stream: random_entry.
func (m *RandomEntry) Draw(seed uint64, replicas int) []Drawn {
	out := make([]Drawn, replicas)
	cash := m.grid.Curve.Equity[0]
	for i := range out {
		returns, last, drawdown := m.play(m.arrange(random.New(seed, random.RandomEntry, uint64(i))))
		out[i] = Drawn{m.grid.Annual(returns), last/cash - 1, drawdown, last - cash}
	}
	return out
}

// event is an entry or exit at the open of the candle that closes in a step.
type event struct {
	step, symbol int
	open         float64
	enter        bool
	of           holding
}

// arrange draws one arrangement: per symbol an order of the holdings, then how many free
// candles there are before each.
func (m *RandomEntry) arrange(s *random.Stream) []event {
	var out []event
	for i, b := range m.books {
		if len(b.holdings) == 0 {
			continue
		}
		series, steps := m.grid.Run.Candles[i], m.grid.Steps[i]
		order, before := s.Perm(len(b.holdings)), multiset(s, len(b.holdings), b.free)
		held := 0
		for k, which := range order {
			h := b.holdings[which]
			from := 1 + before[k] + held
			to := from + h.candles
			held += h.candles
			out = append(out,
				event{steps[from], i, series.Open[from], true, h},
				event{steps[to], i, series.Open[to], false, h})
		}
	}
	// Stable, and exits first where several happen at one open: the money is free then.
	slices.SortStableFunc(out, func(a, b event) int {
		if by := cmp.Compare(a.step, b.step); by != 0 || a.enter == b.enter {
			return by
		}
		if a.enter {
			return 1
		}
		return -1
	})
	return out
}

// multiset draws n ascending integers of [0, most], every such list equally likely. Drawn
// one by one and sorted, lists with equal numbers would be too rare; n distinct ones of
// [0, most + n), each less the number of those below it, are not. Source: stars and bars,
// with the distinct ones by Floyd (1987).
func multiset(s *random.Stream, n, most int) []int {
	taken := make(map[int]bool, n)
	out := make([]int, 0, n)
	for j := most; j < most+n; j++ {
		k := s.IntN(j + 1)
		if taken[k] {
			k = j
		}
		taken[k] = true
		out = append(out, k)
	}
	slices.Sort(out)
	for i := range out {
		out[i] -= i
	}
	return out
}

// play keeps the books over the events: the returns of the main sample, the equity at its end
// and the largest drawdown of the steps. An account at 0 or below is over: its last return is
// the one that took it there.
func (m *RandomEntry) play(events []event) (returns []float64, now, drawdown float64) {
	g := m.grid
	cash, quantity := g.Curve.Equity[0], make([]float64, len(g.Marks))
	equity := func(step int) float64 {
		sum := cash
		for i, q := range quantity {
			if q != 0 {
				sum += float64(q * g.Marks[i][step])
			}
		}
		return sum
	}
	peak, last, at := cash, 0.0, 0
	for _, level := range g.Levels {
		for ; at <= level; at++ {
			// Shares are of the equity at the close before, whatever else happens at the open.
			have := 0.0
			if len(events) > 0 && events[0].step <= at {
				have = equity(at - 1)
			}
			for ; len(events) > 0 && events[0].step <= at; events = events[1:] {
				e := events[0]
				if !e.enter {
					notional := quantity[e.symbol] * e.open
					cash += notional - float64(e.of.cost*max(notional, -notional))
					quantity[e.symbol] = 0
				} else if have > 0 {
					notional := e.of.share * have
					quantity[e.symbol] = e.of.sign * notional / e.open
					cash -= float64(e.of.sign*notional) + float64(e.of.cost*notional)
				}
			}
			now = equity(at)
			peak = max(peak, now)
			drawdown = max(drawdown, 1-now/peak)
		}
		if last > 0 {
			returns = append(returns, now/last-1)
		}
		if last = now; last <= 0 {
			break
		}
	}
	return returns, now, drawdown
}

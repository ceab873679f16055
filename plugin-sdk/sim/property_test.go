package sim_test

import (
	"errors"
	"math"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

const allSteps = 1 << 30

// witness is a Recorder that checks what must hold at every event.
type witness struct {
	journal
	t       *rapid.T
	e       *sim.Engine
	created map[market.OrderID]int64 // step in which an order was first seen
	last    map[market.OrderID]market.Order
	held    map[market.Symbol]decimal.Decimal
}

func newWitness(t *rapid.T) *witness {
	return &witness{
		t: t, created: map[market.OrderID]int64{}, last: map[market.OrderID]market.Order{},
		held: map[market.Symbol]decimal.Decimal{},
	}
}

func (w *witness) books() {
	if err := w.e.CheckBalance(); err != nil {
		w.t.Fatal(err)
	}
	if !w.e.Options().AllowShort && w.e.CashExact().IsNeg() {
		w.t.Fatalf("cash %s without shorts", w.e.CashExact())
	}
}

func (w *witness) Intent(step int64, in *market.Intent, reason market.Reason) {
	w.books()
	w.journal.Intent(step, in, reason)
}

func (w *witness) Order(step int64, o *market.Order) {
	w.books()
	before, known := w.last[o.ID]
	if known && before.Status.Final() {
		w.t.Fatalf("order %s changes from %s to %s", o.ID, before.Status, o.Status)
	}
	if !known {
		w.created[o.ID] = step
	}
	if known && o.CreatedAt != before.CreatedAt {
		w.t.Fatalf("order %s changes its time of creation", o.ID)
	}
	w.last[o.ID] = *o
	w.journal.Order(step, o)
}

func (w *witness) Fill(step int64, f *market.Fill) {
	w.books()
	o := w.last[f.OrderID]
	for _, open := range w.e.OpenOrders() {
		if open.ID == f.OrderID {
			o = open // with the level of a trailing stop, which moves without an event
		}
	}
	atEnd := f.Role == market.RoleEndOfData || f.Role == market.RoleLiquidation
	if o.ParentID == 0 && !atEnd && (step <= w.created[o.ID] || f.Time < o.CreatedAt) {
		w.t.Fatalf("order %s of step %d fills in step %d", o.ID, w.created[o.ID], step)
	}
	w.price(&o, f, atEnd)
	held := w.held[f.Symbol]
	var err error
	if f.Side == market.Buy {
		held, err = held.Add(f.Quantity)
	} else {
		held, err = held.Sub(f.Quantity)
	}
	if err != nil || held.Cmp(f.PositionAfter) != 0 || (held.IsNeg() && !w.e.Options().AllowShort) {
		w.t.Fatalf("%s held after fill %s, it says %s (%v)", held, f.ID, f.PositionAfter, err)
	}
	w.held[f.Symbol] = held
	if _, rest, err := f.Quantity.QuoRem(w.e.Options().QuantityStep); err != nil || !rest.IsZero() ||
		!f.Quantity.IsPos() {
		w.t.Fatalf("quantity %s", f.Quantity)
	}
	w.journal.Fill(step, f)
}

// price: makers at their limit (or at the open that went through it, or at the end of the candle that is
// nearest to it), takers
// within slippage of the open or of their stop. A stop loss that is made beyond
// its parent's price goes off there: at most a tick (through_tick) from the limit.
func (w *witness) price(o *market.Order, f *market.Fill, atEnd bool) {
	c := w.e.Candle(w.index(f.Symbol))
	price, reference := floatOf(f.Price), floatOf(f.ReferencePrice)
	if f.Liquidity == market.Maker {
		throughOpen := w.e.Options().RestingGap == "open" && price == c.Open
		nearest := w.e.Options().Profile == sim.ProfileFreqtrade && (price == c.Low || price == c.High)
		if f.Price.Cmp(o.LimitPrice) != 0 && !throughOpen && !nearest {
			w.t.Fatalf("maker at %s, limit %s", f.Price, o.LimitPrice)
		}
		return
	}
	stop := floatOf(o.StopPrice)
	parent := w.last[o.ParentID]
	ok := reference == c.Open || (stop != 0 && reference == stop) || atEnd && reference == c.Close ||
		o.Type == market.Market && reference == c.Close ||
		o.Role == market.RoleStopLoss &&
			(reference == floatOf(parent.StopPrice) || math.Abs(reference-floatOf(parent.LimitPrice)) < 0.011)
	bps := floatOf(w.e.Options().SlippageBps)
	if !ok || math.Abs(price-reference) > reference*bps/1e4*(1+1e-9) {
		w.t.Fatalf("%s %s taker at %v, reference %v, open %v, stop %v", o.Type, o.Role, price, reference,
			c.Open, stop)
	}
	if worse := price >= reference; price != reference && worse != (f.Side == market.Buy) {
		w.t.Fatalf("slippage in favour of a %s: %v, reference %v", f.Side, price, reference)
	}
	if beyond := price > floatOf(o.LimitPrice); o.Type.NeedsLimit() && price != floatOf(o.LimitPrice) &&
		beyond == (f.Side == market.Buy) {
		w.t.Fatalf("%s beyond its limit %s at %v", f.Side, o.LimitPrice, price)
	}
}

func (w *witness) index(s market.Symbol) int {
	for i, x := range w.e.Symbols() {
		if x == s {
			return i
		}
	}
	return -1
}

func floatOf(d decimal.Decimal) float64 {
	f, _ := d.Float64()
	return f
}

// TestBooks checks every event of random runs, and the sums at their end.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWitness(t)
		e, _ := drawWorld(t).play(t, plainScale, allSteps, w)
		w.books()
		checkProfit(t, e, w.trades)
		checkChildren(t, w)
		checkSums(t, e, w)
	})
}

// checkProfit: the profit of all trades and of the open positions is exactly what
// the account has gained.
func checkProfit(t *rapid.T, e *sim.Engine, trades []market.Trade) {
	value, err := e.FinalValue()
	if err != nil {
		t.Fatal(err)
	}
	positions, err := e.Positions()
	if err != nil {
		t.Fatal(err)
	}
	gained, err := value.Sub(e.InitialCash())
	for _, x := range trades {
		gained, err = minus(gained, err, x.PnL)
		if x.MAE.IsPos() || x.MFE.IsNeg() || x.CandlesHeld < 0 || x.ExitTime < x.EntryTime {
			t.Fatalf("trade %+v", x)
		}
	}
	for _, p := range positions {
		gained, err = minus(gained, err, p.UnrealizedPnL)
		gained, err = minus(gained, err, p.RealizedPnL)
		gained, err = minus(gained, err, p.Fees.Neg())
	}
	if err != nil || !gained.IsZero() {
		t.Fatalf("trades and positions leave %s unexplained (%v)", gained, err)
	}
	if f := floatOf(value); math.Abs(f-e.Equity()) > 1e-9*math.Max(1, math.Abs(f)) {
		t.Fatalf("equity %v, value %s", e.Equity(), value)
	}
}

func minus(a decimal.Decimal, err error, b decimal.Decimal) (decimal.Decimal, error) {
	if err != nil {
		return a, err
	}
	return a.Sub(b)
}

// checkChildren: nothing fills after a stop loss, or after the targets of one entry have sold all of it, and
// no child outlives a flat position.
func checkChildren(t *rapid.T, w *witness) {
	sold, done := map[market.OrderID]decimal.Decimal{}, map[market.OrderID]bool{}
	for i := range w.fills {
		f := &w.fills[i]
		parent := w.last[f.OrderID].ParentID
		if parent == 0 {
			continue
		}
		sum, err := sold[parent].Add(f.Quantity)
		if err != nil || done[parent] {
			t.Fatalf("a child of %s filled after the last one: %+v (%v)", parent, f, err)
		}
		sold[parent] = sum
		done[parent] = f.Role == market.RoleStopLoss || sum.Cmp(w.last[parent].FilledQuantity) >= 0
	}
	for id, o := range w.last {
		if !o.Status.Final() {
			t.Fatalf("order %s is %s after the end", id, o.Status)
		}
	}
}

func checkSums(t *rapid.T, e *sim.Engine, w *witness) {
	s := e.Stats()
	fees, err := decimal.Decimal{}, error(nil)
	ambiguous := int64(0)
	for i := range w.fills {
		fees, err = minus(fees, err, w.fills[i].Fee.Neg())
		if w.fills[i].Ambiguous {
			ambiguous++
		}
	}
	if err != nil || fees.Cmp(s.Fees) != 0 || s.AmbiguousFills != ambiguous {
		t.Fatalf("fees %s, counted %s (%v); ambiguous %d, counted %d", fees, s.Fees, err, ambiguous,
			s.AmbiguousFills)
	}
	if s.Fills != int64(len(w.fills)) || s.Trades != int64(len(w.trades)) || s.Orders != int64(len(w.last)) ||
		s.RejectedIntents != int64(len(w.refuse)) {
		t.Fatalf("counts %+v", s)
	}
}

// TestPrefix: what has happened does not depend on what comes later.
func TestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		_, whole := w.play(t, plainScale, allSteps, nil)
		_, part := w.play(t, plainScale, rapid.IntRange(1, 40).Draw(t, "k"), nil)
		for i, d := range part.digests {
			if i < len(whole.digests) && whole.digests[i] != d {
				t.Fatalf("step %d differs when fewer candles follow", i)
			}
		}
	})
}

// TestRepeat: the same input gives the same digest, with and without a recorder.
func TestRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		a, _ := w.play(t, plainScale, allSteps, nil)
		b, _ := w.play(t, plainScale, allSteps, &journal{})
		if a.Digest() != b.Digest() || a.Stats() != b.Stats() {
			t.Fatal("two runs differ")
		}
	})
}

// TestTenfold: with all prices and money ten times as large the quantities are the
// same and the cash is ten times as large to the last digit. The money unit grows
// along from an initial cash of 10,000 on; smaller ones share the finest unit.
func TestTenfold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		var small, large journal
		a, _ := w.play(t, plainScale, allSteps, &small)
		b, _ := w.play(t, tenfold, allSteps, &large)
		ten := decimal.MustNew(10, 0)
		times := func(d decimal.Decimal) decimal.Decimal {
			x, err := d.Mul(ten)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		if len(small.fills) != len(large.fills) || len(small.orders) != len(large.orders) {
			t.Fatalf("%d and %d fills, %d and %d orders", len(small.fills), len(large.fills),
				len(small.orders), len(large.orders))
		}
		for i := range small.fills {
			x, y := &small.fills[i], &large.fills[i]
			if x.Quantity.Cmp(y.Quantity) != 0 || times(x.Price).Cmp(y.Price) != 0 ||
				times(x.Fee).Cmp(y.Fee) != 0 || x.Time != y.Time || x.Ambiguous != y.Ambiguous {
				t.Fatalf("fills %+v and %+v", x, y)
			}
		}
		if times(a.CashExact()).Cmp(b.CashExact()) != 0 {
			t.Fatalf("cash %s and %s", a.CashExact(), b.CashExact())
		}
	})
}

// TestGarbage: an intent that is none ends the run with its place, and the books
// are in order up to there.
func TestGarbage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		in := w.asks[0]
		bad := (&ask{size: 1, amount: 1}).intent(plainScale)
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			bad.Size.Value = math.NaN()
		case 1:
			bad.LimitPrice = math.Inf(-1)
		case 2:
			bad.Symbol = "DOGE/USD"
		case 3:
			bad.Action = 77
		case 4:
			bad.Type = 9
		case 5:
			bad.StopLoss = &market.Child{Percent: math.Inf(1)}
		case 6:
			bad.Size.Kind = 12
		}
		e := emptyEngine(t, w)
		list := make([]market.Intent, 0, len(in)+1)
		for i := range in {
			list = append(list, in[i].intent(plainScale))
		}
		var wrong *sim.IntentError
		if err := e.Accept(append(list, bad)); !errors.As(err, &wrong) || wrong.Index != len(in) ||
			wrong.Step != 0 {
			t.Fatalf("accepted: %v", err)
		}
		if err := e.CheckBalance(); err != nil {
			t.Fatal(err)
		}
	})
}

// emptyEngine has seen the first step of a world.
func emptyEngine(t *rapid.T, w *world) *sim.Engine {
	series := w.series(plainScale, allSteps)
	o, err := sim.ResolveOptions([]byte(w.options), sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{InitialCash: decimal.MustNew(w.cash, 0), Options: o}
	for _, x := range series {
		cfg.Symbols = append(cfg.Symbols, x.Symbol)
	}
	e, err := sim.NewEngine(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
	if _, err := sim.NewSeriesFeed(series).Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := e.Match(&b); err != nil {
		t.Fatal(err)
	}
	return e
}

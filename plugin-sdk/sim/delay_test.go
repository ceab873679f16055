package sim_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// lateVenue is the rule of a delay by brute force: an engine without one whose intents
// are held back, each until enough candles of its symbol have opened and closed since.
type lateVenue struct {
	e       *sim.Engine
	delay   int
	symbols map[string]market.Symbol // of each submit, by its reference
	held    []heldIntent
}

type heldIntent struct {
	in     market.Intent
	symbol market.Symbol // whose candles count
	sent   market.Time
	left   int
}

// step plays one step and hands over what is due at its close.
func (v *lateVenue) step(t *rapid.T, b *sim.Batch) {
	if err := v.e.Match(b); err != nil {
		t.Fatal(err)
	}
	if v.e.Bankrupt() {
		return
	}
	var due []market.Intent
	var waiting []heldIntent
	for _, h := range v.held {
		i := slices.Index(v.e.Symbols(), h.symbol)
		if b.Closed[i] && b.Candles[i].OpenTime >= h.sent {
			h.left--
		}
		if h.left == 0 {
			due = append(due, h.in)
		} else {
			waiting = append(waiting, h)
		}
	}
	v.held = waiting
	if err := v.e.Accept(due); err != nil {
		t.Fatal(err)
	}
}

// decide takes the intents of a step. What says nothing that could be held back is
// left out: orders of the warm-up, and a trailing stop before the first price.
func (v *lateVenue) decide(list []market.Intent, warmup bool) {
	for _, in := range list {
		h := heldIntent{in: in, symbol: in.Symbol, sent: v.e.Time(), left: v.delay}
		switch {
		case in.Action == market.Submit:
			v.symbols[in.ClientRef] = in.Symbol
		case in.Action != market.Close && in.Ref != "":
			h.symbol = v.symbols[in.Ref]
		}
		placed := in.Action == market.Submit || in.Action == market.Close
		price := v.e.Candle(slices.Index(v.e.Symbols(), in.Symbol)).Close
		if placed && (warmup || in.Type == market.TrailingStop && price == 0) || h.symbol == "" {
			continue
		}
		v.held = append(v.held, h)
	}
}

// openOf are the orders that a strategy sees, by reference; legs by their terms.
func openOf(e *sim.Engine, status market.OrderStatus) []string {
	var list []string
	for _, o := range e.OpenOrders() {
		if o.Status == status {
			list = append(list, fmt.Sprint(o.Ref, o.Symbol, o.Side, o.Type, o.Role,
				o.Quantity.Trim(0), o.LimitPrice.Trim(0), o.StopPrice.Trim(0)))
		}
	}
	slices.Sort(list)
	return list
}

// namedIntents gives each order of a world a reference of its own, which cancels and
// replaces name: the newest of a few, so that one that is gone is no other one's name.
func namedIntents(w *world) [][]market.Intent {
	var refs []string
	all := make([][]market.Intent, len(w.asks))
	for i, asks := range w.asks {
		for j := range asks {
			in := asks[j].intent(plainScale)
			in.ClientRef, in.Ref = "", ""
			if in.Size.Kind.OfEquity() { // fixed at the decision, of which a late venue knows nothing
				in.Size.Kind = market.SizeCashFraction
			}
			if in.Action == market.Cancel && asks[j].ref == "" {
				in.Action = market.CancelAll
			}
			switch {
			case in.Action == market.Submit:
				in.ClientRef = fmt.Sprint("r", i, ".", j)
				refs = append(refs, in.ClientRef)
			case len(refs) == 0:
			case in.Action == market.Replace, in.Action == market.Cancel:
				in.Ref = refs[max(0, len(refs)-1-int(math.Abs(asks[j].amount))%4)]
			}
			all[i] = append(all[i], in)
		}
	}
	return all
}

func (w *world) engine(t *rapid.T, delay int, rec sim.Recorder) *sim.Engine {
	o, err := sim.ResolveOptions([]byte(w.options), sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{
		Timeframe: market.MustTimeframe("1h"), InitialCash: decimal.MustNew(w.cash, 0), Options: o,
		DelayCandles: delay, WorstPrice: w.worst,
	}
	if delay > 0 {
		cfg.WarmupSteps = w.warmup
	}
	for _, x := range w.series(plainScale, allSteps) {
		cfg.Symbols = append(cfg.Symbols, x.Symbol)
		cfg.PriceSteps = append(cfg.PriceSteps, decimal.MustNew(1, 2))
	}
	e, err := sim.NewEngine(cfg, rec)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestDelayHoldsMessagesBack: a delay of n candles gives the fills, the cash and the
// open orders of a venue that hears of everything n candles later, whatever is
// submitted, canceled, replaced and closed meanwhile.
func TestDelayHoldsMessagesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.delay = rapid.IntRange(1, 4).Draw(t, "delay")
		intents := namedIntents(w)
		var delayed, plain journal
		e := w.engine(t, w.delay, &delayed)
		late := &lateVenue{e: w.engine(t, 0, &plain), delay: w.delay, symbols: map[string]market.Symbol{}}
		series := w.series(plainScale, allSteps)
		feed := sim.NewSeriesFeed(series)
		b := sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
		for more, _ := feed.Next(&b); more && !e.Bankrupt(); more, _ = feed.Next(&b) {
			if err := e.Match(&b); err != nil {
				t.Fatal(err)
			}
			late.step(t, &b)
			got, want := openOf(e, market.StatusOpen), openOf(late.e, market.StatusOpen)
			if !slices.Equal(got, want) {
				t.Fatalf("step %d: open %v, want %v", e.Step(), got, want)
			}
			if e.Equity() != late.e.Equity() || e.Cash() != late.e.Cash() {
				t.Fatalf("step %d: equity %v, want %v", e.Step(), e.Equity(), late.e.Equity())
			}
			if i := int(e.Step()); i < len(intents) && !e.Bankrupt() {
				late.decide(intents[i], e.Warmup())
				if err := e.Accept(intents[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		compareFills(t, delayed.fills, plain.fills)
		got, want := e.Stats(), late.e.Stats()
		dropped := got.LateMessages + got.RejectedIntents
		under := int64(len(late.held)) // messages that have not arrived
		refused := want.RejectedIntents
		if dropped < refused || dropped > refused+under || got.Trades != want.Trades {
			t.Fatalf("counts %+v, want %+v", got, want)
		}
	})
}

func compareFills(t *rapid.T, got, want []market.Fill) {
	t.Helper()
	text := func(f *market.Fill) string {
		return fmt.Sprint(f.Time, f.Symbol, f.Side, f.Role, f.Quantity, f.Price, f.Fee, f.Liquidity,
			f.PositionAfter, f.Ambiguous)
	}
	for i := range want {
		if i >= len(got) || text(&got[i]) != text(&want[i]) {
			t.Fatalf("fill %d of %d differs from %+v", i, len(got), want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d fills, want %d", len(got), len(want))
	}
}

// TestRoomIsCountedOnArrival: a thousand orders that are canceled and posted anew at
// each close have room, however many are on their way; one more has none.
func TestRoomIsCountedOnArrival(t *testing.T) {
	cfg := config(t, "BTC/USD")
	cfg.DelayCandles = 2
	e := engine(t, cfg, nil)
	flatStep(t, e, 100)
	list := []market.Intent{{Action: market.CancelAll}}
	for range 1000 {
		in := buy(0.01)
		in.Type, in.LimitPrice = market.Limit, 50
		list = append(list, in)
	}
	for range 5 {
		if err := e.Accept(list); err != nil {
			t.Fatal(err)
		}
		flatStep(t, e, 100)
	}
	if s := e.Stats(); len(e.OpenOrders()) != 2000 || s.RejectedOrders != 0 {
		t.Fatalf("%d orders, %+v", len(e.OpenOrders()), s)
	}
	if err := e.Accept(list[1:2]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		flatStep(t, e, 100)
	}
	last := e.Updates()[len(e.Updates())-1]
	if n := len(e.OpenOrders()); n != 1000 || last.Reason != "too_many_open_orders" {
		t.Fatalf("%d orders, %+v", n, last)
	}
}

package sim_test

import (
	"errors"
	"fmt"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

// world is everything that a run depends on, prices in ticks of 0.01 so that the
// same world can be built with all prices and money ten times as large.
type world struct {
	options string
	cash    int64 // whole units, 5 to 12 digits
	symbols int
	candles [][]tickCandle // per symbol
	asks    [][]ask        // per step
	delay   int
	warmup  int64
	worst   bool
}

type tickCandle struct {
	at         int // candle number
	o, h, l, c int64
}

// ask is an intent in ticks. A price of 0 is absent.
type ask struct {
	action, kind, side, tif, symbol, size int
	amount                                float64
	limit, stop, trailAmount              int64
	trail                                 float64
	expire                                int
	reduce, post                          bool
	stopLoss, takeProfit                  *askChild
	share                                 float64 // of the take profit, beside one a little farther; 0: all
	oco                                   int
	ref                                   string
}

type askChild struct {
	price, amount  int64
	percent, trail float64
	tighten, after float64
}

func drawWorld(t *rapid.T) *world {
	w := &world{
		cash:    rapid.SampledFrom([]int64{10_000, 12_345, 99_999, 1_000_000}).Draw(t, "cash"),
		symbols: rapid.IntRange(1, 3).Draw(t, "symbols"),
		delay:   rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "delay"),
		warmup:  int64(rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "warmup")),
		worst:   rapid.SampledFrom([]bool{false, false, true}).Draw(t, "worst"),
	}
	w.options = drawOptions(t)
	n := rapid.IntRange(2, 40).Draw(t, "candles")
	for range w.symbols {
		w.candles = append(w.candles, drawCandles(t, n))
	}
	for range 2 * n {
		var list []ask
		for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 4}).Draw(t, "intents") {
			list = append(list, drawAsk(t, w.symbols))
		}
		if rapid.IntRange(0, 3).Draw(t, "oco") == 0 {
			group(list)
		}
		w.asks = append(w.asks, list)
	}
	return w
}

// group makes an OCO of what may be one: the submits from the first on, of its symbol.
func group(list []ask) {
	for i := range list {
		if list[i].action != int(market.Submit) || list[i].size == int(market.SizeTargetFraction) {
			break
		}
		list[i].symbol, list[i].oco = list[0].symbol, i+1
	}
}

func drawOptions(t *rapid.T) string {
	pick := func(name string, values ...string) string {
		return fmt.Sprintf("%q:%s", name, rapid.SampledFrom(values).Draw(t, name))
	}
	text := "{" + pick("profile", `"bar-v1"`, `"bar-v1"`, `"compat:backtesting.py"`,
		`"compat:backtrader"`, `"compat:freqtrade"`) + "," +
		pick("intrabar", `"stop_first"`, `"target_first"`, `"ohlc_color"`) + "," + pick("fee_maker", "0",
		"0.001", "-0.0002") + "," +
		pick("fee_taker", "0", "0.001", "0.1") + "," + pick("limit_touch", `"touch"`,
		`"through_tick"`) + "," +
		pick("quantity_step", "0.00000001", "0.001", "1", "0.25") + "," + pick("allow_short", "true",
		"false") + "," + pick("close_at_end", "true", "false")
	if rapid.Bool().Draw(t, "explicit") {
		text += "," + pick("slippage_bps", "0", "5", "123.4", "1000") + "," + pick("resting_gap", `"limit"`,
			`"open"`) + "," + pick("protect_from", `"entry_candle"`, `"next_candle"`)
	}
	return text + "}"
}

func drawCandles(t *rapid.T, n int) []tickCandle {
	var list []tickCandle
	price := int64(10_000)
	step := func(name string) int64 {
		return price * int64(rapid.IntRange(-600, 620).Draw(t, name)) / 10_000
	}
	for i := range n {
		if rapid.IntRange(0, 9).Draw(t, "gap") == 0 && i > 0 {
			continue
		}
		if rapid.IntRange(0, 4).Draw(t, "jump") == 0 {
			price = max(50, price+step("open"))
		}
		c := tickCandle{at: i, o: price, h: price, l: price, c: price}
		for range 3 {
			price = max(50, price+step("move"))
			c.h, c.l, c.c = max(c.h, price), min(c.l, price), price
		}
		list = append(list, c)
	}
	return list
}

// drawAsk is an intent that may make sense or not, in levels of the price range
// that the candles move in.
func drawAsk(t *rapid.T, symbols int) ask {
	level := func(name string) int64 { return int64(rapid.IntRange(7_000, 13_000).Draw(t, name)) }
	rare := func(name string) bool { return rapid.IntRange(0, 11).Draw(t, name) == 0 }
	a := ask{
		action: rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2, 3}).Draw(t, "action"),
		kind:   rapid.IntRange(0, 4).Draw(t, "type"),
		side:   rapid.IntRange(0, 1).Draw(t, "side"),
		tif:    rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "tif"),
		symbol: rapid.IntRange(0, symbols-1).Draw(t, "symbol"),
		size:   rapid.SampledFrom([]int{1, 2, 3, 5, 6, 7}).Draw(t, "size"),
		reduce: rapid.IntRange(0, 4).Draw(t, "reduce") == 0,
		ref:    rapid.SampledFrom([]string{"", "a", "b", "o-000002"}).Draw(t, "ref"),
	}
	a.amount = [...]float64{0, rapid.Float64Range(0, 80).Draw(t, "quantity"),
		rapid.Float64Range(0, 12_000).Draw(t, "quote"), rapid.Float64Range(0, 1).Draw(t, "fraction"), 0,
		rapid.Float64Range(0, 1).Draw(t, "equity"), rapid.Float64Range(0, 0.1).Draw(t, "risk"),
		float64(rapid.IntRange(-11, 11).Draw(t, "target")) / 10}[a.size]
	a.post = rapid.IntRange(0, 5).Draw(t, "post-only") == 0 && a.kind == int(market.Limit)
	if a.reduce && a.size != 1 {
		a.size = 0
	}
	if kind := market.OrderType(a.kind); kind.NeedsLimit() != rare("limit") {
		a.limit = level("limit")
	}
	if kind := market.OrderType(a.kind); kind.NeedsStop() != rare("stop") {
		a.stop = level("stop")
	}
	if kind := market.OrderType(a.kind); (kind == market.TrailingStop) != rare("trail") {
		a.trailAmount = int64(rapid.IntRange(1, 900).Draw(t, "trail_amount"))
	}
	if (a.tif == 1) != rare("expiry") {
		a.expire = rapid.IntRange(1, 6).Draw(t, "expire")
	}
	if !a.reduce && rapid.Bool().Draw(t, "bracket") {
		a.stopLoss, a.takeProfit = drawChild(t, true, level), drawChild(t, false, level)
		a.share = rapid.SampledFrom([]float64{0, 0, 0, 0.3, 0.5, 1, 1.1}).Draw(t, "share")
	}
	if a.action != 0 && rare("replaces everything") {
		a.size, a.expire = 1, 2
	} else if a.action == int(market.Replace) {
		a.stopLoss, a.takeProfit, a.expire = nil, nil, 0
	}
	return a
}

func drawChild(t *rapid.T, stop bool, level func(string) int64) *askChild {
	c := drawLevel(t, stop, level)
	if c != nil && stop && rapid.IntRange(0, 3).Draw(t, "tightens") == 0 {
		c.tighten = rapid.Float64Range(0.001, 0.2).Draw(t, "tighten")
		c.after = rapid.Float64Range(0, 0.1).Draw(t, "after")
	}
	return c
}

func drawLevel(t *rapid.T, stop bool, level func(string) int64) *askChild {
	switch rapid.IntRange(0, 4).Draw(t, "child") {
	case 0:
		return nil
	case 1:
		return &askChild{price: level("child price")}
	case 2:
		if stop {
			return &askChild{trail: rapid.Float64Range(0.001, 0.2).Draw(t, "trail")}
		}
		return &askChild{percent: 3}
	case 3:
		return &askChild{amount: 250}
	}
	return &askChild{percent: rapid.Float64Range(0.0001, 0.1).Draw(t, "percent")}
}

// scale turns ticks into prices: hundredths, or tenths for a world ten times as large.
type scale struct {
	tick   float64
	factor int64
}

var (
	plainScale = scale{100, 1}
	tenfold    = scale{10, 10}
)

func (s scale) price(ticks int64) float64 { return float64(ticks) / s.tick }

func (w *world) series(s scale, steps int) []*market.Series {
	var all []*market.Series
	for i, candles := range w.candles {
		out := &market.Series{Symbol: market.Symbol(fmt.Sprintf("S%d/USD", i)),
			Timeframe: market.MustTimeframe("1h")}
		for _, c := range candles {
			if c.at < steps {
				out.Append(market.Candle{
					OpenTime: simtest.Start + market.Time(c.at)*3600_000,
					Open:     s.price(c.o), High: s.price(c.h), Low: s.price(c.l), Close: s.price(c.c),
					Volume: 1,
				})
			}
		}
		all = append(all, out)
	}
	return all
}

func (a *ask) intent(s scale) market.Intent {
	in := market.Intent{
		Action: market.Action(a.action), Symbol: market.Symbol(fmt.Sprintf("S%d/USD", a.symbol)),
		Side: market.Side(a.side), Type: market.OrderType(a.kind),
		Size: market.Size{Kind: market.SizeKind(a.size), Value: a.amount}, LimitPrice: s.price(a.limit),
		StopPrice:    s.price(a.stop),
		TrailPercent: a.trail, TrailAmount: s.price(a.trailAmount), TimeInForce: market.TimeInForce(a.tif),
		ExpireAfter: a.expire, ReduceOnly: a.reduce, PostOnly: a.post,
		StopLoss: a.stopLoss.child(s), TakeProfit: a.takeProfit.child(s), ClientRef: a.ref, Ref: a.ref,
	}
	if in.OCO = a.oco; a.share != 0 && in.TakeProfit != nil {
		far := *in.TakeProfit
		far.Percent *= 1.5
		in.Targets = []market.TakeProfit{{Level: *in.TakeProfit, Share: a.share},
			{Level: far, Share: 1 - a.share}}
		if in.TakeProfit = nil; a.share == 1 {
			in.Targets = in.Targets[:1]
		}
	}
	if in.Size.Kind == market.SizeQuoteAmount {
		in.Size.Value = float64(int64(a.amount) * s.factor) // whole units, so that ten times is exact
	}
	return in
}

func (c *askChild) child(s scale) *market.Child {
	if c == nil {
		return nil
	}
	return &market.Child{Price: s.price(c.price), Percent: c.percent, TrailPercent: c.trail,
		TrailAmount: s.price(c.amount), TightenTo: c.tighten, TightenAfter: c.after}
}

// Decide plays the asks of a world. It is the Decider of one run.
type script struct {
	w       *world
	s       scale
	out     []market.Intent
	digests [][32]byte // before each decision
}

func (p *script) Decide(e *sim.Engine) ([]market.Intent, error) {
	p.digests = append(p.digests, e.Digest())
	p.out = p.out[:0]
	if i := e.Step(); i < int64(len(p.w.asks)) {
		for j := range p.w.asks[i] {
			p.out = append(p.out, p.w.asks[i][j].intent(p.s))
		}
	}
	return p.out, nil
}

// begin makes the engine and the feed of a world's first steps.
func (w *world) begin(t *rapid.T, s scale, steps int, rec sim.Recorder) (*sim.Engine, *sim.SeriesFeed) {
	o, err := sim.ResolveOptions([]byte(w.options), sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{
		Timeframe: market.MustTimeframe("1h"), InitialCash: decimal.MustNew(w.cash*s.factor, 0), Options: o,
		WarmupSteps: w.warmup, WindowStep: w.warmup, DelayCandles: w.delay, WorstPrice: w.worst,
	}
	series := w.series(s, steps)
	for _, x := range series {
		cfg.Symbols = append(cfg.Symbols, x.Symbol)
		cfg.PriceSteps = append(cfg.PriceSteps, decimal.MustNew(s.factor, 2))
	}
	e, err := sim.NewEngine(cfg, rec)
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := rec.(*witness); ok {
		w.e = e
	}
	return e, sim.NewSeriesFeed(series)
}

// play runs the first steps of a world.
func (w *world) play(t *rapid.T, s scale, steps int, rec sim.Recorder) (*sim.Engine, *script) {
	e, feed := w.begin(t, s, steps, rec)
	p := &script{w: w, s: s}
	err := sim.Run(e, feed, p)
	var full *sim.LedgerError
	if errors.As(err, &full) { // a lucky account may outgrow the books, as TestLedgerOverflow shows
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e, p
}

package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

// points is what the model multiplies ticks with, so that shares of a price in basis points are whole.
const points = 10_000

// held is how a trade of the model ends.
type held struct {
	out    int // candle
	price  int // scaled
	reason market.ExitReason
}

// bars are candles in ticks.
type bars struct{ open, high, low, close []int }

// plan is a trade of the model: what freqtrade is told of one. Distances are in basis points.
type plan struct {
	side       int // 1 long, -1 short
	in, signal int // candle of the entry, candle whose close asks for the exit
	roi        int // ticks
	stop       int // from the entry
	trailing   bool
	onlyOffset bool
	positive   int // 0: none
	offset     int
	feeMille   int // of either side
}

// gains reports whether an exit at a price brings more than the offset, fees of both sides taken off.
func (p *plan) gains(entry, price int) bool {
	in, out := entry*(1000+p.side*p.feeMille), price*(1000-p.side*p.feeMille)
	return p.side*out*points > p.side*in*(points+p.side*p.offset)
}

// leave is what freqtrade says of a trade, read off candle by candle. A candle that does not have the stop
// moves it first, by its best price. Then a signal leaves at the open; then comes the stop that has never
// moved, then the ROI, then the stop that has. A stop keeps its price, but where the candle is all beyond it;
// one that the entry's candle has moved gets the price of a candle that only just moved it. An ROI
// gets its price, or the nearest one of the candle.
func (b *bars) leave(p *plan) (h held, ended bool) {
	entry := b.open[p.in]
	stop, moved := entry*(points-p.side*p.stop), false
	for i := p.in; i < len(b.open); i++ {
		open, best, worst := b.open[i]*points, b.high[i]*points, b.low[i]*points
		if p.side < 0 {
			best, worst = worst, best
		}
		beyond := func(x, y int) bool { return p.side*x >= p.side*y }
		distance := p.stop
		if p.positive > 0 && p.gains(entry, best/points) {
			distance = p.positive
		}
		follows := p.trailing && !beyond(stop, worst) && (!p.onlyOffset || p.gains(entry, best/points))
		if level := best / points * (points - p.side*distance); follows && p.side*level > p.side*stop {
			stop, moved = level, true
		}
		hit, gap := beyond(stop, worst), p.side*stop > p.side*best
		h = held{out: i, price: stop}
		switch {
		case i == p.signal+1 && gap && !moved: // the same price, but freqtrade calls it a signal
			h.price, h.reason = open, market.ExitStopLoss
		case i == p.signal+1:
			h.price, h.reason = open, market.ExitSignal
		case hit && gap && !moved:
			h.price, h.reason = open, market.ExitStopLoss
		case hit && !moved:
			h.reason = market.ExitStopLoss
		case beyond(best, p.roi*points):
			h.price, h.reason = p.side*max(p.side*p.roi*points, p.side*worst), market.ExitTakeProfit
		case hit && gap:
			h.price, h.reason = open, market.ExitStopLoss
		case hit && i == p.in:
			arms := -distance
			if p.onlyOffset {
				arms += p.offset
			}
			h.price = p.side * max(p.side*entry*(points+p.side*arms), p.side*worst)
			h.reason = market.ExitStopLoss
		case hit:
			h.reason = market.ExitStopLoss
		default:
			continue
		}
		return h, true
	}
	return h, false
}

// child is the stop of the plan as an order has it.
func (p *plan) child() *market.Child {
	share := func(n int) float64 { return float64(n) / points }
	c := &market.Child{Percent: share(p.stop)}
	if p.trailing && !p.onlyOffset {
		c = &market.Child{TrailPercent: share(p.stop)}
	}
	if p.trailing && p.positive > 0 {
		c.TightenTo, c.TightenAfter = share(p.positive), share(p.offset)
	}
	return c
}

// drawPlan draws a trade whose exits the candles of drawBars reach.
func drawPlan(r *rand.Rand, b *bars) *plan {
	p := &plan{side: 1 - 2*r.IntN(2), in: 1 + r.IntN(6), signal: -2, stop: 1 + r.IntN(40),
		feeMille: r.IntN(2)}
	if r.IntN(2) == 0 {
		p.signal = p.in + r.IntN(12)
	}
	p.roi = b.open[p.in] + p.side*(1+r.IntN(60))
	if p.trailing = r.IntN(4) > 0; !p.trailing {
		return p
	}
	p.onlyOffset = r.IntN(2) == 0
	if p.onlyOffset || r.IntN(3) > 0 {
		p.positive, p.offset = 1+r.IntN(20), r.IntN(3)*r.IntN(20)
	}
	return p
}

// drawBars draws a walk with gaps, on few ticks, so that prices are equal often.
func drawBars(r *rand.Rand, n int) *bars {
	b := &bars{}
	price := 10_000
	for range n {
		open := price
		if r.IntN(3) == 0 {
			open += r.IntN(61) - 30
		}
		end := open + r.IntN(31) - 15
		b.open, b.close = append(b.open, open), append(b.close, end)
		b.high = append(b.high, max(open, end)+r.IntN(12))
		b.low = append(b.low, min(open, end)-r.IntN(12))
		price = end
	}
	return b
}

func (b *bars) series() *market.Series {
	s := &market.Series{Symbol: "BTC/USD", Timeframe: market.MustTimeframe("1h")}
	for i := range b.open {
		s.Append(market.Candle{OpenTime: simtest.Start + market.Time(i)*3600_000, Open: float64(b.open[i]) / 100,
			High: float64(b.high[i]) / 100, Low: float64(b.low[i]) / 100, Close: float64(b.close[i]) / 100, Volume: 1})
	}
	return s
}

// asked are the intents of a run by step.
type asked map[int64]market.Intent

func (a asked) Decide(e *sim.Engine) ([]market.Intent, error) {
	if in, ok := a[e.Step()]; ok {
		return []market.Intent{in}, nil
	}
	return nil, nil
}

// TestFreqtradeModel holds the fills of compat:freqtrade to a model of its own, in whole numbers.
func TestFreqtradeModel(t *testing.T) {
	reasons, fresh := map[string]int{}, 0
	rules := [...]sim.Options{options(t, `{"profile":"compat:freqtrade","allow_short":true,"fee_taker":0}`),
		options(t, `{"profile":"compat:freqtrade","allow_short":true,"fee_taker":0.001}`)}
	for seed := range uint64(12_000) {
		r := rand.New(rand.NewPCG(seed, 21))
		b := drawBars(r, 24)
		p := drawPlan(r, b)
		in := market.Intent{Side: market.Buy, Size: market.Size{Kind: market.SizeQuantity, Value: 1},
			StopLoss: p.child(), TakeProfit: &market.Child{Price: float64(p.roi) / 100}}
		if p.side < 0 {
			in.Side = market.Sell
		}
		steps := asked{int64(p.in - 1): in}
		if p.signal >= 0 {
			steps[int64(p.signal)] = market.Intent{Action: market.Close}
		}
		var j journal
		runSeries(t, b.series(), 100_000, rules[p.feeMille], steps, &j)
		want, ended := b.leave(p)
		if len(j.trades) != map[bool]int{true: 1}[ended] {
			t.Fatalf("seed %d: %d trades, it ended: %t (%+v of %+v)", seed, len(j.trades), ended, want, p)
		}
		if !ended {
			continue
		}
		got := j.trades[0]
		name := string(want.reason)
		if p.trailing && want.reason == market.ExitStopLoss {
			name = "trailing"
		}
		if reasons[name]++; name == "trailing" && want.out == p.in {
			fresh++
		}
		price := fmt.Sprintf("%.6f", float64(want.price)/100/points)
		if at := int(got.ExitTime-simtest.Start) / 3600_000; at != want.out || got.ExitReason != want.reason ||
			fmt.Sprintf("%.6f", floatOf(got.ExitPrice)) != price {
			t.Fatalf("seed %d: left in candle %d at %s by %s, want %+v of %+v", seed, at, got.ExitPrice,
				got.ExitReason, want, p)
		}
	}
	for _, reason := range []string{"signal", "stop_loss", "take_profit", "trailing"} {
		if reasons[reason] < 300 {
			t.Errorf("only %d trades ended by %s", reasons[reason], reason)
		}
	}
	if fresh < 300 {
		t.Errorf("only %d trades ended in the candle of their entry by a stop that trails", fresh)
	}
}

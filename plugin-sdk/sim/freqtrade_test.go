package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

// held is one trade of the model below, with prices in ticks of 0.01.
type held struct {
	in, out int // candles
	price   int
	reason  market.ExitReason
}

// bars are candles in ticks.
type bars struct{ open, high, low, close []int }

// upsideDown mirrors prices, so that a short becomes a long.
func (b *bars) upsideDown(about int) *bars {
	turn := func(list []int) []int {
		out := make([]int, len(list))
		for i, x := range list {
			out[i] = 2*about - x
		}
		return out
	}
	return &bars{turn(b.open), turn(b.low), turn(b.high), turn(b.close)}
}

// leave is what freqtrade says of a long trade, read off candle by candle: a signal leaves at the open,
// then comes the stop, then the ROI. A stop keeps its price where the candle has it and else gets the
// open; an ROI gets its price, or the low of a candle that is all above it.
func (b *bars) leave(in, stop, roi, signal int) (h held, ended bool) {
	for i := in; i < len(b.open); i++ {
		h = held{in: in, out: i}
		switch {
		case i == signal+1 && stop > b.high[i]: // the same price, but freqtrade calls it a signal
			h.price, h.reason = b.open[i], market.ExitStopLoss
		case i == signal+1:
			h.price, h.reason = b.open[i], market.ExitSignal
		case b.low[i] <= stop && stop <= b.high[i]:
			h.price, h.reason = stop, market.ExitStopLoss
		case b.low[i] <= stop:
			h.price, h.reason = b.open[i], market.ExitStopLoss
		case b.high[i] >= roi:
			h.price, h.reason = max(roi, b.low[i]), market.ExitTakeProfit
		default:
			continue
		}
		return h, true
	}
	return h, false
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

// TestFreqtradeModel holds the fills of compat:freqtrade to a model of its own, in whole ticks.
func TestFreqtradeModel(t *testing.T) {
	const about = 10_000
	reasons := map[market.ExitReason]int{}
	rules := options(t, `{"profile":"compat:freqtrade","allow_short":true}`)
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 21))
		b := drawBars(r, 24)
		long, model := r.IntN(2) == 0, b
		side := market.Buy
		if !long {
			side, model = market.Sell, b.upsideDown(about)
		}
		in := 1 + r.IntN(6)
		stop, roi := model.open[in]-1-r.IntN(40), model.open[in]+1+r.IntN(40)
		signal := -2 // none
		if r.IntN(2) == 0 {
			signal = in + r.IntN(8)
		}
		level := func(ticks int) *market.Child {
			if !long {
				ticks = 2*about - ticks
			}
			return &market.Child{Price: float64(ticks) / 100}
		}
		steps := asked{int64(in - 1): {Side: side, Size: market.Size{Kind: market.SizeQuantity, Value: 1},
			StopLoss: level(stop), TakeProfit: level(roi)}}
		if signal >= 0 {
			steps[int64(signal)] = market.Intent{Action: market.Close}
		}
		var j journal
		runSeries(t, b.series(), 100_000, rules, steps, &j)
		want, ended := model.leave(in, stop, roi, signal)
		if !long {
			want.price = 2*about - want.price
		}
		if len(j.trades) != map[bool]int{true: 1}[ended] {
			t.Fatalf("seed %d: %d trades, it ended: %t (%+v)", seed, len(j.trades), ended, want)
		}
		if !ended {
			continue
		}
		got := j.trades[0]
		reasons[want.reason]++
		if at := int(got.ExitTime-simtest.Start) / 3600_000; at != want.out || got.ExitReason != want.reason ||
			fmt.Sprintf("%.2f", floatOf(got.ExitPrice)) != fmt.Sprintf("%.2f", float64(want.price)/100) {
			t.Fatalf("seed %d: left in candle %d at %s by %s, want %+v", seed, at, got.ExitPrice,
				got.ExitReason, want)
		}
	}
	for _, reason := range []market.ExitReason{market.ExitSignal, market.ExitStopLoss, market.ExitTakeProfit} {
		if reasons[reason] < 300 {
			t.Errorf("only %d trades ended by %s", reasons[reason], reason)
		}
	}
}

package sim_test

import (
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

var benchStart = time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC)

func benchEngine(b testing.TB, s *market.Series, cash int64) *sim.Engine {
	b.Helper()
	e, err := sim.NewEngine(sim.Config{
		Symbols: []market.Symbol{s.Symbol}, Timeframe: s.Timeframe, InitialCash: decimal.MustNew(cash, 0),
		Options: options(b, ""),
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// BenchmarkRun is the reference run R: 1.5 million candles, 33,055 trades.
func BenchmarkRun(b *testing.B) {
	s := sdktest.Synth(1, 1_500_000, benchStart, time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		e := benchEngine(b, s, 100_000)
		if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{s}),
			&smaCross{fast: 10, slow: 30, stake: 100}); err != nil {
			b.Fatal(err)
		}
		v, err := e.FinalValue()
		if err != nil || e.Stats().Trades != 33055 || v.String() != "80013.167730478" {
			b.Fatal(err, e.Stats().Trades, v)
		}
	}
	b.ReportMetric(float64(s.Len())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcandles/s")
}

type idle struct{}

func (idle) Decide(*sim.Engine) ([]market.Intent, error) { return nil, nil }

// BenchmarkEmptyStep is a step in which nothing happens.
func BenchmarkEmptyStep(b *testing.B) {
	s := sdktest.Synth(1, 1_500_000, benchStart, time.Minute)
	for b.Loop() {
		e := benchEngine(b, s, 100_000)
		if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{s}), idle{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(s.Len())/float64(b.N), "ns/step")
}

// BenchmarkHeldStep is a step with a position and a resting bracket.
func BenchmarkHeldStep(b *testing.B) {
	s := sdktest.Synth(1, 1_500_000, benchStart, time.Minute)
	for b.Loop() {
		e := benchEngine(b, s, 100_000)
		if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{s}), &once{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(s.Len())/float64(b.N), "ns/step")
}

// once buys on the first step with children that are never reached.
type once struct{ done bool }

func (o *once) Decide(*sim.Engine) ([]market.Intent, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	return []market.Intent{{
		Size:     market.Size{Kind: market.SizeQuantity, Value: 1},
		StopLoss: &market.Child{Price: 0.01}, TakeProfit: &market.Child{Price: 1e9},
	}}, nil
}

package main

import (
	"math"
	"time"

	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The market of docs/calibration.md.
const (
	days       = 1826
	dailySigma = 0.03
	reach      = 0.005 // of high and low beyond open and close
	turnChance = 0.05  // of the regime, a day
	loud       = 1500  // volume of the regime that drifts up
	quiet      = 500   // volume of the one that drifts down
	firstPrice = 1000
	// tick keeps prices to digits that a file of decimal numbers could have.
	tick = 1e-8
)

// walk draws the days of a market: whether volume is loud, and the return from open to
// close.
type walk struct {
	random *random.Stream
	drift  float64
	loud   bool
	begun  bool
}

// next returns the next day.
func (w *walk) next() (isLoud bool, r float64) {
	if u := w.random.Float64(); !w.begun {
		w.begun, w.loud = true, u < 0.5
	} else if u < turnChance {
		w.loud = !w.loud
	}
	e := w.drift
	if !w.loud {
		e = -e
	}
	return w.loud, float64(dailySigma*w.random.Normal()) + e
}

// series returns the candles of case number index with a drift per day.
func series(symbol market.Symbol, seed, index uint64, drift float64) *market.Series {
	w := &walk{random: random.New(seed, random.Calibrate, index), drift: drift}
	s := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe("1d")}
	day := market.Time(time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	open := float64(firstPrice)
	for range days {
		isLoud, r := w.next()
		last := round(open * (1 + r))
		volume := float64(quiet)
		if isLoud {
			volume = loud
		}
		s.Time, s.Open, s.Close = append(s.Time, day), append(s.Open, open), append(s.Close, last)
		s.High, s.Low = append(s.High, round(max(open, last)*(1+reach))),
			append(s.Low, round(min(open, last)*(1-reach)))
		s.Volume = append(s.Volume, volume)
		open, day = last, day.Add(24*time.Hour)
	}
	return s
}

func round(x float64) float64 { return math.Round(x/tick) * tick }

package main

import (
	"math"

	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// The simulation that drifts are found by: so many days, from a stream that no case has.
const (
	longDays   = 1_000_000
	longIndex  = math.MaxUint64
	daysInYear = 365
	halvings   = 24
)

// driftFor returns the drift at which following the volume has a true annual Sharpe ratio net
// of the default costs, found by halving an interval on one long market: more drift is a
// higher ratio, and the draws are the same for every drift.
func driftFor(seed uint64, ratio float64) (float64, error) {
	costs, err := sim.ResolveOptions(nil, sim.DefaultFees())
	if err != nil {
		return 0, err
	}
	fee, _ := costs.FeeTaker.Float64()
	slippage, _ := costs.SlippageBps.Float64()
	low, high := 0.0, dailySigma
	for range halvings {
		middle := (low + high) / 2
		if trueSharpe(seed, middle, fee+slippage/10_000) < ratio {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2, nil
}

// trueSharpe returns the annual Sharpe ratio of what planted does; cost is the fraction that
// each fill costs.
func trueSharpe(seed uint64, drift, cost float64) float64 {
	w := &walk{random: random.New(seed, random.Calibrate, longIndex), drift: drift}
	var sum, squares float64
	held, wanted := false, false
	for day := range int64(longDays) {
		isLoud, r := w.next()
		growth := 1.0
		if wanted != held { // at the open
			growth *= 1 - cost
			held = wanted
		}
		if held {
			growth *= 1 + r
		}
		sum, squares = sum+growth-1, squares+float64((growth-1)*(growth-1))
		wanted = isLoud && !rests(day, restEvery)
	}
	mean := sum / longDays
	return mean / math.Sqrt((squares-float64(sum*mean))/(longDays-1)) * math.Sqrt(daysInYear)
}

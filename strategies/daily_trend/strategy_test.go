package main

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestConformance(t *testing.T) { sdktest.Conformance(t, spec(), newDailyTrend) }

// days are hourly candles: each day has a close, which its hours have, too.
func days(closes ...float64) (hours []float64) {
	for _, x := range closes {
		for range 24 {
			hours = append(hours, x)
		}
	}
	return hours
}

func TestRule(t *testing.T) {
	small := func(p *params) { p.Candles, p.Days, p.StopLoss = 2, 2, 0.5 }
	// The day before is above the average of two: the first hour above the channel is bought at the next
	// open; the first one below it is sold.
	candles := sdktest.Closes(append(days(100, 110), 112, 112, 113, 113, 109, 109)...)
	r := sdktest.Backtest(t, sdktest.New(t, newDailyTrend, small), candles)
	if len(r.Trades) != 1 || r.Trades[0].EntryTime != candles.Time[49] ||
		r.Trades[0].ExitTime != candles.Time[53] {
		t.Errorf("trades %+v", r.Trades)
	}
	// The day before is below it: no breakout is bought.
	candles = sdktest.Closes(append(days(110, 100), 112, 112, 113, 114)...)
	if r := sdktest.Backtest(t, sdktest.New(t, newDailyTrend, small), candles); len(r.Orders) != 0 {
		t.Errorf("orders %+v", r.Orders)
	}
}

// TestDayIsNotKnownBeforeItsClose: a day counts from its last hour on, and not an hour before.
func TestDayIsNotKnownBeforeItsClose(t *testing.T) {
	small := func(p *params) { p.Candles, p.Days, p.StopLoss = 2, 2, 0.5 }
	hours := days(110, 100, 100)
	hours[71] = 120 // the last hour is above the channel, and lifts its day above the average
	r := sdktest.Backtest(t, sdktest.New(t, newDailyTrend, small), sdktest.Closes(append(hours, 120, 120)...))
	if len(r.Trades)+len(r.Positions) != 1 || r.Orders[0].CreatedAt.String() != "2020-01-04T00:00:00.000Z" {
		t.Errorf("orders %+v", r.Orders)
	}
	hours[70], hours[71] = 120, 120 // an hour earlier the day has not closed
	r = sdktest.Backtest(t, sdktest.New(t, newDailyTrend, small), sdktest.Closes(append(hours, 120, 120)...))
	if len(r.Orders) != 0 {
		t.Errorf("orders %+v", r.Orders)
	}
}

func TestDocumentedResult(t *testing.T) {
	r := sdktest.Backtest(t, sdktest.New(t, newDailyTrend), sdktest.Sample(t))
	if got := r.FinalValue.Trim(0).String(); len(r.Trades) != 9 || got != "10196.0590633997" {
		t.Errorf("%d trades, %s", len(r.Trades), got)
	}
}

package sdktest

import (
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// firstOpen is where candles begin that are written by hand.
func firstOpen() time.Time { return time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Candles are hours with these opens, highs, lows and closes, for a test by hand.
func Candles(rows ...[4]float64) *market.Series {
	s := &market.Series{Symbol: SynthSymbol, Timeframe: market.MustTimeframe("1h")}
	for i, r := range rows {
		t := market.FromTime(firstOpen()).Add(time.Duration(i) * time.Hour)
		s.Append(market.Candle{OpenTime: t, Open: r[0], High: r[1], Low: r[2], Close: r[3], Volume: 1})
	}
	return s
}

// Closes are Candles in which nothing happens but these closes.
func Closes(closes ...float64) *market.Series {
	rows := make([][4]float64, len(closes))
	for i, c := range closes {
		rows[i] = [4]float64{c, c, c, c}
	}
	return Candles(rows...)
}

package sdktest

import "github.com/assay-run/assay/plugin-sdk/market"

// firstCandle is 2020-01-01 UTC.
const firstCandle market.Time = 1577836800000

// Candles are hours with these opens, highs, lows and closes, for a test by hand.
func Candles(rows ...[4]float64) *market.Series {
	s := &market.Series{Symbol: SynthSymbol, Timeframe: market.MustTimeframe("1h")}
	for i, r := range rows {
		t := firstCandle + market.Time(i)*3600000
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

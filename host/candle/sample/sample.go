// Package sample says which candles of plugin-sdk/sample are installed in every candle
// store, under which exchange, and what files they become. ATTRIBUTION.md says where
// they come from.
package sample

import (
	"github.com/assay-run/assay/plugin-sdk/market"
	bundled "github.com/assay-run/assay/plugin-sdk/sample"
)

// Exchange is the id under which the sample is stored; nobody else may use it.
const Exchange = "sample"

// Attribution says where the candles come from and under which licences.
func Attribution() string { return bundled.Attribution() }

// Set is one series of the sample.
type Set struct {
	Symbol    market.Symbol
	Timeframe market.Timeframe
	// SHA256 of the candle file that the rows become.
	SHA256 string
	Rows   int
	// Name and CSV are the embedded file, gzipped.
	Name string
	CSV  []byte
}

// Sets lists the sample.
func Sets() []Set {
	return []Set{
		{
			Symbol: "BTC/USDT", Timeframe: market.Timeframe{Count: 1, Unit: 'h'}, Rows: 58419,
			SHA256: "ad153fb1070403bf43c4f69de68013905c6fbad6c9827619413e805ca5de7476", Name: bundled.BTCUSDT1h, CSV: bundled.File(bundled.BTCUSDT1h),
		},
		{
			Symbol: "ETH/USDT", Timeframe: market.Timeframe{Count: 1, Unit: 'd'}, Rows: 1991,
			SHA256: "85f2085ddcb9f7662f4a4d35d8e54a8c05251bb0215c22a9a6b18937d44ae639", Name: bundled.ETHUSDT1d, CSV: bundled.File(bundled.ETHUSDT1d),
		},
	}
}

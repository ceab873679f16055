// Package sample holds the candles that every installation brings along, as gzipped
// CSV inside the binary: enough to run a strategy without downloading anything. Where
// they come from and under which licences is in ATTRIBUTION.md.
//
// It is data only and imports market. The candle store installs it as the exchange
// sample.
package sample

import (
	_ "embed"

	"github.com/assay-run/assay/plugin-sdk/market"
)

//go:embed BTCUSDT_1h.csv.gz
var btcusdt1h []byte

//go:embed ETHUSDT_1d.csv.gz
var ethusdt1d []byte

//go:embed ATTRIBUTION.md
var attribution string

// Exchange is the id under which the sample is stored; nobody else may use it.
const Exchange = "sample"

// Attribution says where the candles come from and under which licences.
func Attribution() string { return attribution }

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
			SHA256: "ad153fb1070403bf43c4f69de68013905c6fbad6c9827619413e805ca5de7476", Name: "BTCUSDT_1h.csv.gz", CSV: btcusdt1h,
		},
		{
			Symbol: "ETH/USDT", Timeframe: market.Timeframe{Count: 1, Unit: 'd'}, Rows: 1991,
			SHA256: "85f2085ddcb9f7662f4a4d35d8e54a8c05251bb0215c22a9a6b18937d44ae639", Name: "ETHUSDT_1d.csv.gz", CSV: ethusdt1d,
		},
	}
}

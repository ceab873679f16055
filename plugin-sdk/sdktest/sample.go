package sdktest

import (
	"bytes"
	_ "embed"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// sampleHours are the newest 2,000 candles of the bundled BTC/USDT.
//
//go:embed sample.candles
var sampleHours []byte

// Sample is real candles for a test: 2,000 hours of BTC/USDT, up to 2024-04-21. They are part
// of the SDK, so a test gives the same on every machine.
func Sample(t testing.TB) *market.Series {
	t.Helper()
	f, err := candlefile.Decode(bytes.Clone(sampleHours)) // a test may change its own
	if err != nil {
		t.Fatalf("the bundled candles: %v", err)
	}
	s := f.Series()
	s.Symbol = "BTC/USDT"
	return s
}

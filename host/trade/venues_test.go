package trade

import (
	"testing"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestChosenExchange: without a name it is, of those that offer everything, the first by id.
func TestChosenExchange(t *testing.T) {
	store, err := candle.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	d, err := binance.New().Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := &Exchanges{Store: store, Connectors: []Connector{{Description: d}}}
	for timeframe, want := range map[string]string{"1h": binance.ID, "5s": sim.ID} {
		v, err := all.Choose(t.Context(), runner.StartRequest{Mode: runner.ModePaper},
			&run.Plan{Symbols: []market.Symbol{"SOL/USDT"}, Timeframe: market.MustTimeframe(timeframe)})
		if err != nil || v.ID != want {
			t.Errorf("%s: %q %v, want %s", timeframe, v.ID, err, want)
		}
	}
}

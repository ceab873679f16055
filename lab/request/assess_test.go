package request

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestPurgeShort(t *testing.T) {
	held := func(n, candles, longer int) []market.Trade {
		trades := make([]market.Trade, n)
		for i := range trades {
			trades[i].CandlesHeld = candles
		}
		trades[n/2].CandlesHeld = longer
		return trades
	}
	purge := func(n int) artifact.Splits { return artifact.Splits{Params: map[string]any{"purge": n}} }
	for _, c := range []struct {
		what   string
		trades []market.Trade
		splits artifact.Splits
		warned bool
	}{
		{"as long as the purge", held(100, 5, 5), purge(5), false},
		{"longer than the purge", held(100, 6, 6), purge(5), true},
		{"one of a hundred longer", held(100, 5, 99), purge(5), false},
		{"one of ten longer", held(10, 5, 99), purge(5), true},
		{"no trades", nil, purge(0), false},
		{"a scheme without a purge", held(10, 5, 5), artifact.Splits{Params: map[string]any{}}, false},
	} {
		got := purgeShort(c.trades, c.splits)
		if (len(got) == 1) != c.warned {
			t.Errorf("%s: %v", c.what, got)
		}
		if c.warned &&
			(got[0].Code != "PURGE_SHORT" || got[0].Pointer != "/splits" ||
				!strings.Contains(got[0].Message, "max_holding_candles")) {
			t.Errorf("%s: %+v", c.what, got[0])
		}
	}
}

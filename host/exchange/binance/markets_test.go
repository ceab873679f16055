package binance

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestRulesOfASymbol: order types, the bound of stops and that of the position are those of the symbol.
func TestRulesOfASymbol(t *testing.T) {
	b := newBench(t, plainWrap)
	s := &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())}, tuning: brisk}
	req := b.Request()
	req.RunID, req.Symbols = "svc_rules", []market.Symbol{"BTC/USDT"}
	if _, err := s.Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context(), false)
	info, r := s.info(t.Context(), "BTCUSDT")
	if r.Outcome != "ACCEPTED" || len(info.Symbols) != 1 {
		t.Fatalf("%+v", r)
	}
	g := info.Symbols[0]
	m, err := s.rules("BTC/USDT", &g)
	if err != nil || m.MaxStops != 5 || !m.MaxPosition.IsZero() ||
		!slices.Equal(m.OrderTypes,
			[]string{"market", "market_quote", "limit", "stop", "stop_limit", "post_only", "exit_pair"}) {
		t.Errorf("%+v %v", m, err)
	}
	g.OrderTypes, g.OcoAllowed,
		g.QuoteOrderQtyMarketAllowed = []string{"LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS"}, false, false
	g.Filters = append(g.Filters, map[string]any{"filterType": "MAX_POSITION", "maxPosition": "10.50"})
	m, err = s.rules("BTC/USDT", &g)
	if err != nil || m.MaxPosition.String() != "10.5" ||
		!slices.Equal(m.OrderTypes, []string{"market", "limit", "stop", "post_only"}) {
		t.Errorf("%+v %v", m, err)
	}
}

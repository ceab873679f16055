package journal

import (
	"fmt"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestHoldings: what is left of the fills of all runs on an account, fees in the base taken off, since one
// of them handed what there was to the operator.
func TestHoldings(t *testing.T) {
	o := openAt(t, t.TempDir())
	j := o.Journal
	seq, runs := 0, 0
	trade := func(run, account string, symbol market.Symbol, side market.Side, quantity, fee, asset string) {
		t.Helper()
		r, err := j.Resume(t.Context(), run)
		if err != nil {
			runs++
			info := sampleInfo(runs)
			info.RunID, info.Mode, info.Exchange, info.AccountID = run, Live, "binance", account
			if r, err = j.Begin(t.Context(), info); err != nil {
				t.Fatal(err)
			}
		}
		seq++
		id := fmt.Sprint("order", seq)
		if err := r.Intent(t.Context(),
			Intent{Seq: int64(seq), ClientOrderID: id, Symbol: symbol, Body: []byte("{}"),
				CreatedAt: 1}); err != nil {
			t.Fatal(err)
		}
		_, err = r.Fill(t.Context(), Fill{
			Symbol: symbol, TradeID: fmt.Sprint(seq), ClientOrderID: id, Side: side,
			Quantity: decimal.MustParse(quantity),
			Price:    decimal.MustParse("100"), Fee: decimal.MustParse(fee), FeeAsset: asset,
			Liquidity: market.Taker, Time: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	show := func(account string) string {
		t.Helper()
		list, err := j.Holdings(t.Context(), "binance", account)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, h := range list {
			out += fmt.Sprint(h.Symbol, " ", h.Quantity.Trim(0), " ", h.Runs, "; ")
		}
		return out
	}
	trade("svc_a", "one", "BTC/USDT", market.Buy, "2", "0.002", "BTC")
	trade("svc_a", "one", "BTC/USDT", market.Sell, "0.5", "0.1", "USDT")
	trade("svc_b", "one", "ETH/USDT", market.Buy, "3", "0", "")
	trade("svc_c", "two", "BTC/USDT", market.Buy, "7", "0", "")
	trade("svc_b", "one", "BTC/USDT", market.Sell, "1", "0", "")
	if got, want := show("one"), "BTC/USDT 0.498 [svc_a svc_b]; ETH/USDT 3 [svc_b]; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	trade("svc_d", "one", "BTC/USDT", market.Buy, "0.1", "0", "")
	r, err := j.Resume(t.Context(), "svc_d")
	if err == nil {
		err = r.Log(t.Context(), KindReleased, map[string]any{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show("one"), "BTC/USDT 0.1 [svc_d]; "; got != want {
		t.Errorf("released: %s, want %s", got, want)
	}
	if got, want := show("two"), "BTC/USDT 7 [svc_c]; "; got != want {
		t.Errorf("the other account: %s, want %s", got, want)
	}
}

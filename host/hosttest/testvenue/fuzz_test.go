package testvenue

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/govalues/decimal"
)

// FuzzRequest: whatever is asked is answered or refused, never a panic, and no balance goes below zero.
func FuzzRequest(f *testing.F) {
	for i, query := range []string{
		"symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.1",
		"symbol=PEPEUSDT&side=BUY&type=MARKET&quoteOrderQty=9999",
		"symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=FOK&quantity=1&price=30000",
		"symbol=BTCUSDT&windowSize=m", "symbols=[\"BTCUSDT\"]&limit=-1",
		"symbol=BTTCUSDT&side=BUY&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=9214157800&price=99999999999&stopPrice=1",
	} {
		f.Add(uint8(i), query)
	}
	v, err := Start(Options{History: 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = v.Close() })
	all := endpoints()
	paths := slices.Sorted(maps.Keys(all))
	f.Fuzz(func(t *testing.T, path uint8, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		e := all[paths[int(path)%len(paths)]]
		q := request{Values: values}
		v.markets.mu.Lock()
		defer v.markets.mu.Unlock()
		v.matcher.limits = limits{weight: 1 << 30, orders: 1 << 30}
		if e.read(q) == nil {
			_, _ = e.serve(v.server.api, q)
		}
		v.matcher.pass(1)
		for asset, amount := range v.matcher.account.balances {
			if amount.IsNeg() || v.matcher.locked(asset).Cmp(plus(amount, decimal.MustNew(1, 8))) > 0 {
				t.Fatalf("%s: %s of which %s is locked, after %s", asset, amount, v.matcher.locked(asset),
					query)
			}
		}
	})
}

package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestGridsOnTheWire trades every symbol of the test venue that rounds badly, from entry to exit, between the
// real connector and the venue: ticks of 10^-8, steps of 1 and 100, quotes in coins, prices of nine digits.
func TestGridsOnTheWire(t *testing.T) {
	t.Parallel()
	book := shared(t)
	for pair, quantity := range map[market.Symbol]float64{
		"PEPE/USDT": 8_103_727.7, "SHIB/USDT": 4_264_392, "BTTC/USDT": 83_333_333.3,
		"1000SATS/USDT": 390_625.5,
		"DOGE/USDT":     810.04, "USDC/USDT": 99.99,
		"BNB/USDT": 0.16666, "CAKE/BNB": 127.811, "VET/BNB": 11571.39, "ETH/BTC": 0.14999,
		"BTC/IDRT":  0.0062599,
		"PAXG/USDT": 0.0416667,
	} {
		t.Run(strings.ReplaceAll(string(pair), "/", "-"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "grid "+strings.ToLower(string(pair)), book)
			defer r.close()
			r.symbol = pair
			for asset, amount := range map[string]string{"BNB": "10", "BTC": "1", "IDRT": "100000000"} {
				if asset == pair.Quote() {
					r.do(testvenue.Script{Action: "balance", Args: []string{asset, amount}})
				}
			}
			r.decide = func(v *View) []market.Intent {
				last := v.Candles[0].Close
				entry := buy(quantity)
				entry.StopLoss, entry.TakeProfit = &market.Child{Percent: 0.0512345},
					&market.Child{Percent: 0.0498765}
				low := limit(market.Buy, quantity, last*0.9123456789)
				low.ClientRef = "low"
				switch v.Step {
				case 1:
					entry.Symbol, low.Symbol = pair, pair
					return []market.Intent{entry, low}
				case 3:
					return []market.Intent{{Action: market.Cancel, Symbol: pair, Ref: "low"}}
				case 4:
					return []market.Intent{{Action: market.Close, Symbol: pair}}
				}
				return nil
			}
			r.start()
			ok := r.trades()
			for range 3 {
				ok = ok && r.step()
			}
			ok = ok && r.until(20*time.Second, "exits for what was bought",
				func() bool { return len(openSells(r.venue)) == 2 })
			for range 2 {
				ok = ok && r.step()
			}
			ok = ok && r.settled()
			if err := r.stop(); !errors.Is(err, errStop) || !ok {
				r.errorf("%v; %+v", err, r.notes())
			}
			r.check(dec{})
			for i, want := range map[int]market.OrderStatus{0: market.StatusFilled,
				1: market.StatusCanceled} {
				if o := r.notes().orders[i]; o.Status != want {
					r.errorf("order %d is %s %s, want %s", i, o.Status, o.Reason, want)
				}
			}
			if n := len(r.venue.Trades()); n < 2 {
				r.errorf("%d trades", n)
			}
			if w := r.notes().warnings; len(w) > 0 {
				r.errorf("it warned: %v", w)
			}
		})
	}
}

func openSells(v *testvenue.Venue) []testvenue.Order {
	var list []testvenue.Order
	for _, o := range v.Orders() {
		if o.Open && o.Side == "SELL" {
			list = append(list, o)
		}
	}
	return list
}

package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// What requests weigh at Binance; of the open orders without a symbol.
const (
	weighsOpenOrders = 80
	weighsTrades     = 20
	weighsAccount    = 20
	weighsMarkets    = 20
)

// TestPollingStaysWithinAQuarter: with 256 symbols, quiet or with orders on many of them, what a run asks for
// by itself is at most a quarter of the 6,000 weights of a minute; and every symbol has its turn.
func TestPollingStaysWithinAQuarter(t *testing.T) {
	ring.Undetected(t, "it simulates hours of polling")
	symbols := ring.Size(64, 256, 256)
	for _, orders := range []int{0, 20} {
		t.Run(fmt.Sprint(orders, " orders"), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				for i := range symbols {
					b.symbols = append(b.symbols, market.Symbol(fmt.Sprintf("A%03d/USDT", i)))
				}
				asked := map[market.Symbol]int{}
				b.venue.fillsAsked = func(s market.Symbol) { asked[s]++ } // under the venue's lock
				b.decide = func(v *View) ([]market.Intent, error) {
					var list []market.Intent
					for i := range orders {
						if v.Step == 2 || v.Step == 4 {
							in := limit(market.Buy, 0.1, 60+float64(v.Step)/10)
							in.Symbol = b.symbols[i*symbols/20]
							list = append(list, in)
						}
					}
					return list, nil
				}
				b.limits.OrdersPerMinute, b.limits.OrdersPerSecond = 1000, d("1000")
				b.start()
				b.sleep(2 * minute)
				before := b.calls
				most := 0
				for range map[bool]int{true: 2 + symbols/4, false: 5}[orders == 0] {
					b.sleep(time.Minute)
					weight := 0
					for call, each := range map[string]int{
						"orders": weighsOpenOrders, "fills": weighsTrades, "balances": weighsAccount,
						"markets": weighsMarkets,
					} {
						weight += each * (b.calls[call] - before[call])
					}
					before, most = b.calls, max(most, weight)
				}
				if most > 6000/4 || most < 2*weighsOpenOrders {
					t.Errorf("%d weights in a minute", most)
				}
				b.check(b.stop())
				for _, s := range b.symbols {
					if orders == 0 && asked[s] == 0 {
						t.Fatalf("the fills of %s were never read", s)
					}
				}
			})
		})
	}
}

package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestMarketOvertakesExits: the market jumps over the stop or the target while the exits of an entry are on
// their way, so that the venue refuses them. The books stay right, and the run says that the position is not
// protected.
func TestMarketOvertakesExits(t *testing.T) {
	t.Parallel()
	book := shared(t)
	for name, part := range map[string]float64{"target": 1.03, "stop": 0.97} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "overtaken "+name, book)
			defer r.close()
			last := 0.0
			r.around = func(call string, n int) func(exchange.Result) {
				if call == "submit" && n == 2 {
					to := fmt.Sprintf("%.2f", last*part)
					r.do(testvenue.Script{Action: "jump", Args: []string{"BTCUSDT", to}})
				}
				return nil
			}
			r.decide = func(v *View) []market.Intent {
				if v.Step != 1 {
					return nil
				}
				last = v.Candles[0].Close
				in := buy(0.01)
				in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.01}, &market.Child{Percent: 0.01}
				return []market.Intent{in}
			}
			r.start()
			if !r.trades() || !r.step() || !r.step() {
				return
			}
			r.until(30*time.Second, "a word about the exits", func() bool {
				return r.phase() == Halted ||
					strings.Contains(strings.Join(r.notes().warnings, " "), "EXIT_NOT_PLACED")
			})
			if err := r.stop(); !errors.Is(err, errStop) {
				r.errorf("%v; %+v", err, r.notes())
			}
			r.check(dec{})
		})
	}
}

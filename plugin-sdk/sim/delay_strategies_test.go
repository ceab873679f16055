package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

func runDelayed(t *testing.T, execution string, delay int, d sim.Decider) (*sim.Engine, *journal) {
	t.Helper()
	series := sdktest.Synth(42, 8000, synthStart, time.Hour)
	var j journal
	e := engine(t, sim.Config{
		Symbols: []market.Symbol{series.Symbol}, Timeframe: series.Timeframe,
		InitialCash: decimal.MustNew(10000, 0), Options: options(t, execution), DelayCandles: delay,
	}, &j)
	if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{series}), d); err != nil {
		t.Fatal(err)
	}
	return e, &j
}

// TestDelayKeepsTheTradesOfBreakout: its stop is canceled and posted anew at each close.
func TestDelayKeepsTheTradesOfBreakout(t *testing.T) {
	base, _ := runDelayed(t, "", 0, &breakout{})
	for delay := 1; delay <= 2; delay++ {
		late, _ := runDelayed(t, "", delay, &breakout{})
		was, is := base.Stats().Trades, late.Stats().Trades
		t.Logf("delay %d: equity %.2f, base %.2f", delay, late.Equity(), base.Equity())
		if is < was*8/10 || is > was*12/10 {
			t.Errorf("delay %d: %d trades, base %d", delay, is, was)
		}
	}
}

// guard buys now and then and keeps an exit order at the same level while it is long:
// placed once, or told again at each close.
type guard struct {
	order market.Intent // its price is a factor of the entry price
	again string        // "", replace, or anew
	i     int
}

func (g *guard) Decide(e *sim.Engine) ([]market.Intent, error) {
	g.i++
	quantity, entry, held := e.Holding(0)
	open := e.OpenOrders()
	switch {
	case quantity == 0 && g.i%60 == 1:
		return []market.Intent{{Size: market.Size{Kind: market.SizeQuantity, Value: 1}, ClientRef: "in"}}, nil
	case quantity == 0 && len(open) > 0 && open[0].Ref == "exit":
		return []market.Intent{{Action: market.CancelAll}}, nil
	case quantity == 0:
		return nil, nil
	case held >= 40 && held <= 41:
		return []market.Intent{{Action: market.CancelAll}, {Action: market.Close}}, nil
	case held > 40:
		return nil, nil
	}
	exit := g.order
	exit.Side, exit.Size.Kind, exit.ClientRef = market.Sell, market.SizePosition, "exit"
	exit.LimitPrice, exit.StopPrice = exit.LimitPrice*entry, exit.StopPrice*entry
	there := slices.ContainsFunc(open, func(o market.Order) bool { return o.Ref == "exit" })
	switch {
	case !there:
		return []market.Intent{exit}, nil
	case g.again == "replace":
		exit.Action, exit.Ref, exit.Size = market.Replace, "exit", market.Size{}
		return []market.Intent{exit}, nil
	case g.again == "anew":
		return []market.Intent{{Action: market.Cancel, Ref: "exit"}, exit}, nil
	}
	return nil, nil
}

// TestDelayKeepsWhatIsToldAgain: a stop or target that is told again at each close with
// the same terms works as one that was placed once. That a limit which is told again
// arrives again, and so fills at a better open, is made equal by resting_gap.
func TestDelayKeepsWhatIsToldAgain(t *testing.T) {
	const resting = `{"resting_gap":"open","slippage_bps":0}`
	for name, order := range map[string]market.Intent{
		"stop":   {Type: market.Stop, StopPrice: 0.98},
		"target": {Type: market.Limit, LimitPrice: 1.02},
	} {
		for delay := range 3 {
			_, once := runDelayed(t, resting, delay, &guard{order: order})
			want := fillTexts(once)
			if n := len(want); n < 200 {
				t.Fatalf("%d fills", n)
			}
			for _, again := range []string{"replace", "anew"} {
				e, j := runDelayed(t, resting, delay, &guard{order: order, again: again})
				if got := fillTexts(j); !slices.Equal(got, want) {
					t.Errorf("%s, delay %d, %s: %d fills, want %d, first difference %s",
						name, delay, again, len(got), len(want), firstDifference(got, want))
				}
				if s := e.Stats(); s.RejectedIntents > 0 || (s.LateMessages > 0) != (delay > 0) {
					t.Errorf("%s, delay %d, %s: %+v", name, delay, again, s)
				}
			}
		}
	}
}

func fillTexts(j *journal) []string {
	var list []string
	for i := range j.fills {
		f := &j.fills[i]
		list = append(list, fmt.Sprint(f.Time, " ", f.Side, " ", f.Quantity.Trim(0), " ", f.Price.Trim(0)))
	}
	return list
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%d: %s, want %s", i, a[i], b[i])
		}
	}
	return "at the end"
}

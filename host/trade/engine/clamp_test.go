package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// allCash buys for a part of the cash.
func allCash(part float64) market.Intent {
	return market.Intent{Size: market.Size{Kind: market.SizeCashFraction, Value: part}}
}

// TestSizesMeetTheLimits: a fraction of the cash is cut down to what the limits leave: after a profit that
// makes all the cash more than the equity at the start, and where one order may only be small. The journal
// has what was wanted.
func TestSizesMeetTheLimits(t *testing.T) {
	limits := func(change func(*risk.Limits)) risk.Limits {
		l := loose()
		change(&l)
		return l
	}
	cap := d("250")
	real := risk.Defaults(true).Tighten(risk.Entry{MaxOrderNotional: &cap})
	for name, c := range map[string]struct {
		limits      risk.Limits
		first, next float64 // what the entries may cost
		clamped     int
	}{
		"the equity at the start": {limits(func(*risk.Limits) {}), 10000, 10000, 1},
		"a real account": {
			limits(func(l *risk.Limits) {
				*l = real
				l.MaxDrawdown, l.MaxDailyLoss = d("1"), d("1")
			}), 250, 250, 2},
		"a position": {limits(func(l *risk.Limits) { l.MaxPositionFraction = d("0.1") }), 1000, 1000, 2},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.limits = c.limits
			start := nth(time.Now())
			b.venue.price = func(n int64) float64 { return 100 + float64(n-start) }
			b.decide = func(v *View) ([]market.Intent, error) {
				switch v.Step {
				case 1, 5:
					return []market.Intent{allCash(1)}, nil
				case 3, 7:
					return []market.Intent{{Action: market.Close}}, nil
				}
				return nil, nil
			}
			b.start()
			b.sleep(10 * minute)
			b.check(b.stop())
			if len(b.trades) != 2 || b.orders[0].Status != market.StatusFilled ||
				b.orders[2].Status != market.StatusFilled {
				t.Fatalf("%s: %+v %v", name, b.orders, b.warnings)
			}
			if b.warned(string(risk.SizeClamped)) != (c.clamped > 0) {
				t.Errorf("%s: %v", name, b.warnings)
			}
			intents, err := b.book.Intents(t.Context(), b.engine.cfg.RunID, journal.Page{})
			if err != nil {
				t.Fatal(err)
			}
			wanted := 0
			for _, in := range intents.Items {
				if strings.Contains(string(in.Body), `"wanted":`) {
					wanted++
				}
			}
			if wanted != c.clamped {
				t.Errorf("%s: %d orders say what was wanted, want %d", name, wanted, c.clamped)
			}
			for i, want := range []float64{c.first, c.next} {
				cost, _ := order.Times(b.trades[i].EntryPrice, b.trades[i].Quantity).Float64()
				if cost > want || cost < 0.99*want {
					t.Errorf("%s: trade %d cost %g, want %g less the fee", name, i, cost, want)
				}
			}
		})
	}
}

// TestFixedSizesAreRefused: a quantity that the strategy names is sent as it is or not at all.
func TestFixedSizesAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		most := d("250")
		b.limits.MaxOrderNotional = &most
		b.at(1, buy(5))
		b.start()
		b.sleep(3 * minute)
		b.check(b.stop())
		if len(b.orders) != 1 || b.orders[0].Reason != market.Reason(risk.OrderNotional) {
			t.Errorf("%+v", b.orders)
		}
	})
}

// TestNoOrderIsPossible: a start under whose limits the market takes nothing is refused with the numbers.
func TestNoOrderIsPossible(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		most := d("4")
		b.limits.MaxOrderNotional = &most
		b.start()
		err := b.wait()
		f, ok := errors.AsType[*Fault](err)
		if !ok || f.Code != CodeExchange || f.Reason != ReasonNoOrder ||
			!strings.Contains(f.Message, "is worth 5, and the cash and the limits of risk leave 4") {
			t.Error(err)
		}
	})
}

// TestASharesQuantityIsWrittenDown: the quantity that a share of the equity comes to is in the journal
// before the order leaves, so that a crash between the decision and the venue leaves nothing, or an order
// of that quantity; what is cut to the cash says so in the orders that the journal keeps.
func TestASharesQuantityIsWrittenDown(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxPositionFraction, b.limits.MaxGrossFraction = d("2"), d("2")
		b.decide = func(v *View) ([]market.Intent, error) {
			if share := map[int64]float64{1: 0.5, 3: 1}[v.Step]; share > 0 {
				size := market.Size{Kind: market.SizeEquityFraction, Value: share}
				return []market.Intent{{Size: size}}, nil
			}
			return nil, nil
		}
		b.start()
		b.sleep(5 * minute)
		b.check(b.stop())
		if len(b.orders) != 2 || b.orders[0].Status != market.StatusFilled || b.orders[0].Clamped ||
			b.orders[1].Status != market.StatusFilled || !b.orders[1].Clamped {
			t.Fatalf("%+v", b.orders)
		}
		intents, err := b.book.Intents(t.Context(), b.engine.cfg.RunID, journal.Page{})
		if err != nil || len(intents.Items) != 2 {
			t.Fatal(intents, err)
		}
		if want := `"quantity":"` + b.orders[0].FilledQuantity.String() + `"`; !strings.Contains(
			string(intents.Items[0].Body), want) {
			t.Errorf("%s has no %s", intents.Items[0].Body, want)
		}
		kept, err := b.book.Log(t.Context(), b.engine.cfg.RunID, journal.Page{}, LogOrders)
		if err != nil {
			t.Fatal(err)
		}
		cut := 0
		for _, e := range kept.Items {
			orders, err := decodeOrders(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range orders {
				if o.Clamped {
					cut = int(o.ID)
				}
			}
		}
		if cut != 2 {
			t.Errorf("order %d is said to have been cut", cut)
		}
	})
}

package trade_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat/trade"
)

// Of +10, -10 and +20 from 100, six orders: the loss comes first, at 110, at 120 or at 130.
func TestOrderingsByHand(t *testing.T) {
	o := trade.Orderings([]float64{10, -10, 20}, 100)
	want := []trade.Count{{Drawdown: 10.0 / 130, Orders: 2}, {Drawdown: 10.0 / 120, Orders: 1},
		{Drawdown: 10.0 / 110, Orders: 1}, {Drawdown: .1, Orders: 2}}
	if o.N != 6 || !slices.Equal(o.Counts, want) {
		t.Errorf("%+v", o)
	}
	near(t, "observed", o.Observed, 10.0/110, 0)
	near(t, "min", o.Min, 10.0/130, 0)
	near(t, "max", o.Max, .1, 0)
	near(t, "mean", o.Mean, (20.0/130+10.0/120+10.0/110+.2)/6, 1e-15)
	near(t, "final", o.FinalEquity, 120, 0)
}

// The orders are all there, and the observed one among them; rounding splits nothing.
func TestOrderings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trades := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 6).Draw(t, "trades")
		before := slices.Clone(trades)
		o := trade.Orderings(trades, 100)
		if !slices.Equal(trades, before) {
			t.Fatal("the trades were changed")
		}
		total, factorial := 0, 1
		for i := range trades {
			factorial *= i + 1
		}
		for i, c := range o.Counts {
			total += c.Orders
			if i > 0 && c.Drawdown-o.Counts[i-1].Drawdown < 1e-12 {
				t.Fatal("two drawdowns that are one")
			}
		}
		if total != factorial || o.N != factorial ||
			!(o.Min <= o.Observed && o.Observed <= o.Max && o.Min <= o.Mean+1e-15 && o.Mean <= o.Max+1e-15) {
			t.Fatalf("%+v", o)
		}
	})
	// 0.1 + 0.2 + 0.3 in any order is one drawdown.
	if o := trade.Orderings([]float64{-.1, -.2, -.3}, 1); len(o.Counts) != 1 || o.Counts[0].Orders != 6 {
		t.Errorf("%+v", o)
	}
}

package sim_test

import (
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// TestTargetMoveLeadsToTheTarget: what goes and what comes make the target of what is held, the first never
// turns the position, and both only come together through zero.
func TestTargetMoveLeadsToTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantity := func(name string) decimal.Decimal {
			return decimal.MustNew(rapid.Int64Range(-5, 5).Draw(t, name), 1)
		}
		held, goal := quantity("held"), quantity("goal")
		less, more, all, err := sim.TargetMove(goal, held)
		if err != nil || less.IsNeg() || more.IsNeg() || less.Cmp(held.Abs()) > 0 {
			t.Fatalf("less %s, more %s of %s (%v)", less, more, held, err)
		}
		if all != (less.IsPos() && less.Cmp(held.Abs()) == 0) {
			t.Fatalf("all %t, less %s of %s", all, less, held)
		}
		if less.IsPos() && more.IsPos() && goal.IsNeg() == held.IsNeg() {
			t.Fatalf("less %s and more %s from %s to %s", less, more, held, goal)
		}
		after := rat(t, held)
		step := func(q decimal.Decimal, up bool) {
			if up {
				after.Add(after, rat(t, q))
			} else {
				after.Sub(after, rat(t, q))
			}
		}
		step(less, held.IsNeg())
		step(more, goal.IsPos())
		if after.Cmp(rat(t, goal)) != 0 {
			t.Fatalf("from %s by %s and %s to %s, want %s", held, less, more, after.FloatString(2), goal)
		}
	})
}

// TestTargetOfNothingHasAReference: zero closes at any price, anything else needs one.
func TestTargetOfNothingHasAReference(t *testing.T) {
	in := market.Intent{Size: market.Size{Kind: market.SizeTargetFraction}}
	cash, step := decimal.MustNew(1000, 0), decimal.MustNew(1, 2)
	if q, code := sim.TargetSize(&in, cash, decimal.Zero, step); !q.IsZero() || code != "" {
		t.Errorf("%s %q", q, code)
	}
	in.Size.Value = -0.5
	if _, code := sim.TargetSize(&in, cash, decimal.Zero, step); code != market.ReasonInvalidPrice {
		t.Errorf("%q", code)
	}
	q, code := sim.TargetSize(&in, cash, decimal.MustNew(3, 0), step)
	if q.String() != "-166.66" || code != "" {
		t.Errorf("%s %q", q, code)
	}
}

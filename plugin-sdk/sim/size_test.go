package sim_test

import (
	"math/big"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// rat is a decimal as a fraction.
func rat(t *rapid.T, d decimal.Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		t.Fatal(d)
	}
	return r
}

// TestEquitySizeInFractions: the quantity is a whole number of steps, not above the share of the equity by
// the price, or by what a unit loses, and less than a step below it. Fractions are the second opinion.
func TestEquitySizeInFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dec := func(name string, low, high int64, scale int) decimal.Decimal {
			return decimal.MustNew(rapid.Int64Range(low, high).Draw(t, name), scale)
		}
		equity, last := dec("equity", 1, 1e16, 7), dec("last", 1, 1e10, 4)
		step := decimal.MustNew(1, rapid.IntRange(0, 9).Draw(t, "step"))
		in := market.Intent{Side: market.Side(rapid.IntRange(0, 1).Draw(t, "side")),
			Size: market.Size{Kind: market.SizeEquityFraction, Value: float64(rapid.IntRange(1, 1000).Draw(t,
				"share")) / 1000}}
		share, err := sim.Decimal(in.Size.Value)
		if err != nil {
			t.Fatal(err)
		}
		per := rat(t, last)
		if rapid.Bool().Draw(t, "limit") {
			limit := dec("limit", 1, 1e10, 4)
			in.Type, in.LimitPrice = market.Limit, sim.Float(limit)
			per = rat(t, limit)
		}
		if rapid.Bool().Draw(t, "risk") {
			in.Size.Kind = market.SizeRiskFraction
			leg := dec("leg", 1, 9999, 4)
			switch in.StopLoss = new(market.Child); rapid.IntRange(0, 2).Draw(t, "leg") {
			case 0:
				in.StopLoss.Percent = sim.Float(leg)
				per.Mul(per, rat(t, leg))
			case 1:
				in.StopLoss.TrailAmount = sim.Float(leg)
				per = rat(t, leg)
			case 2:
				stop := dec("stop", 1, 1e10, 4)
				in.StopLoss.Price = sim.Float(stop)
				if per.Sub(per, rat(t, stop)); in.Side == market.Sell {
					per.Neg(per)
				}
			}
		}
		q, code := sim.EquitySize(&in, equity, last, step)
		if per.Sign() <= 0 {
			if code != market.ReasonInvalidBracket {
				t.Fatalf("a stop loss on the wrong side: %s %q", q, code)
			}
			return
		}
		exact := new(big.Rat).Mul(rat(t, equity), rat(t, share))
		exact.Quo(exact, per)
		below := new(big.Rat).Sub(exact, rat(t, q))
		steps := new(big.Rat).Quo(rat(t, q), rat(t, step))
		tooLarge := exact.Cmp(rat(t, decimal.MustNew(1e9, 0))) >= 0 && code == market.ReasonInvalidQuantity
		if !tooLarge && (code != "" || !steps.IsInt() || below.Sign() < 0 || below.Cmp(rat(t, step)) >= 0) {
			t.Fatalf("%s %q, exactly %s", q, code, exact.FloatString(12))
		}
	})
}

package trade_test

import (
	"math"
	"slices"
	"testing"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/trade"
)

func TestRuin(t *testing.T) {
	near(t, "edge", trade.Ruin(.6, 5), math.Pow(2.0/3, 5), 1e-15)
	near(t, "fair", trade.Ruin(.5, 10), 1, 0)
	near(t, "no chance", trade.Ruin(0, 10), 1, 0)
	near(t, "certain", trade.Ruin(1, 10), 0, 0)
}

func TestCosts(t *testing.T) {
	near(t, "net", trade.NetPnL(1500, 600000, 10), 900, 1e-9)
	bps, why := trade.BreakEvenBps(1500, 600000)
	if near(t, "break even", bps, 25, 1e-12); why != "" {
		t.Error(why)
	}
	near(t, "nothing left at break even", trade.NetPnL(1500, 600000, bps), 0, 1e-9)
	if _, why := trade.BreakEvenBps(1500, 0); why != stat.NoTrades {
		t.Error(why)
	}
}

func TestParticipate(t *testing.T) {
	c := trade.Participate([]float64{1, 5, 0, 2}, []float64{100, 50, 0, 40}, .06)
	if want := []float64{.01, .1, 0, .05}; !slices.Equal(c.Participation, want) ||
		!slices.Equal(c.Violations, []int{1}) || len(c.Untradable) != 0 {
		t.Errorf("%+v", c)
	}
	near(t, "scale", c.MaxScale, .6, 1e-15)
	c = trade.Participate([]float64{1, 2}, []float64{10, 0}, .5)
	if !slices.Equal(c.Untradable, []int{1}) || !slices.Equal(c.Violations, []int{1}) || c.MaxScale != 0 ||
		c.MaxScaleReason != "" {
		t.Errorf("%+v", c)
	}
	if c := trade.Participate([]float64{0}, []float64{10}, .5); c.MaxScaleReason != stat.NoTrades {
		t.Errorf("%+v", c)
	}
}

func TestMeanImpact(t *testing.T) {
	// 1 % of the volume at a volatility of 2 % costs 0.2 %, 4 % of it twice as much.
	got, why := trade.MeanImpact([]float64{1, 0, 4}, []float64{100, 0, 100}, []float64{.02, .02, .02},
		[]float64{100, 0, 300})
	if near(t, "mean", got, .25*.002+.75*.004, 1e-15); why != "" {
		t.Error(why)
	}
	if _, why := trade.MeanImpact([]float64{1}, []float64{0}, []float64{1}, []float64{1}); why != stat.NotApplicable {
		t.Error(why)
	}
	if _, why := trade.MeanImpact(nil, nil, nil, nil); why != stat.NoTrades {
		t.Error(why)
	}
}

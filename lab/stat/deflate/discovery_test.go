package deflate_test

import (
	"testing"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Lopez de Prado, Lipton and Zoonekynd (2025), to the digits that they printed.
func TestPublishedDiscovery(t *testing.T) {
	planned, why := deflate.PlannedFDR(.05, .05, .315)
	if near(t, "planned", planned, .581, 5e-4); why != "" {
		t.Error(why)
	}
	observed, why := deflate.ObservedFDR(.05, .036/.079, 0, .5, 24, sharpe.Shape{Skew: -2.448, Kurt: 10.164})
	if near(t, "observed", observed, .306, 5e-4); why != "" {
		t.Error(why)
	}
}

func TestDiscoveryAtTheEnds(t *testing.T) {
	f := sharpe.Normal()
	for p, want := range map[float64]float64{0: 1, 1: 0} {
		planned, why := deflate.PlannedFDR(p, .05, .2)
		if near(t, "planned", planned, want, 0); why != "" {
			t.Error(why)
		}
		observed, why := deflate.ObservedFDR(p, .1, 0, .2, 100, f)
		if near(t, "observed", observed, want, 0); why != "" {
			t.Error(why)
		}
	}
	if _, why := deflate.PlannedFDR(1, .05, 1); why != stat.NotApplicable {
		t.Error(why)
	}
	if _, why := deflate.ObservedFDR(.5, 1e6, 0, .2, 100, f); why != stat.NotApplicable {
		t.Error("impossible under both:", why)
	}
	impossible := sharpe.Shape{Skew: 4, Kurt: 3}
	if _, why := deflate.ObservedFDR(.5, .1, 0, .5, 100, impossible); why != stat.NotApplicable {
		t.Error(why)
	}
}

func TestMinBacktestLength(t *testing.T) {
	// "No more than 45 configurations for five years": Bailey et al. (2014).
	b, why := deflate.MinBacktestLength(45, 1)
	if near(t, "years", b.Years, 5, .01); why != "" || b.UpperBound < b.Years {
		t.Error(b, why)
	}
	if b, why := deflate.MinBacktestLength(1, 2); b != (deflate.BacktestLength{}) || why != "" {
		t.Error(b, why)
	}
	for _, c := range [][2]float64{{.5, 1}, {10, 0}, {10, -1}, {10, 1e-200}} {
		if _, why := deflate.MinBacktestLength(c[0], c[1]); why != stat.NotApplicable {
			t.Errorf("%v: %q", c, why)
		}
	}
}

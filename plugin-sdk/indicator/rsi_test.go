package indicator

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestRSIAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, n := range periods() {
			want := talib.Rsi(in, n)
			r := NewRSI(n)
			for i, x := range in {
				r.Add(x)
				ready(t, "RSI", &r, i, n)
				// A window that only stood still is 0 there and 100 here.
				if still := n == 2 && want[i] == 0; i >= n && !still {
					near(t, "RSI", i, r.Value(), want[i], 1e-9)
				}
			}
		}
	})
}

// The rule written out over the whole series, in the same order of operations: equal to
// the last bit.
func TestRSIIsTheDocumentedRule(t *testing.T) {
	in := column(walk(3, 3000, 100), closeOf)
	for _, n := range []int{1, 2, 14} {
		r := NewRSI(n)
		var up, down float64
		for i, x := range in {
			r.Add(x)
			if i == 0 {
				continue
			}
			d := x - in[i-1]
			u, w := max(d, 0), max(-d, 0)
			if i <= n {
				up += u / float64(n)
				down += w / float64(n)
			} else {
				up = (float64(up*float64(n-1)) + u) / float64(n)
				down = (float64(down*float64(n-1)) + w) / float64(n)
			}
			want := 100.0
			if down != 0 {
				want = 100 - 100/(1+up/down)
			}
			if i >= n && r.Value() != want {
				t.Fatalf("n %d, candle %d: %.17g, want %.17g", n, i, r.Value(), want)
			}
		}
	}
}

func TestRSIAtTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		step func(i int) float64
		want float64
	}{
		"rising":  {func(i int) float64 { return float64(i) }, 100},
		"falling": {func(i int) float64 { return -float64(i) }, 0},
		"still":   {func(int) float64 { return 5 }, 100},
	} {
		r := NewRSI(14)
		for i := range 40 {
			r.Add(c.step(i))
		}
		if !r.Ready() || r.Value() != c.want {
			t.Errorf("%s: %g, want %g", name, r.Value(), c.want)
		}
	}
}

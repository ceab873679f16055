package selection

import (
	"math"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/multiple"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// threeYears is the number of days of the table of probabilities.
const threeYears = 1095

// TestTableOfProbabilities plays the searches of that table: the best of N trials is judged, when
// none has skill and when one has an annual Sharpe ratio of 2. Every share must be that of the
// page, within what so many searches can differ from it.
func TestTableOfProbabilities(t *testing.T) {
	ring.Slow(t, "it plays 900 searches")
	ring.Undetected(t, "it plays 900 searches in one goroutine")
	for _, c := range []struct {
		n, searches    int
		noise, skilled [3]float64 // shares that pass DSR 2014, DSR 2025, Sidak
	}{
		{10, 600, [3]float64{.0003, .026, .058}, [3]float64{.26, .66, .84}},
		{100, 300, [3]float64{.0017, .050, .053}, [3]float64{.20, .55, .59}},
	} {
		var noise, skilled [3]int
		for r := range c.searches {
			s := random.New(uint64(c.n), random.Calibrate, uint64(r))
			trials := make([]sample, c.n)
			returns := make([]float64, threeYears)
			var deviation float64 // of the last trial
			for k := range trials {
				for i := range returns {
					returns[i] = s.Normal()
				}
				m, _ := stat.Of(returns)
				trials[k], deviation = sample{m.Mean / m.SD, threeYears, sharpe.ShapeOf(m)}, m.SD
			}
			judgeBest(&noise, trials)
			// A higher mean changes nothing else.
			trials[c.n-1].ratio += 2 / math.Sqrt(365) / deviation
			judgeBest(&skilled, trials)
		}
		for i, name := range []string{"DSR 2014", "DSR 2025", "Sidak"} {
			within(t, name+" of noise", noise[i], c.searches, c.noise[i])
			within(t, name+" of skill", skilled[i], c.searches, c.skilled[i])
		}
	}
}

// judgeBest counts which of the three numbers let the best trial pass.
func judgeBest(passed *[3]int, trials []sample) {
	best := trials[0]
	var ratios []float64
	for _, x := range trials {
		ratios = append(ratios, x.ratio)
		if x.ratio > best.ratio {
			best = x
		}
	}
	variance, _ := stat.Variance(ratios, 1)
	n := float64(len(trials))
	old, now := best.deflated(deflate.Trials{Variance: variance, N: n}, 0)
	sidak := multiple.SidakOfSharpe(best.ratio, best.t, n)
	for i, pass := range []bool{old.value >= DSRPass, now.value >= DSRPass, sidak <= 1-DSRPass} {
		if pass {
			passed[i]++
		}
	}
}

// within allows four standard deviations and the rounding of the page.
func within(t *testing.T, what string, count, of int, want float64) {
	t.Helper()
	n := float64(of)
	if got, room := float64(count)/n, 4*math.Sqrt(want*(1-want)/n)+.005; math.Abs(got-want) > room {
		t.Errorf("%s: %.4f of %d pass, want %.4f within %.4f", what, got, of, want, room)
	}
}

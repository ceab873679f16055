package bootstrap_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
)

// panelOf, spa and stepM are for panels that are not interrupted.
func panelOf(rows [][]float64, drawn [][]int) *bootstrap.Panel {
	p, err := bootstrap.NewPanel(context.Background(), rows, drawn)
	if err != nil {
		panic(err)
	}
	return p
}

func spa(p *bootstrap.Panel, block float64) (bootstrap.SPA, stat.Reason) {
	r, why, err := p.SPA(context.Background(), block)
	if err != nil {
		panic(err)
	}
	return r, why
}

func stepM(p *bootstrap.Panel, block, alpha float64) (bootstrap.StepM, stat.Reason) {
	r, why, err := p.StepM(context.Background(), block, alpha)
	if err != nil {
		panic(err)
	}
	return r, why
}

// noise is a panel of n observations whose column k has the mean means[k].
func noise(seed uint64, n int, means ...float64) [][]float64 {
	s := random.New(seed, random.Noise, 0)
	rows := make([][]float64, n)
	for i := range rows {
		for _, m := range means {
			rows[i] = append(rows[i], m+s.Normal())
		}
	}
	return rows
}

// Two rows and hand-made replicas: every number can be followed.
func TestRealityCheckByHand(t *testing.T) {
	rows := [][]float64{{1, 0}, {3, 1}}
	p := panelOf(rows, [][]int{{0, 0}, {1, 1}, {0, 1}, {1, 0}})
	statistic, test := p.RealityCheck()
	// Means 2 and 0.5. The replicas are off by (-1, -.5), (1, .5), (0, 0), (0, 0).
	near(t, "statistic", statistic, 2*math.Sqrt2, 1e-15)
	if test.AsExtreme != 0 || test.B != 4 || test.P != .2 {
		t.Errorf("%+v", test)
	}
	// A best strategy that loses is reached by every replica that does not fall further.
	p = panelOf([][]float64{{-1, -2}, {-3, -2}}, [][]int{{0, 0}, {1, 1}, {0, 1}, {1, 0}})
	if statistic, test := p.RealityCheck(); statistic != -2*math.Sqrt2 || test.AsExtreme != 4 || test.P != 1 {
		t.Errorf("%v %+v", statistic, test)
	}
}

func TestSPAFindsWhatIsThere(t *testing.T) {
	rows := noise(1, 300, 0, .3, -.2, 0)
	p := panelOf(rows, bootstrap.Replicas(1, 199, 300, 3))
	r, why := spa(p, 3)
	if why != "" {
		t.Fatal(why)
	}
	if r.Upper.P != .005 || r.Lower.B != 199 {
		t.Errorf("%+v", r)
	}
	for k := range rows[0] {
		var x []float64
		for _, row := range rows {
			x = append(x, row[k])
		}
		v, _, _ := bootstrap.Variance(x, 3)
		near(t, "omega", r.Omega[k], math.Sqrt(v), 1e-12)
		near(t, "threshold", r.Threshold[k], -math.Sqrt(v*2*math.Log(math.Log(300))/300), 1e-12)
	}
}

// A column far below the threshold is poor and must not make the test less sure: the
// consistent p-value is that without it, the upper one is larger.
func TestPoorColumnsDoNotCount(t *testing.T) {
	rows := noise(7, 300, .1, -9, -9, -9, -9, -9, -9, -9, -9)
	drawn := bootstrap.Replicas(1, 499, 300, 2)
	all, _ := spa(panelOf(rows, drawn), 2)
	for i := range rows {
		rows[i] = rows[i][:1]
	}
	alone, _ := spa(panelOf(rows, drawn), 2)
	if all.Consistent != alone.Consistent || all.Upper.AsExtreme <= all.Consistent.AsExtreme {
		t.Errorf("with %+v, alone %+v", all, alone)
	}
}

// The three p-values ascend, and no strategy above 0 means a statistic of 0 and a p of 1.
func TestTheRecentringsAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(3, 25).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "k")
		rows := make([][]float64, n)
		for i := range rows {
			for range k {
				rows[i] = append(rows[i], rapid.Float64Range(-1, 1).Draw(t, "d"))
			}
		}
		p := panelOf(rows, bootstrap.Replicas(rapid.Uint64().Draw(t, "seed"), 49, n, 2))
		r, why := spa(p, 2)
		if why != "" {
			return
		}
		if !(r.Lower.P <= r.Consistent.P && r.Consistent.P <= r.Upper.P) {
			t.Fatalf("%+v", r)
		}
		if r.Statistic < 0 || r.Statistic == 0 && r.Lower.P != 1 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestStepM(t *testing.T) {
	rows := noise(2, 400, 0, .5, -.1, .4, .01)
	p := panelOf(rows, bootstrap.Replicas(1, 499, 400, 2))
	r, why := stepM(p, 2, .05)
	if why != "" || !slices.Equal(r.Rejected, []int{1, 3}) {
		t.Fatalf("%+v %s", r, why)
	}
	// Each step has fewer columns to be surprised by.
	if len(r.CriticalValues) < 2 || !slices.IsSortedFunc(r.CriticalValues, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	}) {
		t.Error(r.CriticalValues)
	}
	for k, d := range r.T {
		if rejected := slices.Contains(r.Rejected,
			k); rejected != (d > r.CriticalValues[len(r.CriticalValues)-1]) {
			t.Errorf("column %d: t %v, critical %v", k, d, r.CriticalValues)
		}
	}
	// When all are rejected there is no step without a rejection.
	good := noise(3, 400, 2, 3)
	r, _ = stepM(panelOf(good, bootstrap.Replicas(1, 99, 400, 2)), 2, .1)
	if !slices.Equal(r.Rejected, []int{0, 1}) || len(r.CriticalValues) != 1 {
		t.Errorf("%+v", r)
	}
}

// Among ten without skill, something is rejected in at most the share alpha.
func TestStepMHoldsItsLevel(t *testing.T) {
	const trials = 200
	wrong := 0
	for k := range uint64(trials) {
		p := panelOf(noise(k, 100, make([]float64, 10)...), bootstrap.Replicas(k, 99, 100, 1))
		if r, _ := stepM(p, 1, .1); len(r.Rejected) > 0 {
			wrong++
		}
	}
	if share := float64(wrong) / trials; share > .16 {
		t.Errorf("%v of the trials reject", share)
	}
}

func TestNothingToTest(t *testing.T) {
	flat := panelOf([][]float64{{1, 2}, {1, 3}, {1, 5}}, [][]int{{0, 1, 2}})
	if _, why := spa(flat, 2); why != stat.ZeroVariance {
		t.Error(why)
	}
	if _, why := stepM(flat, 2, .1); why != stat.ZeroVariance {
		t.Error(why)
	}
	short := panelOf([][]float64{{1}, {2}}, [][]int{{0, 1}})
	if _, why := spa(short, 2); why != stat.TooFewReturns {
		t.Error(why)
	}
	if _, why := stepM(panelOf([][]float64{{1}}, [][]int{{0}}), 2, .1); why != stat.TooFewReturns {
		t.Error(why)
	}
}

// stopping is a context that is done after it has been asked so many times.
type stopping struct {
	context.Context
	left *int
}

func (s stopping) Err() error {
	if *s.left--; *s.left < 0 {
		return context.Canceled
	}
	return nil
}

// Whoever has had enough is heard between replicas, columns and steps, wherever that is.
func TestPanelsAreInterrupted(t *testing.T) {
	rows := noise(2, 60, 0, .5, -.1)
	drawn := bootstrap.Replicas(1, 9, 60, 2)
	work := func(ctx context.Context) error {
		p, err := bootstrap.NewPanel(ctx, rows, drawn)
		if err != nil {
			return err
		}
		if _, _, err := p.SPA(ctx, 2); err != nil {
			return err
		}
		// The deviations are there already, but those of another block are not.
		_, _, err = p.StepM(ctx, 3, .05)
		return err
	}
	asked := 0
	for ; ; asked++ {
		left := asked
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := work(stopping{ctx, &left}); err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if asked < 9+3+3+1 {
		t.Errorf("%d chances to stop", asked)
	}
}

// The budget of the page: B = 999 on 1,217 x 200, with CSCV, in 2 s.
func BenchmarkSPA(b *testing.B) {
	rows := noise(1, 1217, make([]float64, 200)...)
	drawn := bootstrap.Replicas(1, 999, 1217, 7)
	for b.Loop() {
		spa(panelOf(rows, drawn), 7)
	}
}

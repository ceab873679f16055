package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Trials are compared on the days that they share with the judged run, be it one less or
// more; one on other days stands in no matrix and is one more independent trial, however
// alike it is.
func TestTrialsOnOtherDays(t *testing.T) {
	returns := noise(2, 0, 300, 1)
	same := ledgerOf(daily(returns), daily(returns)).mustSelect(t)
	near(t, "n_eff of twins", same.Selection.NEff, 1)
	late := daily(append(slices.Clone(returns[:299]), .01))
	late.Date[299] += 10 * day
	partly := ledgerOf(late, daily(returns)).mustSelect(t)
	near(t, "n_eff of twins but for a day", partly.Selection.NEff, 1)
	near(t, "variance of a copy", partly.Selection.TrialSRVariance, *same.Selection.TrialSRVariance)
	if same.Series != 2 || partly.Series != 1 {
		t.Errorf("%+v", partly)
	}
	// dsr_max resamples whole days: a trial that has not all of them is an independent one.
	if a, b := same.Selection, partly.Selection; a.DSRMaxTest.WithoutSeries != 0 ||
		b.DSRMaxTest.WithoutSeries != 1 ||
		*b.DSRMax >= *a.DSRMax {
		t.Errorf("%+v, %+v", a.DSRMaxTest, b.DSRMaxTest)
	}
	longer := ledgerOf(daily(append(slices.Clone(returns), .5, -.5)), daily(returns)).mustSelect(t)
	near(t, "n_eff with a longer trial", longer.Selection.NEff, 1)
	apart := daily(returns)
	for i := range apart.Date {
		apart.Date[i] += 280 * day
	}
	other := ledgerOf(apart, daily(returns), daily(noise(2, 1, 300, 1))).mustSelect(t)
	pair := ledgerOf(daily(returns), daily(noise(2, 1, 300, 1))).mustSelect(t)
	near(t, "n_eff with a trial on other days", other.Selection.NEff, *pair.Selection.NEff+1)
	if other.Series != 2 || *other.Selection.TrialSRVariance == 0 {
		t.Errorf("%+v", other)
	}
}

// pruned is a search in rungs: the trials with the best ratios over the first fifth of the
// days have all of them, the rest only that. best is the index of the best one.
func pruned(list []*Series, finalists int) (out []*Series, best int) {
	fifth := len(list[0].Return) / 5
	cut := func(s *Series) *Series { return daily(s.Return[:fifth]) }
	order := slices.Clone(list)
	slices.SortFunc(order, func(a, b *Series) int {
		x, _ := sharpe.Ratio(a.Return[:fifth], 0, 1)
		y, _ := sharpe.Ratio(b.Return[:fifth], 0, 1)
		return cmp.Compare(y, x)
	})
	for _, s := range list {
		if slices.Index(order, s) >= finalists {
			s = cut(s)
		}
		out = append(out, s)
	}
	return out, slices.Index(list, order[0])
}

// A search in rungs is judged about like the same search in full: its short trials are no
// reason to refute it, and it has a PBO like any other.
func TestRungsAreJudgedLikeWholeTrials(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	var full, rungs, pbo float64
	const searches = 5
	for seed := range uint64(searches) {
		var list []*Series
		market := noise(seed, 99, 1220, .5)
		for i := range 20 {
			own := noise(seed, i, 1220, 0)
			for k := range own {
				own[k] = .9*market[k] + .43*own[k]
			}
			list = append(list, daily(own))
		}
		halved, best := pruned(list, 2)
		judged := func(list []*Series) *Result {
			l := ledgerOf(list...)
			l.Judged = best
			return l.mustSelect(t)
		}
		a, b := judged(list), judged(halved)
		full, rungs = full+*a.Selection.DSR2014/searches, rungs+*b.Selection.DSR2014/searches
		if *b.Selection.NEff > 1.6**a.Selection.NEff || b.Selection.NTrials != 20 || b.Series != 2 {
			t.Errorf("%d: n_eff %v, in full %v", seed, *b.Selection.NEff, *a.Selection.NEff)
		}
		if b.Selection.PBO.Value == nil || len(a.Warnings) != 0 || len(b.Warnings) != 1 ||
			b.Warnings[0].Code != CodeCommonDays ||
			!strings.Contains(b.Warnings[0].Message, "244 of the 1220 days") {
			t.Fatalf("%+v, %v, %v", b.Selection.PBO, a.Warnings, b.Warnings)
		}
		pbo += *b.Selection.PBO.Value / searches
		checkNulls(t, &b.Selection)
	}
	t.Logf("mean deflated ratio of 2014: %v, in full %v; mean PBO %v", rungs, full, pbo)
	if rungs < full-.15 || rungs > full+.02 {
		t.Errorf("mean deflated ratio of 2014: %v, in full %v", rungs, full)
	}
	if pbo < .2 || pbo > .8 {
		t.Errorf("mean PBO of noise: %v", pbo)
	}
}

// Counting too many is the safe side: copies of a trial, the judged one among them, never
// make it more credible, however many there are and wherever they stand. For dsr_max they
// are nothing at all.
func TestCopiesNeverHelp(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	rapid.Check(t, func(rt *rapid.T) {
		seed, n := rapid.Uint64Range(0, 1000).Draw(rt, "seed"), rapid.IntRange(1, 8).Draw(rt, "n")
		l := search(seed, n, 150, rapid.Float64Range(0, 4).Draw(rt, "annual"))
		dsr := func() (float64, float64, float64) {
			m, err := l.buildMatrix(t.Context())
			x, why := l.sampleJudged()
			if err != nil || why != "" || m.why != "" {
				rt.Fatal(err, why, m.why)
			}
			old, _ := x.deflated(
				deflate.Trials{Variance: m.variance, N: float64(len(l.Trials))},
				m.alike.Correlation,
			)
			return old.value, *l.mustSelect(t).Selection.DSRMax, m.alike.NEff
		}
		old, now, nEff := dsr()
		copied := l.Trials[rapid.IntRange(0, n-1).Draw(rt, "copied")]
		for i := range rapid.IntRange(1, 30).Draw(rt, "copies") {
			twin := copied
			twin.Key = fmt.Sprintf("copy %d", i)
			l.Trials = append(l.Trials, twin)
		}
		more, since, independent := dsr()
		if more > old+1e-12 || since != now || independent < nEff-1e-9 {
			rt.Fatalf(
				"2014: %v, with copies %v; by resampling: %v, %v; n_eff %v, %v",
				old,
				more,
				now,
				since,
				nEff,
				independent,
			)
		}
	})
}

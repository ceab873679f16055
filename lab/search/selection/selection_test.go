package selection

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/multiple"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// TestPublishedDeflation takes the numerical examples of both papers, to the digits that
// they printed: Bailey and Lopez de Prado (2014), Lopez de Prado, Lipton and Zoonekynd
// (2025).
func TestPublishedDeflation(t *testing.T) {
	x := sample{2.5 / math.Sqrt(250), 1250, sharpe.Shape{Skew: -3, Kurt: 10}}
	old, _ := x.deflated(deflate.Trials{Variance: .5 / 250, N: 100}, 0)
	if math.Abs(old.value-.9004) > 5e-5 || old.why != "" {
		t.Error(old)
	}
	x = sample{.036 / .079, 24, sharpe.Shape{Skew: -2.448, Kurt: 10.164}}
	if _, now := x.deflated(
		deflate.Trials{Variance: .1, N: 10},
		0,
	); math.Abs(now.value-.416) > 5e-4 ||
		now.why != "" {
		t.Error(now)
	}
}

// A search does not make a ratio more credible: trials whose ratios happen to be equal
// narrow the error of 2025, but not below that of one trial.
func TestEqualTrialsDeflateNothing(t *testing.T) {
	x := sample{.1, 400, sharpe.Shape{Skew: 0, Kurt: 3}}
	_, alone := x.deflated(deflate.Trials{Variance: 0, N: 1}, 0)
	for _, n := range []float64{2, 5, 20} {
		plain, _, _ := deflate.DSR2025(x.ratio, x.t, x.shape, deflate.Trials{Variance: 0, N: n}, 0)
		if _, now := x.deflated(
			deflate.Trials{Variance: 0, N: n},
			0,
		); now != alone ||
			plain.Probability <= alone.value {
			t.Errorf("%v trials: %v, by the formula %v, alone %v", n, now, plain, alone)
		}
	}
	if _, now := x.deflated(deflate.Trials{Variance: .002, N: 20}, .5); now.value >= alone.value {
		t.Error("twenty trials take nothing")
	}
}

// TestSelectionByItsParts computes every number again from the returns.
func TestSelectionByItsParts(t *testing.T) {
	l := search(3, 12, 400, 1.5)
	l.Trials = append(l.Trials, Trial{Key: "z"}) // one whose files are gone
	l.TestPeeks, l.PostPeek = 2, true
	r := l.mustSelect(t)
	s := r.Selection
	if s.NTrials != 13 || s.NTrialsSource != "registry" || s.TestPeeks != 2 || !s.PostPeek ||
		r.Series != 12 || r.T != 400 || len(s.Undefined) != 0 {
		t.Errorf("%+v", r)
	}
	var ratios, correlations []float64
	for i, a := range l.Trials[:12] {
		x, _ := sharpe.Ratio(a.Series.Return, 0, 1)
		ratios = append(ratios, x)
		for _, b := range l.Trials[:i] {
			correlations = append(correlations, pearson(a.Series.Return, b.Series.Return))
		}
	}
	variance, _ := stat.Variance(ratios, 1)
	nEff := deflate.NEff(12, stat.Mean(correlations)) + 1
	near(t, "n_eff", s.NEff, nEff)
	near(t, "variance", s.TrialSRVariance, variance)
	m, _ := stat.Of(l.Trials[11].Series.Return)
	ratio, shape := m.Mean/m.SD, sharpe.ShapeOf(m)
	expected, _ := deflate.ExpectedMax(13)
	years := expected / (ratio * math.Sqrt(year24))
	near(t, "min_btl_years", s.MinBTLYears, years*years)
	psr, _ := sharpe.PSR2012(ratio, math.Sqrt(variance)*expected, 400, shape)
	near(t, "dsr_2014", s.DSR2014, psr)
	rho := max(0, stat.Mean(correlations))
	now, _, _ := deflate.DSR2025(ratio, 400, shape, deflate.Trials{Variance: variance, N: 13}, rho)
	near(t, "dsr_2025", s.DSR2025, now.Probability)
	near(t, "p_sidak", s.PSidak, 1-math.Pow(stat.Phi(ratio*20), nEff))
	byHand(t, l, &s, ratio)
	if *s.PBO.NSplits != 252 || s.PBO.S != 10 || s.PBO.Value == nil || s.PBO.ProbOOSLoss == nil ||
		s.PBO.Slope == nil {
		t.Errorf("%+v", s.PBO)
	}
	if !(*s.SPAP.Lower <= *s.SPAP.Consistent && *s.SPAP.Consistent <= *s.SPAP.Upper) || s.RCP == nil ||
		r.SmallestP != .001 {
		t.Errorf("%+v", s.SPAP)
	}
}

// byHand resamples the twelve trials with a loop of its own; the thirteenth is nothing but
// one more independent one.
func byHand(t *testing.T, l *TrialList, s *Selection, ratio float64) {
	t.Helper()
	block, _ := bootstrap.PolitisWhite(l.Trials[11].Series.Return)
	reached := 0
	for i := range uint64(999) {
		most := math.Inf(-1)
		rows := bootstrap.Indices(random.New(0, random.DSRMax, i), 400, block.Stationary)
		for _, trial := range l.Trials[:12] {
			mean, sample := stat.Mean(trial.Series.Return), make([]float64, 400)
			for k, at := range rows {
				sample[k] = trial.Series.Return[at] - mean
			}
			m, _ := stat.Of(sample)
			most = max(most, m.Mean/m.SD)
		}
		if most >= ratio {
			reached++
		}
	}
	p := 1 - (1-float64(1+reached)/1000)*stat.Phi(ratio*20)
	near(t, "dsr_max", s.DSRMax, 1-p)
	near(t, "p", s.DSRMaxTest.P, p)
	near(t, "mean_block", s.DSRMaxTest.MeanBlock, block.Stationary)
	if x := s.DSRMaxTest; *x.Reached != reached || x.B != 999 || x.Series != 12 || x.WithoutSeries != 1 {
		t.Errorf("%+v, by hand %d", x, reached)
	}
}

func pearson(x, y []float64) float64 {
	a, b := stat.Deviations(x), stat.Deviations(y)
	return stat.Dot(a, b) / math.Sqrt(stat.Dot(a, a)*stat.Dot(b, b))
}

// TestHaircutByHand follows Harvey and Liu for two trials whose returns have no
// autocorrelation to speak of.
func TestHaircutByHand(t *testing.T) {
	l := search(5, 2, 730, 2)
	s := l.mustSelect(t).Selection
	p := make([]float64, 2)
	for i := range p {
		returns := l.Trials[i].Series.Return
		x, _ := sharpe.Ratio(returns, 0, 1)
		rho, _ := stat.Lag1(returns)
		annual, _ := sharpe.Corrected(x*math.Sqrt(year24), year24, rho)
		if p[i] = 1; annual > 0 {
			p[i] = stat.StudentTwoSided(annual*math.Sqrt(2), 23)
		}
		if i == 1 {
			cut := 1 - stat.StudentT(min(1, 2*p[1]), 23)/(annual*math.Sqrt(2))
			near(t, "bonferroni", s.Haircut.Bonferroni, cut)
		}
	}
	adjusted := multiple.Adjust(p)
	if adjusted.Holm[1] == adjusted.Bonferroni[1] {
		near(t, "holm", s.Haircut.Holm, *s.Haircut.Bonferroni)
	}
	if !(*s.Haircut.BY >= 0 && *s.Haircut.Bonferroni > 0 && *s.Haircut.Holm <= *s.Haircut.Bonferroni) {
		t.Errorf("%+v", s.Haircut)
	}
}

// A trial that loses for sure has found nothing: it must not make room for the others as
// a rejected hypothesis would.
func TestLosersDoNotMakeRoom(t *testing.T) {
	for _, annual := range []float64{-20, 0} {
		l := ledgerOf(daily(noise(1, 0, 730, annual)), daily(noise(1, 1, 730, -20)),
			daily(noise(1, 2, 730, 2.5)))
		if p := l.computePValues(); p[1] != 1 || annual < 0 && p[0] != 1 {
			t.Error(p)
		}
	}
}

// With one trial nothing is deflated: the ratio of 2014 is PSR(0), that of 2025 its own
// form of it, dsr_max nearly the same, and the variance is the squared standard error.
func TestOneTrial(t *testing.T) {
	l := search(9, 1, 300, 1)
	s := l.mustSelect(t).Selection
	x, _ := sampleOf(l.Trials[0].Series.Return)
	old, _ := sharpe.PSR2012(x.ratio, 0, x.t, x.shape)
	now, _ := sharpe.PSR2025(x.ratio, 0, x.t, x.shape)
	se, _ := sharpe.SE(x.ratio, x.t, x.shape)
	near(t, "dsr_2014", s.DSR2014, old)
	near(t, "dsr_2025", s.DSR2025, now)
	if x.ratio = *s.DSRMax; math.Abs(x.ratio-now) > .03 {
		t.Errorf("dsr_max %v, by formula %v", x.ratio, now)
	}
	near(t, "p_sidak", s.PSidak, 1-now)
	near(t, "variance", s.TrialSRVariance, se*se)
	near(t, "n_eff", s.NEff, 1)
	near(t, "min_btl_years", s.MinBTLYears, 0)
	if *s.Haircut.Bonferroni != 0 || *s.Haircut.Holm != 0 || *s.Haircut.BY != 0 {
		t.Errorf("one trial costs %v", *s.Haircut.Bonferroni)
	}
	if s.SPAP.Consistent == nil || s.Undefined["pbo.value"] != stat.Insufficient {
		t.Errorf("%+v", s)
	}
}

// Trials that count but whose ratios are unknown: the variance is still that of the
// judged one, and each is one more independent trial.
func TestTrialsWithoutASeries(t *testing.T) {
	l := ledgerOf(nil, nil, nil, daily(noise(9, 0, 300, 1)))
	s := l.mustSelect(t).Selection
	alone := search(9, 1, 300, 1).mustSelect(t).Selection
	near(t, "variance", s.TrialSRVariance, *alone.TrialSRVariance)
	near(t, "n_eff", s.NEff, 4)
	if s.NTrials != 4 ||
		!(*s.DSR2014 < *alone.DSR2014 && *s.DSR2025 < *alone.DSR2025 && *s.DSRMax < *alone.DSRMax &&
			*s.PSidak > *alone.PSidak) {
		t.Errorf("%+v", s)
	}
}

// A trial that trades on a few days and loses has no ratio in many replicas, and a very high
// one in others: it counts as one independent trial. One that never trades costs nothing.
func TestTrialsThatHardlyTrade(t *testing.T) {
	judged := daily(noise(9, 0, 700, 2.5))
	alone := ledgerOf(judged).mustSelect(t).Selection
	rare := make([]float64, 700)
	for i := range 5 {
		rare[100*i] = -.01
	}
	idle := ledgerOf(daily(make([]float64, 700)), judged).mustSelect(t).Selection
	with := ledgerOf(daily(rare), judged).mustSelect(t).Selection
	near(t, "dsr_max beside an idle trial", idle.DSRMax, *alone.DSRMax)
	x, _ := sampleOf(judged.Return)
	near(t, "p beside a rare one", with.DSRMaxTest.P,
		1-(1-*alone.DSRMaxTest.P)*stat.Phi(x.ratio*math.Sqrt(700)))
	if with.DSRMaxTest.Series != 1 || with.DSRMaxTest.WithoutSeries != 1 || idle.DSRMaxTest.Series != 2 {
		t.Errorf("%+v, %+v", with.DSRMaxTest, idle.DSRMaxTest)
	}
}

func TestNothingToJudge(t *testing.T) {
	ratios := []string{
		"dsr_max",
		"dsr_max_test.p",
		"dsr_max_test.reached",
		"dsr_max_test.mean_block",
		"min_btl_years",
		"dsr_2014",
		"dsr_2025",
		"p_sidak",
		"haircut.bonferroni",
		"haircut.holm",
		"haircut.by",
	}
	tests := []string{"rc_p", "spa_p.lower", "spa_p.consistent", "spa_p.upper"}
	pbo := []string{"pbo.value", "pbo.n_splits", "pbo.prob_oos_loss", "pbo.slope"}
	few := search(1, 3, 300, 1)
	few.Why = stat.Insufficient
	for _, c := range []struct {
		name      string
		l         *TrialList
		want      stat.Reason
		undefined []string
	}{
		{"too few trades", few, stat.Insufficient, slices.Concat(ratios, pbo)},
		{"no walk-forward", ledgerOf(nil), stat.TooFewReturns,
			slices.Concat(ratios, pbo, tests, []string{"trial_sr_variance"})},
		{"no trades", ledgerOf(daily(make([]float64, 300))), stat.ZeroVariance,
			slices.Concat(ratios, pbo, tests, []string{"trial_sr_variance"})},
	} {
		r := c.l.mustSelect(t)
		if got := slices.Sorted(maps.Keys(r.Selection.Undefined)); !slices.Equal(got,
			slices.Sorted(slices.Values(c.undefined))) {
			t.Errorf("%s: %v is undefined", c.name, got)
		}
		if want := (Verdict{Verdict: Inconclusive, ReasonCode: string(c.want)}); r.Verdict != want {
			t.Errorf("%s: %+v", c.name, r.Verdict)
		}
		checkNulls(t, &r.Selection)
	}
}

// checkNulls fails unless each null, and nothing else, has a reason.
func checkNulls(t testing.TB, s *Selection) {
	t.Helper()
	text, err := json.Marshal(s)
	var got map[string]any
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	nulls := map[string]bool{}
	for name, v := range got {
		if v == nil {
			nulls[name] = true
		}
		if part, is := v.(map[string]any); is && name != "undefined" {
			for inner, v := range part {
				if v == nil {
					nulls[name+"."+inner] = true
				}
			}
		}
	}
	for name := range s.Undefined {
		if !nulls[name] {
			t.Errorf("%s has a reason and a value", name)
		}
		delete(nulls, name)
	}
	if len(nulls) > 0 {
		t.Errorf("%v have no reason", nulls)
	}
}

// TestBlock holds the JSON against its documented form.
func TestBlock(t *testing.T) {
	text, err := json.Marshal(search(1, 10, 200, 1).mustSelect(t).Selection)
	var got map[string]json.RawMessage
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	for name, inner := range map[string][]string{
		"n_trials": nil, "n_trials_family": nil, "n_trials_source": nil, "n_eff": nil,
		"trial_sr_variance": nil, "min_btl_years": nil, "dsr_2014": nil, "dsr_2025": nil,
		"dsr_max": nil, "dsr_max_test": {"b", "mean_block", "n_series", "n_without_series", "p", "reached"},
		"p_sidak": nil, "haircut": {"bonferroni", "by", "holm"},
		"pbo": {"n_splits", "prob_oos_loss", "s", "slope", "value"}, "rc_p": nil,
		"spa_p": {"consistent", "lower", "upper"}, "test_peeks": nil, "post_peek": nil, "undefined": nil,
	} {
		var part map[string]any
		if inner != nil {
			if err := json.Unmarshal(got[name], &part); err != nil ||
				!slices.Equal(slices.Sorted(maps.Keys(part)), inner) {
				t.Errorf("%s: %s", name, got[name])
			}
		}
		if _, has := got[name]; !has {
			t.Errorf("%s is missing", name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("besides: %v", got)
	}
}

// The order in which trials are listed changes nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	rapid.Check(t, func(rt *rapid.T) {
		l := search(rapid.Uint64Range(0, 50).Draw(rt, "seed"), 4, 120, 1)
		r := l.mustSelect(t)
		order := rapid.Permutation([]int{0, 1, 2, 3}).Draw(rt, "order")
		other := &TrialList{PeriodsPerYear: l.PeriodsPerYear, Judged: slices.Index(order, l.Judged)}
		for _, i := range order {
			other.Trials = append(other.Trials, l.Trials[i])
		}
		q := other.mustSelect(t)
		a, b := r.Selection.numbers(), q.Selection.numbers()
		for i := range a {
			if b[i] == nil || math.Abs(*a[i]-*b[i]) > 1e-9*math.Abs(*a[i]) {
				rt.Fatalf("number %d: %v, in another order %v", i, *a[i], deref(b[i]))
			}
		}
		if r.Verdict != q.Verdict {
			rt.Fatalf("%+v, in another order %+v", r.Verdict, q.Verdict)
		}
		checkNulls(t, &r.Selection)
	})
}

func (s *Selection) numbers() []*float64 {
	all := []*float64{
		s.NEff,
		s.TrialSRVariance,
		s.MinBTLYears,
		s.DSRMax,
		s.DSRMaxTest.P,
		s.DSR2014,
		s.DSR2025,
		s.PSidak,
		s.Haircut.Bonferroni,
		s.Haircut.Holm,
		s.Haircut.BY,
		s.RCP,
		s.SPAP.Lower,
		s.SPAP.Consistent,
		s.SPAP.Upper,
	}
	return slices.DeleteFunc(all, func(x *float64) bool { return x == nil })
}

func TestACancelledSelectionSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search(1, 2, 100, 1).Select(ctx, flat{}, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

var _ Holding = (*Candles)(nil)

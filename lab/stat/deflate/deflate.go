// Package deflate holds what a search does to a Sharpe ratio: how large the best of N
// ratios is when none has any skill, the deflated ratio of 2014, of 2025 and by resampling,
// the backtest length that a search needs, false discovery rates, and how many of the
// trials were independent.
//
// N counts trials and N_eff independent ones; both are real numbers of at least 1.
// Sharpe ratios are per observation but where a name has annual. The package imports
// packages stat and sharpe.
package deflate

import (
	"context"
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Trials are the Sharpe ratios of a search: their variance (ddof 1) and how many there
// were.
type Trials struct{ Variance, N float64 }

// TrialsOf counts trial ratios; ddof is that of the variance (1). One trial has variance 0,
// which the expected maximum of one multiplies by 0 anyway. The reason is TooFewReturns
// without a trial.
func TrialsOf(ratios []float64, ddof int) (Trials, stat.Reason) {
	if len(ratios) == 1 {
		return Trials{0, 1}, ""
	}
	v, why := stat.Variance(ratios, ddof)
	return Trials{v, float64(len(ratios))}, why
}

// benchmark is sqrt(variance) * ExpectedMax(N).
func (t Trials) benchmark() (float64, stat.Reason) {
	expected, why := ExpectedMax(t.N)
	if why == "" && !(t.Variance >= 0) {
		why = stat.NotApplicable
	}
	return math.Sqrt(t.Variance) * expected, why
}

// Deflated is a deflated Sharpe ratio: the benchmark that the search has earned, and the
// probability that the true ratio is above it.
type Deflated struct{ Benchmark, Probability float64 }

// DSR2014 is PSR2012 with the benchmark sqrt(variance) * ExpectedMax(N), for a ratio sr
// over t observations. Source: Bailey and Lopez de Prado (2014).
func DSR2014(sr, t float64, f sharpe.Shape, trials Trials) (Deflated, stat.Reason) {
	benchmark, why := trials.benchmark()
	if why != "" {
		return Deflated{}, why
	}
	p, why := sharpe.PSR2012(sr, benchmark, t, f)
	return Deflated{benchmark, p}, why
}

// DSR2025 is PSR2025 with the benchmark sqrt(variance) * ExpectedMax(N), the approximation
// as in the paper, and the standard error times
//
//	sqrt(rho + (1 - rho) sd^2)
//
// for the exact standard deviation sd of that maximum and the mean correlation rho of the
// trials, in [0, 1]: choosing the best narrows what is each trial's own, not what they have
// in common. rho is 0 in the paper. The variance is already that of correlated trials, so N
// is all of them. unscaled is the probability without the factor. Source: Lopez de Prado,
// Lipton and Zoonekynd (2025).
func DSR2025(
	sr, t float64,
	f sharpe.Shape,
	trials Trials,
	rho float64,
) (d Deflated, unscaled float64, why stat.Reason) {
	benchmark, why := trials.benchmark()
	if why != "" {
		return Deflated{}, 0, why
	}
	most, why := ExactMax(trials.N)
	if why != "" {
		return Deflated{}, 0, why
	}
	scale := math.Sqrt(rho + float64((1-rho)*float64(most.SD*most.SD)))
	p, why := sharpe.PSR2025Scaled(sr, benchmark, t, f, scale)
	if why != "" {
		return Deflated{}, 0, why
	}
	unscaled, why = sharpe.PSR2025(sr, benchmark, t, f)
	return Deflated{benchmark, p}, unscaled, why
}

// gamma is the Euler-Mascheroni constant.
const gamma = 0.57721566490153286

// MostTrials is the largest N of this package; beyond it a maximum comes near the edge
// of the quadrature.
const MostTrials = 1e15

// ExpectedMax is the expected maximum of n independent standard normals, approximately:
// (1 - gamma) Z(1 - 1/n) + gamma Z(1 - 1/(n e)), and 0 for n = 1. It overstates by 2 %
// at n = 10. Between 1 and 1.32 the formula falls under 0, which no expected maximum
// does; who judges by it must not let that make a benchmark easier than none. n is in
// [1, MostTrials], else the reason is NotApplicable. Source: Bailey and Lopez de Prado
// (2014), The Deflated Sharpe Ratio.
func ExpectedMax(n float64) (float64, stat.Reason) {
	switch {
	case !(n >= 1 && n <= MostTrials):
		return 0, stat.NotApplicable
	case n == 1:
		return 0, ""
	}
	return stat.Finite((1-gamma)*stat.UpperZ(1/n) + gamma*stat.UpperZ(1/(n*math.E)))
}

// Maximum is the distribution of the maximum of N independent standard normals.
type Maximum struct{ Mean, SD float64 }

// ExactMax integrates the density n phi(z) Phi(z)^(n-1), which makes sense for every
// real n >= 1; the same domain as ExpectedMax.
func ExactMax(n float64) (Maximum, stat.Reason) {
	switch {
	case !(n >= 1 && n <= MostTrials):
		return Maximum{}, stat.NotApplicable
	case n == 1:
		return Maximum{0, 1}, ""
	}
	const edge, panels = 12, 96
	density := func(z float64) float64 {
		return n * stat.Density(z) * math.Exp((n-1)*math.Log1p(-stat.Upper(z)))
	}
	rule := stat.GaussLegendre(20)
	mean := rule.Integrate(func(z float64) float64 { return z * density(z) }, -edge, edge, panels)
	// Around the mean: E z^2 - mean^2 would cancel for large n.
	variance := rule.Integrate(func(z float64) float64 {
		return (z - mean) * (z - mean) * density(z)
	}, -edge, edge, panels)
	return Maximum{mean, math.Sqrt(variance)}, ""
}

// BacktestLength is how long a backtest must be before the best of a search is not
// expected to reach a Sharpe ratio by chance alone, in years.
type BacktestLength struct{ Years, UpperBound float64 }

// MinBacktestLength is (ExpectedMax(n) / target)^2 with the bound 2 ln n / target^2, for
// n trials and an annual target. The reason is NotApplicable unless the target is above
// 0. Source: Bailey, Borwein, Lopez de Prado and Zhu (2014), Pseudo-Mathematics and
// Financial Charlatanism.
func MinBacktestLength(n, targetAnnual float64) (BacktestLength, stat.Reason) {
	expected, why := ExpectedMax(n)
	if why == "" && !(targetAnnual > 0) {
		why = stat.NotApplicable
	}
	if why != "" {
		return BacktestLength{}, why
	}
	years := expected / targetAnnual
	out := BacktestLength{years * years, 2 * math.Log(n) / (targetAnnual * targetAnnual)}
	if math.IsInf(out.Years, 0) || math.IsInf(out.UpperBound, 0) {
		return BacktestLength{}, stat.NotApplicable
	}
	return out, ""
}

// PlannedFDR is the share of false discoveries among the tests that reject: with p the
// prior probability of skill, alpha the level and beta the probability of missing skill,
//
//	1 / (1 + (1 - beta) p / (alpha (1 - p)))
//
// The reason is NotApplicable when no test can reject. Source: Lopez de Prado, Lipton
// and Zoonekynd (2025).
func PlannedFDR(p, alpha, beta float64) (float64, stat.Reason) {
	missed, found := alpha*(1-p), (1-beta)*p
	return stat.Finite(missed / (missed + found))
}

// ObservedFDR is the probability that there is no skill, given sr over t observations:
// the ratio is sr0 without skill and sr1 with it, p is the prior probability of skill,
// and either is weighed by 1 - PSR2025. The reason is NotApplicable when sr is
// impossible under both. Source: Lopez de Prado, Lipton and Zoonekynd (2025).
func ObservedFDR(p, sr, sr0, sr1, t float64, f sharpe.Shape) (float64, stat.Reason) {
	p0, why := tail(sr, sr0, t, f)
	if why != "" {
		return 0, why
	}
	p1, why := tail(sr, sr1, t, f)
	if why != "" {
		return 0, why
	}
	without, with := p0*(1-p), p1*p
	return stat.Finite(without / (without + with))
}

// tail is 1 - PSR2025, by symmetry: PSR2025 of the negated ratios is exact where the
// probability is near 1, but only if the shape is mirrored, too.
func tail(sr, benchmark, t float64, f sharpe.Shape) (float64, stat.Reason) {
	return sharpe.PSR2025(-sr, -benchmark, t, sharpe.Shape{Skew: -f.Skew, Kurt: f.Kurt})
}

// Maxima resamples the largest Sharpe ratio that a search has without skill: whole rows of
// its centred returns, so that what trials have in common, copies of each other and days
// with large moves stay as they are.
type Maxima struct {
	columns [][]float64
	rows    int
}

// NewMaxima takes a column for each trial, all of one length; none is changed. A column
// that is constant has no ratio and is never the best: it is left out.
func NewMaxima(columns [][]float64) *Maxima {
	m := &Maxima{}
	for _, x := range columns {
		m.rows = len(x)
		if len(x) > 1 && !stat.AllEqual(x) {
			m.columns = append(m.columns, stat.Deviations(x))
		}
	}
	return m
}

// lanes is how many replicas are made side by side, so that a return that has been fetched
// serves all of them.
const lanes = 4

// Reached counts the replicas whose largest ratio (ddof 1) is at least the given one, among
// the first b; draw is the rows of a replica. It ends early when enough, given how many have of
// how many, returns true; enough may be nil. The error is only that of ctx.
func (m *Maxima) Reached(
	ctx context.Context,
	ratio float64,
	b int,
	draw func(replica int) []int,
	enough func(reached, of int) bool,
) (int, error) {
	counts := make([][lanes]float64, m.rows)
	reached := 0
	for first := 0; first < b && (first == 0 || enough == nil || !enough(reached, first)); first += lanes {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		clear(counts)
		wanted := min(lanes, b-first)
		for lane := range wanted {
			for _, at := range draw(first + lane) {
				counts[at][lane]++
			}
		}
		reached += m.reachedBy(ratio, counts, wanted)
	}
	return reached, nil
}

// dust is the share of a squared mean below which a variance is the rounding of days that are
// all equal in a replica: no ratio.
const dust = 1e-10

// reachedBy is how many of the wanted lanes have a column whose ratio is reached.
func (m *Maxima) reachedBy(ratio float64, counts [][lanes]float64, wanted int) int {
	n := float64(m.rows)
	var found [lanes]bool
	done := 0
	for _, x := range m.columns {
		sums, squares := resampledSums(x, counts)
		for lane := range wanted {
			mean := sums[lane] / n
			variance := max(0, squares[lane]-float64(sums[lane]*mean)) / (n - 1)
			has := variance > float64(dust*float64(mean*mean))
			if !found[lane] && has && mean >= float64(ratio*math.Sqrt(variance)) {
				found[lane] = true
				done++
			}
		}
		if done == wanted {
			break
		}
	}
	return done
}

// resampledSums are the sums of a column and of its squares in each lane. The lanes are
// written out: they are to stay in registers.
func resampledSums(x []float64, counts [][lanes]float64) (sums, squares [lanes]float64) {
	var s0, s1, s2, s3, q0, q1, q2, q3 float64
	counts = counts[:len(x)]
	for t, v := range x {
		c, w := &counts[t], float64(v*v)
		s0 += float64(c[0] * v)
		q0 += float64(c[0] * w)
		s1 += float64(c[1] * v)
		q1 += float64(c[1] * w)
		s2 += float64(c[2] * v)
		q2 += float64(c[2] * w)
		s3 += float64(c[3] * v)
		q3 += float64(c[3] * w)
	}
	return [lanes]float64{s0, s1, s2, s3}, [lanes]float64{q0, q1, q2, q3}
}

// Resampled is the deflated Sharpe ratio by resampling.
type Resampled struct {
	// Reached is how many of B replicas have a trial with at least the ratio.
	Reached, B int
	// P is how often a search without skill finds such a ratio, Probability 1 - P.
	P, Probability float64
}

// DSRMax deflates the ratio of one of the trials by what the best of all of them reaches in
// b replicas without skill, with draw as for Reached. Trials whose returns are not known
// count as independent ones: with u of them P is
//
//	1 - (1 - p) (1 - p1)^u
//
// for the p of the resampling and p1 = 1 - Phi(ratio sqrt(T)). There is at least one
// replica. The error is only that of ctx. Sources: White (2000), A Reality Check for Data
// Snooping; Romano and Wolf (2005), Stepwise Multiple Testing as Formalized Data Snooping;
// Sidak (1967) for u.
func (m *Maxima) DSRMax(
	ctx context.Context,
	ratio float64,
	b, u int,
	draw func(replica int) []int,
) (Resampled, error) {
	reached, err := m.Reached(ctx, ratio, b, draw, nil)
	if err != nil {
		return Resampled{}, err
	}
	p, alone := stat.ResampledP(reached, b), stat.Upper(float64(ratio*math.Sqrt(float64(m.rows))))
	if u > 0 {
		p = -math.Expm1(math.Log1p(-p) + float64(float64(u)*math.Log1p(-alone)))
	}
	return Resampled{Reached: reached, B: b, P: p, Probability: 1 - p}, nil
}

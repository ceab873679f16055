package eval

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
)

// mostIntegrals bounds how many maxima one line may ask for: each is an integral.
const mostIntegrals = 1000

// trialCounts are numbers of trials, which are real: N_eff is.
type trialCounts struct {
	N []float64 `in:"N[]" is:"1..trials"`
}

// trials is what the deflated Sharpe ratio of 2014 is computed from.
type trials struct {
	SR       float64 `in:"sr"`
	Variance float64 `in:"trials_sr_variance" is:">=0"`
	N        float64 `in:"N" is:"1..trials"`
	sample
}

func deflateFunctions() []Function {
	return []Function{
		define("expected_max_z_approx", "[]",
			"Expected maximum of N standard normals, the approximation of the deflated Sharpe ratio.",
			func(in trialCounts) any { return maxima("N", in.N, deflate.ExpectedMax) }),
		define("expected_max_z_exact", "[]", "Expected maximum of N standard normals, by quadrature.",
			func(in trialCounts) any {
				return maxima("N", in.N, func(n float64) (float64, stat.Reason) {
					m, why := deflate.ExactMax(n)
					return m.Mean, why
				})
			}),
		define("sd_of_max_z_exact", "[]",
			"Standard deviation of the maximum of K standard normals, by quadrature.",
			func(in struct {
				K []float64 `in:"K[]" is:"1..trials"`
			}) any {
				return maxima("K", in.K, func(n float64) (float64, stat.Reason) {
					m, why := deflate.ExactMax(n)
					return m.SD, why
				})
			}),
		define("min_backtest_length_years", "years, upper_bound",
			"Years of data before the best of N trials is not expected to reach the target by chance.",
			func(in struct {
				N      float64 `in:"N" is:"1..trials"`
				Target float64 `in:"target_sr_annual" is:">0"`
			}) any {
				b, why := deflate.MinBacktestLength(in.N, in.Target)
				return fields("years", Defined(b.Years, why), "upper_bound", Defined(b.UpperBound, why))
			}),
		define("dsr_2014", "sr0, dsr, pass_95",
			"Deflated Sharpe ratio of 2014; pass_95 says that it is at least 0.95.",
			func(in trials) any {
				return in.dsr2014(func(d deflate.Deflated) any {
					return fields("sr0", d.Benchmark, "dsr", d.Probability, "pass_95", d.Probability >= 0.95)
				})
			}),
		define("dsr_2014_probability", "the number dsr",
			"The same as a number; with one trial nothing is deflated.",
			func(in trials) any {
				return in.dsr2014(func(d deflate.Deflated) any { return d.Probability })
			}).named("dsr N=1 equals psr(0)"),
		define("dsr_from_trial_sharpes", "ddof1 (ours), ddof0",
			"Deflated Sharpe ratio of 2014 from the ratios of all trials, for either variance.",
			func(in struct {
				SR     float64   `in:"sr"`
				Trials []float64 `in:"trial_sharpes[]"`
				sample
			}) any {
				e := in.estimate(in.SR)
				return fields("ddof1", fromTrials(e, in.Trials, 1), "ddof0", fromTrials(e, in.Trials, 0))
			}),
	}
}

func (in trials) dsr2014(show func(deflate.Deflated) any) any {
	e := in.estimate(in.SR)
	d, why := deflate.DSR2014(e.sr, e.t, e.shape, deflate.Trials{Variance: in.Variance, N: in.N})
	if few := e.tooFew(); few != "" {
		why = few
	}
	if why != "" {
		return Undefined{why}
	}
	return show(d)
}

func fromTrials(e estimate, ratios []float64, ddof int) any {
	trials, why := deflate.TrialsOf(ratios, ddof)
	if why == "" {
		why = e.tooFew()
	}
	if why != "" {
		return Undefined{why}
	}
	d, why := deflate.DSR2014(e.sr, e.t, e.shape, trials)
	return Defined(d.Probability, why)
}

func maxima(name string, counts []float64, f func(float64) (float64, stat.Reason)) any {
	if len(counts) > mostIntegrals {
		return tooMuch(name, "%s has %d numbers: at most %d are computed at once", name, len(counts),
			mostIntegrals)
	}
	return each(counts, func(n float64) any { return Defined(f(n)) })
}

func discoveryFunctions() []Function {
	return []Function{
		define("dsr_2025", "sr0, dsr, dsr_no_K_scaling",
			"Deflated Sharpe ratio of 2025, with and without the spread of the maximum of K trials alike "+
				"by rho.",
			func(in struct {
				SR       float64 `in:"sr"`
				K        float64 `in:"K" is:"1..trials"`
				Variance float64 `in:"trials_sr_variance" is:">=0"`
				sample
				Rho float64 `in:"rho (0)" is:"0..1" default:"0"`
			}) any {
				trials := deflate.Trials{Variance: in.Variance, N: in.K}
				d, unscaled, why := deflate.DSR2025(in.SR, in.T, in.of(), trials, in.Rho)
				return fields("sr0", Defined(d.Benchmark, why), "dsr", Defined(d.Probability, why),
					"dsr_no_K_scaling", Defined(unscaled, why))
			}),
		define("pFDR_and_oFDR", "pFDR, oFDR", "Planned and observed false discovery rate.", func(in struct {
			P     float64 `in:"p_H1" is:"0..1"`
			Alpha float64 `in:"alpha" is:"(0,1)"`
			Beta  float64 `in:"beta" is:"0..1"`
			SR    float64 `in:"sr"`
			SR0   float64 `in:"sr0"`
			SR1   float64 `in:"sr1"`
			sample
		}) any {
			return fields("pFDR", Defined(deflate.PlannedFDR(in.P, in.Alpha, in.Beta)),
				"oFDR", Defined(deflate.ObservedFDR(in.P, in.SR, in.SR0, in.SR1, in.T, in.of())))
		}),
		define("n_eff_avg_corr", "[]",
			"Independent trials among M whose series have the mean correlation rho.",
			func(in struct {
				M   []float64 `in:"M[]" is:"1..trials"`
				Rho []float64 `in:"rho[]" is:"-1..1"`
			}) any {
				if bad := sameLength("rho", in.Rho, "M", in.M); bad != nil {
					return bad
				}
				out := make([]float64, len(in.M))
				for i := range in.M {
					out[i] = deflate.NEff(in.M[i], in.Rho[i])
				}
				return out
			}),
		define("effective_rank", "number", "exp of the entropy of the eigenvalues of a correlation matrix.",
			func(in struct {
				Corr [][]float64 `in:"corr[[]]"`
			}) any {
				if bad := correlation("corr", in.Corr); bad != nil {
					return bad
				}
				if len(in.Corr) > deflate.MostSeries {
					return tooMuch("corr", "corr has %d rows: at most %d are computed", len(in.Corr),
						deflate.MostSeries)
				}
				return Defined(deflate.EffectiveRank(in.Corr))
			}),
	}
}

// correlation checks that a matrix is square, symmetric and has a diagonal of 1, all but
// for the rounding of printed numbers.
func correlation(name string, m [][]float64) *Error {
	const slack = 1e-9
	if len(m) == 0 {
		return refused(at(name), "%s is empty", name)
	}
	for i, row := range m {
		if len(row) != len(m) {
			return refused(at(name, i), "%s is not square: row %d has %d numbers, not %d", name, i, len(row),
				len(m))
		}
	}
	for i, row := range m {
		for j, v := range row {
			switch {
			case i == j && math.Abs(v-1) > slack:
				return refused(at(name, i, j), "the diagonal of a correlation matrix is 1")
			case math.Abs(v) > 1+slack:
				return refused(at(name, i, j), "a correlation is from -1 to 1")
			case math.Abs(v-m[j][i]) > slack:
				return refused(at(name, i, j), "%s is not symmetric", name)
			}
		}
	}
	return nil
}

// sameLength refuses arrays that belong together and differ in length.
func sameLength(name string, list []float64, other string, others []float64) *Error {
	if n, m := len(list), len(others); n != m {
		return refused(at(name), "%s has %d numbers and %s has %d: they belong together", name, n, other, m)
	}
	return nil
}

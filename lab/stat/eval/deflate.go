package eval

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/eval/line"
)

// mostIntegrals bounds how many maxima one line may ask for: each is an integral.
const mostIntegrals = 1000

// trialCount is the domain of N, M and K, which are real: N_eff is.
func trialCount() line.Bound { return line.From(1, deflate.MostTrials) }

func deflateFunctions() []Function {
	return []Function{
		{
			Names: []string{"expected_max_z_approx"}, Forms: form("N[]"), Value: "[]",
			Doc:  "Expected maximum of N standard normals, the approximation of the deflated Sharpe ratio.",
			bind: maxima("N", deflate.ExpectedMax),
		},
		{
			Names: []string{"expected_max_z_exact"}, Forms: form("N[]"), Value: "[]",
			Doc: "Expected maximum of N standard normals, by quadrature.",
			bind: maxima("N", func(n float64) (float64, stat.Reason) {
				m, why := deflate.ExactMax(n)
				return m.Mean, why
			}),
		},
		{
			Names: []string{"sd_of_max_z_exact"}, Forms: form("K[]"), Value: "[]",
			Doc: "Standard deviation of the maximum of K standard normals, by quadrature.",
			bind: maxima("K", func(n float64) (float64, stat.Reason) {
				m, why := deflate.ExactMax(n)
				return m.SD, why
			}),
		},
		{
			Names: []string{"min_backtest_length_years"}, Forms: form("N", "target_sr_annual"), Value: "years, upper_bound",
			Doc: "Years of data before the best of N trials is not expected to reach the target by chance.",
			bind: func(in *line.Inputs) func() any {
				n, target := in.Number("N", trialCount()), in.Number("target_sr_annual", line.Above(0))
				return func() any {
					b, why := deflate.MinBacktestLength(n, target)
					return line.Object{{Name: "years", Value: line.Defined(b.Years, why)}, {Name: "upper_bound", Value: line.Defined(b.UpperBound, why)}}
				}
			},
		},
		{
			Names: []string{"dsr_2014"}, Forms: dsrForm(), Value: "sr0, dsr, pass_95",
			Doc: "Deflated Sharpe ratio of 2014; pass_95 says that it is at least 0.95.",
			bind: dsr2014(func(d deflate.Deflated) any {
				return line.Object{{Name: "sr0", Value: d.Benchmark}, {Name: "dsr", Value: d.Probability}, {Name: "pass_95", Value: d.Probability >= 0.95}}
			}),
		},
		{
			Names: []string{"dsr N=1 equals psr(0)"}, Forms: dsrForm(), Value: "the number dsr",
			Doc:  "The same as a number; with one trial nothing is deflated.",
			bind: dsr2014(func(d deflate.Deflated) any { return d.Probability }),
		},
		{
			Names: []string{"dsr_from_trial_sharpes"}, Forms: form("sr", "trial_sharpes[]", "T", "skew", "kurt_raw"), Value: "ddof1 (ours), ddof0",
			Doc: "Deflated Sharpe ratio of 2014 from the ratios of all trials, for either variance.",
			bind: func(in *line.Inputs) func() any {
				e, trials := estimateOf(in), in.Numbers("trial_sharpes", line.Real())
				return func() any {
					return line.Object{{Name: "ddof1", Value: fromTrials(e, trials, 1)}, {Name: "ddof0", Value: fromTrials(e, trials, 0)}}
				}
			},
		},
	}
}

func dsrForm() [][]Input { return form("sr", "trials_sr_variance", "N", "T", "skew", "kurt_raw") }

func dsr2014(show func(deflate.Deflated) any) func(*line.Inputs) func() any {
	return func(in *line.Inputs) func() any {
		e, n, v := estimateOf(in), in.Number("N", trialCount()), in.Number("trials_sr_variance", line.AtLeast(0))
		return func() any {
			d, why := deflate.DSR2014(e.sr, e.t, e.shape, deflate.Trials{Variance: v, N: n})
			if few := e.tooFew(); few != "" {
				why = few
			}
			if why != "" {
				return line.Undefined{Reason: why}
			}
			return show(d)
		}
	}
}

func fromTrials(e estimate, ratios []float64, ddof int) any {
	trials, why := deflate.TrialsOf(ratios, ddof)
	if why == "" {
		why = e.tooFew()
	}
	if why != "" {
		return line.Undefined{Reason: why}
	}
	d, why := deflate.DSR2014(e.sr, e.t, e.shape, trials)
	return line.Defined(d.Probability, why)
}

func maxima(name string, f func(float64) (float64, stat.Reason)) func(*line.Inputs) func() any {
	return func(in *line.Inputs) func() any {
		counts := in.Numbers(name, trialCount())
		return func() any {
			if len(counts) > mostIntegrals {
				return tooMuch(name, "%s has %d numbers: at most %d are computed at once", name, len(counts), mostIntegrals)
			}
			return each(counts, func(n float64) any { return line.Defined(f(n)) })
		}
	}
}

func discoveryFunctions() []Function {
	return []Function{
		{
			Names: []string{"dsr_2025"},
			Value: "sr0, dsr, dsr_no_K_scaling",
			Forms: [][]Input{
				append(
					names("sr", "K", "trials_sr_variance", "T", "skew", "kurt_raw"),
					Input{Name: "rho", Note: "(0)", Optional: true},
				),
			},
			Doc: "Deflated Sharpe ratio of 2025, with and without the spread of the maximum of K trials alike by rho.",
			bind: func(in *line.Inputs) func() any {
				e, k, v, rho := estimateOf(
					in,
				), in.Number(
					"K",
					trialCount(),
				), in.Number(
					"trials_sr_variance",
					line.AtLeast(0),
				), 0.0
				if in.Has("rho") {
					rho = in.Number("rho", line.From(0, 1))
				}
				return func() any {
					d, unscaled, why := deflate.DSR2025(
						e.sr,
						e.t,
						e.shape,
						deflate.Trials{Variance: v, N: k},
						rho,
					)
					return line.Object{
						{Name: "sr0", Value: line.Defined(d.Benchmark, why)}, {Name: "dsr", Value: line.Defined(d.Probability, why)},
						{Name: "dsr_no_K_scaling", Value: line.Defined(unscaled, why)},
					}
				}
			},
		},
		{
			Names: []string{"pFDR_and_oFDR"}, Forms: form("p_H1", "alpha", "beta", "sr", "sr0", "sr1", "T", "skew", "kurt_raw"), Value: "pFDR, oFDR",
			Doc:  "Planned and observed false discovery rate.",
			bind: falseDiscovery,
		},
		{
			Names: []string{"n_eff_avg_corr"}, Forms: form("M[]", "rho[]"), Value: "[]",
			Doc: "Independent trials among M whose series have the mean correlation rho.",
			bind: func(in *line.Inputs) func() any {
				m, rho := in.Numbers("M", trialCount()), in.Numbers("rho", line.From(-1, 1))
				sameLength(in, "rho", len(rho), "M", len(m))
				return func() any {
					out := make([]float64, len(m))
					for i := range m {
						out[i] = deflate.NEff(m[i], rho[i])
					}
					return out
				}
			},
		},
		{
			Names: []string{"effective_rank"}, Forms: form("corr[[]]"), Value: "number",
			Doc: "exp of the entropy of the eigenvalues of a correlation matrix.",
			bind: func(in *line.Inputs) func() any {
				corr := in.Matrix("corr", line.Real())
				correlation(in, "corr", corr)
				return func() any {
					if len(corr) > deflate.MostSeries {
						return tooMuch("corr", "corr has %d rows: at most %d are computed", len(corr), deflate.MostSeries)
					}
					return line.Defined(deflate.EffectiveRank(corr))
				}
			},
		},
	}
}

func falseDiscovery(in *line.Inputs) func() any {
	p, alpha, beta := in.Number("p_H1", line.From(0, 1)), in.Number("alpha", line.Between(0, 1)), in.Number("beta", line.From(0, 1))
	e, sr0, sr1 := estimateOf(in), in.Number("sr0", line.Real()), in.Number("sr1", line.Real())
	return func() any {
		return line.Object{
			{Name: "pFDR", Value: line.Defined(deflate.PlannedFDR(p, alpha, beta))},
			{Name: "oFDR", Value: line.Defined(deflate.ObservedFDR(p, e.sr, sr0, sr1, e.t, e.shape))},
		}
	}
}

// correlation checks that a matrix is square, symmetric and has a diagonal of 1, all but
// for the rounding of printed numbers.
func correlation(in *line.Inputs, name string, m [][]float64) {
	const slack = 1e-9
	if len(m) == 0 {
		in.Refuse(line.InvalidArgument, name, nil, "%s is empty", name)
	}
	for i, row := range m {
		if len(row) != len(m) {
			in.Refuse(line.InvalidArgument, name, []any{i}, "%s is not square: row %d has %d numbers, not %d", name, i, len(row), len(m))
			return
		}
	}
	for i, row := range m {
		for j, v := range row {
			switch {
			case i == j && math.Abs(v-1) > slack:
				in.Refuse(line.InvalidArgument, name, []any{i, j}, "the diagonal of a correlation matrix is 1")
			case math.Abs(v) > 1+slack:
				in.Refuse(line.InvalidArgument, name, []any{i, j}, "a correlation is from -1 to 1")
			case math.Abs(v-m[j][i]) > slack:
				in.Refuse(line.InvalidArgument, name, []any{i, j}, "%s is not symmetric", name)
			}
		}
	}
}

// sameLength refuses arrays that belong together and differ in length.
func sameLength(in *line.Inputs, name string, n int, other string, m int) {
	if n != m {
		in.Refuse(line.InvalidArgument, name, nil, "%s has %d numbers and %s has %d: they belong together", name, n, other, m)
	}
}

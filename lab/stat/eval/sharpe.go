package eval

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/eval/line"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// observations is the domain of T, which may be fractional: a track record length is.
func observations() line.Bound { return line.AtLeast(1) }

// shapeOf reads skew and kurt_raw. A kurtosis below 1 does not exist, and is what an
// excess kurtosis looks like that somebody took for a raw one.
func shapeOf(in *line.Inputs) sharpe.Shape {
	return sharpe.Shape{Skew: in.Number("skew", line.Real()), Kurt: in.Number("kurt_raw", line.AtLeast(1))}
}

// estimate is a Sharpe ratio with what its error depends on.
type estimate struct {
	sr, t float64
	shape sharpe.Shape
	why   stat.Reason
}

func estimateOf(in *line.Inputs) estimate {
	return estimate{sr: in.Number("sr", line.Real()), t: in.Number("T", observations()), shape: shapeOf(in)}
}

// measured is the estimate that returns give.
func measured(returns []float64) estimate {
	m, why := stat.Of(returns)
	if why != "" {
		return estimate{why: why}
	}
	return estimate{sr: m.Mean / m.SD, t: float64(m.N), shape: sharpe.ShapeOf(m)}
}

// tooFew is the reason for one observation, which the forms of 2012 cannot use.
func (e estimate) tooFew() stat.Reason {
	if e.why == "" && e.t <= 1 {
		return stat.TooFewReturns
	}
	return e.why
}

func returnFunctions() []Function {
	return []Function{
		{
			Names: []string{"moments_and_sharpe"}, Forms: form("returns[]", "rf"), Value: "sharpe, skew_pop, kurt_pop_raw, sr_se",
			Doc: "Sharpe ratio per observation with its moments and standard error (Mertens).",
			bind: func(in *line.Inputs) func() any {
				returns, rf := in.Numbers("returns", line.Real()), in.Number("rf", line.Real())
				return func() any { return momentsAndSharpe(returns, rf) }
			},
		},
		{
			Names: []string{"sharpe"}, Forms: form("returns[]", "rf", "ddof"), Value: "number",
			Doc: "(mean - rf) / standard deviation, per observation.",
			bind: func(in *line.Inputs) func() any {
				returns, rf, ddof := in.Numbers("returns", line.Real()), in.Number("rf", line.Real()), in.Integer("ddof", 0, 1<<30)
				return func() any { return line.Defined(sharpe.Ratio(returns, rf, ddof)) }
			},
		},
		{
			Names: []string{"sortino"}, Forms: form("returns[]", "target"), Value: "mean(r - target) / RMS of min(0, r - target) over all n",
			Doc: "Sortino ratio per observation.",
			bind: func(in *line.Inputs) func() any {
				returns, target := in.Numbers("returns", line.Real()), in.Number("target", line.Real())
				return func() any { return line.Defined(sharpe.Sortino(returns, target)) }
			},
		},
		{
			Names: []string{"omega"}, Forms: form("returns[]", "threshold"), Value: "sum of gains over / sum of losses under the threshold",
			Doc: "Omega ratio.",
			bind: func(in *line.Inputs) func() any {
				returns, threshold := in.Numbers("returns", line.Real()), in.Number("threshold", line.Real())
				return func() any { return line.Defined(sharpe.Omega(returns, threshold)) }
			},
		},
	}
}

func momentsAndSharpe(returns []float64, rf float64) any {
	m, why := stat.Of(returns)
	if why != "" {
		return line.Undefined{Reason: why}
	}
	sr := (m.Mean - rf) / m.SD
	return line.Object{
		{Name: "sharpe", Value: sr}, {Name: "skew_pop", Value: m.Skew}, {Name: "kurt_pop_raw", Value: m.Kurt},
		{Name: "sr_se", Value: line.Defined(sharpe.SE(sr, float64(m.N), sharpe.ShapeOf(m)))},
	}
}

func errorFunctions() []Function {
	return []Function{
		{
			Names: []string{"sharpe_se_mertens"}, Forms: form("sr", "T", "skew", "kurt_raw"), Value: "number",
			Doc: "Standard error of a Sharpe ratio, with skewness and kurtosis; divides by T - 1.",
			bind: func(in *line.Inputs) func() any {
				e := estimateOf(in)
				return func() any {
					if why := e.tooFew(); why != "" {
						return line.Undefined{Reason: why}
					}
					return line.Defined(sharpe.SE(e.sr, e.t, e.shape))
				}
			},
		},
		{
			Names: []string{"sharpe_se_lo_iid"}, Forms: form("rows[[sr, T]]"), Value: "[]",
			Doc: "Standard error of a Sharpe ratio of normal, independent returns (Lo); divides by T.",
			bind: func(in *line.Inputs) func() any {
				rows := in.Rows("rows", line.Real(), observations())
				return func() any {
					return each(rows, func(r []float64) any { return line.Defined(sharpe.LoSE(r[0], r[1])) })
				}
			},
		},
		{
			Names: []string{"lo_eta_ar1"}, Forms: form("rows[[q, rho]]"), Value: "[]",
			Doc: "Factor that annualises a Sharpe ratio over q periods with first autocorrelation rho (Lo).",
			bind: func(in *line.Inputs) func() any {
				rows := in.Rows("rows", line.Above(0), line.Between(-1, 1))
				return func() any {
					return each(rows, func(r []float64) any { return line.Defined(sharpe.EtaAR1(r[0], r[1])) })
				}
			},
		},
		{
			Names: []string{"hl_autocorr_corrected_annual_sr"}, Forms: form("sr_annual", "rho", "freqs[] of D360 W52 M12 Q4"), Value: "[] sr_annual*eta/sqrt(q)",
			Doc: "Annual Sharpe ratio corrected for autocorrelation, as Harvey and Liu do.",
			bind: func(in *line.Inputs) func() any {
				sr, rho := in.Number("sr_annual", line.Real()), in.Number("rho", line.Between(-1, 1))
				var periods []float64
				for i, name := range in.Texts("freqs") {
					q, known := map[string]float64{"D360": 360, "W52": 52, "M12": 12, "Q4": 4}[name]
					if !known {
						in.Refuse(line.InvalidArgument, "freqs", []any{i}, "%q is not one of D360, W52, M12, Q4", name)
					}
					periods = append(periods, q)
				}
				return func() any {
					return each(periods, func(q float64) any { return line.Defined(sharpe.Corrected(sr, q, rho)) })
				}
			},
		},
	}
}

func probabilityFunctions() []Function {
	return []Function{
		{
			Names: []string{"psr_2012"}, Forms: [][]Input{names("returns[]", "sr_benchmark"), names("sr", "sr_benchmark", "T", "skew", "kurt_raw")}, Value: "number",
			Doc: "Probability that the true Sharpe ratio is above the benchmark; the error at the estimate, T - 1.",
			bind: func(in *line.Inputs) func() any {
				e, benchmark := given(in), in.Number("sr_benchmark", line.Real())
				return func() any {
					if why := e.tooFew(); why != "" {
						return line.Undefined{Reason: why}
					}
					return line.Defined(sharpe.PSR2012(e.sr, benchmark, e.t, e.shape))
				}
			},
		},
		{
			Names: []string{"min_trl_2012"}, Value: "number / divide_by; null sharpe_not_above_benchmark",
			Forms: [][]Input{
				append(names("returns[]", "sr_benchmark", "confidence"), divideBy()),
				append(names("sr", "sr_benchmark", "skew", "kurt_raw", "confidence"), divideBy()),
			},
			Doc:  "Observations until the PSR of 2012 reaches a confidence.",
			bind: minTRL2012,
		},
		{
			Names: []string{"property: psr(sr,sr,T,*)=0.5 and psr(sr,sr0,minTRL(conf))=conf"}, Forms: form("sr", "sr0", "skew", "kurt_raw", "conf[]"),
			Value: "[0.5, then PSR at its MinTRL per conf]", Doc: "The two identities that tie PSR and MinTRL together.",
			bind: func(in *line.Inputs) func() any {
				sr, sr0, f := in.Number("sr", line.Real()), in.Number("sr0", line.Real()), shapeOf(in)
				conf := in.Numbers("conf", line.Between(0, 1))
				return func() any { return identities(sr, sr0, f, conf) }
			},
		},
	}
}

func nullFunctions() []Function {
	return []Function{
		{
			Names: []string{"psr_2025"}, Forms: form("sr", "T", "skew", "kurt_raw", "sr_benchmark[]"), Value: "[]",
			Doc: "Probability that the true Sharpe ratio is above each benchmark; the error at the benchmark, T.",
			bind: func(in *line.Inputs) func() any {
				e, benchmarks := estimateOf(in), in.Numbers("sr_benchmark", line.Real())
				return func() any {
					return each(benchmarks, func(b float64) any { return line.Defined(sharpe.PSR2025(e.sr, b, e.t, e.shape)) })
				}
			},
		},
		{
			Names: []string{"min_trl_2025"}, Forms: form("sr", "skew", "kurt_raw", "alpha", "sr_benchmark[]"), Value: "[]",
			Doc: "Observations until each benchmark is rejected at level alpha.",
			bind: func(in *line.Inputs) func() any {
				sr, f, alpha := in.Number("sr", line.Real()), shapeOf(in), in.Number("alpha", line.Between(0, 1))
				benchmarks := in.Numbers("sr_benchmark", line.Real())
				return func() any {
					return each(benchmarks, func(b float64) any { return line.Defined(sharpe.MinTRL2025(sr, b, f, alpha)) })
				}
			},
		},
		{
			Names: []string{"sharpe_test_power"}, Forms: form("sr0", "sr1", "T", "skew", "kurt_raw", "alpha"), Value: "number",
			Doc: "Probability to reject sr0 at level alpha when the true ratio is sr1.",
			bind: func(in *line.Inputs) func() any {
				sr0, sr1, t := in.Number("sr0", line.Real()), in.Number("sr1", line.Real()), in.Number("T", observations())
				f, alpha := shapeOf(in), in.Number("alpha", line.Between(0, 1))
				return func() any { return line.Defined(sharpe.Power(sr0, sr1, t, f, alpha)) }
			},
		},
	}
}

// given is the estimate of either form.
func given(in *line.Inputs) estimate {
	if in.Has("returns") {
		return measured(in.Numbers("returns", line.Real()))
	}
	return estimateOf(in)
}

func divideBy() Input { return Input{Name: "divide_by", Note: "(1)", Optional: true} }

func minTRL2012(in *line.Inputs) func() any {
	var e estimate
	if in.Has("returns") {
		e = measured(in.Numbers("returns", line.Real()))
	} else {
		e = estimate{sr: in.Number("sr", line.Real()), shape: shapeOf(in)}
	}
	benchmark, confidence, divisor := in.Number("sr_benchmark", line.Real()), in.Number("confidence", line.Between(0, 1)), 1.0
	if in.Has("divide_by") {
		divisor = in.Number("divide_by", line.Above(0))
	}
	return func() any {
		if e.why != "" {
			return line.Undefined{Reason: e.why}
		}
		n, why := sharpe.MinTRL2012(e.sr, benchmark, e.shape, confidence)
		return line.Defined(n/divisor, why)
	}
}

// identities is PSR at its own benchmark, with any number of observations, and at the
// MinTRL of each confidence.
func identities(sr, sr0 float64, f sharpe.Shape, conf []float64) any {
	const anyT = 100
	out := []any{line.Defined(sharpe.PSR2012(sr, sr, anyT, f))}
	for _, c := range conf {
		n, why := sharpe.MinTRL2012(sr, sr0, f, c)
		switch {
		case why != "":
			out = append(out, line.Undefined{Reason: why})
		case n == 1: // no observation beyond the first is needed for a coin toss
			out = append(out, 0.5)
		default:
			out = append(out, line.Defined(sharpe.PSR2012(sr, sr0, n, f)))
		}
	}
	return out
}

// each is a value for every element.
func each[T any](items []T, f func(T) any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

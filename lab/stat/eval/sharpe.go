package eval

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// shape are the moments that the error of a ratio depends on. A kurtosis below 1 does not
// exist, and is what an excess kurtosis looks like that was taken for a raw one.
type shape struct {
	Skew float64 `in:"skew"`
	Kurt float64 `in:"kurt_raw" is:">=1"`
}

func (s shape) of() sharpe.Shape { return sharpe.Shape{Skew: s.Skew, Kurt: s.Kurt} }

// sample is the number of observations, fractional as a track record's length is, with
// their shape.
type sample struct {
	T float64 `in:"T" is:">=1"`
	shape
}

// estimate is a Sharpe ratio with what its error depends on.
type estimate struct {
	sr, t float64
	shape sharpe.Shape
	why   stat.Reason
}

func (s sample) estimate(sr float64) estimate { return estimate{sr: sr, t: s.T, shape: s.of()} }

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
		define("moments_and_sharpe", "sharpe, skew_pop, kurt_pop_raw, sr_se",
			"Sharpe ratio per observation with its moments and standard error (Mertens).",
			func(in struct {
				Returns []float64 `in:"returns[]"`
				RF      float64   `in:"rf"`
			}) any {
				m, why := stat.Of(in.Returns)
				if why != "" {
					return Undefined{why}
				}
				sr := (m.Mean - in.RF) / m.SD
				return fields("sharpe", sr, "skew_pop", m.Skew, "kurt_pop_raw", m.Kurt,
					"sr_se", Defined(sharpe.SE(sr, float64(m.N), sharpe.ShapeOf(m))))
			}),
		define("sharpe", "number", "(mean - rf) / standard deviation, per observation.", func(in struct {
			Returns []float64 `in:"returns[]"`
			RF      float64   `in:"rf"`
			DDOF    int       `in:"ddof" is:"0..1073741824"`
		}) any {
			return Defined(sharpe.Ratio(in.Returns, in.RF, in.DDOF))
		}),
		define("sortino", "mean(r - target) / RMS of min(0, r - target) over all n",
			"Sortino ratio per observation.",
			func(in struct {
				Returns []float64 `in:"returns[]"`
				Target  float64   `in:"target"`
			}) any {
				return Defined(sharpe.Sortino(in.Returns, in.Target))
			}),
		define("omega", "sum of gains over / sum of losses under the threshold", "Omega ratio.",
			func(in struct {
				Returns   []float64 `in:"returns[]"`
				Threshold float64   `in:"threshold"`
			}) any {
				return Defined(sharpe.Omega(in.Returns, in.Threshold))
			}),
	}
}

func errorFunctions() []Function {
	return []Function{
		define("sharpe_se_mertens", "number",
			"Standard error of a Sharpe ratio, with skewness and kurtosis; divides by T - 1.",
			func(in struct {
				SR float64 `in:"sr"`
				sample
			}) any {
				e := in.estimate(in.SR)
				if why := e.tooFew(); why != "" {
					return Undefined{why}
				}
				return Defined(sharpe.SE(e.sr, e.t, e.shape))
			}),
		define("sharpe_se_lo_iid", "[]",
			"Standard error of a Sharpe ratio of normal, independent returns (Lo); divides by T.",
			func(in struct {
				Rows [][2]float64 `in:"rows[[sr, T]]" is:"; >=1"`
			}) any {
				return each(in.Rows, func(r [2]float64) any { return Defined(sharpe.LoSE(r[0], r[1])) })
			}),
		define("lo_eta_ar1", "[]",
			"Factor that annualises a Sharpe ratio over q periods with first autocorrelation rho (Lo).",
			func(in struct {
				Rows [][2]float64 `in:"rows[[q, rho]]" is:">0; (-1,1)"`
			}) any {
				return each(in.Rows, func(r [2]float64) any { return Defined(sharpe.EtaAR1(r[0], r[1])) })
			}),
		define("hl_autocorr_corrected_annual_sr", "[] sr_annual*eta/sqrt(q)",
			"Annual Sharpe ratio corrected for autocorrelation, as Harvey and Liu do.",
			func(in struct {
				SR    float64  `in:"sr_annual"`
				Rho   float64  `in:"rho" is:"(-1,1)"`
				Freqs []string `in:"freqs[] of D360 W52 M12 Q4" one:"D360|W52|M12|Q4"`
			}) any {
				return each(in.Freqs, func(name string) any {
					q := map[string]float64{"D360": 360, "W52": 52, "M12": 12, "Q4": 4}[name]
					return Defined(sharpe.Corrected(in.SR, q, in.Rho))
				})
			}),
	}
}

func psr2012(e estimate, benchmark float64) any {
	if why := e.tooFew(); why != "" {
		return Undefined{why}
	}
	return Defined(sharpe.PSR2012(e.sr, benchmark, e.t, e.shape))
}

func minTRL2012(e estimate, benchmark, confidence, divisor float64) any {
	if e.why != "" {
		return Undefined{e.why}
	}
	n, why := sharpe.MinTRL2012(e.sr, benchmark, e.shape, confidence)
	return Defined(n/divisor, why)
}

func probabilityFunctions() []Function {
	return []Function{
		or(define("psr_2012", "number",
			"Probability that the true Sharpe ratio is above the benchmark; the error at the estimate, T "+
				"- 1.",
			func(in struct {
				Returns   []float64 `in:"returns[]"`
				Benchmark float64   `in:"sr_benchmark"`
			}) any {
				return psr2012(measured(in.Returns), in.Benchmark)
			}),
			func(in struct {
				SR        float64 `in:"sr"`
				Benchmark float64 `in:"sr_benchmark"`
				sample
			}) any {
				return psr2012(in.estimate(in.SR), in.Benchmark)
			}),
		or(define("min_trl_2012", "number / divide_by; null sharpe_not_above_benchmark",
			"Observations until the PSR of 2012 reaches a confidence.",
			func(in struct {
				Returns    []float64 `in:"returns[]"`
				Benchmark  float64   `in:"sr_benchmark"`
				Confidence float64   `in:"confidence" is:"(0,1)"`
				Divisor    float64   `in:"divide_by (1)" is:">0" default:"1"`
			}) any {
				return minTRL2012(measured(in.Returns), in.Benchmark, in.Confidence, in.Divisor)
			}),
			func(in struct {
				SR        float64 `in:"sr"`
				Benchmark float64 `in:"sr_benchmark"`
				shape
				Confidence float64 `in:"confidence" is:"(0,1)"`
				Divisor    float64 `in:"divide_by (1)" is:">0" default:"1"`
			}) any {
				return minTRL2012(estimate{sr: in.SR, shape: in.of()}, in.Benchmark, in.Confidence,
					in.Divisor)
			}),
		define("psr_min_trl_identities", "[0.5, then PSR at its MinTRL per conf]",
			"The two identities that tie PSR and MinTRL together.",
			func(in struct {
				SR  float64 `in:"sr"`
				SR0 float64 `in:"sr0"`
				shape
				Conf []float64 `in:"conf[]" is:"(0,1)"`
			}) any {
				return identities(in.SR, in.SR0, in.of(), in.Conf)
			}).named("property: psr(sr,sr,T,*)=0.5 and psr(sr,sr0,minTRL(conf))=conf"),
	}
}

// identities is PSR at its own benchmark, with any number of observations, and at the
// MinTRL of each confidence.
func identities(sr, sr0 float64, f sharpe.Shape, conf []float64) any {
	const anyT = 100
	out := []any{Defined(sharpe.PSR2012(sr, sr, anyT, f))}
	for _, c := range conf {
		n, why := sharpe.MinTRL2012(sr, sr0, f, c)
		switch {
		case why != "":
			out = append(out, Undefined{why})
		case n == 1: // no observation beyond the first is needed for a coin toss
			out = append(out, 0.5)
		default:
			out = append(out, Defined(sharpe.PSR2012(sr, sr0, n, f)))
		}
	}
	return out
}

func nullFunctions() []Function {
	return []Function{
		define("psr_2025", "[]",
			"Probability that the true Sharpe ratio is above each benchmark; the error at the benchmark, T.",
			func(in struct {
				SR float64 `in:"sr"`
				sample
				Benchmarks []float64 `in:"sr_benchmark[]"`
			}) any {
				return each(in.Benchmarks, func(b float64) any {
					return Defined(sharpe.PSR2025(in.SR, b, in.T, in.of()))
				})
			}),
		define("min_trl_2025", "[]", "Observations until each benchmark is rejected at level alpha.",
			func(in struct {
				SR float64 `in:"sr"`
				shape
				Alpha      float64   `in:"alpha" is:"(0,1)"`
				Benchmarks []float64 `in:"sr_benchmark[]"`
			}) any {
				return each(in.Benchmarks, func(b float64) any {
					return Defined(sharpe.MinTRL2025(in.SR, b, in.of(), in.Alpha))
				})
			}),
		define("sharpe_test_power", "number",
			"Probability to reject sr0 at level alpha when the true ratio is sr1.",
			func(in struct {
				SR0 float64 `in:"sr0"`
				SR1 float64 `in:"sr1"`
				sample
				Alpha float64 `in:"alpha" is:"(0,1)"`
			}) any {
				return Defined(sharpe.Power(in.SR0, in.SR1, in.T, in.of(), in.Alpha))
			}),
	}
}

package eval

import (
	"context"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The largest resampling work of one line, in additions and multiplications.
const (
	mostBlockSample = 1_000_000
	mostLagWork     = 4_000_000_000
	mostPanelWork   = 2_000_000_000
)

func bootstrapFunctions() []Function {
	return []Function{
		define("politis_white", "stationary, circular, m",
			"Mean block length of the stationary and the circular bootstrap, with the lags used.",
			func(in struct {
				X []float64 `in:"x[]"`
			}) any {
				if len(in.X) > mostBlockSample {
					return tooMuch("x", "x has %d numbers: at most %d are looked at", len(in.X),
						mostBlockSample)
				}
				b, why := bootstrap.PolitisWhite(in.X)
				return fields("stationary", Defined(b.Stationary, why), "circular", Defined(b.Circular, why),
					"m", Defined(b.Lags, why))
			}),
		define("politis_white_generator",
			"error UNSUPPORTED_INPUT (foreign generator): pass its numbers to politis_white",
			"Refused: the generator of another language's library is not rebuilt here.",
			func(in struct {
				Generator text `in:"generator"`
			}) any {
				return tooMuch("generator",
					"a foreign generator is not run: pass its numbers to politis_white as x")
			}).named("politis_white on arch test data"),
		define("stationary_indices", "indices[]", "Indices of the stationary bootstrap from given draws.",
			func(in struct {
				N        int       `in:"n" is:"1..candles"`
				Block    float64   `in:"mean_block" is:">=1"`
				Uniforms []float64 `in:"uniforms[]" is:"0..1"`
				Starts   []int     `in:"random_starts[]" is:"index n"`
			}) any {
				if bad := hasLength("uniforms", len(in.Uniforms), in.N); bad != nil {
					return bad
				}
				if bad := hasLength("random_starts", len(in.Starts), in.N); bad != nil {
					return bad
				}
				return bootstrap.Follow(in.N, in.Block, in.Uniforms, in.Starts)
			}).named("index recursion"),
		define("stationary_variance", "var, kappa_1",
			"Variance that the stationary bootstrap gives sqrt(n) times the mean, without drawing.",
			func(in struct {
				X     []float64 `in:"x[]"`
				Block float64   `in:"mean_block" is:">=1"`
			}) any {
				if float64(len(in.X))*float64(len(in.X)) > mostLagWork {
					return tooMuch("x", "x has %d numbers: too many for all their lags", len(in.X))
				}
				v, kappa, why := bootstrap.Variance(in.X, in.Block)
				return fields("var", Defined(v, why), "kappa_1", Defined(kappa, why))
			}).named("variance of sqrt(n)*mean"),
	}
}

func hasLength(name string, got, want int) *Error {
	if got != want {
		return refused(at(name), "%s has %d numbers, not %d", name, got, want)
	}
	return nil
}

func permutationFunctions() []Function {
	return []Function{
		define("permute_bars", "[[o,h,l,c]]",
			"Candles with their gaps and their bodies rearranged; the moves count from 0 at the second "+
				"candle.",
			func(in struct {
				OHLC   [][4]float64 `in:"ohlc[[]]" is:">0"`
				Gaps   []int        `in:"perm_gap[]" is:"0..candles"`
				Bodies []int        `in:"perm_intrabar[]" is:"0..candles"`
			}) any {
				gaps, bad := moves("perm_gap", in.Gaps, len(in.OHLC))
				if bad != nil {
					return bad
				}
				bodies, bad := moves("perm_intrabar", in.Bodies, len(in.OHLC))
				if bad != nil {
					return bad
				}
				candles := make([]market.Candle, len(in.OHLC))
				for i, r := range in.OHLC {
					candles[i] = market.Candle{Open: r[0], High: r[1], Low: r[2], Close: r[3]}
				}
				return each(trade.Permute(candles, gaps, bodies), func(c market.Candle) any {
					return []float64{c.Open, c.High, c.Low, c.Close}
				})
			}),
		define("p_value", "[]", "p-value of a statistic that count_ge of m replicas reached.",
			func(in struct {
				Rows [][2]int `in:"rows[[count_ge, m]]" is:"0..max; 1..max"`
			}) any {
				for i, r := range in.Rows {
					if r[0] > r[1] {
						return refused(at("rows", i, 0), "%v replicas of %v", float64(r[0]), float64(r[1]))
					}
				}
				return each(in.Rows, func(r [2]int) any { return stat.ResampledP(r[0], r[1]) })
			}),
	}
}

// moves reads a permutation of the moves of n candles: 0 .. n-2, or the numbers of the
// candles that the moves lead to, 1 .. n-1, with or without the first candle, which stays.
func moves(name string, p []int, n int) ([]int, *Error) {
	if n > 0 && len(p) == n && p[0] == 0 {
		p = p[1:]
	}
	if bad := hasLength(name, len(p), max(n-1, 0)); bad != nil {
		return nil, bad
	}
	least := 1
	for _, at := range p {
		least = min(least, at)
	}
	seen := make([]bool, len(p))
	out := make([]int, len(p))
	for i, to := range p {
		if to -= least; to >= len(p) || seen[to] {
			return nil, refused(at(name, i), "%s is not a permutation of the %d moves", name, len(p))
		}
		seen[to], out[i] = true, to
	}
	return out, nil
}

// panel are the differences of K strategies to a benchmark, with replicas of their rows.
type panel struct {
	D       [][]float64 `in:"d_T_by_K"`
	Indices [][]int     `in:"bootstrap_indices" is:"index d_T_by_K"`
}

func superiorFunctions() []Function {
	return []Function{
		define("dsr_max", "sr, count_ge, B, p, dsr",
			"Sharpe ratio of one of N trials, deflated by the largest of all in replicas without skill.",
			func(in struct {
				Returns [][]float64 `in:"returns_T_by_N[[]]"`
				Judged  int         `in:"judged" is:"column returns_T_by_N"`
				Indices [][]int     `in:"bootstrap_indices[[]]" is:"index returns_T_by_N"`
				Without int         `in:"without_series (0)" is:"0..candles" default:"0"`
			}) any {
				if bad := replicas("returns_T_by_N", in.Returns, in.Indices); bad != nil {
					return bad
				}
				return maximum(in.Returns, in.Judged, in.Indices, in.Without)
			}),
		define("white_rc", "stat, count_ge, B, p", "White's reality check for the best of K strategies.",
			func(in struct {
				D       [][]float64 `in:"d_T_by_K[[]]"`
				Indices [][]int     `in:"bootstrap_indices[[]]" is:"index d_T_by_K"`
			}) any {
				return panel(in).test(func(p *bootstrap.Panel) any {
					statistic, test := p.RealityCheck()
					return fields("stat", statistic, "count_ge", test.AsExtreme, "B", test.B, "p", test.P)
				})
			}),
		define("hansen_spa", "stat, omega[], threshold[], count_ge{lower, consistent, upper}, p{same}",
			"Hansen's test for superior predictive ability, with its three recentrings.",
			func(in struct {
				panel
				Block float64 `in:"mean_block" is:">=1"`
			}) any {
				return in.test(func(p *bootstrap.Panel) any {
					r, why, _ := p.SPA(context.Background(), in.Block)
					if why != "" {
						return Undefined{why}
					}
					three := func(of func(bootstrap.Test) any) Object {
						return fields("lower", of(r.Lower), "consistent", of(r.Consistent), "upper",
							of(r.Upper))
					}
					return fields("stat", r.Statistic, "omega", r.Omega, "threshold", r.Threshold,
						"count_ge", three(func(t bootstrap.Test) any { return t.AsExtreme }),
						"p", three(func(t bootstrap.Test) any { return t.P }))
				})
			}).named("hansen_spa_studentised"),
		define("stepm", "rejected[], critical_values[], t[]",
			"Romano and Wolf's stepwise test: which of K strategies beat the benchmark.",
			func(in struct {
				panel
				Block float64 `in:"mean_block" is:">=1"`
				Alpha float64 `in:"alpha" is:"(0,1)"`
			}) any {
				return in.test(func(p *bootstrap.Panel) any {
					r, why, _ := p.StepM(context.Background(), in.Block, in.Alpha)
					if why != "" {
						return Undefined{why}
					}
					return fields("rejected", r.Rejected, "critical_values", r.CriticalValues, "t", r.T)
				})
			}).named("stepm studentised"),
	}
}

// maximum is the ratio of one column deflated by the largest of all columns in replicas
// without skill.
func maximum(rows [][]float64, judged int, indices [][]int, without int) any {
	t, n, b := float64(len(rows)), float64(len(rows[0])), float64(len(indices))
	if t*n*b > mostPanelWork {
		return tooMuch("bootstrap_indices", "%v replicas of %v rows and %v columns are too many", b, t, n)
	}
	columns := make([][]float64, len(rows[0]))
	for _, row := range rows {
		for k, v := range row {
			columns[k] = append(columns[k], v)
		}
	}
	m, why := stat.Of(columns[judged])
	if why != "" {
		return Undefined{why}
	}
	ratio := m.Mean / m.SD
	// The work of a line is bounded: there is nothing to interrupt.
	d, _ := deflate.NewMaxima(columns).
		DSRMax(context.Background(), ratio, len(indices), without, func(i int) []int { return indices[i] })
	return fields("sr", ratio, "count_ge", d.Reached, "B", d.B, "p", d.P, "dsr", d.Probability)
}

// replicas checks that rows have one length, and indices a row of indices for each replica.
func replicas(name string, rows [][]float64, indices [][]int) *Error {
	switch {
	case len(rows) == 0 || len(rows[0]) == 0:
		return refused(at(name), "%s is empty", name)
	case len(indices) == 0:
		return refused(at("bootstrap_indices"), "there is no replica")
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return refused(at(name, i), "row %d has %d numbers, the first has %d", i, len(row), len(rows[0]))
		}
	}
	for b, drawn := range indices {
		if len(drawn) != len(rows) {
			return refused(at("bootstrap_indices", b), "replica %d has %d indices for %d rows", b, len(drawn),
				len(rows))
		}
	}
	return nil
}

// test runs a test on the panel, if it is one and not too large.
func (in panel) test(run func(*bootstrap.Panel) any) any {
	if bad := replicas("d_T_by_K", in.D, in.Indices); bad != nil {
		return bad
	}
	t, k, b := float64(len(in.D)), float64(len(in.D[0])), float64(len(in.Indices))
	if t*k*b > mostPanelWork || t*t*k > mostLagWork {
		return tooMuch("bootstrap_indices", "%v replicas of %v rows and %v columns are too many", b, t, k)
	}
	// The work of a line is bounded: there is nothing to interrupt.
	p, _ := bootstrap.NewPanel(context.Background(), in.D, in.Indices)
	return run(p)
}

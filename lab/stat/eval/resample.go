package eval

import (
	"context"
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/candle"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/eval/line"
	"github.com/assay-run/assay/lab/stat/superior"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The largest resampling work of one line, in additions and multiplications.
const (
	mostBlockSample = 1_000_000
	mostLagWork     = 4_000_000_000
	mostPanelWork   = 2_000_000_000
)

func resampleFunctions() []Function {
	return slices.Concat(bootstrapFunctions(), superiorFunctions(), permutationFunctions())
}

func bootstrapFunctions() []Function {
	return []Function{
		{
			Names: []string{"politis_white"}, Forms: form("x[]"), Value: "stationary, circular, m",
			Doc:  "Mean block length of the stationary and the circular bootstrap, with the lags used.",
			bind: blockLength,
		},
		{
			Names: []string{"politis_white on arch test data"}, Forms: form("generator"), Value: "error UNSUPPORTED_INPUT (foreign generator): pass its numbers to politis_white",
			Doc: "Refused: the generator of another language's library is not rebuilt here.",
			bind: func(*line.Inputs) func() any {
				return func() any {
					return tooMuch("generator", "a foreign generator is not run: pass its numbers to politis_white as x")
				}
			},
		},
		{
			Names: []string{"index recursion"}, Forms: form("n", "mean_block", "uniforms[]", "random_starts[]"), Value: "indices[]",
			Doc: "Indices of the stationary bootstrap from given draws.",
			bind: func(in *line.Inputs) func() any {
				n, block := in.Integer("n", 1, mostCandles), in.Number("mean_block", line.AtLeast(1))
				uniforms, starts := in.Numbers("uniforms", line.From(0, 1)), in.Integers("random_starts", 0, n-1)
				hasLength(in, "uniforms", len(uniforms), n)
				hasLength(in, "random_starts", len(starts), n)
				return func() any { return bootstrap.Follow(n, block, uniforms, starts) }
			},
		},
		{
			Names: []string{"variance of sqrt(n)*mean"}, Forms: form("x[]", "mean_block"), Value: "var, kappa_1",
			Doc: "Variance that the stationary bootstrap gives sqrt(n) times the mean, without drawing.",
			bind: func(in *line.Inputs) func() any {
				x, block := in.Numbers("x", line.Real()), in.Number("mean_block", line.AtLeast(1))
				return func() any {
					if float64(len(x))*float64(len(x)) > mostLagWork {
						return tooMuch("x", "x has %d numbers: too many for all their lags", len(x))
					}
					v, kappa, why := bootstrap.Variance(x, block)
					return line.Object{{Name: "var", Value: line.Defined(v, why)}, {Name: "kappa_1", Value: line.Defined(kappa, why)}}
				}
			},
		},
	}
}

func permutationFunctions() []Function {
	return []Function{
		{
			Names: []string{"permute_bars"}, Forms: form("ohlc[[]]", "perm_gap[]", "perm_intrabar[]"), Value: "[[o,h,l,c]]",
			Doc:  "Candles with their gaps and their bodies rearranged; the moves count from 0 at the second candle.",
			bind: permuteCandles,
		},
		{
			Names: []string{"p_value"}, Forms: form("rows[[count_ge, m]]"), Value: "[]",
			Doc: "p-value of a statistic that count_ge of m replicas reached.",
			bind: func(in *line.Inputs) func() any {
				rows := in.Rows("rows", line.Whole(0, 1<<53), line.Whole(1, 1<<53))
				for i, r := range rows {
					if len(r) == 2 && r[0] > r[1] {
						in.Refuse(line.InvalidArgument, "rows", []any{i, 0}, "%v replicas of %v", r[0], r[1])
					}
				}
				return func() any {
					return each(rows, func(r []float64) any { return stat.ResampledP(int(r[0]), int(r[1])) })
				}
			},
		},
	}
}

func blockLength(in *line.Inputs) func() any {
	x := in.Numbers("x", line.Real())
	return func() any {
		if len(x) > mostBlockSample {
			return tooMuch("x", "x has %d numbers: at most %d are looked at", len(x), mostBlockSample)
		}
		b, why := bootstrap.PolitisWhite(x)
		return line.Object{
			{Name: "stationary", Value: line.Defined(b.Stationary, why)}, {Name: "circular", Value: line.Defined(b.Circular, why)},
			{Name: "m", Value: line.Defined(b.Lags, why)},
		}
	}
}

func hasLength(in *line.Inputs, name string, got, want int) {
	if got != want {
		in.Refuse(line.InvalidArgument, name, nil, "%s has %d numbers, not %d", name, got, want)
	}
}

func permuteCandles(in *line.Inputs) func() any {
	price := line.Above(0)
	rows := in.Rows("ohlc", price, price, price, price)
	gaps, bodies := moves(in, "perm_gap", len(rows)), moves(in, "perm_intrabar", len(rows))
	candles := make([]market.Candle, len(rows))
	for i, r := range rows {
		if len(r) == 4 {
			candles[i] = market.Candle{Open: r[0], High: r[1], Low: r[2], Close: r[3]}
		}
	}
	return func() any {
		out := [][]float64{}
		for _, c := range candle.Permute(candles, gaps, bodies) {
			out = append(out, []float64{c.Open, c.High, c.Low, c.Close})
		}
		return out
	}
}

// moves reads a permutation of the moves of n candles: 0 .. n-2, or the numbers of the
// candles that the moves lead to, 1 .. n-1, with or without the first candle, which stays.
func moves(in *line.Inputs, name string, n int) []int {
	p := in.Integers(name, 0, mostCandles)
	if n > 0 && len(p) == n && p[0] == 0 {
		p = p[1:]
	}
	hasLength(in, name, len(p), max(n-1, 0))
	least := 1
	for _, at := range p {
		least = min(least, at)
	}
	seen := make([]bool, len(p))
	out := make([]int, len(p))
	for i, at := range p {
		if at -= least; at >= len(p) || seen[at] {
			in.Refuse(line.InvalidArgument, name, []any{i}, "%s is not a permutation of the %d moves", name, len(p))
			return nil
		}
		seen[at], out[i] = true, at
	}
	return out
}

func superiorFunctions() []Function {
	return []Function{
		{
			Names: []string{"dsr_max"},
			Value: "sr, count_ge, B, p, dsr",
			Forms: [][]Input{
				append(
					names("returns_T_by_N[[]]", "judged", "bootstrap_indices[[]]"),
					Input{Name: "without_series", Note: "(0)", Optional: true},
				),
			},
			Doc:  "Sharpe ratio of one of N trials, deflated by the largest of all in replicas without skill.",
			bind: maximum,
		},
		{
			Names: []string{"white_rc"}, Forms: form("d_T_by_K[[]]", "bootstrap_indices[[]]"), Value: "stat, count_ge, B, p",
			Doc: "White's reality check for the best of K strategies.",
			bind: func(in *line.Inputs) func() any {
				build := panel(in)
				return func() any {
					p, bad := build()
					if bad != nil {
						return bad
					}
					statistic, test := p.RealityCheck()
					return line.Object{
						{Name: "stat", Value: statistic}, {Name: "count_ge", Value: test.AsExtreme}, {Name: "B", Value: test.B}, {Name: "p", Value: test.P},
					}
				}
			},
		},
		{
			Names: []string{"hansen_spa_studentised"}, Forms: form("d_T_by_K", "bootstrap_indices", "mean_block"),
			Value: "stat, omega[], threshold[], count_ge{lower, consistent, upper}, p{same}",
			Doc:   "Hansen's test for superior predictive ability, with its three recentrings.",
			bind: func(in *line.Inputs) func() any {
				build, block := panel(in), in.Number("mean_block", line.AtLeast(1))
				return func() any {
					p, bad := build()
					if bad != nil {
						return bad
					}
					r, why, _ := p.SPA(context.Background(), block)
					if why != "" {
						return line.Undefined{Reason: why}
					}
					return showSPA(r)
				}
			},
		},
		{
			Names: []string{"stepm studentised"}, Forms: form("d_T_by_K", "bootstrap_indices", "mean_block", "alpha"), Value: "rejected[], critical_values[], t[]",
			Doc: "Romano and Wolf's stepwise test: which of K strategies beat the benchmark.",
			bind: func(in *line.Inputs) func() any {
				build, block, alpha := panel(in), in.Number("mean_block", line.AtLeast(1)), in.Number("alpha", line.Between(0, 1))
				return func() any {
					p, bad := build()
					if bad != nil {
						return bad
					}
					r, why, _ := p.StepM(context.Background(), block, alpha)
					if why != "" {
						return line.Undefined{Reason: why}
					}
					return line.Object{{Name: "rejected", Value: r.Rejected}, {Name: "critical_values", Value: r.CriticalValues}, {Name: "t", Value: r.T}}
				}
			},
		},
	}
}

// maximum is the ratio of one column deflated by the largest of all columns in replicas
// without skill.
func maximum(in *line.Inputs) func() any {
	rows, indices := resampled(in, "returns_T_by_N")
	at, without := 0, 0
	if len(rows) > 0 {
		at = in.Integer("judged", 0, max(len(rows[0])-1, 0))
	}
	if in.Has("without_series") {
		without = in.Integer("without_series", 0, mostCandles)
	}
	return func() any {
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
		m, why := stat.Of(columns[at])
		if why != "" {
			return line.Undefined{Reason: why}
		}
		ratio := m.Mean / m.SD
		// The work of a line is bounded, so nobody has to interrupt it.
		d, _ := deflate.NewMaxima(columns).
			DSRMax(context.Background(), ratio, len(indices), without, func(i int) []int { return indices[i] })
		return line.Object{
			{
				Name:  "sr",
				Value: ratio,
			},
			{Name: "count_ge", Value: d.Reached},
			{Name: "B", Value: d.B},
			{Name: "p", Value: d.P},
			{Name: "dsr", Value: d.Probability},
		}
	}
}

func showSPA(r superior.SPA) any {
	three := func(of func(superior.Test) any) line.Object {
		return line.Object{{Name: "lower", Value: of(r.Lower)}, {Name: "consistent", Value: of(r.Consistent)}, {Name: "upper", Value: of(r.Upper)}}
	}
	return line.Object{
		{Name: "stat", Value: r.Statistic}, {Name: "omega", Value: r.Omega}, {Name: "threshold", Value: r.Threshold},
		{Name: "count_ge", Value: three(func(t superior.Test) any { return t.AsExtreme })},
		{Name: "p", Value: three(func(t superior.Test) any { return t.P })},
	}
}

// resampled reads a matrix and bootstrap_indices, replicas of its rows.
func resampled(in *line.Inputs, name string) (rows [][]float64, indices [][]int) {
	rows = in.Matrix(name, line.Real())
	indices = in.IntegerMatrix("bootstrap_indices", 0, max(len(rows)-1, 0))
	switch {
	case len(rows) == 0 || len(rows[0]) == 0:
		in.Refuse(line.InvalidArgument, name, nil, "%s is empty", name)
	case len(indices) == 0:
		in.Refuse(line.InvalidArgument, "bootstrap_indices", nil, "there is no replica")
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			in.Refuse(
				line.InvalidArgument,
				name,
				[]any{i},
				"row %d has %d numbers, the first has %d",
				i,
				len(row),
				len(rows[0]),
			)
		}
	}
	for b, drawn := range indices {
		if len(drawn) != len(rows) {
			in.Refuse(line.InvalidArgument, "bootstrap_indices", []any{b}, "replica %d has %d indices for %d rows", b, len(drawn), len(rows))
		}
	}
	return rows, indices
}

// panel reads d_T_by_K and bootstrap_indices; the panel itself is made when all inputs
// fitted.
func panel(in *line.Inputs) func() (*superior.Panel, *line.Error) {
	rows, indices := resampled(in, "d_T_by_K")
	return func() (*superior.Panel, *line.Error) {
		t, k, b := float64(len(rows)), float64(len(rows[0])), float64(len(indices))
		if t*k*b > mostPanelWork || t*t*k > mostLagWork {
			return nil, tooMuch("bootstrap_indices", "%v replicas of %v rows and %v columns are too many", b, t, k)
		}
		// The work of a line is bounded, so nobody has to interrupt it.
		p, _ := superior.NewPanel(context.Background(), rows, indices)
		return p, nil
	}
}

package eval

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
	"github.com/assay-run/assay/lab/stat/eval/line"
	"github.com/assay-run/assay/lab/stat/multiple"
)

func multipleFunctions() []Function {
	return []Function{
		{
			Names: []string{"adjusted_p", "adjusted_p (unsorted input order preserved)"}, Forms: form("p[]"),
			Value: "bonferroni[], holm[], bh[], by[], hl_bhy[] in input order",
			Doc:   "P-values adjusted for each other; hl_bhy only for comparison with Harvey and Liu.",
			bind: func(in *line.Inputs) func() any {
				p := in.Numbers("p", line.From(0, 1))
				return func() any {
					a := multiple.Adjust(p)
					return line.Object{
						{Name: "bonferroni", Value: a.Bonferroni}, {Name: "holm", Value: a.Holm}, {Name: "bh", Value: a.BH},
						{Name: "by", Value: a.BY}, {Name: "hl_bhy", Value: a.HLBHY},
					}
				}
			},
		},
		{
			Names: []string{"hl_haircut_bonferroni"}, Forms: form("sr_annual", "n_months", "rho", "n_tests", "dist `student_t(n-1)`"),
			Value: "sr_ac, t, p_single, p_adj, haircut_sr, haircut",
			Doc:   "What Bonferroni leaves of an annual Sharpe ratio (Harvey and Liu).",
			bind:  bonferroniHaircut,
		},
		{
			Names: []string{"hl_haircut_independent"}, Forms: form("sr_annual", "n_months", "n_tests", "dist `normal`"),
			Value: "t, p_single, p_multi, haircut_sr, haircut",
			Doc:   "What independent tests leave of an annual Sharpe ratio (Harvey and Liu).",
			bind:  independentHaircut,
		},
		{
			Names: []string{"profit_hurdle_percent_per_month"}, Forms: form("n_tests", "alpha", "rows[[months, annual vol]]"),
			Value: "single[], bonferroni[] = z*vol/sqrt(12*months)*100",
			Doc:   "Mean monthly return, in percent, that is significant after so many tests.",
			bind: func(in *line.Inputs) func() any {
				tests, alpha := in.Number("n_tests", line.AtLeast(1)), in.Number("alpha", line.Between(0, 1))
				rows := in.Rows("rows", line.Above(0), line.AtLeast(0))
				return func() any {
					single, bonferroni := make([]float64, len(rows)), make([]float64, len(rows))
					for i, r := range rows {
						h := multiple.Hurdle(r[0], r[1], alpha, tests)
						single[i], bonferroni[i] = h.Single, h.Bonferroni
					}
					return line.Object{{Name: "single", Value: single}, {Name: "bonferroni", Value: bonferroni}}
				}
			},
		},
	}
}

func bonferroniHaircut(in *line.Inputs) func() any {
	sr, months, rho := in.Number("sr_annual", line.Real()), in.Number("n_months", line.AtLeast(2)), in.Number("rho", line.Between(-1, 1))
	tests := in.Number("n_tests", line.AtLeast(1))
	in.Literal("dist", "student_t(n-1)")
	return func() any {
		corrected, why := multiple.MonthlySR(sr, rho)
		if why != "" {
			return line.Undefined{Reason: why}
		}
		h, why := multiple.HaircutOf(corrected, months, func(p float64) float64 { return p * tests })
		return line.Object{
			{Name: "sr_ac", Value: corrected}, {Name: "t", Value: h.T}, {Name: "p_single", Value: h.P}, {Name: "p_adj", Value: h.AdjustedP},
			{Name: "haircut_sr", Value: line.Defined(h.HaircutSR, why)}, {Name: "haircut", Value: line.Defined(h.Haircut, why)},
		}
	}
}

func independentHaircut(in *line.Inputs) func() any {
	sr, months := in.Number("sr_annual", line.Real()), in.Number("n_months", line.AtLeast(2))
	tests := in.Number("n_tests", line.AtLeast(1))
	in.Literal("dist", "normal")
	return func() any {
		h, why := multiple.HaircutIndependent(sr, months, tests)
		return line.Object{
			{Name: "t", Value: h.T}, {Name: "p_single", Value: h.P}, {Name: "p_multi", Value: h.AdjustedP},
			{Name: "haircut_sr", Value: line.Defined(h.HaircutSR, why)}, {Name: "haircut", Value: line.Defined(h.Haircut, why)},
		}
	}
}

// mostChoiceWork bounds choices x columns x blocks of one cscv.
const mostChoiceWork = 1_000_000_000

func overfittingFunctions() []Function {
	return []Function{
		{
			Names: []string{"cscv_combination_count"}, Forms: form("S[]"), Value: "[]",
			Doc: "How many ways there are to choose half of S blocks.",
			bind: func(in *line.Inputs) func() any {
				blocks := in.Integers("S", 2, 1<<30)
				for i, s := range blocks {
					if s%2 != 0 {
						in.Refuse(line.InvalidArgument, "S", []any{i}, "S is %d: it must be even", s)
					}
				}
				return func() any {
					out := []any{}
					for _, s := range blocks {
						n := cscv.Choices(s)
						if n == 0 {
							return tooMuch("S", "the choices of %d blocks do not fit 64 bits", s)
						}
						out = append(out, n)
					}
					return out
				}
			},
		},
		{
			Names: []string{"cscv"}, Forms: form("S", "metric `sharpe ddof=1` or `mean`", "matrix_T_by_N[[]]"),
			Value: "pbo, n, omega[], logits[], logit_all (if all equal), prob_oos_loss, is_oos_pairs[[]], slope, dropped_rows",
			Doc:   "Probability of backtest overfitting, by combinatorially symmetric cross-validation.",
			bind: func(in *line.Inputs) func() any {
				s := in.Integer("S", -1<<30, 1<<30)
				metric := cscv.Sharpe
				if in.Literal("metric", "sharpe ddof=1", "mean") == "mean" {
					metric = cscv.Mean
				}
				rows := in.Matrix("matrix_T_by_N", line.Real())
				return func() any { return runCSCV(rows, s, metric) }
			},
		},
		{
			Names: []string{"cscv argument checks"}, Forms: form("cases[] of `S odd` `S<2` `T<2S` `N<2` `NaN in matrix`"), Value: "always error INVALID_ARGUMENT, as cscv gives for each",
			Doc:  "What cscv says to arguments that it cannot use.",
			bind: argumentChecks,
		},
	}
}

func runCSCV(rows [][]float64, s int, metric cscv.Metric) any {
	if s > cscv.MostBlocks && s%2 == 0 {
		return tooMuch("S", "S is %d: at most %d blocks are computed", s, cscv.MostBlocks)
	}
	if len(rows) > 0 && float64(cscv.Choices(s))*float64(len(rows[0]))*float64(s) > mostChoiceWork {
		return tooMuch("matrix_T_by_N", "%d choices of %d trials are too many: take fewer blocks", cscv.Choices(s), len(rows[0]))
	}
	r, why, err := cscv.Run(rows, s, metric)
	if err != nil {
		return argumentOf(err)
	}
	if why != "" {
		return line.Undefined{Reason: why}
	}
	pairs := make([][]float64, len(r.Pairs))
	for i := range pairs {
		pairs[i] = r.Pairs[i][:]
	}
	out := line.Object{
		{Name: "pbo", Value: r.PBO}, {Name: "n", Value: len(r.Logits)}, {Name: "omega", Value: r.Omega}, {Name: "logits", Value: r.Logits},
	}
	if stat.AllEqual(r.Logits) {
		out = append(out, line.Field{Name: "logit_all", Value: r.Logits[0]})
	}
	return append(out,
		line.Field{Name: "prob_oos_loss", Value: r.ProbLoss}, line.Field{Name: "is_oos_pairs", Value: pairs},
		line.Field{Name: "slope", Value: line.Defined(r.Slope, r.SlopeReason)}, line.Field{Name: "dropped_rows", Value: r.Dropped})
}

// argumentOf is the refusal of an error of cscv.Run.
func argumentOf(err error) *line.Error {
	bad, ok := err.(*cscv.ArgumentError)
	if !ok {
		return refused("matrix_T_by_N", "%v", err)
	}
	return refused(bad.Argument, "%v", bad)
}

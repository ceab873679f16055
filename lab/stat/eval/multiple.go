package eval

import (
	"errors"
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
	"github.com/assay-run/assay/lab/stat/multiple"
)

func multipleFunctions() []Function {
	return []Function{
		define("adjusted_p", "bonferroni[], holm[], bh[], by[], hl_bhy[] in input order",
			"P-values adjusted for each other; hl_bhy only for comparison with Harvey and Liu.",
			func(in struct {
				P []float64 `in:"p[]" is:"0..1"`
			}) any {
				a := multiple.Adjust(in.P)
				return fields("bonferroni", a.Bonferroni, "holm", a.Holm, "bh", a.BH, "by", a.BY, "hl_bhy",
					a.HLBHY)
			}).named("adjusted_p (unsorted input order preserved)"),
		define("hl_haircut_bonferroni", "sr_ac, t, p_single, p_adj, haircut_sr, haircut",
			"What Bonferroni leaves of an annual Sharpe ratio (Harvey and Liu).",
			func(in struct {
				SR     float64 `in:"sr_annual"`
				Months float64 `in:"n_months" is:">=2"`
				Rho    float64 `in:"rho" is:"(-1,1)"`
				Tests  float64 `in:"n_tests" is:">=1"`
				Dist   string  "in:\"dist `student_t(n-1)`\" one:\"student_t(n-1)\""
			}) any {
				corrected, why := multiple.MonthlySR(in.SR, in.Rho)
				if why != "" {
					return Undefined{why}
				}
				h, why := multiple.HaircutOf(corrected, in.Months, func(p float64) float64 {
					return p * in.Tests
				})
				return fields("sr_ac", corrected, "t", h.T, "p_single", h.P, "p_adj", h.AdjustedP,
					"haircut_sr", Defined(h.HaircutSR, why), "haircut", Defined(h.Haircut, why))
			}),
		define("hl_haircut_independent", "t, p_single, p_multi, haircut_sr, haircut",
			"What independent tests leave of an annual Sharpe ratio (Harvey and Liu).",
			func(in struct {
				SR     float64 `in:"sr_annual"`
				Months float64 `in:"n_months" is:">=2"`
				Tests  float64 `in:"n_tests" is:">=1"`
				Dist   string  "in:\"dist `normal`\" one:\"normal\""
			}) any {
				h, why := multiple.HaircutIndependent(in.SR, in.Months, in.Tests)
				return fields("t", h.T, "p_single", h.P, "p_multi", h.AdjustedP,
					"haircut_sr", Defined(h.HaircutSR, why), "haircut", Defined(h.Haircut, why))
			}),
		define("profit_hurdle_percent_per_month", "single[], bonferroni[] = z*vol/sqrt(12*months)*100",
			"Mean monthly return, in percent, that is significant after so many tests.",
			func(in struct {
				Tests float64      `in:"n_tests" is:">=1"`
				Alpha float64      `in:"alpha" is:"(0,1)"`
				Rows  [][2]float64 `in:"rows[[months, annual vol]]" is:">0; >=0"`
			}) any {
				single, bonferroni := make([]float64, len(in.Rows)), make([]float64, len(in.Rows))
				for i, r := range in.Rows {
					h := multiple.Hurdle(r[0], r[1], in.Alpha, in.Tests)
					single[i], bonferroni[i] = h.Single, h.Bonferroni
				}
				return fields("single", single, "bonferroni", bonferroni)
			}),
	}
}

// mostChoiceWork bounds choices x columns x blocks of one cscv.
const mostChoiceWork = 1_000_000_000

func overfittingFunctions() []Function {
	return []Function{
		define("cscv_combination_count", "[]", "How many ways there are to choose half of S blocks.",
			func(in struct {
				S []int `in:"S[]" is:"2..1073741824"`
			}) any {
				for i, s := range in.S {
					if s%2 != 0 {
						return refused(at("S", i), "S is %d: it must be even", s)
					}
				}
				out := []any{}
				for _, s := range in.S {
					n := cscv.Choices(s)
					if n == 0 {
						return tooMuch("S", "the choices of %d blocks do not fit 64 bits", s)
					}
					out = append(out, n)
				}
				return out
			}),
		define("cscv",
			"pbo, n, omega[], logits[], logit_all (if all equal), prob_oos_loss, is_oos_pairs[[]], slope, "+
				"dropped_rows",
			"Probability of backtest overfitting, by combinatorially symmetric cross-validation.",
			func(in struct {
				S      int         `in:"S" is:"-1073741824..1073741824"`
				Metric string      "in:\"metric `sharpe ddof=1` or `mean`\" one:\"sharpe ddof=1|mean\""
				Rows   [][]float64 `in:"matrix_T_by_N[[]]"`
			}) any {
				if in.Metric == "mean" {
					return runCSCV(in.Rows, in.S, cscv.Mean)
				}
				return runCSCV(in.Rows, in.S, cscv.Sharpe)
			}),
		define("cscv_argument_checks", "always error INVALID_ARGUMENT, as cscv gives for each",
			"What cscv says to arguments that it cannot use.",
			func(in struct {
				Cases []string "in:\"cases[] of `S odd` `S<2` `T<2S` `N<2` `NaN in matrix`\" one:\"S odd|S<2|T<2S|N<2|NaN in matrix\""
			}) any {
				for i, name := range in.Cases {
					rows, s := faulty(name)
					if _, _, err := cscv.Run(rows, s, cscv.Sharpe); err != nil {
						return refused(at("cases", i), "%s: %v", name, err)
					}
				}
				return refused(at("cases"), "there is no case")
			}).named("cscv argument checks"),
	}
}

func runCSCV(rows [][]float64, s int, metric cscv.Metric) any {
	if s > cscv.MostBlocks && s%2 == 0 {
		return tooMuch("S", "S is %d: at most %d blocks are computed", s, cscv.MostBlocks)
	}
	if len(rows) > 0 && float64(cscv.Choices(s))*float64(len(rows[0]))*float64(s) > mostChoiceWork {
		return tooMuch("matrix_T_by_N", "%d choices of %d trials are too many: take fewer blocks",
			cscv.Choices(s), len(rows[0]))
	}
	r, why, err := cscv.Run(rows, s, metric)
	if err != nil {
		var bad *cscv.ArgumentError
		if errors.As(err, &bad) {
			return refused(at(bad.Argument), "%v", bad)
		}
		return refused(at("matrix_T_by_N"), "%v", err)
	}
	if why != "" {
		return Undefined{why}
	}
	out := fields("pbo", r.PBO, "n", len(r.Logits), "omega", r.Omega, "logits", r.Logits)
	if stat.AllEqual(r.Logits) {
		out = append(out, Field{"logit_all", r.Logits[0]})
	}
	return append(out, fields("prob_oos_loss", r.ProbLoss, "is_oos_pairs", r.Pairs,
		"slope", Defined(r.Slope, r.SlopeReason), "dropped_rows", r.Dropped)...)
}

// faulty are arguments of cscv with one fault.
func faulty(name string) (rows [][]float64, s int) {
	matrix := func(t, n int) [][]float64 {
		out := make([][]float64, t)
		for i := range out {
			out[i] = make([]float64, n)
			for k := range out[i] {
				out[i][k] = float64((i+1)*(k+2)%7) / 100
			}
		}
		return out
	}
	switch name {
	case "S odd":
		return matrix(16, 3), 3
	case "S<2":
		return matrix(16, 3), 0
	case "T<2S":
		return matrix(7, 3), 4
	case "N<2":
		return matrix(16, 1), 4
	default: // NaN in matrix
		rows = matrix(16, 3)
		rows[5][1] = math.NaN()
		return rows, 4
	}
}

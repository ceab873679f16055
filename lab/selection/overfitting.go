package selection

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
	"github.com/assay-run/assay/lab/stat/deflate"
)

// PBO is the probability of backtest overfitting by CSCV over S blocks.
type PBO struct {
	S     int      `json:"s"`
	Value *float64 `json:"value"`
	// NSplits is the number of ways to choose half of the blocks.
	NSplits *int `json:"n_splits"`
	// ProbOOSLoss is how often the best in sample loses out of sample, Slope how its ratio
	// there depends on the one in sample.
	ProbOOSLoss *float64 `json:"prob_oos_loss"`
	Slope       *float64 `json:"slope"`
}

// What PBO needs to say anything.
const (
	pboBlocks    = 10
	pboTrials    = 10
	pboShortest  = 200
	pboUndefined = stat.Insufficient
)

// CodeCommonDays is the code of a warning about a PBO over fewer days than the rest.
const CodeCommonDays = "PBO_ON_COMMON_DAYS"

// overfitting cross-validates the choice of the best Sharpe ratio. Trials that are
// constant but not 0 have no ratio and would leave none to the rest: they are no columns
// here. A search in rungs leaves fewer than ten trials with all days; then the choice is
// that of the longest rung that has ten. Source: Bailey, Borwein, Lopez de Prado and Zhu
// (2017).
func (e estimates) overfitting(l *Ledger, m *matrix, out *Result) {
	p := &e.of.PBO
	p.S = pboBlocks
	all := []string{"pbo.value", "pbo.n_splits", "pbo.prob_oos_loss", "pbo.slope"}
	columns := m.widest()
	if columns == nil {
		e.none(pboUndefined, all...)
		return
	}
	if days := len(columns[0]); days < l.days() {
		out.Warnings = append(out.Warnings, artifact.ReportWarning{
			Code: CodeCommonDays, Pointer: "/overfitting/selection/pbo",
			Message: fmt.Sprintf("pbo is over %d of the %d days: fewer than %d trials have seen more of them, %d have seen these", days, l.days(), pboTrials, len(columns)),
		})
	}
	r, why, err := cscv.RunColumns(columns, pboBlocks, cscv.Sharpe)
	if err != nil { // a return that is no number: no series has one
		why = stat.NotApplicable
	}
	if why != "" {
		e.none(why, all...)
		return
	}
	n := len(r.Omega)
	p.NSplits = &n
	e.number("pbo.value", &p.Value)(r.PBO, "")
	e.number("pbo.prob_oos_loss", &p.ProbOOSLoss)(r.ProbLoss, "")
	e.number("pbo.slope", &p.Slope)(r.Slope, r.SlopeReason)
}

// widest is the columns of the trials that have a return on each of the most days on which
// ten have, nil if PBO has not enough of either.
func (m *matrix) widest() [][]float64 {
	for _, rows := range deflate.RowSets(m.shared) {
		if len(rows) < pboShortest {
			break
		}
		columns := slices.DeleteFunc(deflate.On(m.shared, rows), func(x []float64) bool { return stat.AllEqual(x) && x[0] != 0 })
		if len(columns) >= pboTrials {
			return columns
		}
	}
	return nil
}

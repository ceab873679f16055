package selection

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
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

// overfitting cross-validates the choice of the best Sharpe ratio. Trials that are
// constant but not 0 have no ratio and would leave none to the rest: they are no columns
// here. Source: Bailey, Borwein, Lopez de Prado and Zhu (2017).
func (e estimates) overfitting(m *matrix) {
	p := &e.of.PBO
	p.S = pboBlocks
	all := []string{"pbo.value", "pbo.n_splits", "pbo.prob_oos_loss", "pbo.slope"}
	rows := m.varying(func(x []float64) bool { return !stat.AllEqual(x) || x[0] == 0 })
	if len(rows) < pboShortest || len(rows[0]) < pboTrials {
		e.none(pboUndefined, all...)
		return
	}
	r, why, err := cscv.Run(rows, pboBlocks, cscv.Sharpe)
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

// varying is the rows with those columns only that keep accepts.
func (m *matrix) varying(keep func(column []float64) bool) [][]float64 {
	kept := *m
	kept.series = nil
	for _, s := range m.series {
		if keep(s.Return) {
			kept.series = append(kept.series, s)
		}
	}
	return rowsOf(kept.series, len(m.rows), returnsOf)
}

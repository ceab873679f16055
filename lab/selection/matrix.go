package selection

import (
	"math"

	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// matrix is the returns of the trials that line up with the judged run: a row per date
// of it, a column per trial.
type matrix struct {
	rows [][]float64
	// columns are indices of trials, series what they are on the dates of the judged run.
	columns []int
	series  []*series.Series
	// nEff is how many of all trials count as independent.
	nEff float64
}

func (l *Ledger) matrix() *matrix {
	m := &matrix{}
	if judged := l.Trials[l.Judged].Series; judged != nil {
		for i := range l.Trials {
			if l.Trials[i].Series == nil {
				continue
			}
			if s, covers := l.Trials[i].Series.On(judged); covers {
				m.columns, m.series = append(m.columns, i), append(m.series, s)
			}
		}
		m.rows = rowsOf(m.series, len(judged.Return), func(s *series.Series) []float64 { return s.Return })
	}
	// There is at least the judged trial, so there is an answer.
	m.nEff, _ = deflate.NEffOf(m.rows, len(l.Trials)-len(m.columns))
	return m
}

// rowsOf puts a column of each series side by side.
func rowsOf(list []*series.Series, n int, column func(*series.Series) []float64) [][]float64 {
	rows := make([][]float64, n)
	flat := make([]float64, n*len(list))
	for i := range rows {
		rows[i] = flat[i*len(list) : (i+1)*len(list)]
	}
	for k, s := range list {
		for i, r := range column(s) {
			rows[i][k] = r
		}
	}
	return rows
}

// sample is what the formulas need to know of one series.
type sample struct {
	ratio, t float64
	shape    sharpe.Shape
}

func sampleOf(returns []float64) (sample, stat.Reason) {
	m, why := stat.Of(returns)
	if why != "" {
		return sample{}, why
	}
	return sample{m.Mean / m.SD, float64(m.N), sharpe.ShapeOf(m)}, ""
}

// judged is the sample of the run in question; the reason says why its ratios are not
// estimated.
func (l *Ledger) judged() (sample, stat.Reason) {
	switch s := l.Trials[l.Judged].Series; {
	case l.Why != "":
		return sample{}, l.Why
	case s == nil:
		return sample{}, stat.TooFewReturns
	default:
		return sampleOf(s.Return)
	}
}

// trialVariance is the variance (ddof 1) of the Sharpe ratios of all trials that have one,
// whether or not they line up: each is per observation. With fewer than two it is the
// squared standard error of the judged one.
func (l *Ledger) trialVariance() (float64, stat.Reason) {
	var ratios []float64
	for i := range l.Trials {
		if s := l.Trials[i].Series; s != nil {
			if x, why := sampleOf(s.Return); why == "" {
				ratios = append(ratios, x.ratio)
			}
		}
	}
	if len(ratios) >= 2 {
		return stat.Variance(ratios, 1)
	}
	x, why := l.judged()
	if why != "" {
		return 0, why
	}
	se, why := sharpe.SE(x.ratio, x.t, x.shape)
	return se * se, why
}

// days is the number of observations that the verdict stands on.
func (l *Ledger) days() int {
	if s := l.Trials[l.Judged].Series; s != nil {
		return len(s.Return)
	}
	return 0
}

// annual is a ratio per observation as that of a year.
func (l *Ledger) annual(ratio float64) float64 { return ratio * math.Sqrt(l.PeriodsPerYear) }

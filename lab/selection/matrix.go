package selection

import (
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// matrix is the returns of all trials as they stand beside the judged run.
type matrix struct {
	// columns are indices of the trials with a return on every date of the judged run,
	// series what they are there.
	columns []int
	series  []*series.Series
	// shared are those that have seen enough of its dates to be compared with it, on these.
	shared []deflate.Column
	// alike is how many of all trials count as independent, and how much those that are
	// compared correlate; variance is that of their Sharpe ratios, undefined for the reason why.
	alike    deflate.Alike
	variance float64
	why      stat.Reason
}

// matrix lines the trials up. The error is only that of ctx.
func (l *Ledger) matrix(ctx context.Context) (*matrix, error) {
	m := &matrix{}
	apart := m.lineUp(l)
	var err error
	// There is at least the judged trial, so there is an answer.
	if m.alike, _, err = deflate.AlikeOf(ctx, m.shared, len(l.Trials)-len(m.shared)); err != nil {
		return nil, err
	}
	m.variance, m.why, err = deflate.VarianceOf(ctx, slices.Concat(m.shared, apart), l.days())
	if err != nil || m.why != stat.TooFewReturns {
		return m, err
	}
	m.variance, m.why = l.squaredError()
	return m, nil
}

// lineUp finds for each trial with a series what it has in common with the judged run.
// Those that share too little are apart: all that they have, on rows that no other has but
// those with the same dates.
func (m *matrix) lineUp(l *Ledger) (apart []deflate.Column) {
	judged := l.Trials[l.Judged].Series
	var places *series.Places
	var rows rowSets
	if judged != nil {
		places = judged.Places()
		rows.next = len(judged.Return)
	}
	for i := range l.Trials {
		s := l.Trials[i].Series
		if s == nil {
			continue
		}
		if places != nil {
			if s, covers := s.On(judged); covers {
				m.columns, m.series = append(m.columns, i), append(m.series, s)
			}
			if at, returns := places.Shared(s); len(at) == len(judged.Return) || len(at) >= deflate.LeastShared {
				m.shared = append(m.shared, deflate.Column{Rows: rows.of(at), Returns: returns})
				continue
			}
		}
		apart = append(apart, deflate.Column{Rows: rows.apart(s), Returns: s.Return})
	}
	return apart
}

// rowSets keeps one slice for equal rows, and hands out new ones.
type rowSets struct {
	known [][]int
	next  int
	dates []*series.Series
	own   [][]int
}

func (r *rowSets) of(rows []int) []int {
	for _, k := range r.known {
		if slices.Equal(k, rows) {
			return k
		}
	}
	r.known = append(r.known, rows)
	return rows
}

// apart are the rows of a series that is not compared with any but those on its dates.
func (r *rowSets) apart(s *series.Series) []int {
	for i, k := range r.dates {
		if slices.Equal(k.Date, s.Date) {
			return r.own[i]
		}
	}
	rows := make([]int, len(s.Return))
	for i := range rows {
		rows[i] = r.next
		r.next++
	}
	r.dates, r.own = append(r.dates, s), append(r.own, rows)
	return rows
}

// squaredError is that of the judged ratio: what stands for the variance of the trials
// where there are no two.
func (l *Ledger) squaredError() (float64, stat.Reason) {
	x, why := l.judged()
	if why != "" {
		return 0, why
	}
	se, why := sharpe.SE(x.ratio, x.t, x.shape)
	return se * se, why
}

// rowsOf puts a column of each series side by side.
func rowsOf(list []*series.Series, n int) [][]float64 {
	rows := make([][]float64, n)
	flat := make([]float64, n*len(list))
	for i := range rows {
		rows[i] = flat[i*len(list) : (i+1)*len(list)]
	}
	for k, s := range list {
		for i, r := range s.Return {
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

// days is the number of observations that the verdict stands on.
func (l *Ledger) days() int {
	if s := l.Trials[l.Judged].Series; s != nil {
		return len(s.Return)
	}
	return 0
}

// annual is a ratio per observation as that of a year.
func (l *Ledger) annual(ratio float64) float64 { return ratio * math.Sqrt(l.PeriodsPerYear) }

package selection

import (
	"context"
	"fmt"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/random"
)

// DSRMaxTest is how dsr_max was made: P after B replicas in blocks of MeanBlock days, of
// which Reached have a trial with the judged ratio or more. Series counts the trials that are
// resampled; WithoutSeries the others, each of which counts as an independent trial: those on
// other windows or on a part of the judged days, those that hardly trade, and those whose
// files are gone.
type DSRMaxTest struct {
	P             *float64 `json:"p"`
	B             int      `json:"b"`
	Reached       *int     `json:"reached"`
	MeanBlock     *float64 `json:"mean_block"`
	Series        int      `json:"n_series"`
	WithoutSeries int      `json:"n_without_series"`
}

// mostResampled bounds trials times days of dsr_max: 13,774 trials over 1,218 days, which
// take some 10 s. A sample of them would be no way out, nor would counting the rest as
// independent: it would depend on which.
const mostResampled = 1 << 24

// maxSeed is the seed of dsr_max, whatever that of the request: the same returns have the
// same answer, and no other seed gives a better one.
const maxSeed = 0

// leastActive is how many days with a return a trial must have to be resampled. With a few
// losing days, many replicas have hardly any of them, and their ratios are arbitrarily high.
const leastActive = 30

// resampled are the returns of the trials that have one on each day of the judged run: of
// that, of those that never trade, which can never be the best, and of those that trade on
// enough days.
func (m *matrix) resampled(l *Ledger) [][]float64 {
	var columns [][]float64
	for k, s := range m.series {
		active := 0
		for _, r := range s.Return {
			if r != 0 {
				active++
			}
		}
		if active >= leastActive || active == 0 || m.columns[k] == l.Judged {
			columns = append(columns, s.Return)
		}
	}
	return columns
}

// resample deflates the ratio of the judged run by the largest of all trials in replicas
// without skill, in blocks as long as Politis and White want them for the judged run.
func (e estimates) resample(ctx context.Context, l *Ledger, m *matrix, most int, out *Result) error {
	test := &e.of.DSRMaxTest
	columns := m.resampled(l)
	test.B, test.Series, test.WithoutSeries = replicas, len(columns), len(l.Trials)-len(columns)
	none := func(why stat.Reason) error {
		e.none(why, "dsr_max", "dsr_max_test.p", "dsr_max_test.reached", "dsr_max_test.mean_block")
		return nil
	}
	x, why := l.judged()
	if why != "" {
		return none(why)
	}
	if len(columns)*l.days() > most {
		out.Warnings = append(out.Warnings, artifact.ReportWarning{
			Code: CodeTooLarge, Pointer: "/overfitting/selection/dsr_max",
			Message: fmt.Sprintf("%d trials over %d days are more than the %d returns that dsr_max takes: it is "+
				"left out", len(columns), l.days(), most),
		})
		return none(stat.NotApplicable)
	}
	judged := l.Trials[l.Judged].Series.Return
	block, why := bootstrap.PolitisWhite(judged)
	if why != "" {
		return none(why)
	}
	draw := func(i int) []int {
		return bootstrap.Indices(random.New(maxSeed, random.DSRMax, uint64(i)), len(judged), block.Stationary)
	}
	found, err := deflate.NewMaxima(columns).DSRMax(ctx, x.ratio, replicas, test.WithoutSeries, draw)
	if err != nil {
		return err
	}
	e.of.DSRMax, test.P, test.Reached = rounded(found.Probability), rounded(found.P), &found.Reached
	test.MeanBlock = rounded(block.Stationary)
	return nil
}

package selection

import (
	"context"
	"fmt"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
)

// SPA are the p-values of Hansen's test by how the replicas are centred.
type SPA struct {
	Lower      *float64 `json:"lower"`
	Consistent *float64 `json:"consistent"`
	Upper      *float64 `json:"upper"`
}

// StepM is which trials beat holding, with a familywise error of at most 5 %.
type StepM struct {
	// Rejected are keys of trials, ascending: those whose null hypothesis is rejected.
	Rejected []string
	// Why says why there was no test; empty if there was.
	Why stat.Reason
}

const (
	replicas = 999
	alpha    = 0.05
)

// The codes of warnings about the tests against holding: a trial cannot be compared with
// it, or there are more trials than the tests take.
const (
	CodeNoHolding = "HOLDING_UNKNOWN"
	CodeTooLarge  = "TESTS_TOO_LARGE"
)

// mostCells bounds trials times days of the tests against holding: 3,443 trials over
// 1,218 days, which take some 10 s and 0.1 GB. A sample of the trials would be no way out:
// fewer trials make the best of them look better.
const mostCells = 1 << 22

// superior tests the differences of all trials that line up against holding at their own
// mean net exposure. A trial whose difference is constant, such as one that never trades,
// cannot beat anything and is no column: it would have no deviation to be studentised by.
// The mean block is that of Politis and White for the judged difference. More returns
// than the estimates take are not tested. Sources: White
// (2000), Hansen (2005), Romano and Wolf (2005).
func (e estimates) superior(ctx context.Context, l *Ledger, m *matrix, holding Holding, seed uint64, out *Result) error {
	none := func(why stat.Reason) {
		e.none(why, "rc_p", "spa_p.lower", "spa_p.consistent", "spa_p.upper")
		out.StepM = StepM{Rejected: []string{}, Why: why}
	}
	if cells := len(m.columns) * l.days(); cells > e.cells {
		out.Warnings = append(out.Warnings, artifact.ReportWarning{
			Code: CodeTooLarge, Pointer: "/overfitting/selection",
			Message: fmt.Sprintf("%d trials over %d days are more than the %d returns that the tests against holding take: rc_p, spa_p and stepm are left out; the deflated ratios and pbo are not",
				len(m.columns), l.days(), e.cells),
		})
		none(stat.NotApplicable)
		return nil
	}
	d, err := l.differences(ctx, m, holding, out)
	if err != nil {
		return err
	}
	if d.judged == nil {
		none(stat.NotApplicable)
		return nil
	}
	block, why := bootstrap.PolitisWhite(d.judged)
	if why != "" {
		none(why)
		return nil
	}
	panel, err := bootstrap.NewPanel(ctx, rowsOf(d.list, len(d.judged)), bootstrap.Replicas(seed, replicas, len(d.judged), block.Stationary))
	if err != nil {
		return err
	}
	_, rc := panel.RealityCheck()
	e.of.RCP = rounded(rc.P)
	spa, why, err := panel.SPA(ctx, block.Stationary)
	if err != nil {
		return err
	}
	if why != "" {
		e.none(why, "spa_p.lower", "spa_p.consistent", "spa_p.upper")
	} else {
		e.of.SPAP = SPA{rounded(spa.Lower.P), rounded(spa.Consistent.P), rounded(spa.Upper.P)}
	}
	step, why, err := panel.StepM(ctx, block.Stationary, alpha)
	if err != nil {
		return err
	}
	out.StepM = StepM{Rejected: []string{}, Why: why}
	for _, k := range step.Rejected {
		out.StepM.Rejected = append(out.StepM.Rejected, l.Trials[d.columns[k]].Key)
	}
	return nil
}

// differences are trials less holding, column by column.
type differences struct {
	columns []int // of trials
	list    []*series.Series
	// judged is the difference of the judged run, nil if it has none.
	judged []float64
}

// differences asks for what holding has returned at the dates of each column.
func (l *Ledger) differences(ctx context.Context, m *matrix, holding Holding, out *Result) (*differences, error) {
	d := &differences{}
	for k, i := range m.columns {
		s, t := m.series[k], &l.Trials[i]
		held, err := holding.Holding(ctx, t.Exchange, t.Data, s.From, s.To)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			out.Warnings = append(out.Warnings, artifact.ReportWarning{
				Code: CodeNoHolding, Pointer: "/overfitting/selection",
				Message: fmt.Sprintf("run %s cannot be compared with holding: %v", t.RunID, err),
			})
			continue
		}
		x := Less(s.Return, held, s.NetExposure)
		if i == l.Judged {
			d.judged = x
		}
		if !stat.AllEqual(x) {
			d.columns, d.list = append(d.columns, i), append(d.list, &series.Series{Return: x})
		}
	}
	return d, nil
}

// Less is a strategy's returns less those of holding at an exposure, day by day: the d of
// the tests against buy_and_hold.
func Less(returns, held []float64, exposure float64) []float64 {
	out := make([]float64, len(returns))
	for i, r := range returns {
		out[i] = r - float64(exposure*held[i])
	}
	return out
}

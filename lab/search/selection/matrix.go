package selection

import (
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// matrix is the returns of all trials as they stand beside the judged run.
type matrix struct {
	// columns are indices of the trials with a return on every date of the judged run,
	// series what they are there.
	columns []int
	series  []*Series
	// shared are those that have seen enough of its dates to be compared with it, on these.
	shared []deflate.Column
	// alike is how many of all trials count as independent, and how much those that are
	// compared correlate; variance is that of their Sharpe ratios, undefined for the reason why.
	alike    deflate.Alike
	variance float64
	why      stat.Reason
}

// buildMatrix lines the trials up. The error is only that of ctx.
func (l *TrialList) buildMatrix(ctx context.Context) (*matrix, error) {
	m := &matrix{}
	own := m.lineUp(l)
	var err error
	// There is at least the judged trial, so there is an answer.
	if m.alike, _, err = deflate.AlikeOf(ctx, m.shared, len(l.Trials)-len(m.shared)); err != nil {
		return nil, err
	}
	m.variance, m.why, err = deflate.VarianceOf(ctx, slices.Concat(m.shared, own), l.countDays())
	if err != nil || m.why != stat.TooFewReturns {
		return m, err
	}
	m.variance, m.why = l.estimateSquaredError()
	return m, nil
}

// lineUp finds for each trial with a series what it has in common with the judged run.
// Those that share too little are apart: all that they have, on rows that no other has but
// those with the same dates.
func (m *matrix) lineUp(l *TrialList) (own []deflate.Column) {
	judged := l.Trials[l.Judged].Series
	var places *Places
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
			if at, returns := places.Shared(s); len(at) == len(judged.Return) ||
				len(at) >= deflate.LeastShared {
				m.shared = append(m.shared, deflate.Column{Rows: rows.of(at), Returns: returns})
				continue
			}
		}
		own = append(own, deflate.Column{Rows: rows.ownRows(s), Returns: s.Return})
	}
	return own
}

// rowSets keeps one slice for equal rows, and hands out new ones.
type rowSets struct {
	known [][]int
	next  int
	dates []*Series
	own   [][]int
}

func (r *rowSets) of(rows []int) []int {
	if i := slices.IndexFunc(r.known, func(k []int) bool { return slices.Equal(k, rows) }); i >= 0 {
		return r.known[i]
	}
	r.known = append(r.known, rows)
	return rows
}

// ownRows are the rows of a series that is not compared with any but those on its dates.
func (r *rowSets) ownRows(s *Series) []int {
	if i := slices.IndexFunc(r.dates, func(k *Series) bool { return slices.Equal(k.Date, s.Date) }); i >= 0 {
		return r.own[i]
	}
	rows := make([]int, len(s.Return))
	for i := range rows {
		rows[i] = r.next
		r.next++
	}
	r.dates, r.own = append(r.dates, s), append(r.own, rows)
	return rows
}

// estimateSquaredError is that of the judged ratio: what stands for the variance of the trials
// where there are no two.
func (l *TrialList) estimateSquaredError() (float64, stat.Reason) {
	x, why := l.sampleJudged()
	if why != "" {
		return 0, why
	}
	se, why := sharpe.SE(x.ratio, x.t, x.shape)
	return se * se, why
}

// rowsOf puts a column of each series side by side.
func rowsOf(list []*Series, n int) [][]float64 {
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

// sampleJudged is the sample of the run in request, or the reason why its ratios are not estimated.
func (l *TrialList) sampleJudged() (sample, stat.Reason) {
	switch s := l.Trials[l.Judged].Series; {
	case l.Why != "":
		return sample{}, l.Why
	case s == nil:
		return sample{}, stat.TooFewReturns
	default:
		return sampleOf(s.Return)
	}
}

// countDays is the number of observations that the verdict stands on.
func (l *TrialList) countDays() int {
	if s := l.Trials[l.Judged].Series; s != nil {
		return len(s.Return)
	}
	return 0
}

// annualise is a ratio per observation as that of a year.
func (l *TrialList) annualise(ratio float64) float64 { return ratio * math.Sqrt(l.PeriodsPerYear) }

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
func (m *matrix) resampled(l *TrialList) [][]float64 {
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

// resample deflates the ratio of the judged run by the largest of all trials in replicas without
// skill, in blocks of the length of Politis and White for the judged run.
func (e estimates) resample(ctx context.Context, l *TrialList, m *matrix, most int, out *Result) error {
	test := &e.of.DSRMaxTest
	columns := m.resampled(l)
	test.B, test.Series, test.WithoutSeries = replicas, len(columns), len(l.Trials)-len(columns)
	none := func(why stat.Reason) error {
		e.none(why, "dsr_max", "dsr_max_test.p", "dsr_max_test.reached", "dsr_max_test.mean_block")
		return nil
	}
	x, why := l.sampleJudged()
	if why != "" {
		return none(why)
	}
	if len(columns)*l.countDays() > most {
		out.warn(CodeTooLarge, "/dsr_max",
			"%d trials over %d days are more than the %d returns that dsr_max takes: "+
				"it is left out", len(columns), l.countDays(), most)
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
	e.of.DSRMax = new(metric.Round(found.Probability))
	test.P, test.Reached = new(metric.Round(found.P)), &found.Reached
	test.MeanBlock = new(metric.Round(block.Stationary))
	return nil
}

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
	// Why is why there was no test; empty if there was.
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

// mostCells bounds trials times days of the tests against holding: 3,443 trials over 1,218
// days, which take some 10 s and 0.1 GB. A sample of the trials would be no way out: fewer
// trials make the best of them look better.
const mostCells = 1 << 22

// superior tests the differences of all trials that line up against holding at their own
// mean net exposure. A trial whose difference is constant, such as one that never trades,
// cannot beat anything and is no column: it would have no deviation to be studentised by.
// The mean block is that of Politis and White for the judged difference. More returns
// than the estimates take are not tested. Sources: White (2000), Hansen (2005), Romano
// and Wolf (2005).
func (e estimates) superior(ctx context.Context, l *TrialList, m *matrix, holding Holding, seed uint64,
	out *Result) error {
	none := func(why stat.Reason) error {
		e.none(why, "rc_p", "spa_p.lower", "spa_p.consistent", "spa_p.upper")
		out.StepM = StepM{Rejected: []string{}, Why: why}
		return nil
	}
	if cells := len(m.columns) * l.countDays(); cells > e.cells {
		out.warn(CodeTooLarge, "",
			"%d trials over %d days are more than the %d returns that the tests against holding "+
				"take: rc_p, spa_p and stepm are left out; the deflated ratios and pbo are not",
			len(m.columns), l.countDays(), e.cells)
		return none(stat.NotApplicable)
	}
	d, err := l.subtractHolding(ctx, m, holding, out)
	if err != nil {
		return err
	}
	if d.judged == nil {
		return none(stat.NotApplicable)
	}
	block, why := bootstrap.PolitisWhite(d.judged)
	if why != "" {
		return none(why)
	}
	panel, err := bootstrap.NewPanel(ctx, rowsOf(d.list, len(d.judged)),
		bootstrap.Replicas(seed, replicas, len(d.judged), block.Stationary))
	if err != nil {
		return err
	}
	_, rc := panel.RealityCheck()
	e.of.RCP = new(metric.Round(rc.P))
	spa, why, err := panel.SPA(ctx, block.Stationary)
	if err != nil {
		return err
	}
	if why != "" {
		e.none(why, "spa_p.lower", "spa_p.consistent", "spa_p.upper")
	} else {
		e.of.SPAP = SPA{new(metric.Round(spa.Lower.P)), new(metric.Round(spa.Consistent.P)),
			new(metric.Round(spa.Upper.P))}
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

type differences struct {
	columns []int // of trials
	list    []*Series
	// judged is the difference of the judged run, nil if it has none.
	judged []float64
}

// subtractHolding asks for what holding has returned at the dates of each column.
func (l *TrialList) subtractHolding(ctx context.Context, m *matrix, holding Holding,
	out *Result) (*differences, error) {
	d := &differences{}
	for k, i := range m.columns {
		s, t := m.series[k], &l.Trials[i]
		held, err := holding.Holding(ctx, t.Exchange, t.Data, s.From, s.To)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			out.warn(CodeNoHolding, "", "run %s cannot be compared with holding: %v", t.RunID, err)
			continue
		}
		x := Less(s.Return, held, s.NetExposure)
		if i == l.Judged {
			d.judged = x
		}
		if !stat.AllEqual(x) {
			d.columns, d.list = append(d.columns, i), append(d.list, &Series{Return: x})
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

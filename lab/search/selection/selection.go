// Package selection judges what a search has done to the numbers of the run that it chose.
//
// [ReadBook] takes every trial of a registry, whatever strategy, family, symbol or exchange,
// and groups them into classes: those with one trial key, those whose daily net returns
// correlate by more than 0.999 on at least 30 shared days, and, where there are no such
// returns, those with one decision hash. N is the number of classes that overlap the days in
// request. Replays of a falsification do not count, but once a run has the parameters of a
// replay of param_neighbourhood, all replays of that test do. The derived returns are kept in
// the registry, so that a trial stays counted when its files are gone.
//
// [SeriesOf] stitches the equity curves of a walk-forward into one series of returns: UTC days
// where candles are shorter than a day. Returns are fractions, not annualised, times Unix
// milliseconds. [Candles] has what holding returned meanwhile.
//
// [ReadTrials] gives the [TrialList] of a family, whose [Digest] is part of the request of a
// falsification. Select judges one run against the others: the best of all trials in replicas
// without skill, formulas for the number of trials, the probability of backtest overfitting,
// tests for superior ability over holding. The dates are those of the judged run. Trials that
// share enough of them are compared pair by pair; one on other windows, or without files,
// counts as one more independent trial. Resampling takes the trials with a return on every
// date, PBO the most dates on which ten trials have one. Counting too many is the safe side.
// [Plateau] and [ImportanceOf] describe how the objective lies over the space of a search.
//
// Trials are ordered by their key: neither clocks nor the order of workers show in a result.
// Sharpe ratios are per observation.
package selection

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/multiple"
	"github.com/assay-run/assay/lab/stat/sharpe"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Selection is the selection block of reports. Numbers are rounded to 12 significant
// digits; what is undefined is null and has a reason in Undefined, by its JSON name, with
// a dot before the name inside a part.
type Selection struct {
	// NTrials is N, counted by the host; NTrialsFamily how many of them the run's own family
	// has a part in; NEff how many of them count as independent.
	NTrials       int      `json:"n_trials"`
	NTrialsFamily int      `json:"n_trials_family"`
	NTrialsSource string   `json:"n_trials_source"`
	NEff          *float64 `json:"n_eff"`
	// TrialSRVariance is that of the Sharpe ratios per observation.
	TrialSRVariance *float64 `json:"trial_sr_variance"`
	// MinBTLYears is how long a backtest must be before the best of N is not expected to
	// reach this ratio by chance.
	MinBTLYears *float64 `json:"min_btl_years"`
	// DSRMax decides: the probability that a search without skill, on these days and with
	// trials as alike as these, finds no trial with a ratio as high. DSRMaxTest is how it was
	// made.
	DSRMax     *float64   `json:"dsr_max"`
	DSRMaxTest DSRMaxTest `json:"dsr_max_test"`
	DSR2014    *float64   `json:"dsr_2014"`
	DSR2025    *float64   `json:"dsr_2025"`
	PSidak     *float64   `json:"p_sidak"`
	Haircut    Haircut    `json:"haircut"`
	PBO        PBO        `json:"pbo"`
	// RCP is White's p, SPAP are Hansen's: whether any trial beats holding.
	RCP       *float64               `json:"rc_p"`
	SPAP      SPA                    `json:"spa_p"`
	TestPeeks int                    `json:"test_peeks"`
	PostPeek  bool                   `json:"post_peek"`
	Undefined map[string]stat.Reason `json:"undefined"`
}

// Result is a Selection with what follows from it.
type Result struct {
	Selection Selection
	Verdict   Verdict
	StepM     StepM
	// Series counts the trials that line up with the judged run, it included; T is the
	// number of its returns. SmallestP is the least that RCP and SPAP can be.
	Series, T int
	SmallestP float64
	// Again is that of the [TrialList].
	Again    int
	Warnings []artifact.ReportWarning
}

// warn adds a warning about a part of the report.
func (r *Result) warn(code, pointer, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	r.Warnings = append(r.Warnings,
		artifact.ReportWarning{Code: code, Pointer: "/overfitting/selection" + pointer, Message: message})
}

// Source is where the number of trials comes from.
const Source = "registry"

// Holding gives what an equal-weight holding of the symbols of some datasets has returned
// between pairs of times, as a fraction; [Candles] is one.
type Holding interface {
	Holding(ctx context.Context, exchange string, data []artifact.Dataset, from,
		to []market.Time) ([]float64, error)
}

// Select judges the run of the list. The seed is that of the request: the tests against
// holding resample with it. The error is only that of ctx: a trial whose candles cannot be
// had is left out of these tests with a warning.
func (l *TrialList) Select(ctx context.Context, holding Holding, seed uint64) (*Result, error) {
	m, err := l.buildMatrix(ctx)
	if err != nil {
		return nil, err
	}
	out := &Result{
		Selection: Selection{
			NTrials: len(l.Trials), NTrialsFamily: l.FamilyTrials(), NTrialsSource: Source,
			NEff: new(metric.Round(m.alike.NEff)), TestPeeks: l.TestPeeks, PostPeek: l.PostPeek,
			Undefined: map[string]stat.Reason{},
		},
		Series: len(m.columns), T: l.countDays(), SmallestP: stat.SmallestP(replicas), Again: l.Again,
	}
	e := estimates{&out.Selection, mostCells}
	e.deflate(l, m)
	if err := e.resample(ctx, l, m, mostResampled, out); err != nil {
		return nil, err
	}
	e.haircut(l)
	e.overfitting(l, m, out)
	if err := e.superior(ctx, l, m, holding, seed, out); err != nil {
		return nil, err
	}
	out.Verdict = Judge(&out.Selection, out.T)
	return out, nil
}

// estimates fills a Selection and notes what is undefined. The tests against holding take
// so many cells of trials times days.
type estimates struct {
	of    *Selection
	cells int
}

func (e estimates) number(name string, into **float64) func(float64, stat.Reason) {
	return noted(e.of.Undefined, name, into)
}

// noted takes a statistic as it comes, a number or a reason.
func noted(undefined map[string]stat.Reason, name string, into **float64) func(float64, stat.Reason) {
	return func(x float64, why stat.Reason) {
		if why == "" {
			x, why = stat.Finite(x)
		}
		if why != "" {
			undefined[name] = why
			return
		}
		*into = new(metric.Round(x))
	}
}

func (e estimates) none(why stat.Reason, names ...string) {
	for _, name := range names {
		e.of.Undefined[name] = why
	}
}

// deflate is what so many trials do to the ratio of the judged one by formula: MinBTL and
// both deflated ratios over N, Sidak over N_eff.
func (e estimates) deflate(l *TrialList, m *matrix) {
	s := e.of
	variance, whyNot := m.variance, m.why
	e.number("trial_sr_variance", &s.TrialSRVariance)(variance, whyNot)
	x, why := l.sampleJudged()
	if why != "" {
		e.none(why, "min_btl_years", "dsr_2014", "dsr_2025", "p_sidak")
		return
	}
	length, why := deflate.MinBacktestLength(float64(s.NTrials), l.annualise(x.ratio))
	if x.ratio <= 0 {
		why = stat.SharpeNotAboveBenchmark // no length is enough
	}
	e.number("min_btl_years", &s.MinBTLYears)(length.Years, why)
	e.number("p_sidak", &s.PSidak)(multiple.SidakOfSharpe(x.ratio, x.t, m.alike.NEff), "")
	if whyNot != "" {
		e.none(whyNot, "dsr_2014", "dsr_2025")
		return
	}
	old, now := x.deflated(deflate.Trials{Variance: variance, N: float64(s.NTrials)}, m.alike.Correlation)
	e.number("dsr_2014", &s.DSR2014)(old.value, old.why)
	e.number("dsr_2025", &s.DSR2025)(now.value, now.why)
}

type answer struct {
	value float64
	why   stat.Reason
}

// deflated is the probability that the true ratio is above what the best of the trials
// would reach by chance: the forms of 2014 and of 2025, trials that correlate by rho.
func (x sample) deflated(trials deflate.Trials, rho float64) (of2014, of2025 answer) {
	old, why := deflate.DSR2014(x.ratio, x.t, x.shape, trials)
	of2014 = answer{old.Probability, why}
	now, _, why := deflate.DSR2025(x.ratio, x.t, x.shape, trials, rho)
	if why != "" {
		return of2014, answer{why: why}
	}
	// Trials whose ratios happen to be nearly equal expect no maximum to speak of, but narrow
	// the error. No search makes a ratio more credible than no search.
	trials.N = 1
	alone, _, why := deflate.DSR2025(x.ratio, x.t, x.shape, trials, 0)
	return of2014, answer{min(now.Probability, alone.Probability), why}
}

// The verdicts of selection_bias.
const (
	Pass         = "pass"
	Warn         = "warn"
	Fail         = "fail"
	Inconclusive = "inconclusive"
)

// The reason codes of a verdict; a pass has none, an inconclusive one has the reason for
// which its number is undefined.
const (
	// ReasonDSRMax and ReasonDSRMaxLow: a search without skill finds a ratio as high more
	// often than in 5 % of cases, or in most.
	ReasonDSRMax    = "dsr_max_below_0.95"
	ReasonDSRMaxLow = "dsr_max_below_0.5"
	// ReasonPBO and ReasonPBOHigh: choosing the best overfits too often, or mostly.
	ReasonPBO     = "pbo_above_0.2"
	ReasonPBOHigh = "pbo_above_0.5"
	// ReasonShort: too few returns for the asymptotic errors.
	ReasonShort = "short_sample"
)

// The policy.
const (
	DSRPass = 0.95
	DSRFail = 0.50
	PBOPass = 0.20
	PBOWarn = 0.50
)

// Verdict is that of selection_bias. Strong marks a pass that the deflated ratio of 2014
// confirms.
type Verdict struct {
	Verdict    string
	Strong     bool
	ReasonCode string
}

// Judge is the verdict over t returns: by dsr_max, then the worse of that and PBO where there
// is one, so that PBO fails a run whose ratio is undefined as well; with fewer than
// stat.ShortSample returns never better than a warning.
func Judge(s *Selection, t int) Verdict {
	if s.DSRMax == nil {
		if pbo := s.PBO.Value; pbo != nil && *pbo > PBOWarn {
			return Verdict{Verdict: Fail, ReasonCode: ReasonPBOHigh}
		}
		return Verdict{Verdict: Inconclusive, ReasonCode: string(s.Undefined["dsr_max"])}
	}
	v := deflated(*s.DSRMax)
	if pbo := s.PBO.Value; pbo != nil {
		switch {
		case *pbo > PBOWarn && v.Verdict != Fail:
			v = Verdict{Verdict: Fail, ReasonCode: ReasonPBOHigh}
		case *pbo > PBOPass && v.Verdict == Pass:
			v = Verdict{Verdict: Warn, ReasonCode: ReasonPBO}
		}
	}
	if t < stat.ShortSample && v.Verdict == Pass {
		v = Verdict{Verdict: Warn, ReasonCode: ReasonShort}
	}
	v.Strong = v.Verdict == Pass && s.DSR2014 != nil && *s.DSR2014 >= DSRPass
	return v
}

func deflated(dsrMax float64) Verdict {
	switch {
	case dsrMax >= DSRPass:
		return Verdict{Verdict: Pass}
	case dsrMax < DSRFail:
		return Verdict{Verdict: Fail, ReasonCode: ReasonDSRMaxLow}
	}
	return Verdict{Verdict: Warn, ReasonCode: ReasonDSRMax}
}

// Haircut is the share of the annual Sharpe ratio that is lost to the number of trials,
// by the adjustment of the p-values: 0.4 leaves 60 %, 1 nothing.
type Haircut struct {
	Bonferroni *float64 `json:"bonferroni"`
	Holm       *float64 `json:"holm"`
	BY         *float64 `json:"by"`
}

const (
	monthsPerYear = 12
	// leastMonths keeps a degree of freedom for Student's t.
	leastMonths = 2
)

// track is an annual Sharpe ratio, corrected for the autocorrelation of the returns, and
// how many months they cover.
type track struct{ annual, months float64 }

// trackOf is the track of returns of which there are so many in a year. The reasons are
// those of the ratio and of its correction, and TooFewReturns below two months.
func trackOf(returns []float64, periods float64) (track, stat.Reason) {
	x, why := sampleOf(returns)
	if why != "" {
		return track{}, why
	}
	months := x.t / periods * monthsPerYear
	if !(months > leastMonths) {
		return track{}, stat.TooFewReturns
	}
	rho, why := stat.Lag1(returns)
	if why != "" {
		return track{}, why
	}
	// The ratio per observation is annualised over q periods as if rho were 0; Corrected
	// takes that back.
	eta, why := sharpe.EtaAR1(periods, rho)
	return track{x.ratio * eta, months}, why
}

// haircut cuts the ratio of the judged run. The family of tests is all trials: one that
// has no ratio, or none above 0, has found nothing and counts with a p of 1. Counting it
// at the p of its loss would make room for the others. Source: Harvey and Liu (2015).
func (e estimates) haircut(l *TrialList) {
	none := func(why stat.Reason) { e.none(why, "haircut.bonferroni", "haircut.holm", "haircut.by") }
	if _, why := l.sampleJudged(); why != "" {
		none(why)
		return
	}
	judged, why := trackOf(l.Trials[l.Judged].Series.Return, l.PeriodsPerYear)
	switch {
	case why != "":
		none(why)
		return
	case judged.annual <= 0:
		none(stat.SharpeNotAboveBenchmark)
		return
	}
	adjusted := multiple.Adjust(l.computePValues())
	for _, c := range []struct {
		name string
		into **float64
		p    []float64
	}{
		{"haircut.bonferroni", &e.of.Haircut.Bonferroni, adjusted.Bonferroni},
		{"haircut.holm", &e.of.Haircut.Holm, adjusted.Holm},
		{"haircut.by", &e.of.Haircut.BY, adjusted.BY},
	} {
		h, why := multiple.HaircutOf(judged.annual, judged.months, func(float64) float64 {
			return c.p[l.Judged]
		})
		e.number(c.name, c.into)(h.Haircut, why)
	}
}

// computePValues are two-sided, in the order of the trials.
func (l *TrialList) computePValues() []float64 {
	p := make([]float64, len(l.Trials))
	for i := range p {
		p[i] = 1
		if s := l.Trials[i].Series; s != nil {
			if x, why := trackOf(s.Return, l.PeriodsPerYear); why == "" && x.annual > 0 {
				h, _ := multiple.HaircutOf(x.annual, x.months, func(p float64) float64 { return p })
				p[i] = h.P
			}
		}
	}
	return p
}

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

// What PBO needs.
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
func (e estimates) overfitting(l *TrialList, m *matrix, out *Result) {
	p := &e.of.PBO
	p.S = pboBlocks
	all := []string{"pbo.value", "pbo.n_splits", "pbo.prob_oos_loss", "pbo.slope"}
	columns := m.widest()
	if columns == nil {
		e.none(pboUndefined, all...)
		return
	}
	if days := len(columns[0]); days < l.countDays() {
		out.warn(CodeCommonDays, "/pbo",
			"pbo is over %d of the %d days: fewer than %d trials have seen more of them, "+
				"%d have seen these", days, l.countDays(), pboTrials, len(columns))
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
		columns := slices.DeleteFunc(deflate.On(m.shared, rows), func(x []float64) bool {
			return stat.AllEqual(x) && x[0] != 0
		})
		if len(columns) >= pboTrials {
			return columns
		}
	}
	return nil
}

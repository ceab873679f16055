package selection

import (
	"context"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/multiple"
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
	// Again is that of the Ledger.
	Again    int
	Warnings []artifact.ReportWarning
}

// Source says where the number of trials comes from.
const Source = "registry"

// Holding tells what an equal-weight holding of the symbols of some datasets has returned
// between pairs of times, as a fraction; series.Candles is one.
type Holding interface {
	Holding(ctx context.Context, exchange string, data []artifact.Dataset, from, to []market.Time) ([]float64, error)
}

// Select judges the run of the ledger. The seed is that of the request: the tests against
// holding resample with it. The error is only that of ctx: a trial whose candles cannot be
// had is left out of these tests with a warning.
func (l *Ledger) Select(ctx context.Context, holding Holding, seed uint64) (*Result, error) {
	m, err := l.matrix(ctx)
	if err != nil {
		return nil, err
	}
	out := &Result{
		Selection: Selection{
			NTrials: len(l.Trials), NTrialsFamily: l.FamilyTrials(), NTrialsSource: Source,
			NEff: rounded(m.alike.NEff), TestPeeks: l.TestPeeks, PostPeek: l.PostPeek, Undefined: map[string]stat.Reason{},
		},
		Series: len(m.columns), T: l.days(), SmallestP: stat.SmallestP(replicas), Again: l.Again,
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

// number takes a statistic as it comes, a number or a reason.
func (e estimates) number(name string, into **float64) func(float64, stat.Reason) {
	return func(x float64, why stat.Reason) {
		if why == "" {
			x, why = stat.Finite(x)
		}
		if why != "" {
			e.of.Undefined[name] = why
			return
		}
		*into = rounded(x)
	}
}

func (e estimates) none(why stat.Reason, names ...string) {
	for _, name := range names {
		e.of.Undefined[name] = why
	}
}

// deflate is what so many trials do to the ratio of the judged one by formula: MinBTL and
// both deflated ratios over N, Sidak over N_eff.
func (e estimates) deflate(l *Ledger, m *matrix) {
	s := e.of
	variance, whyNot := m.variance, m.why
	e.number("trial_sr_variance", &s.TrialSRVariance)(variance, whyNot)
	x, why := l.judged()
	if why != "" {
		e.none(why, "min_btl_years", "dsr_2014", "dsr_2025", "p_sidak")
		return
	}
	length, why := deflate.MinBacktestLength(float64(s.NTrials), l.annual(x.ratio))
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

// answer is a statistic or the reason why there is none.
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

func rounded(x float64) *float64 {
	x = metric.Round(x)
	return &x
}

package compare

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"strconv"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The conventions of the paired difference.
const (
	confidence = 0.95
	replicas   = 999
	// shortSample is the number of returns below which the probabilities are too kind.
	shortSample = 120
)

// Pair reports whether a run differs from the baseline by more than luck: the return of
// the run less that of the baseline on every day that both have. What is undefined is
// null and has a reason in Undefined.
type Pair struct {
	RunID string `json:"run_id"`
	// MeanDifference is per return and not annualised, CI95 its percentile interval by the
	// stationary bootstrap, P the two-sided p-value of no difference.
	MeanDifference *float64    `json:"mean_difference"`
	CI95           *[2]float64 `json:"ci95"`
	P              *float64    `json:"p"`
	// PSharpeBetter is the share of the replicas, both runs resampled by the same days, in
	// which the run's Sharpe ratio is above the baseline's; equal ones count half.
	PSharpeBetter *float64 `json:"p_sharpe_better"`
	// DaysNeeded is the minimum track record of the difference: how many days of it are
	// needed to claim at 95 % that it is above 0. Days is how many there are.
	DaysNeeded *int64                   `json:"days_needed"`
	Days       int                      `json:"days"`
	SmallestP  float64                  `json:"smallest_p"`
	Undefined  map[string]metric.Reason `json:"undefined"`
	// Bootstrap is how the days were resampled; nil where they could not be.
	Bootstrap *artifact.Bootstrap `json:"bootstrap"`
}

// pairs compares each run but the baseline with it. The pairs are computed side by
// side and stored by index: how many at once changes nothing.
func pairs(ctx context.Context, runs []*loaded, base *loaded, splitID string) ([]Pair, error) {
	mine, why, err := base.returns(splitID)
	if err != nil {
		return nil, err
	}
	var others []*loaded
	for _, x := range runs {
		if x != base {
			others = append(others, x)
		}
	}
	seed, err := strconv.ParseUint(base.meta.Seed, 10, 64)
	if err != nil {
		seed = 1 // the default, for rows that have none
	}
	out := make([]Pair, len(others))
	errs := request.SideBySide(runtime.GOMAXPROCS(0), len(others), func(i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		out[i], err = pairOf(others[i], base, mine, why, splitID, seed)
		return err
	})
	if err := request.FirstCause(errs); err != nil {
		return nil, err
	}
	return out, nil
}

func pairOf(x, base *loaded, mine metric.Returns, why metric.Reason, splitID string,
	seed uint64) (Pair, error) {
	theirs, whyNot, err := x.returns(splitID)
	if err != nil {
		return Pair{}, err
	}
	p := newPair(x.row.RunID)
	if why == "" {
		why = whyNot
	}
	if why == "" && (theirs.Sample != mine.Sample || theirs.Every != mine.Every) {
		why = metric.NotApplicable
	}
	if why != "" {
		p.none(why, "mean_difference", "ci95", "p", "p_sharpe_better", "days_needed", "bootstrap")
		return p, nil
	}
	a, b := common(theirs, mine)
	p.compare(a, b, theirs, seed)
	// A ratio that is not shown because the sample is too small is not compared either.
	for _, r := range []*loaded{x, base} {
		m, _ := r.measured(splitID)
		if v := m.get("sharpe_ratio"); v.Reason != "" {
			p.PSharpeBetter, p.DaysNeeded = nil, nil
			p.none(v.Reason, "p_sharpe_better", "days_needed")
		}
	}
	return p, nil
}

func newPair(runID string) Pair {
	return Pair{RunID: runID, SmallestP: stat.SmallestP(replicas), Undefined: map[string]metric.Reason{}}
}

func (p *Pair) none(why metric.Reason, names ...string) {
	for _, name := range names {
		p.Undefined[name] = why
	}
}

// common is the returns of two series at the times that both have. Overlapping windows
// of a walk-forward repeat times: the first of one belongs to the first of the other.
func common(x, y metric.Returns) (a, b []float64) {
	type moment struct {
		at  market.Time
		nth int
	}
	number := func(times []market.Time) []moment {
		seen := map[market.Time]int{}
		out := make([]moment, len(times))
		for i, t := range times {
			out[i] = moment{t, seen[t]}
			seen[t]++
		}
		return out
	}
	at := map[moment]float64{}
	for i, m := range number(y.Time) {
		at[m] = y.Return[i]
	}
	for i, m := range number(x.Time) {
		if other, both := at[m]; both {
			a, b = append(a, x.Return[i]), append(b, other)
		}
	}
	return a, b
}

// compare fills the pair from the returns of the run, a, and those of the baseline, b,
// on the same days.
func (p *Pair) compare(a, b []float64, returns metric.Returns, seed uint64) {
	p.Days = len(a)
	if len(a) == 0 {
		p.none(stat.TooFewReturns, "mean_difference", "ci95", "p", "p_sharpe_better", "days_needed",
			"bootstrap")
		return
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	p.MeanDifference = new(metric.Round(stat.Mean(d)))
	var why stat.Reason
	if p.DaysNeeded, why = daysNeeded(d, returns); why != "" {
		p.none(why, "days_needed")
	}
	block, why := bootstrap.PolitisWhite(d)
	if why != "" {
		p.none(why, "ci95", "p", "p_sharpe_better", "bootstrap")
		return
	}
	mean := max(block.Stationary, 1) // no block is shorter than a return
	plan := bootstrap.Plan{Seed: seed, B: replicas, MeanBlock: mean}
	p.Bootstrap = &artifact.Bootstrap{B: replicas, MeanBlock: metric.Round(mean), Rule: "politis_white",
		Seed: strconv.FormatUint(seed, 10)}
	interval, why := bootstrap.MeanInterval(d, plan, confidence)
	if why != "" {
		p.none(why, "ci95", "p")
	} else {
		p.CI95, p.P = &[2]float64{metric.Round(interval.Low), metric.Round(interval.High)},
			new(metric.Round(interval.P))
	}
	if stat.AllEqual(a) || stat.AllEqual(b) {
		p.none(stat.ZeroVariance, "p_sharpe_better")
		return
	}
	p.PSharpeBetter = new(metric.Round(sharpeBetter(a, b, plan)))
}

// daysNeeded is the minimum track record (2012) of a difference, at a benchmark of 0.
func daysNeeded(d []float64, returns metric.Returns) (*int64, stat.Reason) {
	m, why := stat.Of(d)
	if why != "" {
		return nil, why
	}
	n, why := sharpe.MinTRL2012(m.Mean/m.SD, 0, sharpe.ShapeOf(m), confidence)
	if why != "" {
		return nil, why
	}
	days, why := returns.Days(n)
	if why != "" {
		return nil, why
	}
	return &days, ""
}

// sharpeBetter is the share of the replicas in which the Sharpe ratio of a is above
// that of b, both taken at the same indices.
func sharpeBetter(a, b []float64, plan bootstrap.Plan) float64 {
	wins := 0.0
	for i := range plan.B {
		var x, y moments
		for _, at := range bootstrap.Indices(random.New(plan.Seed, random.Bootstrap, uint64(i)), len(a),
			plan.MeanBlock) {
			x.add(a[at])
			y.add(b[at])
		}
		switch p, q := x.ratio(), y.ratio(); {
		case p > q:
			wins++
		case p == q:
			wins += 0.5
		}
	}
	return wins / float64(plan.B)
}

// moments are the sums that a Sharpe ratio needs.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) {
	m.n++
	m.sum += x
	m.squares += float64(x * x)
}

// ratio orders samples as their Sharpe ratios do; a sample without spread is as good
// as its mean: better than all, worse than all, or nothing.
func (m *moments) ratio() float64 {
	mean := m.sum / m.n
	variance := m.squares/m.n - float64(mean*mean)
	if variance <= 0 {
		if mean == 0 {
			return 0
		}
		return math.Inf(int(math.Copysign(1, mean)))
	}
	return mean / math.Sqrt(variance)
}

// Selection is what a search has done to the numbers of a run: N and the looks at the
// test belong to the other numbers: all are taken from the run's report or from that of
// its falsification, where there is one, else the two are counted from the registry. What
// is undefined is null and has a reason in Undefined.
type Selection struct {
	// NTrials is the number of trials on the days of the run, NTrialsNow what it is today:
	// more, where something was tried since the other numbers were computed. NTrialsFamily
	// is how many of those today the run's own family has a part in.
	NTrials       int      `json:"n_trials"`
	NTrialsNow    int      `json:"n_trials_now"`
	NTrialsFamily int      `json:"n_trials_family"`
	NTrialsSource string   `json:"n_trials_source"`
	NEff          *float64 `json:"n_eff"`
	DSRMax        *float64 `json:"dsr_max"`
	DSR2014       *float64 `json:"dsr_2014"`
	DSR2025       *float64 `json:"dsr_2025"`
	PBO           *float64 `json:"pbo"`
	// TestPeeks counts the looks at the family's test, TestPeeksNow those until today;
	// PostPeek reports that the run was tried after the first of them.
	TestPeeks    int  `json:"test_peeks"`
	TestPeeksNow int  `json:"test_peeks_now"`
	PostPeek     bool `json:"post_peek"`
	// PlanID is the plan that the run belongs to, null without one; Deviation reports that it
	// is not the run that the plan's rule selects.
	PlanID                 *string                  `json:"plan_id"`
	Deviation              bool                     `json:"deviation"`
	ValidationContaminated bool                     `json:"validation_contaminated"`
	Undefined              map[string]metric.Reason `json:"undefined"`
	// Trials is which trial the run was, null for one that is none.
	Trials *registry.Place `json:"trials"`
}

// Falsification is how the newest falsification of a run has ended.
type Falsification struct {
	RunID   string `json:"run_id"`
	Overall string `json:"overall"`
	// Refuted is the first claim that was refuted, null if none was.
	Refuted *string `json:"refuted"`
	Tests   []Test  `json:"tests"`
}

// Test is the verdict of one test: pass, warn, fail, inconclusive, error or skipped.
type Test struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
}

// standing is what other rows have of a run.
type standing struct {
	selection     Selection
	falsification *Falsification
}

// standings are those of the runs, in their order.
func (l *loader) standings(ctx context.Context, runs []*loaded) ([]standing, error) {
	peeks := map[string]int{}
	attacks, err := l.attacks(ctx)
	if err != nil {
		return nil, err
	}
	book, err := selection.ReadBook(ctx, l.reg, l.store)
	if err != nil {
		return nil, err
	}
	out := make([]standing, len(runs))
	for i, x := range runs {
		if _, known := peeks[x.row.FamilyID]; !known {
			list, err := l.reg.Peeks(ctx, x.row.FamilyID)
			if err != nil {
				return nil, err
			}
			peeks[x.row.FamilyID] = len(list)
		}
		attack := attackOn(attacks, x)
		n, own := book.Count(selection.DaysOf(x.meta.Data), x.row.FamilyID)
		out[i].selection = x.selection(n, peeks[x.row.FamilyID], attack)
		out[i].selection.NTrialsFamily, out[i].selection.Trials = own, book.Place(x.row.RunID)
		out[i].falsification = attack.summary()
	}
	return out, nil
}

func (x *loaded) selection(trials, peeks int, a *attack) Selection {
	s := Selection{
		NTrials: trials, NTrialsNow: trials, NTrialsSource: "registry", TestPeeks: peeks, TestPeeksNow: peeks,
		PostPeek:  x.meta.PostPeek,
		Deviation: x.meta.Deviation, ValidationContaminated: x.meta.ValidationContaminated,
		Undefined: map[string]metric.Reason{},
	}
	if x.row.PlanID != "" {
		s.PlanID = &x.row.PlanID
	}
	var found struct {
		NTrials   *int     `json:"n_trials"`
		TestPeeks *int     `json:"test_peeks"`
		NEff      *float64 `json:"n_eff"`
		DSRMax    *float64 `json:"dsr_max"`
		DSR2014   *float64 `json:"dsr_2014"`
		DSR2025   *float64 `json:"dsr_2025"`
		PBO       struct {
			Value *float64 `json:"value"`
		} `json:"pbo"`
	}
	reports := []*artifact.Report{x.report}
	if a != nil {
		reports = append(reports, a.report)
	}
	for _, rep := range reports {
		if rep != nil && rep.Overfitting != nil && rep.Overfitting.Selection != nil &&
			decode(rep.Overfitting.Selection, &found) {
			break
		}
	}
	if found.NTrials != nil {
		s.NTrials, s.NTrialsSource = *found.NTrials, "falsification"
	}
	if found.TestPeeks != nil {
		s.TestPeeks = *found.TestPeeks
	}
	s.NEff, s.DSRMax, s.PBO = found.NEff, found.DSRMax, found.PBO.Value
	s.DSR2014, s.DSR2025 = found.DSR2014, found.DSR2025
	for name, value := range map[string]*float64{
		"n_eff": s.NEff, "dsr_max": s.DSRMax, "dsr_2014": s.DSR2014, "dsr_2025": s.DSR2025, "pbo": s.PBO,
	} {
		if value == nil {
			s.Undefined[name] = metric.NotApplicable
		}
	}
	return s
}

// decode reads a part of a report that is kept as it came.
func decode(part, into any) bool {
	text, err := json.Marshal(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// attack is a completed falsification and what its report has of it.
type attack struct {
	runID  string
	report *artifact.Report

	BaseRunID       string          `json:"base_run_id"`
	BaseRequestHash string          `json:"base_request_hash"`
	Overall         string          `json:"overall"`
	Refuted         json.RawMessage `json:"refuted"`
	Tests           []struct {
		Test
		Claim string `json:"claim"`
	} `json:"tests"`
}

// attacks are the completed falsifications of the strategy, newest first.
func (l *loader) attacks(ctx context.Context) ([]*attack, error) {
	rows, err := l.reg.ListMetadata(ctx,
		registry.Filter{Slug: l.o.Slug, Kind: artifact.KindFalsification, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	var out []*attack
	for i := len(rows) - 1; i >= 0; i-- {
		x, err := l.read(rows[i])
		if err != nil {
			return nil, err
		}
		a := &attack{runID: rows[i].RunID, report: x.report}
		if x.report != nil && x.report.Falsification != nil && decode(x.report.Falsification, a) {
			out = append(out, a)
		}
	}
	return out, nil
}

// attackOn is the newest falsification of a run, or the run itself if it is one.
func attackOn(list []*attack, x *loaded) *attack {
	for _, a := range list {
		if a.runID == x.row.RunID || a.BaseRunID == x.row.RunID ||
			(a.BaseRequestHash != "" && a.BaseRequestHash == x.row.RequestHash) {
			return a
		}
	}
	return nil
}

func (a *attack) summary() *Falsification {
	if a == nil {
		return nil
	}
	f := &Falsification{RunID: a.runID, Overall: a.Overall, Tests: []Test{}}
	for _, t := range a.Tests {
		f.Tests = append(f.Tests, t.Test)
		if t.Verdict == "fail" && f.Refuted == nil && t.Claim != "" {
			f.Refuted = &t.Claim
		}
	}
	var one string
	var several []string
	switch {
	case json.Unmarshal(a.Refuted, &one) == nil && one != "":
		f.Refuted = &one
	case json.Unmarshal(a.Refuted, &several) == nil && len(several) > 0:
		f.Refuted = &several[0]
	}
	return f
}

package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// trialSplits are the splits that a search may look at: training and test window of each
// walk-forward pair, never validation or test. windows limits them to the first pairs; 0
// is all.
func trialSplits(all []artifact.SplitRange, windows int) []artifact.SplitRange {
	var out []artifact.SplitRange
	for _, r := range all {
		if r.Train == nil || windows > 0 && len(out) == 2*windows {
			continue
		}
		out = append(out, r)
	}
	return out
}

// Windows is how many walk-forward windows a request has.
func (p *Prepared) Windows() int {
	n := 0
	for _, r := range p.Manifest.Splits.Splits {
		if r.Role == split.RoleWalkForward {
			n++
		}
	}
	return n
}

// WithOverrides is the same request with something changed that concerns neither the program
// nor the candles: parameters, kind, splits, execution, stress, seed. It shares the
// program with the original, which must be closed last.
func (h *Host) WithOverrides(p *Prepared, change func(*Request)) (*Prepared, error) {
	v := &Prepared{
		Request: p.Request, Strategy: p.Strategy, catalog: p.catalog, borrowed: true, data: p.data,
		inputs:  p.inputs,
		candles: p.candles, timeline: p.timeline, coverage: p.coverage,
		pins: p.pins, launchers: p.launchers,
	}
	change(&v.Request)
	return v, v.compose(h, func() error { return nil })
}

// Known is the stored answer to a request, also where the plugin failed, when every
// file of it verifies; nil when there is none, so that it is to be executed.
func (h *Host) Known(ctx context.Context, p *Prepared) (*Result, error) {
	row, err := h.Registry.Get(ctx, p.RunID)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case row.RequestHash != p.RequestHash || row.Status == artifact.StatusRunning:
		return nil, nil
	}
	answer, err := h.stored(ctx, p, p.RunID)
	var changed *artifact.MismatchError
	switch {
	case errors.As(err, &changed), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	answer.noteFailure()
	return answer, nil
}

// noteFailure is the failure of an answer by its files.
func (a *Result) noteFailure() {
	if f := a.Metadata.Failure; f != nil {
		failed := f.Failure
		failed.Message = f.Message
		a.Failure = &Failure{SplitID: lastSplit(a.Report), Failure: &failed}
	}
}

// lastSplit is where a failed run stopped.
func lastSplit(r *artifact.Report) string {
	if len(r.Splits) == 0 {
		return ""
	}
	return r.Splits[len(r.Splits)-1].ID
}

// Upgrade executes a stored compact run in full and puts the full artifacts in its place.
// The result must be the same, else the error is a *MismatchError. A run that is full
// already is returned as it is, one that is not stored is executed.
func (h *Host) Upgrade(ctx context.Context, p *Prepared, o Options) (*Result, error) {
	before, err := h.Known(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case before == nil || before.Failure != nil:
		return h.Run(ctx, p, o)
	case before.Metadata.ArtifactLevel == artifact.LevelFull:
		return before, nil
	}
	a := &pendingRun{Prepared: p, host: h, options: o, owner: registry.NewOwner()}
	answer, err := a.holding(ctx, func(work context.Context, held registry.Claim) (*Result, error) {
		// Whoever held it before may have done it.
		now, _, err := h.look(work, p, p.RunID, held.Owner != "")
		if err != nil || now.Metadata.ArtifactLevel == artifact.LevelFull {
			return now, err
		}
		return a.upgrade(work, now)
	})
	if errors.Is(err, errReopened) || errors.Is(err, registry.ErrLeaseLost) && ctx.Err() == nil {
		return h.Upgrade(ctx, p, o) // another process was at it
	}
	return answer, err
}

// Confirm executes a request again, each split in a process of its own, and reports whether its result has
// this hash. It stores nothing.
func (p *Prepared) Confirm(ctx context.Context, h *Host, resultHash string) (bool, error) {
	alone := *h
	alone.Session = nil
	answer, err := alone.execute(ctx, p, Options{Compact: true}, 1, nil)
	if err != nil {
		return false, err
	}
	return answer.Report.ResultHash == resultHash, nil
}

// Forget lets a stored run be executed again, whose result is not believed. Its folder stays until it is
// replaced.
func (p *Prepared) Forget(ctx context.Context, h *Host, waiting func(owner string)) error {
	a := &pendingRun{Prepared: p, host: h, options: Options{Waiting: waiting}, owner: registry.NewOwner()}
	_, err := a.holding(ctx, func(work context.Context, _ registry.Claim) (*Result, error) {
		return nil, h.Registry.Reopen(work, p.RunID)
	})
	if errors.Is(err, errReopened) {
		return nil // another process was faster
	}
	return err
}

func (a *pendingRun) upgrade(ctx context.Context, before *Result) (*Result, error) {
	p := a.Prepared
	return a.host.execute(ctx, p, a.options, before.Metadata.Attempt,
		func(run *artifact.Run, results []played) (*artifact.Written, error) {
			w, err := a.host.Artifacts.Rehearse(run)
			if err != nil {
				return nil, err
			}
			if w.Report.ResultHash != before.Report.ResultHash {
				differs := &artifact.ResultError{Before: before.Report.ResultHash, Now: w.Report.ResultHash}
				return nil, &MismatchError{RunID: run.ID, Before: differs.Before, Now: differs.Now,
					Capsule: a.host.capturer().nondeterminism(ctx, p, results, differs)}
			}
			if err := a.host.Registry.Renew(ctx, a.RequestHash, a.owner); err != nil {
				return nil, err // another process writes by now
			}
			if w, err = a.host.Artifacts.Replace(run); err != nil {
				return nil, err
			}
			return w, a.host.Registry.Complete(context.WithoutCancel(ctx), w.Metadata, w.Payload)
		})
}

// made is execute for a run that Options.Make fills.
func (h *Host) made(ctx context.Context, p *Prepared, o Options, attempt int,
	store storing) (*Result, error) {
	run := &artifact.Run{
		ID: p.RunID, Manifest: p.Manifest, Status: artifact.StatusCompleted, Attempt: attempt,
		StartedAt: time.Now(),
		Origin:    artifact.OriginLab, Environment: artifact.HostEnvironment(),
		Evaluation: &artifact.Evaluation{PostPeek: p.postPeek},
	}
	o.Plan.note(run.Evaluation)
	if err := o.Make(ctx, run); err != nil {
		return nil, err
	}
	run.CompletedAt = time.Now()
	if store == nil {
		store = func(run *artifact.Run, _ []played) (*artifact.Written, error) {
			return h.Artifacts.Rehearse(run)
		}
	}
	written, err := store(run, nil)
	if err != nil {
		return nil, err
	}
	return &Result{
		RunID: p.RunID, RequestHash: p.RequestHash,
		Metadata: written.Metadata, Report: written.Report, JSON: written.JSON,
	}, nil
}

// Divergence is two replays that should have decided alike and did not.
type Divergence struct {
	// Kind is capsule.Nondeterminism or capsule.Lookahead.
	Kind capsule.Kind
	// Replay is how the second was played, Played how that went.
	Replay Replay
	Played *Replayed
	// Before and Now are the decision lines of the two.
	Before, Now []byte
}

// CaptureDivergence keeps a capsule of the first decision that differs, with those of the request's
// run. It is nil where the lines are equal, or where no capsule can be kept.
func (h *Host) CaptureDivergence(ctx context.Context, p *Prepared, in Divergence) *capsule.Note {
	at := capsule.Diverge(in.Before, in.Now)
	if at == nil {
		return nil
	}
	j := job{Replay: Replay{
		ID: in.Replay.ID, From: in.Replay.From, To: in.Replay.To, Params: in.Replay.Params,
		Seed: in.Replay.Seed,
	}}
	take, err := h.take(p, j)
	if err != nil {
		return h.capturer().lost(p.RunID, err)
	}
	x := in.Played
	return h.capturer().divergent(ctx, p, &played{
		job: j, take: take, sandbox: x.Sandbox, lead: x.Lead, short: x.Short,
	}, in.Kind, *at)
}

// Enlist gives a stored run another standing in a family, as when the parameters that a
// search selects were evaluated before: its record has it from then on. What the run has
// found out stays as it is.
func (h *Host) Enlist(ctx context.Context, p *Prepared, plan Plan) (*Result, error) {
	a := &pendingRun{Prepared: p, host: h, owner: registry.NewOwner()}
	return a.holding(ctx, func(work context.Context, held registry.Claim) (*Result, error) {
		before, _, err := h.look(work, p, p.RunID, held.Owner != "")
		if err != nil {
			return nil, err
		}
		standing := &artifact.Evaluation{}
		plan.note(standing)
		m := *before.Metadata
		m.PlanID, m.TrialIndex, m.Deviation, m.ValidationContaminated = standing.PlanID, standing.TrialIndex,
			standing.Deviation, standing.Contaminated
		payload, err := m.Encode()
		if err != nil {
			return nil, err
		}
		if err := h.Artifacts.Annotate(p.RunID, payload); err != nil {
			return nil, err
		}
		before.Metadata = &m
		return before, h.Registry.Complete(context.WithoutCancel(work), &m, payload)
	})
}

// rehearse executes and stores nothing. Its metrics are those of a trial, so they are
// shown only where the registry counts one with this trial key.
func (h *Host) rehearse(ctx context.Context, p *Prepared, o Options, key string) (*Result, error) {
	answer, err := h.execute(ctx, p, o, 1, nil)
	if err != nil {
		return nil, err
	}
	trials, err := h.Registry.Trials(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(trials, func(t registry.Trial) bool { return t.Key == key }) {
		answer.withhold()
	}
	return answer, nil
}

// withhold takes everything out that one could choose by; hashes, times and what
// was played stay. JSON stays, too: nothing shows it but the replay of a bundle, which has
// shown these numbers.
func (a *Result) withhold() {
	report, meta := *a.Report, *a.Metadata
	report.WalkForward, report.Overfitting, report.Stress, report.Warnings = nil, nil, nil, nil
	report.StressFailed, report.GatesFailed = nil, nil
	report.Splits = slices.Clone(report.Splits)
	for i := range report.Splits {
		s := &report.Splits[i]
		s.Metrics, s.Meta = metric.Values{}, metric.Meta{}
	}
	meta.Summary, meta.Splits = artifact.Summary{}, nil
	a.Report, a.Metadata, a.Withheld = &report, &meta, true
}

// standing is what the parameters of a run are in the family's searches: nothing, or a
// trial of a registered plan. A trial that the rule of its plan has selected comes before
// others, then the one that was tried last.
func (h *Host) standing(ctx context.Context, p *Prepared, key string) (Plan, error) {
	planned, err := h.Registry.Planned(ctx, p.Manifest.Request.FamilyID, key)
	if err != nil {
		return Plan{}, err
	}
	out := Plan{}
	for _, t := range planned {
		selected, err := h.selected(t)
		if err != nil {
			return Plan{}, err
		}
		out = Plan{ID: t.PlanID, Index: t.Index, Contaminated: true, Deviation: !selected}
		if selected {
			return out, nil
		}
	}
	return out, nil
}

// selected reports whether the rule of its plan has selected a trial. Before the search has
// ended it has selected none.
func (h *Host) selected(t registry.PlannedTrial) (bool, error) {
	text, err := os.ReadFile(filepath.Join(h.StateDir, "families", t.Slug, t.PlanID, "family_result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var result struct {
		Selected *struct {
			TrialIndex int64 `json:"trial_index"`
		} `json:"selected"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return false, err
	}
	return result.Selected != nil && result.Selected.TrialIndex == t.Index, nil
}

// coverage is the open times of one symbol in the window of a request that has several.
// Of a single symbol the timeline has them.
type coverage struct {
	symbol market.Symbol
	opens  []market.Time
}

// covered refuses a request one of whose splits has no candle of one of its symbols: it
// could not be played, which is better known before the first split is.
func (p *Prepared) covered() error {
	if p.whole {
		return nil
	}
	for _, j := range p.jobs() {
		first := p.timeline.opens[j.From]
		for _, c := range p.coverage {
			from, _ := slices.BinarySearch(c.opens, first)
			to := len(c.opens)
			if j.To < len(p.timeline.opens) {
				to, _ = slices.BinarySearch(c.opens, p.timeline.opens[j.To])
			}
			if from >= to {
				return p.uncovered(j, c, from)
			}
		}
	}
	return nil
}

// uncovered is the error with what to do about a split that begins before or behind the candles of a
// symbol, or in a gap of them; next is the symbol's first candle from its begin on.
func (p *Prepared) uncovered(j job, c coverage, next int) error {
	const setOr = `set %q: %q in "data" of lab.json, or leave the symbol out`
	first, last := c.opens[0], c.opens[len(c.opens)-1]
	pointer, cure := "/symbols", "import the candles that are missing, or leave the symbol out"
	switch {
	case next == len(c.opens):
		pointer, cure = "/data/end", fmt.Sprintf(setOr, "end", p.closeOf(last))
	case next == 0:
		pointer, cure = "/data/start", fmt.Sprintf(setOr, "start", first)
	}
	return Errorf(run.CodeDataUnavailable,
		"split %s has no %s candle of %s; there are candles from %s to %s: %s",
		j.ID, p.Request.Timeframe, c.symbol, first, p.closeOf(last), cure).
		With("pointer", pointer, "split_id", j.ID, "symbol", string(c.symbol))
}

// closeOf is the close time of the candles that open at a time of the timeline.
func (p *Prepared) closeOf(open market.Time) market.Time {
	i, _ := slices.BinarySearch(p.timeline.opens, open)
	return p.timeline.closes[min(i, len(p.timeline.closes)-1)]
}

// joined is the first step of the timeline by which every symbol has had a candle.
func (p *Prepared) joined() int {
	step := 0
	for _, c := range p.coverage {
		i, _ := slices.BinarySearch(p.timeline.opens, c.opens[0])
		step = max(step, i)
	}
	return step
}

// The limits of what a strategy may be absent for without a warning: the share of a split
// that one position lasts, and the share that is lost to warm-up.
const (
	maxHeldShare   = 0.5
	maxWarmupShare = 0.1
)

// absent warns where the numbers of a run hide that the strategy did next to nothing: it
// never trades, sits in one position, or warms up for a good part of a split. The test is
// left out, because a remark on it reveals how it went.
func absent(results []played) []artifact.ReportWarning {
	var seen []*played
	for i := range results {
		if r := &results[i]; r.job.keep && r.job.ID != split.RoleTest && r.results != nil {
			seen = append(seen, r)
		}
	}
	var list []artifact.ReportWarning
	add := func(code, format string, args ...any) {
		list = append(list, artifact.ReportWarning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if n, rejected, ok := neverTrades(seen); ok {
		add("NEVER_TRADES", "the strategy never trades: no order was filled in %d splits%s", n, rejected)
	}
	if r, h := longestHeld(seen); h.share > maxHeldShare {
		add("POSITION_HELD", "on %s one position of %s is held from %s to %s, %.0f %% of the split",
			r.job.ID, h.symbol, day(h.from), day(h.to), 100*h.share)
	}
	for _, r := range seen {
		candles := r.job.To - r.job.From
		lost := min(r.short, candles)
		if r.job.ID == split.RoleTrain && float64(lost) > maxWarmupShare*float64(candles) {
			add("WARMUP_LONG", "train loses %d of %d candles to warm-up, in which every order is rejected: "+
				"set data.start later in lab.json or import earlier candles", lost, candles)
		}
	}
	return list
}

// neverTrades reports whether no order was filled in any of the splits, and how many were
// rejected, in words.
func neverTrades(list []*played) (splits int, rejected string, never bool) {
	refused := map[market.Reason]int{}
	var most market.Reason
	for _, r := range list {
		if len(r.results.Fills) > 0 {
			return 0, "", false
		}
		for i := range r.results.Orders {
			if reason := r.results.Orders[i].Reason; r.results.Orders[i].Status == market.StatusRejected {
				if refused[reason]++; refused[reason] > refused[most] {
					most = reason
				}
			}
		}
	}
	if most != "" {
		rejected = fmt.Sprintf(", %d were rejected as %s", refused[most], most)
	}
	return len(list), rejected, len(list) > 0
}

// holding is a position from its entry to its end.
type holding struct {
	symbol   market.Symbol
	from, to market.Time
	share    float64 // of the time of the split
}

// longestHeld is the position that lasts for the largest share of a split.
func longestHeld(list []*played) (in *played, longest holding) {
	for _, r := range list {
		times := r.results.Equity.Time
		if len(times) == 0 {
			continue
		}
		first, last := times[0], times[len(times)-1]
		hold := func(symbol market.Symbol, from, to market.Time) {
			whole := span(first, last)
			if share := float64(span(from, to)) / float64(max(whole, 1)); share > longest.share {
				in, longest = r, holding{symbol, from, to, min(share, 1)}
			}
		}
		for i := range r.results.Trades {
			hold(r.results.Trades[i].Symbol, r.results.Trades[i].EntryTime, r.results.Trades[i].ExitTime)
		}
		for i := range r.results.Positions {
			if p := &r.results.Positions[i]; !p.Quantity.IsZero() {
				hold(p.Symbol, p.OpenedAt, last)
			}
		}
	}
	return in, longest
}

// span is the milliseconds from one moment to another.
func span(from, to market.Time) int64 { return int64(to) - int64(from) }

func day(t market.Time) string { return t.String()[:10] }

package battery

import (
	"context"
	"errors"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

// Base is what is attacked, and with what.
type Base struct {
	Host *request.Host
	// Question is the one of the falsification: that of the base run in all that matters
	// to a replay. Its run gets the capsules.
	Question *request.Prepared
	// Search, Train and Validation are the splits of the base.
	Search, Train, Validation Part
	// Decided is the decision hash of the base's search split and Lines its decision lines;
	// empty where this engine did not make them.
	Decided string
	Lines   []byte
	// Selection is what the search for the base has done to its numbers, Plan the plan of
	// that search, nil without one.
	Selection *selection.Result
	Plan      *Plan
	// Literals are the neighbours of a strategy without parameters, built from Sources; nil
	// and empty where these are not at hand.
	Sources  *project.Sources
	Literals []project.Variant
	Profile  profile.Profile
	Seed     uint64
	// Journal is a file for what permuted_selection has finished, "" for none.
	Journal string
	// Progress hears how many replays have been made and are known to be wanted, one call
	// at a time.
	Progress func(done, planned int64, failed int)
}

// Outcome is what the battery has found.
type Outcome struct {
	Tests   []*judge.Test
	Overall judge.Overall
	// Files are the evidence, Stress a line per test for the report.
	Files  []evidence.File
	Stress []artifact.Stress
	// Rows are the replays of each test that has some, by its id.
	Rows map[string][]judge.Replay
	// Played is the base once more; its Results are nil when the plugin could not be
	// started.
	Played *request.Replayed
	// Capsule is the first one that was kept, nil for none.
	Capsule *capsule.Note
	// Sandbox is the weakest level of all replays, Replays how many there were.
	Sandbox string
	Replays int64
}

// maker begins a test: it says what must be played.
type maker func(*bench) (check, error)

// makers are the tests by id.
func makers() map[string]maker {
	return map[string]maker{
		judge.Determinism: (*bench).determinism, judge.LockstepReplay: (*bench).lockstep, judge.LookaheadPrefix: (*bench).prefixes,
		judge.DataEndProbe: (*bench).dataEnd, judge.WarmupRecursive: (*bench).warmup,
		judge.CostStress: (*bench).costStress, judge.DelayStress: (*bench).delayStress, judge.IntrabarWorst: (*bench).intrabarWorst,
		judge.PriceNoise: (*bench).priceNoise, judge.MissingCandles: (*bench).missingCandles, judge.ParamNeighbours: (*bench).paramNeighbourhood,
		judge.SymbolHoldout: (*bench).symbolHoldout, judge.RegimeTest: (*bench).regime, judge.OutlierTrades: (*bench).outlierTrades,
		judge.RandomEntry: (*bench).randomEntry, judge.PermutedCandles: (*bench).permutedCandles, judge.BuyAndHold: (*bench).buyAndHold,
		judge.SelectionBias: (*bench).selectionBias, judge.TradeShuffle: (*bench).tradeShuffle, judge.CapacityTest: (*bench).capacityOf,
		judge.TimeReversal: (*bench).timeReversal, judge.Metamorphic: (*bench).metamorphic, judge.PermutedSelection: (*bench).permutedSelection,
		judge.PlausibilityTest: (*bench).plausibility,
	}
}

// firstTests run before all others: what they refute, the others stand on.
const firstTests = 5

// Run makes every test that the profile selects. The error is no verdict on the strategy:
// it says why the battery could not be made. After one, nothing is left behind.
func Run(ctx context.Context, base Base) (_ *Outcome, err error) {
	b := &bench{Base: base, found: map[string]*finding{}, refused: map[string]string{}, kept: map[capsule.Kind]bool{}}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	list := judge.Catalogue()
	var rest *group
	if b.base.Failure != nil {
		b.unplayable()
		if err := b.crashed(ctx, b.first); err != nil {
			return nil, err
		}
	} else if rest, err = b.begin(ctx, list); err != nil {
		return nil, err
	}
	if b.upstream() {
		for _, e := range list {
			if f := b.found[e.ID]; f == nil || rest != nil && rest.has(e) {
				b.skip(e.ID, judge.UpstreamFailure)
			}
		}
	} else if err := b.make(ctx, rest); err != nil {
		return nil, err
	}
	return b.outcome(list), nil
}

// begin makes the first tests, and prepares the others.
func (b *bench) begin(ctx context.Context, list []judge.Entry) (rest *group, err error) {
	if err := b.assess(); err != nil {
		return nil, err
	}
	first, err := b.prepare(list[:firstTests])
	if err != nil {
		return nil, err
	}
	if rest, err = b.prepare(list[firstTests:]); err != nil {
		return nil, err
	}
	b.planned = b.done + int64(len(first.plays)+len(rest.plays))
	for _, c := range rest.checks {
		b.planned += c.later
	}
	return rest, b.make(ctx, first)
}

// has says whether a test is in the group.
func (g *group) has(e judge.Entry) bool { return slices.Contains(g.list, e) }

// unplayable is the verdict on a base that has come to its end once and does not again.
func (b *bench) unplayable() {
	b.found[judge.Determinism] = &finding{Test: b.judge.Equal(judge.Determinism, []judge.Comparison{{Variant: "base", Status: judge.Failed}})}
}

// assess is what the rules need to know of the base.
func (b *bench) assess() error {
	r := b.base
	returns, err := metric.MainReturns(r.Input)
	if err != nil {
		return err
	}
	j := judge.Base{
		Sharpe: get(r, "sharpe_ratio"), Undefined: r.Results.Metrics.Meta.Undefined["sharpe_ratio"],
		Trades: len(r.Results.Trades), Fills: len(r.Results.Fills), T: len(returns.Return),
	}
	j.StandardError, j.Years = get(r, "sharpe_stderr"), float64(len(returns.Return))/returns.PeriodsPerYear
	j.Cash = r.Input.Curves[0].Equity[0]
	b.judge = judge.Judge{Base: j, Policy: b.Profile.Policy}
	return nil
}

// upstream says that nothing else can be believed.
func (b *bench) upstream() bool {
	var tests []*judge.Test
	for _, f := range b.found {
		tests = append(tests, f.Test)
	}
	return judge.Upstream(tests)
}

func (b *bench) skip(id, reason string) {
	if !b.Profile.Selects(id) {
		reason = judge.SkippedByUser
	}
	b.found[id] = &finding{Test: judge.Skip(id, reason)}
}

// group is tests that are made together.
type group struct {
	list   []judge.Entry
	checks map[string]check
	plays  []*play
}

// prepare finds out what must be played for tests.
func (b *bench) prepare(list []judge.Entry) (*group, error) {
	g := &group{list: list, checks: map[string]check{}}
	for _, e := range list {
		if !b.Profile.Selects(e.ID) && (b.Profile.Full || e.ID != judge.PermutedSelection) {
			b.skip(e.ID, judge.SkippedByUser)
			continue
		}
		c, err := makers()[e.ID](b)
		switch {
		case err != nil:
			return nil, err
		case c.skip != "":
			b.found[e.ID] = &finding{Test: judge.Skip(e.ID, c.skip)}
			continue
		}
		g.checks[e.ID] = c
		for _, p := range c.plays {
			p.test = e.ID
		}
		// The longest of all, on one thread: the others are made beside it.
		if e.ID == judge.LockstepReplay {
			g.plays = append(append([]*play{}, c.plays...), g.plays...)
		} else {
			g.plays = append(g.plays, c.plays...)
		}
	}
	return g, nil
}

// make plays all that the tests need side by side, and judges them in order.
func (b *bench) make(ctx context.Context, g *group) error {
	if err := b.play(ctx, g.plays); err != nil {
		return err
	}
	for _, e := range g.list {
		c, ok := g.checks[e.ID]
		if !ok {
			continue
		}
		if why := b.refused[e.ID]; why != "" {
			b.found[e.ID] = &finding{Test: judge.Broke(e.ID, why)}
			continue
		}
		f, err := c.judge(ctx)
		if err != nil {
			return err
		}
		b.found[e.ID] = f
	}
	return b.crashed(ctx, g.plays)
}

// crashed keeps a capsule of the first play whose plugin has failed, by playing it once
// more. One is enough: the others would only be counted, and which of them came first
// would depend on the workers.
func (b *bench) crashed(ctx context.Context, plays []*play) error {
	i := slices.IndexFunc(plays, func(p *play) bool { return p.failed && !p.hopeless })
	if i < 0 || b.kept[ofPlugin] {
		return nil
	}
	r, err := b.playOne(ctx, plays[i], true)
	if err != nil {
		return err
	}
	b.note(ofPlugin, r.Capsule)
	return nil
}

// ofPlugin stands for every kind of capsule that a failed plugin can leave.
const ofPlugin = capsule.PluginExit

// outcome reduces the findings in the order of the catalogue.
func (b *bench) outcome(list []judge.Entry) *Outcome {
	out := &Outcome{Played: b.base, Capsule: b.capsule, Sandbox: b.sandbox, Replays: b.done, Rows: map[string][]judge.Replay{}}
	for _, e := range list {
		f := b.found[e.ID]
		out.Tests = append(out.Tests, f.Test)
		out.Files = append(out.Files, f.files...)
		if f.rows != nil {
			out.Rows[e.ID] = f.rows
		}
	}
	judge.Holm(out.Tests, b.Profile.Policy)
	judge.Explain(out.Tests)
	out.Overall = judge.Conclude(out.Tests)
	out.Overall.Cap(b.Profile.Looser())
	own := judge.Replay{NetPnL: "0"}
	if b.base.Failure == nil {
		own = rowOf("", 0, b.base)
	}
	for _, e := range list {
		out.Stress = append(out.Stress, b.found[e.ID].stress(own))
	}
	return out
}

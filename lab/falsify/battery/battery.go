// Package battery makes the tests of a falsification: the replays side by side, and the numbers
// from which the rule of each test makes its verdict.
//
// A [Test] is in a folder of its own below lab/falsify/tests, which imports this package; [Run]
// gets the list. It opens a [Bench]: the base is played once more on its search split, and its
// candles up to the end of that split are taken out of the store, which is all that a replay can
// ever see. The first tests are made, then the others unless one of the first has refuted what
// they stand on. The plan of a test is a [Check]: a list of plays and a function that judges
// what has become of them. Every [Play] has its place in a list, and lists are reduced in order:
// the number of workers cannot change a byte.
//
// The files: battery (the order of things), bench (what all tests share), pool (replays side by
// side), check (from replays to a [Finding]). It imports lab/evaluate, which plays, the packages
// replay, judge and profile of lab/falsify, lab/selection, and parts of the host below them.
package battery

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
)

// Base is what is attacked, and with what.
type Base struct {
	Host *request.Host
	// Prepared is the request of the falsification: that of the base run in all that matters
	// to a replay. Its run gets the capsules.
	Prepared *request.Prepared
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
	// Uses are the places in Sources that ask for the clock or the machine's name.
	Uses    []project.Use
	Profile profile.Profile
	Seed    uint64
	// Journal is a file for what permuted_selection has finished, "" for none.
	Journal string
	// Progress is called after each replay with how many are made and planned, one call at a time.
	Progress func(done, planned int64, failed int)
	// Queue makes replays on other machines; nil makes them here.
	Queue Queue
}

// Queue makes replays on other machines, as many at a time as Out says.
type Queue interface {
	request.Replayer
	Out() int
}

// Outcome is what the battery has found.
type Outcome struct {
	Tests   []*judge.Test
	Overall judge.Overall
	// Files are the evidence, Stress a line per test for the report.
	Files  []judge.File
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

// Test is a test of the catalogue with how it is made. A folder below lab/falsify/tests has
// everything of one.
type Test struct {
	judge.Entry
	// Plan begins the test: what must be played, and what is then found.
	Plan func(*Bench) (Check, error)
	// First has the test made before all others. Upstream marks one of these on which
	// everything else rests: where it fails, the others are skipped.
	First, Upstream bool
	// OnlyFull has the test made with the full profile only.
	OnlyFull bool
	// Longest has its plays begin first, so that the others are made beside them.
	Longest bool
	// Unplayable is the verdict on a base that has come to its end once and does not again; of
	// one test.
	Unplayable func(*judge.Judge) *judge.Test
}

// Run makes every test of the list that the profile selects, in its order. An error is no verdict
// on the strategy: the battery could not be made, and leaves nothing behind.
func Run(ctx context.Context, base Base, list []Test) (_ *Outcome, err error) {
	b := &Bench{Base: base, found: map[string]*Finding{}, refused: map[string]string{},
		kept: map[capsule.Kind]bool{}}
	defer func() { err = errors.Join(err, b.closeAll()) }()
	if err := b.openBase(ctx); err != nil {
		return nil, err
	}
	var rest *group
	if b.Played.Failure != nil {
		b.judgeUnplayable(list)
		if err := b.KeepCrash(ctx, b.first); err != nil {
			return nil, err
		}
	} else if rest, err = b.beginTests(ctx, list); err != nil {
		return nil, err
	}
	if b.hasUpstreamFailed(list) {
		for _, e := range list {
			if b.found[e.ID] == nil || rest != nil && !e.First {
				b.skipTest(e.Entry, judge.UpstreamFailure)
			}
		}
	} else {
		b.settled = true
		if err := b.judgeGroup(ctx, rest); err != nil {
			return nil, err
		}
	}
	return b.reduceFindings(list), nil
}

// beginTests makes the first tests, and prepares the others.
func (b *Bench) beginTests(ctx context.Context, list []Test) (rest *group, err error) {
	if err := b.assessBase(); err != nil {
		return nil, err
	}
	first, err := b.prepareGroup(list, true)
	if err != nil {
		return nil, err
	}
	if rest, err = b.prepareGroup(list, false); err != nil {
		return nil, err
	}
	b.planned = b.done + int64(len(first.plays)+len(rest.plays))
	for _, c := range rest.checks {
		b.planned += c.Later
	}
	return rest, b.judgeGroup(ctx, first)
}

// judgeUnplayable is the verdict on a base that has come to its end once and does not again.
func (b *Bench) judgeUnplayable(list []Test) {
	for _, e := range list {
		if e.Unplayable != nil {
			b.found[e.ID] = &Finding{Test: e.Unplayable(&b.Judge)}
		}
	}
}

// assessBase is what the rules need to know of the base.
func (b *Bench) assessBase() error {
	r := b.Played
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
	b.Judge = judge.Judge{Base: j, Policy: b.Profile.Policy}
	return nil
}

// hasUpstreamFailed reports whether nothing else can be believed.
func (b *Bench) hasUpstreamFailed(list []Test) bool {
	return slices.ContainsFunc(list, func(e Test) bool { return e.Upstream && b.IsRefuted(e.ID) })
}

func (b *Bench) skipTest(e judge.Entry, reason string) {
	if !b.Profile.Selects(e.ID) {
		reason = judge.SkippedByUser
	}
	b.found[e.ID] = &Finding{Test: e.Skip(reason)}
}

type group struct {
	list   []Test
	checks map[string]Check
	plays  []*Play
}

// prepareGroup finds out what must be played for the first tests, or for the others.
func (b *Bench) prepareGroup(list []Test, first bool) (*group, error) {
	g := &group{checks: map[string]Check{}}
	for _, e := range list {
		if e.First != first {
			continue
		}
		g.list = append(g.list, e)
		if !b.Profile.Selects(e.ID) && (b.Profile.Full || !e.OnlyFull) {
			b.skipTest(e.Entry, judge.SkippedByUser)
			continue
		}
		c, err := e.Plan(b)
		switch {
		case err != nil:
			return nil, err
		case c.Skip != "":
			b.found[e.ID] = &Finding{Test: e.Skip(c.Skip)}
			continue
		}
		g.checks[e.ID] = c
		for _, p := range c.Plays {
			p.Test = e.ID
		}
		if e.Longest {
			g.plays = append(append([]*Play{}, c.Plays...), g.plays...)
		} else {
			g.plays = append(g.plays, c.Plays...)
		}
	}
	return g, nil
}

// judgeGroup plays all that the tests need side by side, and judges them in order.
func (b *Bench) judgeGroup(ctx context.Context, g *group) error {
	if err := b.RunPlays(ctx, g.plays); err != nil {
		return err
	}
	for _, e := range g.list {
		c, ok := g.checks[e.ID]
		if !ok {
			continue
		}
		if why := b.refused[e.ID]; why != "" {
			b.found[e.ID] = &Finding{Test: e.Broke(why)}
			continue
		}
		f, err := c.Judge(ctx)
		if err != nil {
			return err
		}
		b.found[e.ID] = f
	}
	return b.KeepCrash(ctx, g.plays)
}

// KeepCrash keeps a capsule of the first play whose plugin has failed, by playing it once
// more. One is enough: the others would only be counted, and which of them came first
// would depend on the workers.
func (b *Bench) KeepCrash(ctx context.Context, plays []*Play) error {
	i := slices.IndexFunc(plays, func(p *Play) bool { return p.Failed && !p.Hopeless })
	if i < 0 || b.kept[ofPlugin] {
		return nil
	}
	r, err := b.playOne(ctx, plays[i], true)
	if err != nil {
		return err
	}
	b.KeepCapsule(ofPlugin, r.Capsule)
	return nil
}

// ofPlugin stands for every kind of capsule that a failed plugin can leave.
const ofPlugin = capsule.PluginExit

// reduceFindings reduces the findings in the order of the catalogue.
func (b *Bench) reduceFindings(list []Test) *Outcome {
	out := &Outcome{Played: b.Played, Capsule: b.capsule, Sandbox: b.sandbox, Replays: b.done,
		Rows: map[string][]judge.Replay{}}
	for _, e := range list {
		f := b.found[e.ID]
		out.Tests = append(out.Tests, f.Test)
		out.Files = append(out.Files, f.files...)
		if f.Rows != nil {
			out.Rows[e.ID] = f.Rows
		}
	}
	judge.Holm(out.Tests, b.Profile.Policy)
	judge.Explain(out.Tests)
	out.Overall = judge.Conclude(out.Tests)
	out.Overall.Cap(b.Profile.Looser())
	own := judge.Replay{NetPnL: "0"}
	if b.Played.Failure == nil {
		own = RowOf("", 0, b.Played)
	}
	for _, e := range list {
		out.Stress = append(out.Stress, b.found[e.ID].stress(own))
	}
	return out
}

// Plan is the search that the base was selected by.
type Plan struct {
	// Space is what was searched: its steps are the least changes of param_neighbourhood.
	Space design.Space
	// Metric is what the plan optimises; with Minimise, less is better.
	Metric   string
	Minimise bool
	// Profile is the id of the one that the plan names, Seed the plan's.
	Profile string
	Seed    uint64
	// Params are all parameters of each trial.
	Params []json.RawMessage
}

// Package causal is the tests determinism, lockstep_replay, lookahead_prefix and
// data_end_probe: plays whose decisions must be those of the base. They share the comparison
// and its rule.
package causal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var determinismEntry = judge.Entry{
	Number: 1, ID: "determinism", Version: 2, Class: judge.Gate,
	Claim: "equal input gives equal decisions",
	Method: "5 repeats (3 plain, one processor, GOMAXPROCS of all), 1 with the candles in messages; where " +
		"its Go sources ask for the clock or the machine's name, 4 built for other days on another machine",
}

var lockstepEntry = judge.Entry{
	Number: 2, ID: "lockstep_replay", Version: 1, Class: judge.Gate,
	Claim:  "the host shows no future candle",
	Method: "the whole search candle by candle, so that the process never holds a later one",
}

var prefixEntry = judge.Entry{
	Number: 3, ID: "lookahead_prefix", Version: 1, Class: judge.Gate,
	Claim:  "the host shows no future candle, wherever the data are cut",
	Method: "20 cuts (10 at decisions, 10 random): truncated, and with nonsense behind the cut",
}

var dataEndEntry = judge.Entry{
	Number: 4, ID: "data_end_probe", Version: 1, Class: judge.Gate,
	Claim:  "the host does not show where the data end",
	Method: "200 synthetic candles appended",
}

// The tests of this package.
var (
	Determinism = battery.Test{
		Entry: determinismEntry, Plan: determinism, First: true, Upstream: true, Unplayable: unplayable,
	}
	Lockstep = battery.Test{Entry: lockstepEntry, Plan: lockstep, First: true, Upstream: true, Longest: true}
	Prefix   = battery.Test{Entry: prefixEntry, Plan: prefixes, First: true, Upstream: true}
	DataEnd  = battery.Test{Entry: dataEndEntry, Plan: dataEnd, First: true}
)

// unplayable is the verdict on a base that has come to its end once and does not again.
func unplayable(j *judge.Judge) *judge.Test {
	return Judge(j, determinismEntry, []Comparison{{Variant: "base", Status: judge.Failed}})
}

// compared is a replay whose decisions should be those of the base up to a step.
type compared struct {
	Comparison
	row judge.Replay
	cut market.Time // the close of the step; 0 is all of them
	// The rest is kept only where the decisions differ; before are the lines that those of
	// the replay should have been, nil for those of the base.
	before []byte
	// elsewhere marks a replay of another program, of which no capsule is kept.
	elsewhere bool
	how       request.Replay
	played    *request.Replayed
}

// compare is a play whose decisions up to c.cut are compared with those of the base.
func compare(b *battery.Bench, c *compared, p *battery.Play) *battery.Play {
	p.How.ID, p.How.Lines = split.RoleSearch, true
	p.Done = func(r *request.Replayed) error {
		c.row = battery.RowOf(c.Variant, c.Replica, r)
		c.Status = c.row.Status
		switch {
		case p.Elsewhere != nil && r.Results == nil && r.Failure == nil: // the changed sources are no program
			c.Want, c.Got = b.Played.Results.DecisionHash, b.Played.Results.DecisionHash
		case r.Failure != nil && (c.cut == 0 || r.Failure.CandleTime <= c.cut):
		case c.cut == 0:
			c.Want, c.Got = b.Played.Results.DecisionHash, r.Results.DecisionHash
		default:
			var err, other error
			c.Want, err = lines.Prefix(b.Played.Lines, c.cut)
			c.Got, other = lines.Prefix(r.Lines, c.cut)
			if err = errors.Join(err, other); err != nil {
				return err
			}
		}
		if c.Got == "" || c.Got != c.Want {
			c.how, c.played = p.How, r
			c.how.From, c.how.To = p.Part.From, p.Part.To
		}
		return nil
	}
	return p
}

// compareAll is a check that no future candle is seen.
func compareAll(b *battery.Bench, entry judge.Entry, list []*compared,
	plays ...*battery.Play) (battery.Check, error) {
	return battery.Check{Plays: plays, Judge: func(ctx context.Context) (*battery.Finding, error) {
		return equal(ctx, b, entry, capsule.Lookahead, list)
	}}, nil
}

// equal judges comparisons, with evidence of the first difference and a capsule of it.
func equal(ctx context.Context, b *battery.Bench, entry judge.Entry, kind capsule.Kind,
	list []*compared) (*battery.Finding, error) {
	comparisons, rows := make([]Comparison, len(list)), make([]judge.Replay, len(list))
	var first *compared
	for i, c := range list {
		comparisons[i], rows[i] = c.Comparison, c.row
		if first == nil && c.played != nil {
			first = c
		}
	}
	f := &battery.Finding{Test: Judge(&b.Judge, entry, comparisons)}
	f.Replays(rows)
	if first == nil {
		return f, nil
	}
	before, now := first.before, first.played.Lines
	if before == nil {
		before = b.Played.Lines
	}
	if first.cut != 0 {
		var err, other error
		before, err = lines.Until(before, first.cut)
		now, other = lines.Until(now, first.cut)
		if err = errors.Join(err, other); err != nil {
			return nil, err
		}
	}
	if err := f.FirstDiff(first.Variant, before, now); err != nil {
		return nil, err
	}
	f.Stressed = &first.row
	// Where decisions differ each time, a difference without later candles is no lookahead.
	fickle := kind == capsule.Lookahead && b.IsRefuted(determinismEntry.ID)
	if first.played.Failure == nil && !b.HasCapsule(kind) && !fickle && !first.elsewhere {
		b.KeepCapsule(kind, b.Host.CaptureDivergence(ctx, b.Prepared, request.Divergence{
			Kind: kind, Replay: first.how, Played: first.played, Before: before, Now: now,
		}))
	}
	return f, nil
}

// determinism repeats the base: three times as it was, with one thread and with as many
// as there are processors, and with its candles in messages instead of a file. What the
// base run itself has decided is compared, too.
func determinism(b *battery.Bench) (battery.Check, error) {
	var list []*compared
	var plays []*battery.Play
	add := func(variant string, replica int, d run.Drive) {
		c := &compared{Comparison: Comparison{Variant: variant, Replica: replica}}
		list = append(list, c)
		plays = append(plays, compare(b, c, &battery.Play{Part: b.Search, How: request.Replay{Drive: d}}))
	}
	if b.Decided != "" {
		list = append(list, stored(b))
	}
	for i := range 3 {
		add("plain", i, run.Drive{})
	}
	add("procs_1", 0, run.Drive{Procs: 1, Cores: 1})
	add("procs_all", 0, run.Drive{Procs: runtime.NumCPU()})
	add("chunked", 0, run.Drive{Chunked: true})
	for _, days := range otherDays {
		if len(b.Uses) == 0 {
			break
		}
		add(otherDay+strconv.Itoa(days), 0, run.Drive{})
		p := plays[len(plays)-1]
		p.Elsewhere, p.Hopeless = &project.Elsewhere{Days: days, Uses: b.Uses}, true
		list[len(list)-1].elsewhere = true
	}
	return battery.Check{Plays: plays, Judge: func(ctx context.Context) (*battery.Finding, error) {
		f, err := equal(ctx, b, determinismEntry, capsule.Nondeterminism, list)
		if err == nil {
			f.NReplays = len(plays) // the base run was not played for it
		}
		return f, err
	}}, nil
}

// otherDay begins the names of replays on another day, which end with by how many days.
const otherDay = "other_day_"

// otherDays are by how many days the clock of a program is ahead: another weekday, another day of
// the month, another season, and some years on.
var otherDays = []int{1, 3, 100, 1461}

// stored compares the base as it was played here with the base run.
func stored(b *battery.Bench) *compared {
	c := &compared{
		Comparison: Comparison{Variant: "stored", Status: judge.Completed, Want: b.Decided,
			Got: b.Played.Results.DecisionHash},
		row: battery.RowOf("stored", 0, b.Played),
	}
	if c.Want != c.Got {
		c.how, c.played,
			c.before = request.Replay{ID: split.RoleSearch, From: b.Search.From, To: b.Search.To}, b.Played,
			b.Lines
	}
	return c
}

func lockstep(b *battery.Bench) (battery.Check, error) {
	c := &compared{Comparison: Comparison{Variant: "lockstep"}}
	p := compare(b, c, &battery.Play{Part: b.Search, How: request.Replay{Drive: run.Drive{Lockstep: true}}})
	if b.Prepared.Strategy.Advance && len(b.Prepared.Strategy.Differs()) > 0 {
		return inPieces(b, c, p)
	}
	return compareAll(b, lockstepEntry, []*compared{c}, p)
}

// inPieces is the check of a strategy of another engine, which computes all its columns anew wherever the
// candles end: they end where it has to decide at some steps, and not at each. What then differs is judged by
// each: a strategy whose columns change with what follows is computed at every candle in the base, too.
func inPieces(b *battery.Bench, whole *compared, each *battery.Play) (battery.Check, error) {
	decided, err := decidedAt(b, b.Search.From)
	if err != nil {
		return battery.Check{}, err
	}
	holds := replay.Holds(decided, b.Search.From, b.Search.To, b.Seed)
	drive := run.Drive{}
	for _, i := range holds {
		drive.Holds = append(drive.Holds, b.Prepared.CloseAt(i))
	}
	c := &compared{Comparison: Comparison{Variant: "pieces"}}
	p := compare(b, c, &battery.Play{Part: b.Search, Hopeless: true, How: request.Replay{Drive: drive}})
	find := func(ctx context.Context) (*battery.Finding, error) {
		if c.differs() {
			each.Test = lockstepEntry.ID
			list := []*battery.Play{each}
			if err := errors.Join(b.RunPlays(ctx, list), b.KeepCrash(ctx, list)); err != nil {
				return nil, err
			}
			return equal(ctx, b, lockstepEntry, capsule.Lookahead, []*compared{whole})
		}
		f, err := equal(ctx, b, lockstepEntry, capsule.Lookahead, []*compared{c})
		if err == nil {
			f.Method = fmt.Sprintf("the search in %d pieces: the process holds no candle after the last of "+
				"a piece before it has decided there; they end at each step with an order, or %d of them, "+
				"and at %d that are drawn", len(holds), replay.HeldDecisions, replay.HeldSteps)
		}
		return f, err
	}
	return battery.Check{Plays: []*battery.Play{p}, Judge: find}, nil
}

// decidedAt are the steps of the base, from one on, at which it asked for something.
func decidedAt(b *battery.Bench, first int) (list []int, err error) {
	times, err := lines.Times(b.Played.Lines, b.Prepared.CloseAt(first))
	for _, t := range times {
		list = append(list, b.FindCandle(t))
	}
	return list, err
}

// prefixes plays the base without what comes after a cut, and with nonsense there.
func prefixes(b *battery.Bench) (battery.Check, error) {
	first, last := b.Search.From, b.Search.To-1
	for begun := b.Source.Set.Begun(); first < last && b.Prepared.CloseAt(first) < begun; {
		first++
	}
	decided, err := decidedAt(b, first)
	if err != nil {
		return battery.Check{}, err
	}
	var list []*compared
	var plays []*battery.Play
	for i, at := range replay.Cuts(decided, first, last, b.Seed) {
		cut := b.Prepared.CloseAt(at)
		short := &compared{Comparison: Comparison{Variant: "truncated", Replica: i}, cut: cut}
		poison := &compared{Comparison: Comparison{Variant: "poisoned", Replica: i}, cut: cut}
		list = append(list, short, poison)
		plays = append(plays, compare(b, short, &battery.Play{
			On:   func() (replay.Set, error) { return replay.Truncate(b.Source.Set, cut), nil },
			Part: battery.Part{From: b.Search.From, To: at + 1}, How: request.Replay{Drive: battery.Quick},
		}), compare(b, poison, &battery.Play{
			On: func() (replay.Set, error) {
				return replay.Poison(b.Source.Set, cut, b.Seed, uint64(i)), nil
			},
			Part: b.Search, Hopeless: true, How: request.Replay{Drive: battery.Quick},
		}))
	}
	return compareAll(b, prefixEntry, list, plays...)
}

// dataEnd lets the candles go on after their end.
func dataEnd(b *battery.Bench) (battery.Check, error) {
	c := &compared{Comparison: Comparison{Variant: "continued"}, cut: b.Prepared.CloseAt(b.Search.To - 1)}
	p := compare(b, c, &battery.Play{
		On:   func() (replay.Set, error) { return replay.DataEnd(b.Source.Set, b.Seed, 0), nil },
		Part: b.Search, Open: true, How: request.Replay{Drive: battery.Quick},
	})
	return compareAll(b, dataEndEntry, []*compared{c}, p)
}

// Comparison is the decisions of one replay beside those of the base, as hashes: of the
// whole split, or up to a cut.
type Comparison struct {
	Variant   string
	Replica   int
	Want, Got string
	// Status of the replay. A failure behind the cut leaves the decisions before it
	// comparable: with Got set, they are compared.
	Status judge.Status
}

func (c Comparison) differs() bool { return c.Got != c.Want || c.Got == "" }

// Judge judges the tests whose claim is that decisions do not change: determinism,
// lockstep_replay, lookahead_prefix and data_end_probe. One difference refutes.
func Judge(j *judge.Judge, entry judge.Entry, list []Comparison) *judge.Test {
	t := j.Begin(entry, len(list), nil)
	differing, failures := 0, 0
	first := -1
	for i, c := range list {
		if c.Status == judge.Broken {
			return t.End(judge.Error, judge.HostError, "a replay could not be made")
		}
		if !c.differs() {
			continue
		}
		if first < 0 {
			first = i
		}
		differing++
		if c.Got == "" && c.Status == judge.Failed {
			failures++
		}
	}
	t.Measure("differing_replays", judge.Ptr(float64(differing)), "", "<=", judge.Ptr(0))
	switch {
	case len(list) == 0:
		return t.End(judge.Error, judge.HostError, "no replay was made")
	case differing == 0:
		return t.End(judge.Pass, "", "")
	case failures == differing:
		return t.Endf(judge.Fail, judge.PluginFailed, "the program failed in %d of %d replays",
			failures, len(list))
	}
	if days, ok := strings.CutPrefix(list[first].Variant, otherDay); ok {
		return t.Endf(judge.Fail, judge.DecisionsDiffer, "on another machine and %s days later it decides "+
			"otherwise: take the time from View.Time, and nothing from the machine", days)
	}
	return t.Endf(judge.Fail, judge.DecisionsDiffer, "%d of %d replays decide otherwise, the first of them "+
		"%s %d", differing, len(list), list[first].Variant, list[first].Replica)
}

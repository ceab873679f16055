package battery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sort"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// compared is a replay whose decisions should be those of the base up to a step.
type compared struct {
	judge.Comparison
	row judge.Replay
	cut market.Time // the close of the step; 0 is all of them
	// The rest is kept only where the decisions differ; before are the lines that those of
	// the replay should have been, nil for those of the base.
	before []byte
	how    evaluate.Replay
	played *evaluate.Replayed
}

// compare is a play whose decisions up to c.cut are compared with those of the base.
func (b *bench) compare(c *compared, p *play) *play {
	p.how.ID, p.how.Lines = split.RoleSearch, true
	p.done = func(r *evaluate.Replayed) error {
		c.row = rowOf(c.Variant, c.Replica, r)
		c.Status = c.row.Status
		switch {
		case r.Failure != nil && (c.cut == 0 || r.Failure.CandleTime <= c.cut):
		case c.cut == 0:
			c.Want, c.Got = b.base.Results.DecisionHash, r.Results.DecisionHash
		default:
			var err, other error
			c.Want, err = lines.Prefix(b.base.Lines, c.cut)
			c.Got, other = lines.Prefix(r.Lines, c.cut)
			if err = errors.Join(err, other); err != nil {
				return err
			}
		}
		if c.Got == "" || c.Got != c.Want {
			c.how, c.played = p.how, r
			c.how.From, c.how.To = p.part.From, p.part.To
		}
		return nil
	}
	return p
}

// equal judges comparisons, with evidence of the first difference and a capsule of it.
func (b *bench) equal(ctx context.Context, id string, kind capsule.Kind, list []*compared) (*finding, error) {
	comparisons, rows := make([]judge.Comparison, len(list)), make([]judge.Replay, len(list))
	var first *compared
	for i, c := range list {
		comparisons[i], rows[i] = c.Comparison, c.row
		if first == nil && c.played != nil {
			first = c
		}
	}
	f := &finding{Test: b.judge.Equal(id, comparisons)}
	f.replays(rows)
	if first == nil {
		return f, nil
	}
	before, now := first.before, first.played.Lines
	if before == nil {
		before = b.base.Lines
	}
	if first.cut != 0 {
		before, now = until(before, first.cut), until(now, first.cut)
	}
	if err := f.firstDiff(first.Variant, before, now); err != nil {
		return nil, err
	}
	f.stressed = &first.row
	// Where decisions differ each time, that they differ without later candles says nothing.
	fickle := kind == capsule.Lookahead && b.found[judge.Determinism] != nil && b.found[judge.Determinism].Verdict == judge.Fail
	if first.played.Failure == nil && !b.kept[kind] && !fickle {
		b.note(kind, b.Host.Part(ctx, b.Question, evaluate.Parting{
			Kind: kind, Replay: first.how, Played: first.played, Before: before, Now: now,
		}))
	}
	return f, nil
}

// determinism repeats the base: three times as it was, with one thread and with as many
// as there are processors, and with its candles in messages instead of a file. What the
// base run itself has decided is compared, too.
func (b *bench) determinism() (check, error) {
	var list []*compared
	var plays []*play
	add := func(variant string, replica int, d run.Drive) {
		c := &compared{Comparison: judge.Comparison{Variant: variant, Replica: replica}}
		list = append(list, c)
		plays = append(plays, b.compare(c, &play{part: b.Search, how: evaluate.Replay{Drive: d}}))
	}
	if b.Decided != "" {
		list = append(list, b.stored())
	}
	for i := range 3 {
		add("plain", i, run.Drive{})
	}
	add("procs_1", 0, run.Drive{Procs: 1})
	add("procs_all", 0, run.Drive{Procs: runtime.NumCPU()})
	add("chunked", 0, run.Drive{Chunked: true})
	return check{plays: plays, judge: func(ctx context.Context) (*finding, error) {
		f, err := b.equal(ctx, judge.Determinism, capsule.Nondeterminism, list)
		if err == nil {
			f.NReplays = len(plays) // the base run was not played for it
		}
		return f, err
	}}, nil
}

// stored compares the base as it was played here with the base run.
func (b *bench) stored() *compared {
	c := &compared{
		Comparison: judge.Comparison{Variant: "stored", Status: judge.Completed, Want: b.Decided, Got: b.base.Results.DecisionHash},
		row:        rowOf("stored", 0, b.base),
	}
	if c.Want != c.Got {
		c.how, c.played, c.before = evaluate.Replay{ID: split.RoleSearch, From: b.Search.From, To: b.Search.To}, b.base, b.Lines
	}
	return c
}

// lockstep plays the base candle by candle.
func (b *bench) lockstep() (check, error) {
	c := &compared{Comparison: judge.Comparison{Variant: "lockstep"}}
	p := b.compare(c, &play{part: b.Search, how: evaluate.Replay{Drive: run.Drive{Lockstep: true}}})
	return check{plays: []*play{p}, judge: func(ctx context.Context) (*finding, error) {
		return b.equal(ctx, judge.LockstepReplay, capsule.Lookahead, []*compared{c})
	}}, nil
}

// at is the candle of the timeline that closes at a time.
func (b *bench) at(t market.Time) int {
	return sort.Search(b.Question.Candles(), func(i int) bool { return b.Question.CloseAt(i) >= t })
}

// until are the lines of decisions up to a time: what becomes of orders after it is
// another matter.
func until(text []byte, cut market.Time) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		var said struct {
			Kind string      `json:"kind"`
			Time market.Time `json:"time"`
		}
		if json.Unmarshal(line, &said) == nil && said.Time <= cut && (said.Kind == "intent" || said.Kind == "reject") {
			out = append(out, line...)
		}
	}
	return out
}

// prefixes plays the base without what comes after a cut, and with nonsense there.
func (b *bench) prefixes() (check, error) {
	first, last := b.Search.From, b.Search.To-1
	for begun := b.source.Set.Begun(); first < last && b.Question.CloseAt(first) < begun; {
		first++
	}
	times, err := lines.Times(b.base.Lines, b.Question.CloseAt(first))
	if err != nil {
		return check{}, err
	}
	var decided []int
	for _, t := range times {
		decided = append(decided, b.at(t))
	}
	var list []*compared
	var plays []*play
	for i, at := range replay.Cuts(decided, first, last, b.Seed) {
		cut := b.Question.CloseAt(at)
		short := &compared{Comparison: judge.Comparison{Variant: "truncated", Replica: i}, cut: cut}
		poison := &compared{Comparison: judge.Comparison{Variant: "poisoned", Replica: i}, cut: cut}
		list = append(list, short, poison)
		plays = append(plays, b.compare(short, &play{
			on:   func() (replay.Set, error) { return replay.Truncate(b.source.Set, cut), nil },
			part: Part{b.Search.From, at + 1}, how: evaluate.Replay{Drive: quick},
		}), b.compare(poison, &play{
			on:   func() (replay.Set, error) { return replay.Poison(b.source.Set, cut, b.Seed, uint64(i)), nil },
			part: b.Search, hopeless: true, how: evaluate.Replay{Drive: quick},
		}))
	}
	return check{plays: plays, judge: func(ctx context.Context) (*finding, error) {
		return b.equal(ctx, judge.LookaheadPrefix, capsule.Lookahead, list)
	}}, nil
}

// dataEnd lets the candles go on after their end.
func (b *bench) dataEnd() (check, error) {
	c := &compared{Comparison: judge.Comparison{Variant: "continued"}, cut: b.Question.CloseAt(b.Search.To - 1)}
	p := b.compare(c, &play{
		on:   func() (replay.Set, error) { return replay.DataEnd(b.source.Set, b.Seed, 0), nil },
		part: b.Search, open: true, how: evaluate.Replay{Drive: quick},
	})
	return check{plays: []*play{p}, judge: func(ctx context.Context) (*finding, error) {
		return b.equal(ctx, judge.DataEndProbe, capsule.Lookahead, []*compared{c})
	}}, nil
}

// warm is a play of the validation split with some warm-up.
type warm struct {
	factor    int
	row       judge.Replay
	lines     []byte
	published map[string]run.Points
}

// warmup compares the validation split after one, two and four times the warm-up that
// the strategy asks for with the same split after all history.
func (b *bench) warmup() (check, error) {
	list := []*warm{{factor: run.AllHistory}, {factor: 1}, {factor: 2}, {factor: 4}}
	var plays []*play
	for _, w := range list {
		variant := fmt.Sprintf("%dx", w.factor)
		if w.factor == run.AllHistory {
			variant = "all"
		}
		plays = append(plays, &play{
			part: b.Validation,
			how:  evaluate.Replay{ID: split.RoleValidation, Lines: true, Series: true, Drive: run.Drive{Procs: 1, Warmup: w.factor}},
			done: func(r *evaluate.Replayed) error {
				w.row, w.lines, w.published = rowOf(variant, 0, r), r.Lines, r.Published.Series
				return nil
			},
		})
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) { return b.drifts(list[0], list[1:]) }}, nil
}

func (b *bench) drifts(all *warm, list []*warm) (*finding, error) {
	// What was wanted on the last candle of the warm-up came when it closed, at the open
	// of the window.
	start := b.Question.OpenAt(b.Validation.From) + 1
	drifts, rows := make([]judge.Drift, len(list)), []judge.Replay{}
	var first *warm
	for i, w := range list {
		d := judge.Drift{Multiple: w.factor, Status: w.row.Status}
		if all.row.Status != judge.Completed {
			d.Status = all.row.Status
		}
		var err error
		if d.Decisions, d.Differing, err = lines.Differing(all.lines, w.lines, start); err != nil {
			return nil, err
		}
		for _, name := range names(all.published, w.published) {
			d.Series = append(d.Series, judge.SeriesDrift{Name: name, MaxRelative: relative(all.published[name], w.published[name])})
		}
		if d.Differing > 0 && first == nil {
			first = w
		}
		drifts[i], rows = d, append(rows, w.row)
	}
	f := &finding{Test: b.judge.Warmup(drifts)}
	f.NReplays = len(list) + 1 // that with all history, which the others are compared with
	f.replays(append(rows, all.row))
	f.add(evidence.Drifts(drifts))
	f.stressed, f.beside, f.on = &list[0].row, &all.row, split.RoleValidation
	if first == nil {
		return f, nil
	}
	want, err := plain(all.lines, start)
	if err != nil {
		return nil, err
	}
	got, err := plain(first.lines, start)
	if err != nil {
		return nil, err
	}
	return f, f.firstDiff(first.row.Variant, want, got)
}

// relative is how far two series are apart; those of other times are as far as can be.
func relative(want, got run.Points) float64 {
	if !slices.Equal(want.Time, got.Time) {
		return 1
	}
	return judge.Relative(want.Values, got.Values)
}

// names are those of two sets of series together, sorted.
func names(a, b map[string]run.Points) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]run.Points{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// plain are the decisions from a time on without what only numbers them, so that plays
// with other warm-ups can be laid side by side.
func plain(text []byte, from market.Time) ([]byte, error) {
	var out []byte
	for line := range bytes.Lines(until(text, market.Time(math.MaxInt64))) {
		var fields map[string]json.RawMessage
		var t market.Time
		if err := json.Unmarshal(line, &fields); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(fields["time"], &t); err != nil || t < from {
			continue
		}
		delete(fields, "seq")
		delete(fields, "candle")
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		out = append(append(out, text...), '\n')
	}
	return out, nil
}

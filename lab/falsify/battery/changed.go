package battery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// on is a play on changed candles; the row that becomes of it goes into its place.
func (b *bench) on(variant string, replica int, into *judge.Replay, part Part, change func() (replay.Set, error)) *play {
	id := split.RoleSearch
	if part == b.Train {
		id = split.RoleTrain
	}
	return &play{on: change, part: part, how: request.Replay{ID: id, Drive: quick}, done: func(r *request.Replayed) error {
		*into = rowOf(variant, replica, r)
		return nil
	}}
}

// series are plays on so many changes of the search candles.
func (b *bench) series(variant string, n int, change func(replay.Set, uint64, uint64) replay.Set) ([]judge.Replay, []*play) {
	list := rows(n)
	plays := make([]*play, n)
	for i := range plays {
		plays[i] = b.on(variant, i, &list[i], b.Search, func() (replay.Set, error) { return change(b.source.Set, b.Seed, uint64(i)), nil })
	}
	return list, plays
}

// priceNoise plays on prices that are a little beside the real ones. The size that decides
// has all the series of the profile, that which warns half of them, those which inform a
// quarter.
func (b *bench) priceNoise() (check, error) {
	n := b.Profile.Noise
	sizes := []judge.Noisy{{Percent: 3}, {Percent: 10}, {Percent: 1}, {Percent: 30}}
	var plays []*play
	for i, series := range []int{n, (n + 1) / 2, (n + 3) / 4, (n + 3) / 4} {
		percent := sizes[i].Percent
		list, more := b.series(fmt.Sprintf("noise_%d%%", percent), series,
			func(s replay.Set, seed, replica uint64) replay.Set {
				return replay.PriceNoise(s, percent, seed, replica)
			})
		sizes[i].Replays, plays = list, append(plays, more...)
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		f := &finding{Test: b.judge.Noise(sizes), stressed: middle(sizes[0].Replays)}
		var all []judge.Replay
		for _, s := range sizes {
			all = append(all, s.Replays...)
		}
		f.replays(all)
		f.rows = sizes[0].Replays // what the page draws is what decides
		return f, nil
	}}, nil
}

// missingCandles plays on candles with gaps.
func (b *bench) missingCandles() (check, error) {
	list, plays := b.series("gaps", b.Profile.Gaps, replay.Gaps)
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		return b.spread(b.judge.Missing(list), list), nil
	}}, nil
}

// spread is a finding of many replays, for which the middle one stands.
func (b *bench) spread(t *judge.Test, list []judge.Replay) *finding {
	f := &finding{Test: t, stressed: middle(list)}
	f.replays(list)
	return f
}

// middle is the replay with the median Sharpe ratio, the first of several; nil if none
// has a ratio.
func middle(list []judge.Replay) *judge.Replay {
	var ratios []float64
	for i := range list {
		if list[i].Sharpe != nil {
			ratios = append(ratios, *list[i].Sharpe)
		}
	}
	m, why := stat.Quantile(ratios, 0.5)
	if why != "" {
		return nil
	}
	for i := range list {
		if s := list[i].Sharpe; s != nil && *s == m {
			return &list[i]
		}
	}
	return nil
}

// permutedCandles plays on train candles whose moves are shuffled.
func (b *bench) permutedCandles() (check, error) {
	set := b.trainSet()
	list := rows(b.Profile.Permutations())
	plays := []*play{{part: b.Train, how: request.Replay{ID: split.RoleTrain, Drive: quick}, done: func(r *request.Replayed) error {
		b.train = r
		return nil
	}}}
	for i := range list {
		plays = append(plays, b.on("permuted", i, &list[i], b.Train, func() (replay.Set, error) {
			out, _ := replay.Permute(set, b.Seed, uint64(i))
			return out, nil
		}))
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		own := rowOf("train", 0, b.train)
		f := b.spread(b.judge.Permuted(own.Sharpe, own.Trades, set.Joint(), list), list)
		f.beside, f.on = &own, split.RoleTrain
		return f, nil
	}}, nil
}

// timeReversal plays on the moves in the opposite order.
func (b *bench) timeReversal() (check, error) {
	list := rows(1)
	plays := []*play{b.on("reversed", 0, &list[0], b.Search, func() (replay.Set, error) { return replay.Reverse(b.source.Set), nil })}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		return b.spread(b.judge.Reversed(list[0]), list), nil
	}}, nil
}

// transformed is the same market seen otherwise.
type transformed struct {
	judge.Transformed
	row   judge.Replay
	lines []byte
	view  lines.View
}

// metamorphic plays on other units, another time and other names.
func (b *bench) metamorphic() (check, error) {
	var list []*transformed
	var plays []*play
	add := func(variant string, view lines.View, p *play) {
		x := &transformed{Transformed: judge.Transformed{Variant: variant}, view: view}
		p.part, p.how.ID, p.how.Drive, p.how.Lines = b.Search, split.RoleSearch, quick, true
		p.done = func(r *request.Replayed) error {
			x.row, x.lines = rowOf(variant, 0, r), r.Lines
			x.Status = x.row.Status
			var err error
			if x.Status == judge.Completed {
				x.Got, err = returnsOf(r)
			}
			return err
		}
		list, plays = append(list, x), append(plays, p)
	}
	if b.Question.Strategy.Supports.ScaleFree {
		// A quantity has at most ten decimals: steps a thousand times as fine would be too
		// fine, so both sides are played with steps that can be divided.
		coarse, fine, err := stepped(b.Question.Manifest.Request.Execution)
		if err != nil {
			return check{}, err
		}
		add(unscaled, lines.View{Scale: 1}, &play{how: request.Replay{Execution: coarse}})
		add(scaled, lines.View{Scale: replay.ScaleFactor}, &play{
			on: func() (replay.Set, error) { return replay.Scale(b.source.Set) }, how: request.Replay{Execution: fine},
		})
	}
	add("shifted", lines.View{Time: replay.Unshifted}, &play{
		on: func() (replay.Set, error) { return replay.Shift(b.source.Set), nil }, at: replay.Shifted,
	})
	renamed, names := replay.Rename(b.source.Set)
	old := map[market.Symbol]market.Symbol{}
	for symbol, name := range names {
		old[name] = symbol
	}
	add("renamed", lines.View{Names: old}, &play{on: func() (replay.Set, error) { return renamed, nil }})
	return check{plays: plays, judge: func(context.Context) (*finding, error) { return b.sameReturns(list) }}, nil
}

// sameReturns compares the returns of each view with those of the base; the scaled ones
// with those of a base whose quantities have as many digits.
func (b *bench) sameReturns(list []*transformed) (*finding, error) {
	want, err := returnsOf(b.base)
	if err != nil {
		return nil, err
	}
	var compared []judge.Transformed
	var all []judge.Replay
	for _, x := range list {
		all = append(all, x.row)
		if x.Variant == unscaled {
			continue
		}
		x.Want = want
		if x.Variant == scaled {
			x.Want = list[0].Got
		}
		compared = append(compared, x.Transformed)
	}
	f := &finding{Test: b.judge.Metamorphic(compared)}
	f.NReplays = len(list)
	f.Params["scale_free"] = b.Question.Strategy.Supports.ScaleFree
	f.stressed = &all[len(all)-1]
	f.replays(all)
	if f.Verdict != judge.Fail {
		return f, nil
	}
	variant := compared[judge.Breaking(compared)].Variant
	broke := list[slices.IndexFunc(list, func(x *transformed) bool { return x.Variant == variant })]
	f.stressed = &broke.row
	return f, b.diverging(f, broke, list)
}

// diverging adds the first line of the view that broke the test that differs from the
// base's, with the times, names, prices and quantities of the base put back.
func (b *bench) diverging(f *finding, broke *transformed, list []*transformed) error {
	text, as := b.base.Lines, lines.View{}
	if broke.Variant == scaled { // beside the base with steps that can be divided
		text, as = list[0].lines, list[0].view
	}
	want, err := as.Restored(text)
	if err != nil {
		return err
	}
	got, err := broke.view.Restored(broke.lines)
	if err != nil {
		return err
	}
	return f.firstDiff(broke.Variant, want, got)
}

// The views whose returns are compared with each other.
const (
	unscaled = "unscaled"
	scaled   = "scaled"
)

// returnsOf are the returns of the main sample.
func returnsOf(r *request.Replayed) ([]float64, error) {
	returns, err := metric.MainReturns(r.Input)
	return returns.Return, err
}

// The least step of quantities that the simulator knows, as a scale of decimals, and the
// digits of replay.ScaleFactor.
const (
	finestStep  = 10
	scaleDigits = 3
)

// stepped is execution options whose quantities have steps that can be divided by a
// thousand, and the same with the divided steps.
func stepped(execution json.RawMessage) (coarse, fine json.RawMessage, err error) {
	options := map[string]json.RawMessage{}
	if err := json.Unmarshal(execution, &options); err != nil {
		return nil, nil, err
	}
	step, err := decimal.Parse(string(options["quantity_step"]))
	if err != nil {
		return nil, nil, err
	}
	if least := decimal.MustNew(1, finestStep-scaleDigits); step.Cmp(least) < 0 {
		step = least
	}
	with := func(step decimal.Decimal) (json.RawMessage, error) {
		options["quantity_step"] = json.RawMessage(step.Trim(0).String())
		return json.Marshal(options)
	}
	if coarse, err = with(step); err != nil {
		return nil, nil, err
	}
	if step, err = step.Mul(decimal.MustNew(1, scaleDigits)); err != nil {
		return nil, nil, err
	}
	fine, err = with(step)
	return coarse, fine, err
}

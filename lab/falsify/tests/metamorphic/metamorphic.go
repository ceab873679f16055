// Package metamorphic is the test metamorphic: the same market in other units, at another time
// and under other names.
package metamorphic

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "metamorphic"

var entry = judge.Entry{
	Number: 22, ID: ID, Version: 1, Class: judge.Gate,
	Claim: "decisions do not depend on price level, date or name",
	Method: "prices times 1000, quantities over 1000 (if supports.scale_free); times moved by 364 days; " +
		"symbols renamed",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

// transformed is the same market seen otherwise.
type transformed struct {
	Transformed
	row   judge.Replay
	lines []byte
	view  lines.View
}

func plan(b *battery.Bench) (battery.Check, error) {
	var list []*transformed
	var plays []*battery.Play
	add := func(variant string, view lines.View, p *battery.Play) {
		x := &transformed{Transformed: Transformed{Variant: variant}, view: view}
		p.Part, p.How.ID, p.How.Drive, p.How.Lines = b.Search, split.RoleSearch, battery.Quick, true
		p.Done = func(r *request.Replayed) error {
			x.row, x.lines = battery.RowOf(variant, 0, r), r.Lines
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
			return battery.Check{}, err
		}
		add(unscaled, lines.View{Scale: 1}, &battery.Play{How: request.Replay{Execution: coarse}})
		add(scaled, lines.View{Scale: replay.ScaleFactor}, &battery.Play{
			On: func() (replay.Set, error) {
				return replay.Scale(b.Source.Set)
			}, How: request.Replay{Execution: fine},
		})
	}
	add("shifted", lines.View{Time: replay.Unshifted}, &battery.Play{
		On: func() (replay.Set, error) { return replay.Shift(b.Source.Set), nil }, At: replay.Shifted,
	})
	renamed, names := replay.Rename(b.Source.Set)
	old := map[market.Symbol]market.Symbol{}
	for symbol, name := range names {
		old[name] = symbol
	}
	add("renamed", lines.View{Names: old},
		&battery.Play{On: func() (replay.Set, error) { return renamed, nil }})
	return battery.Check{Plays: plays, Judge: func(context.Context) (*battery.Finding, error) {
		return sameReturns(b, list)
	}}, nil
}

// sameReturns compares the returns of each view with those of the base; the scaled ones
// with those of a base whose quantities have as many digits.
func sameReturns(b *battery.Bench, list []*transformed) (*battery.Finding, error) {
	want, err := returnsOf(b.Played)
	if err != nil {
		return nil, err
	}
	var compared []Transformed
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
	f := &battery.Finding{Test: Judge(&b.Judge, compared)}
	f.NReplays = len(list)
	f.Params["scale_free"] = b.Question.Strategy.Supports.ScaleFree
	f.Stressed = &all[len(all)-1]
	f.Replays(all)
	if f.Verdict != judge.Fail {
		return f, nil
	}
	variant := compared[breaking(compared)].Variant
	broke := list[slices.IndexFunc(list, func(x *transformed) bool { return x.Variant == variant })]
	f.Stressed = &broke.row
	return f, diverging(b, f, broke, list)
}

// diverging adds the first line of the view that broke the test that differs from the
// base's, with the times, names, prices and quantities of the base put back.
func diverging(b *battery.Bench, f *battery.Finding, broke *transformed, list []*transformed) error {
	text, as := b.Played.Lines, lines.View{}
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
	return f.FirstDiff(broke.Variant, want, got)
}

// The views whose returns are compared with each other.
const (
	unscaled = "unscaled"
	scaled   = "scaled"
)

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

// Transformed is the returns of the base and of the same strategy on the same market seen
// otherwise, on the main sample.
type Transformed struct {
	Variant   string
	Want, Got []float64
	Status    judge.Status
}

// distance is the largest difference between returns; +Inf when they are not as many.
func (x Transformed) distance() float64 {
	if len(x.Want) != len(x.Got) {
		return math.Inf(1)
	}
	most := 0.0
	for i, w := range x.Want {
		d := math.Abs(x.Got[i] - w)
		if !(d <= most) {
			most = d
		}
	}
	return most
}

// seen is how the market was changed, in words.
func (x Transformed) seen() string {
	return map[string]string{
		scaled: "with prices times 1000", "shifted": "with all times moved by 364 days",
		"renamed": "under other names",
	}[x.Variant]
}

// Judge judges whether unit, date and name of the market matter.
func Judge(j *judge.Judge, list []Transformed) *judge.Test {
	t := j.Begin(entry, len(list), map[string]any{"same_return": j.Policy.SameReturn})
	variants := []string{}
	for _, x := range list {
		variants = append(variants, x.Variant)
	}
	t.Params["variants"] = variants
	if len(list) == 0 || slices.ContainsFunc(list, func(x Transformed) bool {
		return x.Status == judge.Broken
	}) {
		return t.End(judge.Error, judge.HostError, "a replay could not be made")
	}
	at := breaking(list)
	x := list[at]
	worst := x.distance()
	switch {
	case x.Status == judge.Failed:
		t.Measure("max_return_difference", nil, "", "<=", &j.Policy.SameReturn)
		return t.End(judge.Fail, judge.PluginFailed, "the program failed "+x.seen())
	case math.IsInf(worst, 1) || math.IsNaN(worst):
		t.Measure("max_return_difference", nil, "", "<=", &j.Policy.SameReturn)
		return t.End(judge.Fail, judge.ReturnsDiffer, x.seen()+" the returns are others")
	}
	t.Measure("max_return_difference", &worst, "", "<=", &j.Policy.SameReturn)
	if worst <= j.Policy.SameReturn {
		return t.End(judge.Pass, "", "")
	}
	return t.Endf(judge.Fail, judge.ReturnsDiffer, "%s the returns differ by up to %.2g", x.seen(), worst)
}

// breaking is the view that the verdict of Metamorphic rests on: the first whose plugin
// failed, else the one whose returns are furthest from the base's. There is at least one.
func breaking(list []Transformed) int {
	worst, at := -1.0, 0
	for i, x := range list {
		if x.Status == judge.Failed {
			return i
		}
		if d := x.distance(); !(d <= worst) {
			worst, at = d, i
		}
	}
	return at
}

// Package metamorphic is the test metamorphic: the same market in other units, at another time
// and under other names.
package metamorphic

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "metamorphic"

var entry = judge.Entry{
	Number: 22, ID: ID, Version: 2, Class: judge.Gate,
	Claim: "decisions do not depend on price level, name or undeclared dates",
	Method: "prices times 1000, quantities over 1000 (if supports.scale_free); symbols renamed; times " +
		"moved by 364 and 18,201 days, by 364 and 18,200 (supports.calendar weekday), 1,461 and 14,610 " +
		"(date), or 10,227 (both); stretched time, shuffled months and other symbols' candles inform",
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
		p.Part, p.How.ID, p.How.Drive = b.Search, split.RoleSearch, battery.Quick
		p.How.Lines, p.How.Books = true, true
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
	if b.Prepared.Strategy.Supports.ScaleFree {
		// A quantity has at most ten decimals: steps a thousand times as fine would be too
		// fine, so both sides are played with steps that can be divided.
		coarse, fine, err := stepped(b.Prepared.Manifest.Request.Execution)
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
	declared := b.Prepared.Strategy.Declared
	calendar := sdk.Calendar(declared.Supports.Calendar)
	informed := len(declared.Inputs) > 0
	for _, days := range Shifts(calendar, b.Source.Set, declared.Extra) {
		by := replay.Shift(days)
		add(fmt.Sprintf("%s%d", shifted, days), lines.View{Time: by.Back}, &battery.Play{
			On: func() (replay.Set, error) { return replay.Move(b.Source.Set, by.To), nil }, At: by.To,
			// A capsule would have the rows where they were.
			How: request.Replay{MoveInputs: by.To}, Hopeless: informed,
		})
	}
	others, names := replay.Rename(b.Source.Set)
	old := map[market.Symbol]market.Symbol{}
	for symbol, name := range names {
		old[name] = symbol
	}
	add(renamed, lines.View{Names: old},
		&battery.Play{On: func() (replay.Set, error) { return others, nil }})
	informing, more := inform(b)
	return battery.Check{Plays: append(plays, more...),
		Judge: func(context.Context) (*battery.Finding, error) {
			return sameReturns(b, calendar, list, *informing)
		}}, nil
}

// The ends of what can be shifted: 2100 is no leap year, so that dates and weekdays fall out of
// step there.
const endOfLeapYears = market.Time(4102444800000) // 2100-01-01T00:00:00.000Z

// The shifts in days. A year of weeks keeps weekdays, four years keep dates, and 28 years both; the
// far ones go beyond any day on which this is read.
const (
	yearOfWeeks = 364
	fourYears   = 1461
	wholeCycle  = 10_227
	farWeeks    = 50 * yearOfWeeks
	farDates    = 10 * fourYears
	farOff      = farWeeks + 1 // no weekday and no date stays
)

// Shifts are the days by which times are moved for a strategy that declares a calendar: what it
// declares stays, all else changes. Candles of weeks or of venues that close at weekends keep
// their weekdays, those of months their dates; so do the larger timeframes that the strategy reads,
// whose candles must not be cut elsewhere. A shift that would end after 2099 is left out, unless it
// is the only one.
func Shifts(calendar sdk.Calendar, set replay.Set, extra []market.Timeframe) []int {
	last, weekly, monthly := market.Time(0), false, false
	for i := range set {
		s := set[i].Series
		last = max(last, s.CloseTime(s.Len()-1))
		weekly = weekly || s.Timeframe.Unit == 'w' || set[i].Dataset.Calendar == candle.Weekdays
		monthly = monthly || s.Timeframe.Unit == 'M'
	}
	weeks := false // of the larger timeframes
	for _, tf := range extra {
		weeks, monthly = weeks || tf.Unit == 'w', monthly || tf.Unit == 'M'
	}
	weekly = weekly || weeks
	list := []int{yearOfWeeks, farOff}
	switch {
	case calendar == sdk.CalendarBoth, weekly && calendar == sdk.CalendarDate,
		monthly && (weeks || len(extra) > 0 && calendar == sdk.CalendarWeekday):
		list = []int{wholeCycle}
	case calendar == sdk.CalendarDate, monthly:
		list = []int{fourYears, farDates}
	case calendar == sdk.CalendarWeekday, weekly:
		list = []int{yearOfWeeks, farWeeks}
	}
	for i := range list {
		list[i] *= wholeBuckets(list[i], extra)
	}
	out := list[:1]
	for _, days := range list[1:] {
		if replay.Shift(days).To(last) < endOfLeapYears {
			out = append(out, days)
		}
	}
	return out
}

// wholeBuckets is how many times a shift by so many days moves the larger timeframes by whole candles.
func wholeBuckets(days int, extra []market.Timeframe) int {
	times := 1
	for _, tf := range extra {
		moved, length := int64(times)*int64(days)*24*3600, int64(tf.Duration()/time.Second)
		if tf.Unit == 'M' {
			moved, length = int64(times)*int64(days)/fourYears*48, int64(tf.Count)
		}
		if length > 1 {
			times *= int(length / gcd(moved, length))
		}
	}
	return times
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// inform plays what an honest strategy may do worse on, so that it judges nothing: time that is
// stretched, months in another order, and the candles of other symbols.
func inform(b *battery.Bench) (*[]judge.Replay, []*battery.Play) {
	list := make([]judge.Replay, 0, 3)
	var plays []*battery.Play
	add := func(variant string, at func(market.Time) market.Time, change func() (replay.Set, error)) {
		list = append(list, judge.Replay{})
		p := b.PlanChanged(variant, 0, &list[len(list)-1], b.Search, change)
		p.At, p.Hopeless, p.How.MoveInputs = at, true, at
		plays = append(plays, p)
	}
	if s := b.Source.Set[0].Series; s.Timeframe.Unit != 'M' {
		to := replay.Warp(b.Prepared.OpenAt(b.Search.From))
		add("warped", to, func() (replay.Set, error) { return replay.Move(b.Source.Set, to), nil })
	}
	add("segments", nil, func() (replay.Set, error) { return replay.Segments(b.Source.Set, b.Seed), nil })
	if others, ok := replay.Rotate(b.Source.Set); ok {
		add("other_symbols", nil, func() (replay.Set, error) { return others, nil })
	}
	return &list, plays
}

// told is the note of the replays that inform.
func told(base *float64, list []judge.Replay) string {
	words := map[string]string{
		"warped": "in stretched time", "segments": "with its months in another order",
		"other_symbols": "on the candles of other symbols",
	}
	var parts []string
	for _, r := range list {
		switch {
		case r.Status != judge.Completed:
			parts = append(parts, words[r.Variant]+" the program fails")
		case r.Sharpe == nil:
			parts = append(parts, words[r.Variant]+" undefined")
		default:
			parts = append(parts, words[r.Variant]+" "+judge.TwoDigits(*r.Sharpe))
		}
	}
	if base == nil || len(parts) == 0 {
		return ""
	}
	return "its Sharpe ratio is " + judge.TwoDigits(*base) + ", " + strings.Join(parts, ", ")
}

// sameReturns compares the returns of each view with those of the base; the scaled ones
// with those of a base whose quantities have as many digits.
func sameReturns(b *battery.Bench, calendar sdk.Calendar, list []*transformed,
	informing []judge.Replay) (*battery.Finding, error) {
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
	f := &battery.Finding{Test: Judge(&b.Judge, calendar, compared)}
	f.NReplays = len(list) + len(informing)
	f.Note = told(b.Judge.Base.Sharpe, informing)
	f.Params["scale_free"] = b.Prepared.Strategy.Supports.ScaleFree
	f.Stressed = &all[len(all)-1]
	f.Replays(slices.Concat(all, informing))
	f.Rows = all
	if f.Verdict != judge.Fail {
		return f, nil
	}
	variant := compared[breaking(compared, b.Judge.Policy.SameReturn)].Variant
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
	renamed  = "renamed"
	shifted  = "shifted_" // and the days
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
	if days, ok := strings.CutPrefix(x.Variant, shifted); ok {
		return "with all times moved by " + days + " days"
	}
	return map[string]string{scaled: "with prices times 1000", renamed: "under other names"}[x.Variant]
}

// remedy is what the author of a strategy can do that decides by dates and means to, "" for
// other views.
func (x Transformed) remedy(calendar sdk.Calendar) string {
	days, ok := strings.CutPrefix(x.Variant, shifted)
	switch {
	case !ok:
		return ""
	case calendar == sdk.CalendarBoth:
		return ": it decides by the year"
	case calendar != sdk.CalendarNone:
		return fmt.Sprintf(": it decides by more of the calendar than the %s that Supports.Calendar "+
			"declares, or by the year", calendar)
	case days == strconv.Itoa(yearOfWeeks):
		return ": it decides by the date; a rule about the day of the month or the season declares " +
			"Supports.Calendar: sdk.CalendarDate"
	}
	return ": it decides by the weekday, or by the year; a rule about weekdays declares " +
		"Supports.Calendar: sdk.CalendarWeekday"
}

// Judge judges whether unit, name and undeclared dates of the market matter.
func Judge(j *judge.Judge, calendar sdk.Calendar, list []Transformed) *judge.Test {
	t := j.Begin(entry, len(list), map[string]any{"same_return": j.Policy.SameReturn})
	variants := []string{}
	for _, x := range list {
		variants = append(variants, x.Variant)
	}
	t.Params["variants"], t.Params["calendar"] = variants, calendar
	if len(list) == 0 || slices.ContainsFunc(list, func(x Transformed) bool {
		return x.Status == judge.Broken
	}) {
		return t.End(judge.Error, judge.HostError, "a replay could not be made")
	}
	at := breaking(list, j.Policy.SameReturn)
	x := list[at]
	worst := x.distance()
	switch {
	case x.Status == judge.Failed:
		t.Measure("max_return_difference", nil, "", "<=", &j.Policy.SameReturn)
		return t.End(judge.Fail, judge.PluginFailed, "the program failed "+x.seen())
	case math.IsInf(worst, 1) || math.IsNaN(worst):
		t.Measure("max_return_difference", nil, "", "<=", &j.Policy.SameReturn)
		return t.End(judge.Fail, judge.ReturnsDiffer, x.seen()+" the returns are others"+x.remedy(calendar))
	}
	t.Measure("max_return_difference", &worst, "", "<=", &j.Policy.SameReturn)
	switch {
	case worst > j.Policy.SameReturn:
		return t.Endf(judge.Fail, judge.ReturnsDiffer, "%s the returns differ by up to %.2g%s", x.seen(),
			worst, x.remedy(calendar))
	case calendar == sdk.CalendarBoth:
		return t.End(judge.Warn, judge.CalendarBoth, "it declares that weekday and date decide together, "+
			"which leaves the memory of dates, Easter and halvings unexcluded")
	}
	return t.End(judge.Pass, "", "")
}

// breaking is the view that the verdict rests on: the first whose plugin failed, else the one
// whose returns are furthest from the base's, but the first of the shifts that are beyond what
// counts as equal. There is at least one.
func breaking(list []Transformed, same float64) int {
	worst, at := -1.0, 0
	for i, x := range list {
		if x.Status == judge.Failed {
			return i
		}
		d := x.distance()
		again := worst > same && strings.HasPrefix(x.Variant, shifted) &&
			strings.HasPrefix(list[at].Variant, shifted)
		if !(d <= worst) && !again {
			worst, at = d, i
		}
	}
	return at
}

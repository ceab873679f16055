package trade

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// inputs are the series beside the candles of a run, which grow while it goes on: at each step what is stored
// then. Those of a strategy that reads none do nothing. They are of the goroutine that asks the strategy, but
// for stale.
type inputs struct {
	store *candle.Inputs
	list  []*grownInput
	// rows are those that the newest step shows besides those of before, by input.
	rows  [][]market.InputRow
	until market.Time // close of the newest step
	stale atomic.Bool
}

// grownInput is one input with the rows that are in use.
type grownInput struct {
	run.Input
	age  market.InputAge
	left *market.InputReader // what was not shown yet
	late []market.InputRow   // of left, what became known before the newest step
	// news reports whether the journal does not have yet that these rows are used.
	news bool
	// fault is why what is stored now is not taken, refused its hash where that cannot change.
	fault, refused string
	alarms         map[string]bool // that stand
}

// openInputs opens what a strategy reads. A refusal is a *run.RequestError.
func openInputs(store *candle.Inputs, p *run.Plan) (*inputs, error) {
	x := &inputs{store: store, until: math.MinInt64}
	for _, age := range wire.InputAges(p.Strategy.Inputs) {
		in, err := p.FindInput(store, age.Name, "")
		if err != nil {
			return nil, err
		}
		x.list = append(x.list, &grownInput{Input: in, age: age, news: true,
			left: market.NewInputReader(in.Rows()), alarms: map[string]bool{}})
	}
	x.rows = make([][]market.InputRow, len(x.list))
	return x, nil
}

// shown is [run.Lockstep.ReadInputs] of the newest step.
func (x *inputs) shown(market.Time) [][]market.InputRow { return x.rows }

// look takes what was stored meanwhile.
func (x *inputs) look() {
	for _, in := range x.list {
		in.look(x.store, x.until)
	}
}

// look takes other rows if they have those that were shown until a time.
func (in *grownInput) look(store *candle.Inputs, until market.Time) {
	current, err := store.Current(in.age.Name)
	if err == nil && (current.SHA256 == in.SHA256 || current.SHA256 == in.refused) {
		if current.SHA256 == in.SHA256 {
			in.fault, in.refused = "", ""
		}
		return
	}
	in.fault, in.refused = "", ""
	if err != nil {
		in.fault = fmt.Sprintf("they cannot be read: %v", err)
		return
	}
	next, err := run.FindInput(store, in.age.Name, current.SHA256)
	if err != nil {
		in.fault = fmt.Sprintf("they cannot be read: %v", err)
		return
	}
	left, ok := candle.GrowInput(in.Rows(), next.Rows(), until)
	if !ok {
		in.fault, in.refused = fmt.Sprintf("sha256:%.12s… lacks or changes rows that the strategy has seen: "+
			"add rows with lab data import --input %s --merge", next.SHA256, in.age.Name), next.SHA256
		return
	}
	in.Input, in.left, in.news = next, market.NewInputReader(left), true
	in.late = left[:sort.Search(len(left), func(i int) bool { return left[i].Known > until })]
}

// logInput has from which step on which rows of an input are used.
const logInput = "input"

// maxLate bounds the late rows of an entry of the journal.
const maxLate = 1000

// inputEntry is an entry of the kind logInput. With the rows that came late, what each step showed can be
// told of any later file that the run has used.
type inputEntry struct {
	Step   int64  `json:"step"`
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
	// Late counts the rows that became known by the close of an earlier step and show from this one on;
	// LateRows are the first of them, as they are stored.
	Late     int    `json:"late,omitempty"`
	LateRows string `json:"late_rows,omitempty"`
}

// entry is that of the rows in use, from a step on.
func (in *grownInput) entry(step int64) journal.Entry {
	e := inputEntry{Step: step, Name: in.age.Name, SHA256: in.SHA256, Rows: len(in.Rows()),
		Late: len(in.late)}
	var text strings.Builder
	if len(in.late) > 0 && importer.WriteInput(&text, in.late[:min(len(in.late), maxLate)]) == nil {
		e.LateRows = text.String()
	}
	return journal.Entry{Kind: logInput, Data: e}
}

// step moves to a step: what it shows, and whether that is too old. It returns what the journal gets.
func (x *inputs) step(index int64, at market.Time, warmup bool, to engine.Alarms) (log []journal.Entry) {
	stale := false
	for i, in := range x.list {
		if in.news {
			log = append(log, in.entry(index))
			in.news, in.late = false, nil
		}
		x.rows[i] = in.left.Until(at)
		in.age.See(x.rows[i])
		stale = stale || in.age.Stale(at)
		if !warmup {
			in.tell(admission.CodeInputStale, in.age.Stale(at), in.describeAge(at), to)
			in.tell(engine.CodeInputRefused, in.fault != "", fmt.Sprintf(
				"the rows of the input %s that are stored now are not used, those of before are: %s",
				in.age.Name, in.fault), to)
		}
	}
	x.until = at
	x.stale.Store(stale)
	return log
}

// tell raises an alarm of the input, or ends it.
func (in *grownInput) tell(code string, on bool, text string, to engine.Alarms) {
	switch {
	case on:
		to.Raise(alarm.Occurrence{Code: code, Subject: in.age.Name, Text: text, Once: true})
	case in.alarms[code]:
		to.Clear(code, in.age.Name)
	}
	in.alarms[code] = on
}

func (in *grownInput) describeAge(at market.Time) string {
	name := in.age.Name
	do := fmt.Sprintf("no entry leaves until a newer row is stored: lab data import --input %s --merge", name)
	age, ok := in.age.At(at)
	if !ok {
		return fmt.Sprintf("no value of the input %s is known yet: %s", name, do)
	}
	return fmt.Sprintf("the newest value of the input %s became known %s before the close of the step, its "+
		"max_age is %s: %s", name, age.Round(time.Millisecond), in.age.Max, do)
}

// used are the rows in use, as datasets.
func (x *inputs) used() (list []artifact.Dataset) {
	for _, in := range x.list {
		list = append(list, in.Dataset)
	}
	return list
}

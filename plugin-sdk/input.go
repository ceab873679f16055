package sdk

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Input is a series beside the candles that a strategy reads, see [View.Input]: funding rates,
// an index, what another program computes. Each of its values has the time at which it became
// known, and shows at the first step that closes then or later.
type Input struct {
	// Name is that of the stored series, ^[a-z][a-z0-9_-]{0,62}$ (lab data import --input).
	Name string
	// MaxAge is how old the newest value may be at a close, counted from when it became known, in
	// whole milliseconds: beyond it, and before the first, entries are rejected (INPUT_STALE). 0 is
	// any age, which no live run takes.
	MaxAge time.Duration
}

// InputRow is one value of an input: what it is of, when it became known, and the value.
type InputRow = market.InputRow

// MaxInputs bounds the inputs of a strategy.
const MaxInputs = 16

// CheckInputs reports what is wrong with the inputs of a Spec. The error names the entry.
func CheckInputs(list []Input) error {
	if len(list) > MaxInputs {
		return fmt.Errorf("inputs: %d are too many, at most %d", len(list), MaxInputs)
	}
	for i, in := range list {
		switch {
		case !market.ValidInputName(in.Name):
			return fmt.Errorf("inputs[%d].name: %.80q is not ^[a-z][a-z0-9_-]{0,62}$", i, in.Name)
		case slices.ContainsFunc(list[:i], func(o Input) bool { return o.Name == in.Name }):
			return fmt.Errorf("inputs[%d].name: %q is listed twice", i, in.Name)
		case in.MaxAge < 0 || in.MaxAge%time.Millisecond != 0:
			return fmt.Errorf("inputs[%d].max_age: %s must be whole milliseconds, 0 for any age", i,
				in.MaxAge)
		}
	}
	return nil
}

// InputView is what is known of an input at a step. [View.Input] makes it; it is valid as long as
// the View.
type InputView struct{ input *step.Input }

// Input is an input of [Spec.Inputs]. Another one panics, which ends the run with STRATEGY_ERROR.
func (v View) Input(name string) InputView {
	s := v.step()
	for i := range s.Inputs {
		if s.Inputs[i].Name == name {
			return InputView{&s.Inputs[i]}
		}
	}
	panic(fmt.Sprintf("Input(%q): Spec.Inputs does not list this input", name))
}

// newest is the row of the newest time; ok is false before the first.
func (v InputView) newest() (row InputRow, ok bool) {
	if last := v.input.Last(1); len(last) > 0 {
		return last[0], true
	}
	return InputRow{}, false
}

// Value is the newest known value: that of the newest time, as it was revised last. NaN before
// the first.
func (v InputView) Value() float64 {
	if row, ok := v.newest(); ok {
		return row.Value
	}
	return math.NaN()
}

// Time is what the value is of, in UTC; the zero time before the first.
func (v InputView) Time() time.Time {
	if row, ok := v.newest(); ok {
		return row.Time.Time()
	}
	return time.Time{}
}

// Known is when the value became known, in UTC; the zero time before the first.
func (v InputView) Known() time.Time {
	if row, ok := v.newest(); ok {
		return row.Known.Time()
	}
	return time.Time{}
}

// History is the newest n known values, one of each time, oldest first, or all there are. More
// than market.MaxInputHistory end the run with STRATEGY_ERROR. It is valid during the call and must
// not be written.
func (v InputView) History(n int) []InputRow {
	if n < 0 || n > market.MaxInputHistory {
		panic(fmt.Sprintf("History(%d) of the input %s: 0 to %d are possible", n, v.input.Name,
			market.MaxInputHistory))
	}
	return v.input.Last(n)
}

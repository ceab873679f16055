package importer

import (
	"fmt"
	"math"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// setTimeframe finds the commonest step between candles and holds it against the one
// asked for, or named by the files.
func (r *run) setTimeframe() error {
	t := r.table.Time
	want, source := r.opts.Timeframe, "--timeframe"
	if want == (market.Timeframe{}) {
		want, source = r.timeframe, "the file says"
	}
	step, months := commonestStep(t)
	found := stepTimeframe(step, months)
	switch {
	case want == (market.Timeframe{}) && step == 0:
		return refusal.New(refusal.TimeframeMismatch, "one candle has no step to the next: give --timeframe")
	case want == (market.Timeframe{}) && found == (market.Timeframe{}):
		return refusal.New(refusal.TimeframeMismatch, "the commonest step, %d ms, is not a timeframe: give --timeframe", step)
	case want == (market.Timeframe{}):
		want = found
	case step != 0 && found != normal(want) && !fewButMultiple(t, step, want):
		return refusal.New(refusal.TimeframeMismatch, "%s %s, but the commonest step between candles is %s", source, want, stepText(found, step))
	}
	r.table.Timeframe = want
	short := 0
	for i := 1; i < len(t); i++ {
		if market.Time(float64(t[i]-t[i-1])*1.1) < market.Time(want.Approx().Milliseconds()) {
			short++
		}
	}
	if short > 0 {
		r.report.warn(warnShortSteps, "%d candles begin well before the one before them ends (%s)", short, want)
	}
	return nil
}

// toOpen turns times at which candles end into those at which they begin.
func (r *run) toOpen() error {
	if r.opts.Stamp != StampClose {
		return nil
	}
	t, tf := r.table.Time, r.table.Timeframe
	ends := tf.Unit == 'M' && allLastDays(t)
	for i, at := range t {
		t[i] = opening(at, tf, ends)
		if !cell.InRange(t[i]) {
			e := refusal.New(refusal.TimeOutOfRange, "a candle of %s that ends then begins before 1970", tf)
			addRow(e, r.sources, r.table.origins[i], at.String())
			return e
		}
		if i > 0 && t[i] <= t[i-1] { // two ends in one month
			e := refusal.New(refusal.TimeframeMismatch, "two candles of %s that end then begin at one time", tf)
			addRow(e, r.sources, r.table.origins[i], at.String())
			return e
		}
	}
	return nil
}

// opening is when a candle begins that ends at a time. Months go by the calendar, from
// the last day of one to the last day of another where all are (ends).
func opening(at market.Time, tf market.Timeframe, ends bool) market.Time {
	if tf.Unit != 'M' {
		return at.Add(-tf.Duration())
	}
	t := at.Time()
	first := t.AddDate(0, -tf.Count, 1-t.Day())
	last := first.AddDate(0, 1, -1)
	if ends || t.Day() > last.Day() {
		return market.FromTime(last)
	}
	return market.FromTime(first.AddDate(0, 0, t.Day()-1))
}

func allLastDays(t []market.Time) bool {
	for _, at := range t {
		if at.Time().AddDate(0, 0, 1).Day() != 1 {
			return false
		}
	}
	return true
}

// fewButMultiple forgives two candles around a gap: one step says nothing.
func fewButMultiple(t []market.Time, step int64, want market.Timeframe) bool {
	d := want.Duration().Milliseconds()
	return len(t) == 2 && d > 0 && step%d == 0
}

// commonestStep is the step that occurs most often, the shortest of several; 0 for one
// candle. months says that every step is that of whole months, give or take their
// length, and step is then the commonest number of them.
func commonestStep(t []market.Time) (step int64, months bool) {
	counts := map[int64]int{}
	month := map[int64]int{}
	months = len(t) > 1
	last, run := int64(0), 0
	flush := func() {
		if run == 0 {
			return
		}
		counts[last] += run
		n, ok := wholeMonths(last)
		months = months && ok
		month[n] += run
	}
	for i := 1; i < len(t); i++ {
		if d := int64(t[i] - t[i-1]); d != last {
			flush()
			last, run = d, 0
		}
		run++
	}
	flush()
	// Steps that are all alike are months only if the calendar says so: 30 days are not.
	if n := commonest(month); months && (len(counts) > 1 || t[1] == (market.Timeframe{Count: int(n), Unit: 'M'}).Next(t[0])) {
		return n, true
	}
	return commonest(counts), false
}

func commonest(counts map[int64]int) int64 {
	best, most := int64(0), 0
	for step, n := range counts {
		if n > most || n == most && step < best {
			best, most = step, n
		}
	}
	return best
}

const dayMillis = 24 * 3600 * 1000

// wholeMonths is how many calendar months a step may be.
func wholeMonths(step int64) (n int64, ok bool) {
	days := float64(step) / dayMillis
	count := math.Round(days / 30.4375)
	return int64(count), count >= 1 && math.Abs(days-count*30.4375) <= 2.6
}

// stepTimeframe is a step as a timeframe in its largest unit; zero if it is none.
func stepTimeframe(step int64, months bool) market.Timeframe {
	if months {
		return fits(step, 'M')
	}
	for _, u := range []struct {
		letter byte
		millis int64
	}{{'w', 7 * dayMillis}, {'d', dayMillis}, {'h', 3600000}, {'m', 60000}, {'s', 1000}} {
		if step > 0 && step%u.millis == 0 {
			return fits(step/u.millis, u.letter)
		}
	}
	return market.Timeframe{}
}

func fits(count int64, letter byte) market.Timeframe {
	if count < 1 || count > 9999 {
		return market.Timeframe{}
	}
	return market.Timeframe{Count: int(count), Unit: letter}
}

// normal is a timeframe in its largest unit: 60m is 1h.
func normal(tf market.Timeframe) market.Timeframe {
	if tf.Unit == 'M' {
		return tf
	}
	return stepTimeframe(tf.Duration().Milliseconds(), false)
}

func stepText(found market.Timeframe, step int64) string {
	if found == (market.Timeframe{}) {
		return fmt.Sprintf("%d ms", step)
	}
	return found.String()
}

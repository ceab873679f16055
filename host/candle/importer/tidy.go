package importer

import (
	"fmt"
	"math"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// tidyRows makes a series of the rows: ordered, one candle a time, consistent.
func (r *run) tidyRows() error {
	for u, n := range r.counts {
		if n > 0 {
			r.report.TimeUnits[Unit(u).String()] = n
		}
	}
	if err := r.checkTicker(); err != nil {
		return err
	}
	if r.noVolume > 0 {
		r.report.warn(warnNoVolume, "%d rows have prices and no volume: it is stored as 0", r.noVolume)
	}
	if r.table.Len() == 0 {
		return Refuse(NoRows, "no candle found in %d rows", r.report.RowsRead)
	}
	r.useTickVolume()
	r.sortRows()
	for _, step := range []func() error{r.dropDuplicates, r.judgeViolations, r.setTimeframe, r.shiftToOpen} {
		if err := step(); err != nil {
			return err
		}
	}
	r.report.RowsKept = r.table.Len()
	r.table.Symbol = r.symbol
	return nil
}

// useTickVolume takes the count of price changes where no volume is reported.
func (r *run) useTickVolume() {
	if r.tick == nil || slices.ContainsFunc(r.table.Volume, func(v float64) bool { return v != 0 }) {
		return
	}
	copy(r.table.Volume, r.tick)
	r.tick, r.volumeUnit = nil, "ticks"
	r.report.warn(warnTickVolume, "the volume is 0 in every row: the number of ticks is stored instead")
}

// sortRows sorts when a row comes before the one above it.
func (r *run) sortRows() {
	for i := 1; i < r.table.Len(); i++ {
		if r.table.Time[i] < r.table.Time[i-1] {
			r.report.Reordered++
		}
	}
	if r.report.Reordered > 0 {
		r.table.sort()
	}
}

// dropDuplicates leaves one candle of each time.
func (r *run) dropDuplicates() error {
	t := &r.table
	resolved, kept := 0, 1
	var e *Error
	for i := 1; i < t.Len(); i++ {
		last := kept - 1
		if t.Time[i] != t.Time[last] {
			if kept != i {
				t.move(kept, i)
			}
			kept++
			continue
		}
		r.report.DuplicatesDropped++
		if sameCandle(&t.Series, i, &t.Series, last) {
			continue
		}
		resolved++
		switch r.opts.Duplicates {
		case DuplicatesRefuse:
			if e == nil {
				e = Refuse(ConflictingDuplicates,
					"several different candles of one time: give --duplicates first or last")
			}
			text := fmt.Sprintf("%s %s; line %d: %s", t.Time[i], describe(&t.Series, i),
				t.origins[last].line(), describe(&t.Series, last))
			if addRow(e, r.sources, t.origins[i], text) {
				return e
			}
		case DuplicatesLast:
			t.move(last, i)
		}
	}
	if e != nil {
		return e
	}
	if resolved > 0 {
		r.report.warn(warnResolved,
			"%d of several different candles of one time were left out (--duplicates %s)", resolved,
			r.opts.Duplicates)
	}
	t.cut(kept)
	return nil
}

// judgeViolations deals with candles whose high or low does not enclose the rest.
func (r *run) judgeViolations() error {
	t := &r.table
	e := Refuse(OHLCViolations,
		"high below open or close, or low above: is the order of the columns right? Give --columns, or "+
			"--ohlc-violations widen, drop or keep")
	kept := 0
	for i := range t.Len() {
		top, bottom := max(t.Open[i], t.Close[i]), min(t.Open[i], t.Close[i])
		if t.High[i] < top || t.Low[i] > bottom {
			r.report.OHLCViolations++
			switch r.opts.Violations {
			case ViolationsRefuse:
				addRow(e, r.sources, t.origins[i], describe(&t.Series, i))
			case ViolationsDrop:
				continue
			case ViolationsWiden:
				t.High[i], t.Low[i] = max(top, t.High[i]), min(bottom, t.Low[i])
			}
		}
		if kept != i {
			t.move(kept, i)
		}
		kept++
	}
	n := r.report.OHLCViolations
	switch {
	case n == 0:
		return nil
	case r.opts.Violations == ViolationsRefuse:
		e.Message = fmt.Sprintf("%d of %d candles have a %s", n, t.Len(), e.Message)
		return e
	case r.opts.Violations == ViolationsKeep:
		r.report.warn(WarnKept,
			"%d candles with a high below or a low above open or close are kept as they are", n)
	default:
		r.report.warn(warnRepaired,
			"%d candles with a high below or a low above open or close (--ohlc-violations %s)", n,
			r.opts.Violations)
	}
	if kept == 0 {
		return Refuse(NoRows, "every candle was dropped")
	}
	t.cut(kept)
	return nil
}

// describe returns a candle for a message.
func describe(s *market.Series, i int) string {
	return fmt.Sprintf("open %v, high %v, low %v, close %v, volume %v", s.Open[i], s.High[i], s.Low[i],
		s.Close[i], s.Volume[i])
}

// addRow keeps a row that was read as a case.
func addRow(e *Error, sources []string, from origin, text string) (full bool) {
	return e.Add(sources[from.file()], from.line(), text)
}

// Merge joins the candles with stored ones of the same timeframe. Where both have a
// candle and they differ, duplicates names which to take: the stored one is the first.
func (r *Result) Merge(stored *market.Series, duplicates string) error {
	fresh := r.Series
	joined := &market.Series{Symbol: fresh.Symbol, Timeframe: fresh.Timeframe}
	e := Refuse(ConflictingDuplicates,
		"stored candles differ from the new ones: give --duplicates first (keep them) or last (replace them)")
	resolved, i, j := 0, 0, 0
	for i < stored.Len() || j < fresh.Len() {
		switch {
		case j == fresh.Len() || i < stored.Len() && stored.Time[i] < fresh.Time[j]:
			joined.Append(stored.At(i))
			i++
			continue
		case i == stored.Len() || fresh.Time[j] < stored.Time[i]:
			joined.Append(fresh.At(j))
			j++
			continue
		}
		take := fresh.At(j)
		if !sameCandle(stored, i, fresh, j) {
			resolved++
			switch duplicates {
			case DuplicatesRefuse:
				addRow(e, r.sources, r.origins[j],
					fmt.Sprintf("%s %s; stored: %s", fresh.Time[j], describe(fresh, j), describe(stored, i)))
			case DuplicatesFirst:
				take = stored.At(i)
			}
		}
		joined.Append(take)
		i++
		j++
	}
	if len(e.Cases) > 0 {
		e.Message = fmt.Sprintf("%d %s", resolved, e.Message)
		return e
	}
	r.Series, r.Report.Merged = joined, stored.Len()
	if resolved > 0 {
		r.Report.warn(warnResolved, "%d stored candles differed from the new ones (--duplicates %s)",
			resolved, duplicates)
	}
	return nil
}

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
		return Refuse(TimeframeMismatch, "one candle has no step to the next: give --timeframe")
	case want == (market.Timeframe{}) && found == (market.Timeframe{}):
		return Refuse(TimeframeMismatch, "the commonest step, %d ms, is not a timeframe: give --timeframe",
			step)
	case want == (market.Timeframe{}):
		want = found
	case step != 0 && found != normal(want) && !fewButMultiple(t, step, want):
		return Refuse(TimeframeMismatch, "%s %s, but the commonest step between candles is %s", source, want,
			stepText(found, step))
	}
	r.table.Timeframe = want
	short := 0
	for i := 1; i < len(t); i++ {
		if market.Time(float64(t[i]-t[i-1])*1.1) < market.Time(want.Approx().Milliseconds()) {
			short++
		}
	}
	if short > 0 {
		r.report.warn(warnShortSteps, "%d candles begin well before the one before them ends (%s)", short,
			want)
	}
	return nil
}

// shiftToOpen turns times at which candles end into those at which they begin.
func (r *run) shiftToOpen() error {
	if r.opts.Stamp != StampClose {
		return nil
	}
	t, tf := r.table.Time, r.table.Timeframe
	ends := tf.Unit == 'M' && !slices.ContainsFunc(t, func(at market.Time) bool {
		return at.Time().AddDate(0, 0, 1).Day() != 1 // not the last day of a month
	})
	for i, at := range t {
		t[i] = opening(at, tf, ends)
		var e *Error
		switch {
		case !InRange(t[i]):
			e = Refuse(TimeOutOfRange, "a candle of %s that ends then begins before 1970", tf)
		case i > 0 && t[i] <= t[i-1]: // two ends in one month
			e = Refuse(TimeframeMismatch, "two candles of %s that end then begin at one time", tf)
		default:
			continue
		}
		addRow(e, r.sources, r.table.origins[i], at.String())
		return e
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

// fewButMultiple forgives two candles around a gap: one step proves nothing.
func fewButMultiple(t []market.Time, step int64, want market.Timeframe) bool {
	d := want.Duration().Milliseconds()
	return len(t) == 2 && d > 0 && step%d == 0
}

// commonestStep returns the step that occurs most often, the shortest of several; 0 for one
// candle. months reports whether every step is that of whole months, give or take their
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
	// Steps that are all alike are months only if the calendar agrees: 30 days are not.
	if n := commonest(month); months &&
		(len(counts) > 1 || t[1] == (market.Timeframe{Count: int(n), Unit: 'M'}).Next(t[0])) {
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

// wholeMonths returns how many calendar months a step may be.
func wholeMonths(step int64) (n int64, ok bool) {
	days := float64(step) / dayMillis
	count := math.Round(days / 30.4375)
	return int64(count), count >= 1 && math.Abs(days-count*30.4375) <= 2.6
}

// stepTimeframe returns a step as a timeframe in its largest unit; zero if it is none.
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

// normal returns a timeframe in its largest unit: 60m is 1h.
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

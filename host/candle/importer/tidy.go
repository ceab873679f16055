package importer

import (
	"fmt"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// tidy makes a series of the rows: ordered, one candle a time, consistent.
func (r *run) tidy() error {
	for u, n := range r.counts {
		if n > 0 {
			r.report.TimeUnits[cell.Unit(u).String()] = n
		}
	}
	if err := r.tickerFound(); err != nil {
		return err
	}
	if r.noVolume > 0 {
		r.report.warn(warnNoVolume, "%d rows have prices and no volume: it is stored as 0", r.noVolume)
	}
	if r.table.Len() == 0 {
		return refusal.New(refusal.NoRows, "no candle found in %d rows", r.report.RowsRead)
	}
	r.tickVolume()
	r.order()
	for _, step := range []func() error{r.duplicates, r.violations, r.setTimeframe, r.toOpen} {
		if err := step(); err != nil {
			return err
		}
	}
	r.report.RowsKept = r.table.Len()
	r.table.Symbol = r.symbol
	return nil
}

// tickVolume takes the count of price changes where nobody reports a volume.
func (r *run) tickVolume() {
	if r.tick == nil {
		return
	}
	for _, v := range r.table.Volume {
		if v != 0 {
			return
		}
	}
	copy(r.table.Volume, r.tick)
	r.tick, r.volumeUnit = nil, "ticks"
	r.report.warn(warnTickVolume, "the volume is 0 in every row: the number of ticks is stored instead")
}

// order sorts when a row comes before the one above it.
func (r *run) order() {
	for i := 1; i < r.table.Len(); i++ {
		if r.table.Time[i] < r.table.Time[i-1] {
			r.report.Reordered++
		}
	}
	if r.report.Reordered > 0 {
		r.table.sort()
	}
}

// duplicates leaves one candle of each time.
func (r *run) duplicates() error {
	t := &r.table
	resolved, kept := 0, 1
	var e *refusal.Error
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
				e = refusal.New(refusal.ConflictingDuplicates, "several different candles of one time: give --duplicates first or last")
			}
			text := fmt.Sprintf("%s %s; line %d: %s", t.Time[i], describe(&t.Series, i), t.origins[last].line(), describe(&t.Series, last))
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
		r.report.warn(warnResolved, "%d of several different candles of one time were left out (--duplicates %s)", resolved, r.opts.Duplicates)
	}
	t.cut(kept)
	return nil
}

// violations deals with candles whose high or low does not enclose the rest.
func (r *run) violations() error {
	t := &r.table
	e := refusal.New(refusal.OHLCViolations, "high below open or close, or low above: is the order of the columns right? Give --columns, or --ohlc-violations widen, drop or keep")
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
		r.report.warn(warnKept, "%d candles with a high below or a low above open or close are kept as they are", n)
	default:
		r.report.warn(warnRepaired, "%d candles with a high below or a low above open or close (--ohlc-violations %s)", n, r.opts.Violations)
	}
	if kept == 0 {
		return refusal.New(refusal.NoRows, "every candle was dropped")
	}
	t.cut(kept)
	return nil
}

// describe is a candle for a message.
func describe(s *market.Series, i int) string {
	return fmt.Sprintf("open %v, high %v, low %v, close %v, volume %v", s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i])
}

// addRow keeps a row that was read as a case.
func addRow(e *refusal.Error, sources []string, from origin, text string) (full bool) {
	return e.Add(sources[from.file()], from.line(), text)
}

// Merge joins the candles with stored ones of the same timeframe. Where both have a
// candle and they differ, duplicates says which to take: the stored one is the first.
func (r *Result) Merge(stored *market.Series, duplicates string) error {
	fresh := r.Series
	joined := &market.Series{Symbol: fresh.Symbol, Timeframe: fresh.Timeframe}
	e := refusal.New(refusal.ConflictingDuplicates, "stored candles differ from the new ones: give --duplicates first (keep them) or last (replace them)")
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
				addRow(e, r.sources, r.origins[j], fmt.Sprintf("%s %s; stored: %s", fresh.Time[j], describe(fresh, j), describe(stored, i)))
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
		r.Report.warn(warnResolved, "%d stored candles differed from the new ones (--duplicates %s)", resolved, duplicates)
	}
	return nil
}

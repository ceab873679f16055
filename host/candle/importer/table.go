package importer

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// origin is where a row comes from: file and line in one number.
type origin int64

const lineBits = 40

func originOf(file, line int) origin { return origin(file)<<lineBits | origin(line) }

func (o origin) file() int { return int(o >> lineBits) }
func (o origin) line() int { return int(o & (1<<lineBits - 1)) }

// table is rows as columns, in the order in which they were read.
type table struct {
	market.Series
	origins []origin
}

// grow makes room for n more rows, so that add needs no check of its own.
func (t *table) grow(n int) {
	t.Time = slices.Grow(t.Time, n)
	t.Open = slices.Grow(t.Open, n)
	t.High = slices.Grow(t.High, n)
	t.Low = slices.Grow(t.Low, n)
	t.Close = slices.Grow(t.Close, n)
	t.Volume = slices.Grow(t.Volume, n)
	t.origins = slices.Grow(t.origins, n)
}

func (t *table) add(at market.Time, o, h, l, c, v float64, from origin) {
	t.Time = append(t.Time, at)
	t.Open = append(t.Open, o)
	t.High = append(t.High, h)
	t.Low = append(t.Low, l)
	t.Close = append(t.Close, c)
	t.Volume = append(t.Volume, v)
	t.origins = append(t.origins, from)
}

// move copies row from to row to.
func (t *table) move(to, from int) {
	t.Time[to] = t.Time[from]
	t.Open[to], t.High[to] = t.Open[from], t.High[from]
	t.Low[to], t.Close[to] = t.Low[from], t.Close[from]
	t.Volume[to] = t.Volume[from]
	t.origins[to] = t.origins[from]
}

// cut keeps the first n rows.
func (t *table) cut(n int) {
	t.Series = *t.Slice(0, n)
	t.origins = t.origins[:n]
}

// sameCandle compares everything but the time.
func sameCandle(a *market.Series, i int, b *market.Series, j int) bool {
	return a.Open[i] == b.Open[j] && a.High[i] == b.High[j] && a.Low[i] == b.Low[j] &&
		a.Close[i] == b.Close[j] && a.Volume[i] == b.Volume[j]
}

// sort brings the rows in the order of time; rows of one time keep theirs.
func (t *table) sort() {
	if descending(t.Time) {
		slices.Reverse(t.Time)
		for _, c := range [][]float64{t.Open, t.High, t.Low, t.Close, t.Volume} {
			slices.Reverse(c)
		}
		slices.Reverse(t.origins)
		return
	}
	order := make([]int, t.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(t.Time[a] - t.Time[b]) })
	t.Time = permuted(t.Time, order)
	t.Open, t.High = permuted(t.Open, order), permuted(t.High, order)
	t.Low, t.Close = permuted(t.Low, order), permuted(t.Close, order)
	t.Volume = permuted(t.Volume, order)
	t.origins = permuted(t.origins, order)
}

// descending says that every row is earlier than the one above it, as in the files
// of sites that show the newest day first.
func descending(t []market.Time) bool {
	for i := 1; i < len(t); i++ {
		if t[i] >= t[i-1] {
			return false
		}
	}
	return true
}

func permuted[T any](column []T, order []int) []T {
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = column[from]
	}
	return out
}

// Merge joins the candles with stored ones of the same timeframe. Where both have a
// candle and they differ, duplicates says which to take: the stored one is the first.
func (r *Result) Merge(stored *market.Series, duplicates string) error {
	fresh := r.Series
	joined := &market.Series{Symbol: fresh.Symbol, Timeframe: fresh.Timeframe}
	e := refuse(ConflictingDuplicates, "stored candles differ from the new ones: give --duplicates first (keep them) or last (replace them)")
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
				e.addRow(r.Report.Files, r.origins[j], fmt.Sprintf("%s %s; stored: %s", fresh.Time[j], describe(fresh, j), describe(stored, i)))
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

package importer

import (
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

package deflate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
)

// LeastShared is how many rows two trials that have not the same rows must share to be
// compared on them: the deviation of a correlation over 30 is 0.18, over fewer it says
// nothing.
const LeastShared = 30

// Column is the returns of one trial at some rows of a calendar that all trials of a
// search have in common. Rows ascend and are as many as the returns; trials with the same
// rows do well to share them.
type Column struct {
	Rows    []int
	Returns []float64
}

// group is the trials at the same rows, as indices of columns.
type group struct{ rows, list []int }

// groupsOf puts trials with the same rows together, those with more rows first.
func groupsOf(columns []Column) []group {
	var out []group
	for i, c := range columns {
		k := slices.IndexFunc(out, func(g group) bool { return same(g.rows, c.Rows) })
		if k < 0 {
			k = len(out)
			out = append(out, group{rows: c.Rows})
		}
		out[k].list = append(out[k].list, i)
	}
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(b.rows), len(a.rows)), slices.Compare(a.rows, b.rows))
	})
	return out
}

func same(a, b []int) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// RowSets is the different sets of rows of columns, the longest first.
func RowSets(columns []Column) [][]int {
	var out [][]int
	for _, g := range groupsOf(columns) {
		out = append(out, g.rows)
	}
	return out
}

// On is the returns at some rows of those columns that have one at each, in their order.
// Columns with just these rows are not copied.
func On(columns []Column, rows []int) [][]float64 {
	var out [][]float64
	for _, c := range columns {
		if same(c.Rows, rows) {
			out = append(out, c.Returns)
			continue
		}
		if in, _ := common(c.Rows, rows); len(in) == len(rows) {
			x := make([]float64, len(in))
			for t, at := range in {
				x[t] = c.Returns[at]
			}
			out = append(out, x)
		}
	}
	return out
}

// meeting is two groups, or a group and itself, on the rows that they share.
type meeting struct {
	a, b *group
	// shared is the number of these rows, 0 if there are too few to compare trials on.
	shared int
	// x and y are the returns there of the trials of either, all that they have where they
	// share too few; y is x where a is b.
	x, y [][]float64
}

// meet brings every pair of groups together, first each with itself. The error is that of
// ctx or of f.
func meet(ctx context.Context, columns []Column, groups []group, f func(meeting) error) error {
	for i := range groups {
		for j := range groups[:i+1] {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := f(meetingOf(columns, &groups[j], &groups[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

func meetingOf(columns []Column, a, b *group) meeting {
	m := meeting{a: a, b: b, shared: len(a.rows)}
	if a == b {
		m.x = returnsAt(columns, a, nil)
		m.y = m.x
		return m
	}
	inA, inB := common(a.rows, b.rows)
	if m.shared = len(inA); m.shared < LeastShared {
		m.shared, inA, inB = 0, nil, nil
	}
	m.x, m.y = returnsAt(columns, a, inA), returnsAt(columns, b, inB)
	return m
}

// common is where the numbers that are in both are in either.
func common(a, b []int) (inA, inB []int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			inA, inB = append(inA, i), append(inB, j)
			i++
			j++
		}
	}
	return inA, inB
}

// returnsAt is the returns of the trials of a group at some of its rows, at all if nil.
func returnsAt(columns []Column, g *group, at []int) [][]float64 {
	out := make([][]float64, len(g.list))
	for k, i := range g.list {
		if out[k] = columns[i].Returns; at == nil || len(at) == len(g.rows) {
			continue
		}
		out[k] = make([]float64, len(at))
		for t, row := range at {
			out[k][t] = columns[i].Returns[row]
		}
	}
	return out
}

// sumOf adds up the standardised columns, and counts those that vary: a constant one
// correlates with nothing.
func sumOf(ctx context.Context, columns [][]float64) (sum []float64, varying int, err error) {
	if len(columns) == 0 {
		return nil, 0, nil
	}
	sums := make([]stat.Accumulator, len(columns[0]))
	for _, x := range columns {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if stat.AllEqual(x) {
			continue
		}
		e := stat.Deviations(x)
		length := math.Sqrt(stat.Dot(e, e))
		if length == 0 {
			continue
		}
		varying++
		for i := range e {
			sums[i].Add(e[i] / length)
		}
	}
	sum = make([]float64, len(sums))
	for i := range sums {
		sum[i] = sums[i].Value()
	}
	return sum, varying, nil
}

// correlation is the sum of the correlations of all pairs of trials of a meeting. Those of
// a group add up to the squared length of the sum of the standardised columns, less the
// columns themselves, those of two groups to the product of their sums: no pair is looked
// at.
func (m *meeting) correlation(ctx context.Context) (float64, error) {
	if m.shared == 0 {
		return 0, nil
	}
	x, varying, err := sumOf(ctx, m.x)
	if err != nil || m.a == m.b {
		return (stat.Dot(x, x) - float64(varying)) / 2, err
	}
	y, _, err := sumOf(ctx, m.y)
	return stat.Dot(x, y), err
}

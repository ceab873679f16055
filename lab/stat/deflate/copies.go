package deflate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
)

// CopyCorrelation is the correlation above which a trial is a copy of another: what a
// parameter makes that hardly does anything.
const CopyCorrelation = 0.999

// Distinct leaves out the trials that are copies of another, and those without a Sharpe
// ratio. Of copies that stays which has more rows, then the higher ratio: nothing depends
// on the order of the columns. The error is only that of ctx.
func Distinct(ctx context.Context, columns []Column) ([]Column, error) {
	leaders, _, err := classify(ctx, columns)
	if err != nil {
		return nil, err
	}
	var out []Column
	for _, i := range leaders {
		out = append(out, columns[i])
	}
	return out, nil
}

// Classes is for each column the index of the one that Distinct keeps in its place: its
// own where it is kept, and where it has no Sharpe ratio. The error is only that of ctx.
func Classes(ctx context.Context, columns []Column) ([]int, error) {
	_, of, err := classify(ctx, columns)
	return of, err
}

// classify finds the columns that are kept and which of them each column is a copy of.
func classify(ctx context.Context, columns []Column) (kept, of []int, err error) {
	of = make([]int, len(columns))
	for i := range of {
		of[i] = i
	}
	var before []group // of kept columns
	for _, g := range groupsOf(columns) {
		list := descending(columns, g.list)
		for i := range before {
			if list, err = without(ctx, columns, &before[i], &group{g.rows, list}, of); err != nil {
				return nil, nil, err
			}
		}
		if list, err = leaders(ctx, columns, list, of); err != nil {
			return nil, nil, err
		}
		kept, before = append(kept, list...), append(before, group{g.rows, list})
	}
	return kept, of, nil
}

// descending orders columns that have a ratio by it, the highest first.
func descending(columns []Column, list []int) []int {
	type entry struct {
		index int
		ratio float64
	}
	var entries []entry
	for _, i := range list {
		if ratio, ok := ratioOf(columns[i].Returns); ok {
			entries = append(entries, entry{i, ratio})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), slices.Compare(columns[a.index].Returns, columns[b.index].Returns))
	})
	out := make([]int, len(entries))
	for k, e := range entries {
		out[k] = e.index
	}
	return out
}

// without leaves those of a group out that are copies of a kept one, and notes of which.
func without(ctx context.Context, columns []Column, kept, g *group, of []int) ([]int, error) {
	inKept, inG := common(kept.rows, g.rows)
	if len(inKept) < LeastShared || len(kept.list) == 0 || len(g.list) == 0 {
		return g.list, nil
	}
	x, y := returnsAt(columns, kept, inKept), returnsAt(columns, g, inG)
	towards, _, err := sumOf(ctx, y)
	if err != nil {
		return nil, err
	}
	known := make([]unit, 0, len(x))
	for _, returns := range x {
		known = append(known, unitOf(returns, towards))
	}
	var list []int
	for k, i := range g.list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if at := slices.IndexFunc(known, unitOf(y[k], towards).copies); at >= 0 {
			of[i] = kept.list[at]
		} else {
			list = append(list, i)
		}
	}
	return list, nil
}

// leaders are those of a list that are no copy of an earlier one that is none either. Of
// which one the others are copies is noted.
func leaders(ctx context.Context, columns []Column, list, of []int) ([]int, error) {
	x := make([][]float64, len(list))
	for k, i := range list {
		x[k] = columns[i].Returns
	}
	towards, _, err := sumOf(ctx, x)
	if err != nil {
		return nil, err
	}
	var known []unit
	var out []int
	for k, i := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		u := unitOf(x[k], towards)
		if at := slices.IndexFunc(known, u.copies); at >= 0 {
			of[i] = out[at]
		} else {
			known, out = append(known, u), append(out, i)
		}
	}
	return out, nil
}

// unit is a column as a vector of length 1 around 0, without writing it down.
type unit struct {
	x           []float64
	mean, scale float64
	// along is how far it goes in a direction that all units of a comparison share.
	along float64
}

func unitOf(x, towards []float64) unit {
	u := unit{x: x, mean: stat.Mean(x)}
	e := stat.Deviations(x)
	if length := math.Sqrt(stat.Dot(e, e)); length > 0 && !stat.AllEqual(x) {
		u.scale = 1 / length
	}
	if length := math.Sqrt(stat.Dot(towards, towards)); length > 0 {
		u.along = stat.Dot(e, towards) * u.scale / length
	}
	return u
}

// copies says whether two units correlate by more than CopyCorrelation: their squared
// distance is 2 (1 - rho). What is far apart is found to be so by a number or a few days.
func (u unit) copies(v unit) bool {
	const most = 2 * (1 - CopyCorrelation)
	if u.scale == 0 || v.scale == 0 {
		return false
	}
	if d := u.along - v.along; float64(d*d) > most {
		return false
	}
	sum := 0.0
	for t, a := range u.x {
		d := float64((a-u.mean)*u.scale) - float64((v.x[t]-v.mean)*v.scale)
		if sum += float64(d * d); sum >= most {
			return false
		}
	}
	return true
}

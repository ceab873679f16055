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
	var out []Column
	var kept []group // indices of out
	for _, g := range groupsOf(columns) {
		list := descending(columns, g.list)
		var err error
		for i := range kept {
			if list, err = without(ctx, out, &kept[i], columns, &group{g.rows, list}); err != nil {
				return nil, err
			}
		}
		if list, err = leaders(ctx, columns, list); err != nil {
			return nil, err
		}
		mine := group{rows: g.rows}
		for _, i := range list {
			mine.list = append(mine.list, len(out))
			out = append(out, columns[i])
		}
		kept = append(kept, mine)
	}
	return out, nil
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

// without leaves those of a group out that are copies of a kept one.
func without(ctx context.Context, out []Column, kept *group, columns []Column, g *group) ([]int, error) {
	inKept, inG := common(kept.rows, g.rows)
	if len(inKept) < LeastShared {
		return g.list, nil
	}
	x, y := returnsAt(out, kept, inKept), returnsAt(columns, g, inG)
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
		if u := unitOf(y[k], towards); !slices.ContainsFunc(known, u.copies) {
			list = append(list, i)
		}
	}
	return list, nil
}

// leaders are those of a list that are no copy of an earlier one that is none either.
func leaders(ctx context.Context, columns []Column, list []int) ([]int, error) {
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
		if u := unitOf(x[k], towards); !slices.ContainsFunc(known, u.copies) {
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

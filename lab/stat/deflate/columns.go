package deflate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
)

// LeastShared is how many rows two trials that have not the same rows must share to be
// compared on them: over 30 the deviation of a correlation is 0.18.
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
			out = append(out, pick(c.Returns, in))
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
		if out[k] = columns[i].Returns; at != nil && len(at) != len(g.rows) {
			out[k] = pick(out[k], at)
		}
	}
	return out
}

// pick is the values at some places.
func pick(x []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for t, i := range at {
		out[t] = x[i]
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
		return cmp.Or(cmp.Compare(b.ratio, a.ratio),
			slices.Compare(columns[a.index].Returns, columns[b.index].Returns))
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

// copies reports whether two units correlate by more than CopyCorrelation: their squared
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

// NEff is how many of m trials count as independent when rho is the mean correlation of
// their series: rho + (1 - rho) m, with rho clipped to [0, 1]. Source: Bailey and Lopez
// de Prado (2014), appendix 3.
func NEff(m, rho float64) float64 {
	rho = clip(rho)
	return rho + float64((1-rho)*m)
}

// Alike is how many of some trials count as independent, and the mean correlation of their
// series, clipped to [0, 1].
type Alike struct{ NEff, Correlation float64 }

// AlikeOf has NEff of trial series, plus one for each trial that has none. The mean
// correlation is that over all pairs, on the rows that two trials share: pairs that share
// too few, and constant series, correlate with nothing. The reason is TooFewReturns when
// there are no trials at all, the error only that of ctx.
func AlikeOf(ctx context.Context, columns []Column, without int) (Alike, stat.Reason, error) {
	m := len(columns)
	if m+without == 0 {
		return Alike{}, stat.TooFewReturns, nil
	}
	if m < 2 {
		return Alike{NEff: float64(m + without)}, "", nil
	}
	var sum stat.Accumulator
	err := meet(ctx, columns, groupsOf(columns), func(pair meeting) error {
		correlation, err := pair.correlation(ctx)
		sum.Add(correlation)
		return err
	})
	if err != nil {
		return Alike{}, "", err
	}
	rho := clip(sum.Value() / (float64(m) * float64(m-1) / 2))
	return Alike{NEff(float64(m), rho) + float64(without), rho}, "", nil
}

// MostSeries is the largest correlation matrix of EffectiveRank, whose cost grows with
// the cube.
const MostSeries = 512

// EffectiveRank is exp of the entropy of the eigenvalues of a correlation matrix,
// divided by their sum: 1 when all series are one, n when they are independent.
// Eigenvalues below zero, which rounded or pairwise correlations may have, are left out.
// The reason is NotApplicable for a matrix that is empty or larger than MostSeries.
// Source: Roy and Vetterli (2007), The effective rank.
func EffectiveRank(corr [][]float64) (float64, stat.Reason) {
	if len(corr) == 0 || len(corr) > MostSeries {
		return 0, stat.NotApplicable
	}
	values := stat.Eigenvalues(corr)
	var total, entropy stat.Accumulator
	for _, v := range values {
		total.Add(max(v, 0))
	}
	for _, v := range values {
		if share := v / total.Value(); share > 0 {
			entropy.Add(-share * math.Log(share))
		}
	}
	return stat.Finite(math.Exp(entropy.Value()))
}

// VarianceOf is the variance (ddof 1) of the Sharpe ratios of trials as it would be if each
// had t returns: of the distinct ones, because copies of a trial would make ratios look
// closer to each other than a search finds them. For trials at the same t rows that is the
// variance of their ratios, nothing else.
//
// A variance is half the mean squared difference of all pairs. Two trials that have not
// seen the same rows are compared on those that they share, so that a good or bad time of
// the market is in both ratios; each on its own rows where they share too few. Over fewer
// than t rows a difference holds more noise than over t: per pair
//
//	(1 - rho) (1/n - 1/t)
//
// for n rows, with rho the mean correlation of the pairs of such trials, clipped to [0,1].
// That is taken off, but not more than leaves what pure noise makes over t rows,
// (1 - rho)/t. It is the sampling variance of a small Sharpe ratio: Lo (2002).
//
// The reason is TooFewReturns unless two distinct trials have a ratio; the error is only
// that of ctx.
func VarianceOf(ctx context.Context, columns []Column, t int) (float64, stat.Reason, error) {
	distinct, err := Distinct(ctx, columns)
	if err != nil {
		return 0, "", err
	}
	var all differences
	err = meet(ctx, distinct, groupsOf(distinct), func(m meeting) error {
		return all.add(ctx, m, float64(t))
	})
	switch {
	case err != nil:
		return 0, "", err
	case all.pairs == 0:
		return 0, stat.TooFewReturns, nil
	}
	v, why := stat.Finite(all.variance(float64(t)))
	return v, why, nil
}

// differences are sums over pairs of trials: of half the squared differences of their
// ratios, of the noise in them that t rows would not have, of their correlations.
type differences struct {
	pairs                       float64
	squares, noise, correlation stat.Accumulator
}

func (d *differences) variance(t float64) float64 {
	mean := d.squares.Value() / d.pairs
	noise := d.noise.Value() / d.pairs
	if noise == 0 {
		return mean
	}
	least := (1 - clip(d.correlation.Value()/d.pairs)) / t
	return max(mean-noise, min(mean, least))
}

// add takes the pairs of a meeting. Trials without a ratio on the shared rows are left out.
func (d *differences) add(ctx context.Context, m meeting, t float64) error {
	x, own := withRatio(m.x), m.a == m.b
	m.x = x.columns
	y := x
	if !own {
		y = withRatio(m.y)
		m.y = y.columns
	}
	correlation, err := m.correlation(ctx)
	if err != nil {
		return err
	}
	n, k := float64(len(x.ratios)), float64(len(y.ratios))
	pairs, squares := n*k, k*x.squares+n*y.squares+float64(n*k*(x.mean-y.mean)*(x.mean-y.mean))
	if own {
		pairs, squares = n*(n-1)/2, n*x.squares
	}
	if pairs == 0 {
		return nil
	}
	rows := func(g *group) float64 {
		if m.shared > 0 {
			return float64(m.shared)
		}
		return float64(len(g.rows))
	}
	d.pairs += pairs
	d.squares.Add(squares / 2)
	d.correlation.Add(correlation)
	if excess := (1/rows(m.a)+1/rows(m.b))/2 - 1/t; t > 0 && excess > 0 {
		d.noise.Add(pairs * float64((1-clip(correlation/pairs))*excess))
	}
	return nil
}

// clip keeps a mean correlation from making anything easier than independent trials do.
func clip(rho float64) float64 { return min(max(rho, 0), 1) }

// rated are the columns that have a Sharpe ratio, with the ratios, their mean, and the sum
// of their squared deviations from it.
type rated struct {
	columns       [][]float64
	ratios        []float64
	mean, squares float64
}

func withRatio(columns [][]float64) rated {
	var r rated
	for _, x := range columns {
		if ratio, ok := ratioOf(x); ok {
			r.columns, r.ratios = append(r.columns, x), append(r.ratios, ratio)
		}
	}
	if len(r.ratios) > 0 {
		r.mean = stat.Mean(r.ratios)
	}
	if len(r.ratios) > 1 && !stat.AllEqual(r.ratios) {
		e := stat.Deviations(r.ratios)
		r.squares = stat.Dot(e, e)
	}
	return r
}

func ratioOf(x []float64) (float64, bool) {
	m, why := stat.Of(x)
	return m.Mean / m.SD, why == ""
}

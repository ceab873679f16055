package series

import (
	"cmp"
	"slices"

	"github.com/assay-run/assay/lab/stat/deflate"
)

// Columns places series on one calendar. Series with equal dates share their rows. Where
// windows overlap, the second return of a date has a row of its own.
func Columns(list []*Series) []deflate.Column {
	type calendar struct {
		dates   *Series
		moments []moment
		// order is where the row at a place comes from.
		order, rows []int
	}
	var calendars []*calendar
	of := make([]*calendar, len(list))
	index := map[moment]int{}
	for i, s := range list {
		k := slices.IndexFunc(calendars, func(c *calendar) bool { return slices.Equal(c.dates.Date, s.Date) })
		if k < 0 {
			k = len(calendars)
			calendars = append(calendars, &calendar{dates: s, moments: s.moments()})
			for _, m := range calendars[k].moments {
				index[m] = 0
			}
		}
		of[i] = calendars[k]
	}
	all := make([]moment, 0, len(index))
	for m := range index {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.nth, b.nth)) })
	for row, m := range all {
		index[m] = row
	}
	for _, c := range calendars {
		c.order = make([]int, len(c.moments))
		for i := range c.order {
			c.order[i] = i
		}
		slices.SortFunc(c.order, func(a, b int) int { return cmp.Compare(index[c.moments[a]], index[c.moments[b]]) })
		for _, i := range c.order {
			c.rows = append(c.rows, index[c.moments[i]])
		}
	}
	out := make([]deflate.Column, len(list))
	for i, s := range list {
		c := of[i]
		out[i] = deflate.Column{Rows: c.rows, Returns: s.Return}
		if slices.IsSorted(c.order) {
			continue
		}
		out[i].Returns = make([]float64, len(s.Return))
		for row, k := range c.order {
			out[i].Returns[row] = s.Return[k]
		}
	}
	return out
}

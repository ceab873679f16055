package profile

import (
	"github.com/assay-run/assay/host/candle/importer/cell"
)

// nasdaq writes the way of its country: month first, dollars.
func nasdaq() Profile {
	return Profile{
		Name: "nasdaq",
		Doc:  "a header with Close/Last; mm/dd/yyyy; $ before prices",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			last := find(names, "close/last")
			if last < 0 {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Close, l.Skip, l.Numbers, l.DateOrder = last, 1, cell.Money, cell.MonthFirst
			return l, true, complete(h, 0, l)
		},
	}
}

// investing writes dates the way of the reader's country, which the file does not name.
func investing() Profile {
	return Profile{
		Name: "investing",
		Doc:  "a header with Price and Change %; the order of a date from a part above 12, or --date-order; thousands, K, M, B",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			price := find(names, "price")
			if price < 0 || find(names, "change%") < 0 {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Close, l.Skip, l.Numbers, l.Times = price, 1, cell.Money, []string{"Jan 2, 2006"}
			return l, true, complete(h, 0, l)
		},
	}
}

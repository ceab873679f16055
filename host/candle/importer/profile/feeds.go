package profile

import "strings"

// polygon puts all tickers of a day into one file.
func polygon() Profile {
	return Profile{
		Name: "polygon",
		Doc:  "a header with window_start; nanoseconds; --ticker where there are several",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			at := find(names, "windowstart")
			if at < 0 {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Time, l.Skip = at, 1
			return l, true, complete(h, 0, l)
		},
	}
}

// databento writes prices as integers of 1e-9 unless it was asked for decimals.
func databento() Profile {
	return Profile{
		Name: "databento",
		Doc:  "a header with ts_event; prices that are integers are times 1e-9; --ticker where there are several",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			at := find(names, "tsevent")
			if at < 0 {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Time, l.Skip = at, 1
			if l.Ticker < 0 {
				l.Ticker = find(names, "instrumentid")
			}
			if err := complete(h, 0, l); err != nil {
				return l, true, err
			}
			if !h.hasPoint(1, l.Open, l.High, l.Low, l.Close) {
				l.Places = 9
			}
			return l, true, nil
		},
	}
}

// hasPoint says whether a cell in one of the columns has a decimal point, in the lines
// of the head from a line on.
func (h Head) hasPoint(line int, columns ...int) bool {
	for ; line < len(h.Lines); line++ {
		cells := h.Cells(line)
		for _, c := range columns {
			if c >= 0 && c < len(cells) && strings.Contains(cells[c], ".") {
				return true
			}
		}
	}
	return false
}

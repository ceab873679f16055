package profile

import (
	"strconv"
)

// binance is the archive of the spot market. Times became microseconds in 2025.
func binance() Profile {
	return Profile{
		Name: "binance",
		Doc:  "12 columns without header, the 7th (close time) above the 1st; ms and us mixed",
		Layout: func(h Head) (Layout, bool, error) {
			cells := h.Cells(0)
			if !h.isRow() || len(cells) != 12 || whole(cells[6]) <= whole(cells[0]) {
				return Layout{}, false, nil
			}
			return byPosition(), true, nil
		},
	}
}

// binanceHeader is the archive of futures since 2022, and what downloaders of either
// market write. COIN-M volumes are contracts; nothing in the file says so.
func binanceHeader() Profile {
	return Profile{
		Name: "binance-header",
		Doc:  "a header with open_time, spot or futures; COIN-M files need --volume-unit contracts",
		Layout: func(h Head) (Layout, bool, error) {
			if find(h.Cells(0), "opentime") < 0 {
				return Layout{}, false, nil
			}
			return nameLayout(h, 0)
		},
	}
}

// kraken calls Bitcoin XBT.
func kraken() Profile {
	return Profile{
		Name: "kraken",
		Doc:  "7 columns without header: time, open, high, low, close, volume, trades; XBT is BTC",
		Layout: func(h Head) (Layout, bool, error) {
			cells := h.Cells(0)
			if !h.isRow() || len(cells) != 7 || whole(cells[0]) < 0 {
				return Layout{}, false, nil
			}
			l := byPosition()
			l.Alias = map[string]string{"XBT": "BTC"}
			return l, true, nil
		},
	}
}

// whole is a cell of digits, -1 for any other.
func whole(cell string) int64 {
	n, err := strconv.ParseInt(cell, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

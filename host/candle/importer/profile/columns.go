package profile

import (
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
)

// Columns reads the value of --columns: names by position.
func Columns(names []string) (Layout, error) {
	at := map[string]int{}
	for i, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		switch n {
		case "time", "open", "high", "low", "close", "volume":
			if _, twice := at[n]; twice {
				return Layout{}, &refusal.OptionError{Flag: "--columns", Message: n + " is named twice"}
			}
			at[n] = i
		}
	}
	for _, n := range []string{"time", "open", "high", "low", "close"} {
		if _, ok := at[n]; !ok {
			return Layout{}, &refusal.OptionError{Flag: "--columns", Message: fmt.Sprintf("%s is missing: name the position of time, open, high, low, close and, if there is one, volume", n)}
		}
	}
	if len(names) > MaxColumns {
		return Layout{}, &refusal.OptionError{Flag: "--columns", Message: fmt.Sprintf("more than %d columns", MaxColumns)}
	}
	l := none()
	l.Time, l.Open, l.High, l.Low, l.Close = at["time"], at["open"], at["high"], at["low"], at["close"]
	if i, ok := at["volume"]; ok {
		l.Volume = i
	}
	return l, nil
}

// ByColumns is the layout that --columns gives a file: a header is left out.
func ByColumns(h Head, names []string) (Layout, error) {
	l, err := Columns(names)
	if err != nil {
		return l, err
	}
	if h.Names == nil && !looksLikeRow(h.Cells(0), l) {
		l.Skip = 1
	}
	if h.Names != nil && l.Last() >= len(h.Names) {
		return l, h.refuse(refusal.ColumnsMissing, 0, "--columns names %d columns, the file has %d", l.Last()+1, len(h.Names))
	}
	return l, nil
}

// looksLikeRow says whether the cells could be a row and not a header: a price that is
// a number, or missing.
func looksLikeRow(cells []string, l Layout) bool {
	for _, i := range []int{l.Open, l.High, l.Low, l.Close} {
		if i >= len(cells) {
			return false
		}
		if _, state := cell.Number([]byte(cells[i])); state == cell.Bad {
			return false
		}
	}
	return true
}

package profile

import (
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/refusal"
)

// cryptoDataDownload puts its address above the header. Unix times are seconds in some
// rows and milliseconds in others; older files have hours like 09-AM.
func cryptoDataDownload() Profile {
	return Profile{
		Name: "cryptodatadownload",
		Doc:  "a line with the site's address, then a header with Symbol; UTC; the first volume counts",
		Layout: func(h Head) (Layout, bool, error) {
			header := 0
			if len(h.Lines) > 0 && strings.Contains(strings.ToLower(h.Lines[0]), "cryptodatadownload.com") {
				h.Comma = ','
				header = 1
			} else if !h.Forced {
				return Layout{}, false, nil
			}
			names := h.Cells(header)
			if find(names, "symbol") < 0 {
				return Layout{}, false, nil
			}
			l := named(names)
			if unix := find(names, "unix", "unixtimestamp"); unix >= 0 {
				l.Time = unix
			}
			l.Skip, l.Zone, l.Times = header+1, time.UTC, []string{"2006-01-02 03-PM"}
			return l, true, complete(h, header, l)
		},
	}
}

// tradingView names the symbol nowhere but in the file name, in a form of its own.
func tradingView() Profile {
	return Profile{
		Name: "tradingview",
		Doc:  "a header that begins with time,open,high,low,close; Volume anywhere behind",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			if len(names) < 5 || !slices.Equal(names[:5], []string{"time", "open", "high", "low", "close"}) {
				return Layout{}, false, nil
			}
			return nameLayout(h, 0)
		},
	}
}

// coinMarketCap has four columns of times; its timestamp is the close.
func coinMarketCap() Profile {
	return Profile{
		Name: "coinmarketcap",
		Doc:  "a header with timeOpen and semicolons; decimal point or comma; volume in quote",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			open := find(names, "timeopen")
			if open < 0 || h.Comma != ';' && !h.Forced {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Time, l.Skip, l.Numbers, l.VolumeUnit = open, 1, cell.DecimalComma, "quote"
			return l, true, complete(h, 0, l)
		},
	}
}

// yahoo adjusts one more column for dividends; it is left out, like the rows of null.
func yahoo() Profile {
	return Profile{
		Name: "yahoo",
		Doc:  "a header with Adj Close; the unadjusted Close counts",
		Layout: func(h Head) (Layout, bool, error) {
			if find(h.Cells(0), "adjclose") < 0 {
				return Layout{}, false, nil
			}
			return nameLayout(h, 0)
		},
	}
}

// yfinance has three lines of header: what a column is, of which ticker, and the name
// of the index.
func yfinance() Profile {
	return Profile{
		Name: "yfinance",
		Doc:  "three lines of header that begin with Price, Ticker and Date",
		Layout: func(h Head) (Layout, bool, error) {
			names, tickers, index := h.Cells(0), h.Cells(1), h.Cells(2)
			if find(names, "price") != 0 || find(tickers, "ticker") != 0 || find(index, "date", "datetime") != 0 {
				return Layout{}, false, nil
			}
			names = slices.Clone(names)
			if err := oneTicker(h, names, tickers); err != nil {
				return Layout{}, true, err
			}
			l := named(names)
			l.Time, l.Skip, l.Chosen = 0, 3, h.Ticker != ""
			return l, true, complete(h, 0, l)
		},
	}
}

// oneTicker blanks the names of the columns that are about other tickers than the one
// asked for.
func oneTicker(h Head, names, tickers []string) error {
	var all []string
	for i, t := range tickers {
		if i > 0 && t != "" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	if h.Ticker == "" && len(all) > 1 {
		return h.refuse(refusal.MultipleTickers, 1, "the file is about %s: give --ticker with one of them", quoteList(all))
	}
	if h.Ticker != "" && !slices.ContainsFunc(all, func(t string) bool { return strings.EqualFold(t, h.Ticker) }) {
		return h.refuse(refusal.NoRows, 1, "nothing in the file is about the ticker %s; there is %s", h.Ticker, quoteList(all))
	}
	for i := 1; i < len(names); i++ {
		if h.Ticker != "" && (i >= len(tickers) || !strings.EqualFold(tickers[i], h.Ticker)) {
			names[i] = ""
		}
	}
	return nil
}

package profile

import (
	"path"
	"regexp"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// freqtrade writes rows of six as JSON, or a table whose time is called date, and says
// in the name of the file what is in it.
func freqtrade() Profile {
	return Profile{
		Name: "freqtrade",
		Doc:  "JSON [[ms,o,h,l,c,v]]; Feather or Parquet with date, open, high, low, close, volume; symbol and timeframe from a name like BTC_USDT-1h",
		Layout: func(h Head) (l Layout, ok bool, err error) {
			switch {
			case h.JSON && h.isRow() && filled(h.Cells(0)) == 6:
				l = byPosition()
			case isFreqtradeTable(h.Names):
				if l, ok, err = nameLayout(h, 0); err != nil {
					return l, ok, err
				}
			default:
				return Layout{}, false, nil
			}
			l.Symbol, l.Timeframe = fromName(h.Name)
			return l, true, nil
		},
	}
}

func isFreqtradeTable(names []string) bool {
	for _, n := range []string{"date", "open", "high", "low", "close", "volume"} {
		if !slices.Contains(names, n) {
			return false
		}
	}
	return true
}

// fileName is BASE_QUOTE-timeframe, or BASE_QUOTE_SETTLE-timeframe-futures. Names of
// prices that nobody traded at (mark, index, funding) are none.
var fileName = regexp.MustCompile(`^([A-Za-z0-9]+)_([A-Za-z0-9]+)(_[A-Za-z0-9]+)?-([1-9][0-9]{0,3}(?:[smhdwM]|Mo))(-futures)?\.`)

// fromName reads what the name of a file says; nothing is what most say.
func fromName(name string) (market.Symbol, market.Timeframe) {
	m := fileName.FindStringSubmatch(path.Base(name))
	if m == nil || m[3] != "" && m[5] == "" { // three parts only where one is the settlement
		return "", market.Timeframe{}
	}
	text := m[4]
	if text[len(text)-1] == 'o' { // 1Mo, for systems that do not tell 1M from 1m
		text = text[:len(text)-1]
	}
	tf, err := market.ParseTimeframe(text)
	if err != nil {
		return "", market.Timeframe{}
	}
	return market.Symbol(m[1] + "/" + m[2]), tf
}

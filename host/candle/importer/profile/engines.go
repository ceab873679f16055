package profile

import (
	"regexp"
	"time"
)

// backtrader's files have a name for the date and none for the time of day behind it.
func backtrader() Profile {
	return Profile{
		Name: "backtrader",
		Doc:  "a header with one name fewer than the rows have cells: date, time of day; wants --tz, and --stamp close where times are ends",
		Layout: func(h Head) (Layout, bool, error) {
			names, row := h.Cells(0), h.Cells(1)
			l := named(names)
			if h.isRow() || filled(row) != len(names)+1 || l.Time != 0 || !isClock(row[1]) {
				return Layout{}, false, nil
			}
			for _, at := range []*int{&l.Open, &l.High, &l.Low, &l.Close, &l.Volume, &l.Ticker} {
				if *at >= 0 {
					*at++
				}
			}
			l.Clock, l.Skip, l.EndStamps = 1, 1, true
			named := append([]string{names[0], ""}, names[1:]...)
			return l, true, complete(Head{Name: h.Name, Names: named}, 0, l)
		},
	}
}

// LeanDecimals is the code of the note about prices that are no shares'.
const LeanDecimals = "LEAN_DECIMALS"

var leanTime = regexp.MustCompile(`^\d{8} \d{2}:\d{2}$`)

// lean is the data folder of the engine. Shares are kept in whole ten-thousandths and
// New York's time. What has decimals is a currency, kept as it is and in UTC.
func lean() Profile {
	return Profile{
		Name: "lean",
		Doc:  "6 columns without header, yyyyMMdd HH:mm; shares: New York, prices / 10,000; with decimals: UTC, prices as they are",
		Layout: func(h Head) (Layout, bool, error) {
			cells := h.Cells(0)
			if len(cells) != 6 || !leanTime.MatchString(cells[0]) || h.Comma != ',' {
				return Layout{}, false, nil
			}
			l := byPosition()
			l.Times = []string{"20060102 15:04"}
			if h.hasPoint(0, l.Open, l.High, l.Low, l.Close, l.Volume) {
				l.Zone = time.UTC
				l.Notes = []Note{{LeanDecimals, "prices or volumes have decimals, as LEAN's currencies have: they are taken as they are and times as UTC; --tz names another zone"}}
				return l, true, nil
			}
			newYork, err := time.LoadLocation("America/New_York")
			if err != nil {
				return l, true, err
			}
			l.Zone, l.Places = newYork, 4
			return l, true, nil
		},
	}
}

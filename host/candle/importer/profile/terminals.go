package profile

import (
	"regexp"
	"strconv"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// stooq says how long a candle is in a column of its own. Days have a time of zeros
// that means nothing; other times are those of the exchange.
func stooq() Profile {
	return Profile{
		Name: "stooq",
		Doc:  "a header with <TICKER>; yyyymmdd; --tz for candles below a day, --ticker where there are several",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			if len(h.Lines) == 0 || find(names, "ticker") < 0 || names[find(names, "ticker")] != "<TICKER>" {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Time, l.Clock = find(names, "date"), find(names, "time")
			l.Skip, l.Times = 1, []string{"20060102 150405", "20060102 1504", "20060102"}
			if row, per := h.Cells(1), find(names, "per"); per >= 0 && per < len(row) {
				if l.Timeframe = period(row[per]); l.Timeframe.Approx() >= 24*time.Hour {
					l.Clock = -1
				}
			}
			return l, true, complete(h, 0, l)
		},
	}
}

// period is D, W or M, or a number of minutes.
func period(per string) market.Timeframe {
	switch per {
	case "D":
		return market.Timeframe{Count: 1, Unit: 'd'}
	case "W":
		return market.Timeframe{Count: 1, Unit: 'w'}
	case "M":
		return market.Timeframe{Count: 1, Unit: 'M'}
	}
	n, err := strconv.Atoi(per)
	if err != nil || n < 1 || n > 9999 {
		return market.Timeframe{}
	}
	if n%60 == 0 {
		return market.Timeframe{Count: n / 60, Unit: 'h'}
	}
	return market.Timeframe{Count: n, Unit: 'm'}
}

// metaTrader has times of the broker's server, and a real volume that most brokers
// leave at 0.
func metaTrader() Profile {
	return Profile{
		Name: "metatrader5",
		Doc:  "tabs and a header with <DATE>; yyyy.mm.dd, times want --tz; VOL, or TICKVOL if it is 0 throughout",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			date := find(names, "date")
			if date < 0 || names[date] != "<DATE>" || h.Comma != '\t' && !h.Forced {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Time, l.Clock = date, find(names, "time")
			l.Volume, l.TickVolume = find(names, "vol"), find(names, "tickvol")
			if l.Volume < 0 && l.TickVolume >= 0 {
				l.Volume, l.TickVolume, l.VolumeUnit = l.TickVolume, -1, "ticks"
			}
			l.Skip, l.Times = 1, []string{"2006.01.02 15:04:05", "2006.01.02 15:04", "2006.01.02"}
			return l, true, complete(h, 0, l)
		},
	}
}

var histDataTime = regexp.MustCompile(`^\d{8} \d{6}$`)

// histData has one clock for the whole year: New York's in winter.
func histData() Profile {
	return Profile{
		Name: "histdata",
		Doc:  "6 columns with semicolons and no header; yyyymmdd hhmmss, UTC-5 all year",
		Layout: func(h Head) (Layout, bool, error) {
			cells := h.Cells(0)
			if h.Comma != ';' || len(cells) != 6 || !histDataTime.MatchString(cells[0]) {
				return Layout{}, false, nil
			}
			l := byPosition()
			l.Times, l.Zone = []string{"20060102 150405"}, time.FixedZone("UTC-5", -5*3600)
			return l, true, nil
		},
	}
}

// dukascopy has a file for each side of the price. Local times carry their offset.
func dukascopy() Profile {
	return Profile{
		Name: "dukascopy",
		Doc:  "a header with Gmt time (or Local time); dd.mm.yyyy",
		Layout: func(h Head) (Layout, bool, error) {
			names := h.Cells(0)
			at := find(names, "gmttime", "localtime")
			if at < 0 {
				return Layout{}, false, nil
			}
			l := named(names)
			l.Time, l.Skip = at, 1
			l.Times = []string{"02.01.2006 15:04:05.000", "02.01.2006 15:04:05.000 GMT-0700"}
			if plain(names[at]) == "gmttime" {
				l.Zone = time.UTC
			}
			return l, true, complete(h, 0, l)
		},
	}
}

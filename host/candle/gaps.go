package candle

import (
	"cmp"
	"math"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	maxGaps      = 1000
	maxDecimals  = 8
	dayMillis    = 24 * 3600 * 1000
	calendarDays = 60 // fewer say nothing about weekends
)

// GapReport counts what a series lacks. Nothing is ever filled in.
type GapReport struct {
	Rows  int         `json:"rows"`
	First market.Time `json:"first"`
	Last  market.Time `json:"last"`
	// Expected = Rows + Missing.
	Expected int `json:"expected"`
	Missing  int `json:"missing"`
	GapCount int `json:"gap_count"`
	// Longest gap in candles.
	Longest int `json:"longest"`
	// Gaps are the longest ones, at most 1,000, longest first.
	Gaps []Gap `json:"gaps"`
	// ZeroVolume candles have no volume, Flat ones a single price.
	ZeroVolume int `json:"zero_volume"`
	Flat       int `json:"flat"`
}

// Gap is a stretch without candles: From is the open time of the first that is
// missing, To that of the candle that ends the gap.
type Gap struct {
	From    market.Time `json:"from"`
	To      market.Time `json:"to"`
	Candles int         `json:"candles"`
}

// Gaps reports on a series. Weekends are no gaps for the calendar Weekdays.
func Gaps(s *market.Series, calendar Calendar) GapReport {
	n := s.Len()
	g := GapReport{Rows: n, Gaps: []Gap{}}
	if n == 0 {
		return g
	}
	g.First, g.Last = s.Time[0], s.Time[n-1]
	step := s.Timeframe.Approx().Milliseconds()
	for i := 1; i < n; i++ {
		if int64(s.Time[i]-s.Time[i-1]) == step {
			continue
		}
		if m := missing(s.Time[i-1], s.Time[i], step, calendar); m > 0 {
			g.Missing += m
			g.GapCount++
			g.Longest = max(g.Longest, m)
			g.Gaps = append(g.Gaps, Gap{From: s.Timeframe.Next(s.Time[i-1]), To: s.Time[i], Candles: m})
		}
	}
	for i := range n {
		if s.Volume[i] == 0 {
			g.ZeroVolume++
		}
		if s.High[i] == s.Low[i] && s.Open[i] == s.Close[i] && s.Open[i] == s.High[i] {
			g.Flat++
		}
	}
	g.Expected = n + g.Missing
	slices.SortStableFunc(g.Gaps, func(a, b Gap) int { return cmp.Compare(b.Candles, a.Candles) })
	g.Gaps = g.Gaps[:min(len(g.Gaps), maxGaps)]
	return g
}

// missing is how many candles of the length step (ms) should be between two neighbours.
func missing(a, b market.Time, step int64, calendar Calendar) int {
	delta := int64(b - a)
	if calendar == Weekdays && step <= dayMillis {
		delta -= weekend(a, b)
	}
	return max(0, int(math.Round(float64(delta)/float64(step)))-1)
}

// weekend is how many milliseconds of [a, b) are on a UTC Saturday or Sunday.
func weekend(a, b market.Time) int64 { return weekendUntil(b) - weekendUntil(a) }

// weekendUntil counts from 1970-01-01, a Thursday: day 2 of each week is a Saturday.
func weekendUntil(t market.Time) int64 {
	week := floorDiv(int64(t), 7*dayMillis)
	inside := int64(t) - week*7*dayMillis
	return week*2*dayMillis + min(max(inside-2*dayMillis, 0), 2*dayMillis)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// DetectCalendar is Weekdays for at least 60 days of candles of a day or less, none of
// which opens on a UTC Saturday or Sunday; else AllDays.
func DetectCalendar(s *market.Series) Calendar {
	n := s.Len()
	if n == 0 || s.Timeframe.Approx().Milliseconds() > dayMillis || s.Time[n-1]-s.Time[0] < calendarDays*dayMillis {
		return AllDays
	}
	for _, t := range s.Time {
		if isWeekend(t) {
			return AllDays
		}
	}
	return Weekdays
}

func isWeekend(t market.Time) bool {
	day := floorDiv(int64(t), dayMillis) % 7
	return day == 2 || day == 3 || day == 2-7 || day == 3-7
}

// PriceStep is 10^-k, k the most decimals that any price needs, at most 8.
func PriceStep(s *market.Series) decimal.Decimal {
	k, scale := 0, 1.0
	for _, c := range [][]float64{s.Open, s.High, s.Low, s.Close} {
		for _, x := range c {
			for k < maxDecimals && math.Round(x*scale)/scale != x {
				k++
				scale *= 10
			}
		}
		if k == maxDecimals {
			break
		}
	}
	return decimal.MustNew(1, k)
}

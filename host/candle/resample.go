package candle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Resampling is how a dataset was made of another one.
type Resampling struct {
	SourceSHA256    string           `json:"source_sha256"`
	SourceTimeframe market.Timeframe `json:"source_timeframe"`
	// IncompleteBuckets were kept although candles are missing in them.
	IncompleteBuckets int `json:"incomplete_buckets"`
	// DroppedLast reports whether the candles ended before the last bucket did.
	DroppedLast bool `json:"dropped_last"`
}

// resample makes the dataset of the timeframe out of the source and stores it.
func (s *Store) resample(ctx context.Context, source Dataset, tf market.Timeframe) (Dataset, error) {
	f, err := s.OpenSeries(source)
	if err != nil {
		return Dataset{}, err
	}
	series, info, err := Resample(f.Series(), tf, source.Calendar)
	if err != nil {
		return Dataset{},
			errors.Join(&NotFoundError{What: "timeframe", Value: tf.String(), Reason: err.Error()}, f.Close())
	}
	if err := f.Close(); err != nil {
		return Dataset{}, err
	}
	info.SourceSHA256 = source.SHA256
	series.Symbol = source.Symbol
	report := importer.Report{Importer: market.ResampleID, RowsRead: source.Rows, RowsKept: series.Len(),
		OHLCViolations: source.Report.OHLCViolations}
	report.Inherit(source.Report.Report)
	return s.put(ctx, PutRequest{
		Exchange: source.Exchange, Series: series, Calendar: source.Calendar, VolumeUnit: source.VolumeUnit,
		Report: report,
	}, &info)
}

// Resample puts candles together to a larger timeframe that theirs divides, as [market.Bucket]
// does. Buckets without a candle stay empty, those with some are kept and counted, a last one that
// the candles do not reach the end of is dropped.
func Resample(s *market.Series, tf market.Timeframe, calendar Calendar) (*market.Series, Resampling, error) {
	info := Resampling{SourceTimeframe: s.Timeframe}
	if !s.Timeframe.Divides(tf) {
		return nil, info, fmt.Errorf("%s does not divide %s", s.Timeframe, tf)
	}
	out := &market.Series{Symbol: s.Symbol, Timeframe: tf}
	for i := 0; i < s.Len(); {
		b := tf.Bucket(s.Time[i])
		for ; i < s.Len() && s.Time[i] < b.CloseTime; i++ {
			c := s.At(i)
			b.Add(&c)
		}
		closed := s.Timeframe.Next(s.Timeframe.Opening(s.Time[i-1]))
		if closed > b.CloseTime {
			return nil, info,
				fmt.Errorf("the candle of %s ends after the %s that it begins in", s.Time[i-1], tf)
		}
		if i == s.Len() && remaining(closed, b.CloseTime, calendar) > 0 {
			info.DroppedLast = true
			break
		}
		if missing(b.OpenTime, b.CloseTime, s.Timeframe.Approx().Milliseconds(), calendar)+1 > b.Rows {
			info.IncompleteBuckets++
		}
		out.Append(b.Candle)
	}
	if out.Len() == 0 {
		return nil, info, fmt.Errorf("%d candles of %s do not fill one of %s", s.Len(), s.Timeframe, tf)
	}
	return out, info, nil
}

// remaining returns how much of [from, to) the market is still open.
func remaining(from, to market.Time, calendar Calendar) int64 {
	if calendar == Weekdays {
		return int64(to-from) - weekend(from, to)
	}
	return int64(to - from)
}

const (
	maxGaps      = 1000
	maxDecimals  = 8
	dayMillis    = 24 * 3600 * 1000
	calendarDays = 60 // fewer show nothing about weekends
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
	g.Gaps = listGaps(s, calendar)
	g.GapCount = len(g.Gaps)
	for _, gap := range g.Gaps {
		g.Missing += gap.Candles
		g.Longest = max(g.Longest, gap.Candles)
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

// listGaps gives every gap of a series, oldest first.
func listGaps(s *market.Series, calendar Calendar) []Gap {
	list := []Gap{}
	step := s.Timeframe.Approx().Milliseconds()
	for i := 1; i < s.Len(); i++ {
		if int64(s.Time[i]-s.Time[i-1]) == step {
			continue
		}
		if m := missing(s.Time[i-1], s.Time[i], step, calendar); m > 0 {
			list = append(list, Gap{From: s.Timeframe.Next(s.Time[i-1]), To: s.Time[i], Candles: m})
		}
	}
	return list
}

// missing returns how many candles of the length step (ms) should be between two neighbours.
func missing(a, b market.Time, step int64, calendar Calendar) int {
	delta := int64(b - a)
	if calendar == Weekdays && step <= dayMillis {
		delta -= weekend(a, b)
	}
	return max(0, int(math.Round(float64(delta)/float64(step)))-1)
}

// weekend returns how many milliseconds of [a, b) are on a UTC Saturday or Sunday.
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
	if n == 0 || s.Timeframe.Approx().Milliseconds() > dayMillis ||
		s.Time[n-1]-s.Time[0] < calendarDays*dayMillis {
		return AllDays
	}
	if slices.ContainsFunc(s.Time, func(t market.Time) bool { return weekend(t, t+1) > 0 }) {
		return AllDays
	}
	return Weekdays
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

package candle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// resampleID names the rules by which candles are put together.
const resampleID = "resample-v1"

// Resampling is how a dataset was made of another one.
type Resampling struct {
	SourceSHA256    string           `json:"source_sha256"`
	SourceTimeframe market.Timeframe `json:"source_timeframe"`
	// IncompleteBuckets were kept although candles are missing in them.
	IncompleteBuckets int `json:"incomplete_buckets"`
	// DroppedLast reports whether the candles ended before the last bucket did.
	DroppedLast bool `json:"dropped_last"`
}

// divides reports whether candles of the source can be put together to the target.
func divides(source, target market.Timeframe) bool {
	from, to := source.Duration(), target.Duration()
	switch {
	case target.Unit == 'M' && source.Unit == 'M':
		return target.Count > source.Count && target.Count%source.Count == 0
	case target.Unit == 'M':
		return dayMillis%from.Milliseconds() == 0
	case source.Unit == 'M':
		return false
	}
	return to > from && to%from == 0
}

// bucket returns the stretch [start, end) of the target timeframe in which t falls: counted
// from the epoch, weeks from Mondays, months by the calendar.
func bucket(t market.Time, tf market.Timeframe) (start, end market.Time) {
	if tf.Unit == 'M' {
		at := t.Time()
		month := int64(at.Year()-1970)*12 + int64(at.Month()) - 1
		month = floorDiv(month, int64(tf.Count)) * int64(tf.Count)
		start = market.FromTime(time.Date(1970, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC))
		return start, tf.Next(start)
	}
	anchor := int64(0)
	if tf.Unit == 'w' {
		anchor = 4 * dayMillis // Monday 1970-01-05
	}
	length := tf.Duration().Milliseconds()
	start = market.Time(floorDiv(int64(t)-anchor, length)*length + anchor)
	return start, start + market.Time(length)
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
	report := importer.Report{Importer: resampleID, RowsRead: source.Rows, RowsKept: series.Len(),
		OHLCViolations: source.Report.OHLCViolations}
	report.Inherit(source.Report.Report)
	return s.put(ctx, PutRequest{
		Exchange: source.Exchange, Series: series, Calendar: source.Calendar, VolumeUnit: source.VolumeUnit,
		Report: report,
	}, &info)
}

// Resample puts candles together to a larger timeframe that theirs divides: first open,
// highest high, lowest low, last close, volumes added from left to right. Buckets
// without a candle stay empty, those with some are kept and counted, a last one that
// the candles do not reach the end of is dropped.
func Resample(s *market.Series, tf market.Timeframe, calendar Calendar) (*market.Series, Resampling, error) {
	info := Resampling{SourceTimeframe: s.Timeframe}
	if !divides(s.Timeframe, tf) {
		return nil, info, fmt.Errorf("%s does not divide %s", s.Timeframe, tf)
	}
	out := &market.Series{Symbol: s.Symbol, Timeframe: tf}
	for i := 0; i < s.Len(); {
		start, end := bucket(s.Time[i], tf)
		c := market.Candle{OpenTime: start, Open: s.Open[i], High: s.High[i], Low: s.Low[i]}
		n := 0
		for ; i < s.Len() && s.Time[i] < end; i++ {
			c.High, c.Low = max(c.High, s.High[i]), min(c.Low, s.Low[i])
			c.Close = s.Close[i]
			c.Volume += s.Volume[i]
			n++
		}
		closed := closeOf(s, i-1)
		if closed > end {
			return nil, info,
				fmt.Errorf("the candle of %s ends after the %s that it begins in", s.Time[i-1], tf)
		}
		if i == s.Len() && remaining(closed, end, calendar) > 0 {
			info.DroppedLast = true
			break
		}
		if missing(start, end, s.Timeframe.Approx().Milliseconds(), calendar)+1 > n {
			info.IncompleteBuckets++
		}
		out.Append(c)
	}
	if out.Len() == 0 {
		return nil, info, fmt.Errorf("%d candles of %s do not fill one of %s", s.Len(), s.Timeframe, tf)
	}
	return out, info, nil
}

// closeOf is when candle i ends. Daily candles are stamped with the opening of a
// session in many files; what counts for them is the day.
func closeOf(s *market.Series, i int) market.Time {
	open := s.Time[i]
	if s.Timeframe.Unit == 'd' {
		open, _ = bucket(open, market.Timeframe{Count: 1, Unit: 'd'})
	}
	return s.Timeframe.Next(open)
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

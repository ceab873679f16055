package market

import (
	"fmt"
	"iter"
	"time"
)

// ResampleID names the rules by which candles are put together to larger ones.
const ResampleID = "resample-v1"

const dayMillis = 24 * 3600 * 1000

// Divides reports whether candles of t can be put together to the larger timeframe.
func (t Timeframe) Divides(larger Timeframe) bool {
	from, to := t.Duration(), larger.Duration()
	switch {
	case larger.Unit == 'M' && t.Unit == 'M':
		return larger.Count > t.Count && larger.Count%t.Count == 0
	case larger.Unit == 'M':
		return from > 0 && dayMillis%from.Milliseconds() == 0
	}
	return from > 0 && to > from && to%from == 0
}

// Same reports whether candles of both are equally long, as those of 60m and 1h.
func (t Timeframe) Same(other Timeframe) bool {
	return t == other || t.Unit != 'M' && other.Unit != 'M' && t.Duration() == other.Duration()
}

// Opening is when a candle with this open time begins. Daily candles are stamped with the
// opening of a session in many files; what counts for them is the day.
func (t Timeframe) Opening(at Time) Time {
	if t.Unit == 'd' {
		return Timeframe{Count: 1, Unit: 'd'}.Bucket(at).OpenTime
	}
	return at
}

// Bucket is a candle of a larger timeframe in the making, by the rules resample-v1: first open,
// highest high, lowest low, last close, volumes added from left to right.
type Bucket struct {
	Candle
	Rows int // candles in it
}

// Bucket begins the candle of timeframe t in which a moment falls: counted from the epoch,
// weeks from Mondays, months by the calendar.
func (t Timeframe) Bucket(at Time) Bucket {
	var b Bucket
	if t.Unit == 'M' {
		day := at.Time()
		month := int64(day.Year()-1970)*12 + int64(day.Month()) - 1
		month = floorDiv(month, int64(t.Count)) * int64(t.Count)
		b.OpenTime = FromTime(time.Date(1970, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC))
		b.CloseTime = t.Next(b.OpenTime)
		return b
	}
	anchor := int64(0)
	if t.Unit == 'w' {
		anchor = 4 * dayMillis // Monday 1970-01-05
	}
	length := t.Duration().Milliseconds()
	b.OpenTime = Time(floorDiv(int64(at)-anchor, length)*length + anchor)
	b.CloseTime = b.OpenTime + Time(length)
	return b
}

// Add takes the next candle that opens inside of the bucket.
func (b *Bucket) Add(c *Candle) {
	if b.Rows == 0 {
		b.Open, b.High, b.Low = c.Open, c.High, c.Low
	}
	b.High, b.Low = max(b.High, c.High), min(b.Low, c.Low)
	b.Close = c.Close
	b.Volume += c.Volume
	b.Rows++
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Warmup is the complete candles that a strategy wants to see before its window.
type Warmup struct {
	Candles int      // of the run's own timeframe
	Larger  []Larger // of larger ones, which are built from the run's
}

// Larger is a timeframe above the run's own, and how many complete candles of it are wanted.
type Larger struct {
	Timeframe Timeframe
	Candles   int
}

// MaxWarmup bounds the candles of the run's own timeframe that a warm-up takes.
const MaxWarmup = 100_000_000

// NoMultipleError reports a timeframe that cannot be built from the run's.
type NoMultipleError struct{ Timeframe, Of Timeframe }

// Error names both.
func (e *NoMultipleError) Error() string {
	return fmt.Sprintf("%s is no exact multiple of the run's timeframe %s", e.Timeframe, e.Of)
}

// Check reports whether a run on the timeframe can build what is wanted: each timeframe is the
// run's own or an exact multiple of it (else a *NoMultipleError), and the candles stay within
// MaxWarmup.
func (w Warmup) Check(run Timeframe) error {
	for _, l := range w.Larger {
		if !run.Same(l.Timeframe) && !run.Divides(l.Timeframe) {
			return &NoMultipleError{l.Timeframe, run}
		}
		if float64(l.Candles)*float64(l.rows(run)) > MaxWarmup {
			return fmt.Errorf("%d candles of %s are more than %d of %s", l.Candles, l.Timeframe, MaxWarmup,
				run)
		}
	}
	return nil
}

// rows is how many candles of the run one of the timeframe has at most.
func (l Larger) rows(run Timeframe) int {
	length, own := l.Timeframe.Duration().Milliseconds(), run.Approx().Milliseconds()
	if l.Timeframe.Unit == 'M' {
		length = int64(l.Timeframe.Count) * 31 * dayMillis
	}
	return int((length + own - 1) / own)
}

// Span is how many candles of the run hold the warm-up where none is missing: never too few.
func (w Warmup) Span(run Timeframe) int {
	n := w.Candles
	for _, l := range w.Larger {
		if l.Candles > 0 {
			n = max(n, (l.Candles+1)*l.rows(run))
		}
	}
	return n
}

// Rows returns how many candles of one symbol before edge the warm-up takes, and how many from
// edge on are missing of it. Before are the open times of those there are, ahead those from
// edge on. A candle of a larger timeframe counts when it has ended at edge, has a candle, and
// the history reaches its open.
func (w Warmup) Rows(run Timeframe, before []Time, edge Time, ahead iter.Seq[Time]) (rows, short int) {
	rows, short = min(len(before), w.Candles), max(0, w.Candles-len(before))
	for _, l := range w.Larger {
		if l.Candles == 0 {
			continue
		}
		r, s := min(len(before), l.Candles), max(0, l.Candles-len(before))
		if !run.Same(l.Timeframe) {
			r, s = l.before(run, before, edge, ahead)
		}
		rows, short = max(rows, r), max(short, s)
	}
	return rows, short
}

func (l Larger) before(run Timeframe, before []Time, edge Time, ahead iter.Seq[Time]) (rows, short int) {
	current := l.Timeframe.Bucket(run.Opening(edge)).OpenTime
	have, first := 0, len(before)
	for first > 0 {
		open := l.Timeframe.Bucket(before[first-1]).OpenTime
		from := first - 1
		for from > 0 && before[from-1] >= open {
			from--
		}
		reached := run.Opening(before[from]) <= open
		if open < current {
			if !reached && from == 0 {
				break // the history begins inside of it
			}
			if have++; have == l.Candles {
				if !reached {
					from-- // a candle before it shows that what is missing at its open is missing
				}
				return len(before) - from, 0
			}
		}
		first = from
	}
	return len(before), l.missing(run, before, current, l.Candles-have, ahead)
}

// missing is how many candles from the edge on are taken until so many more are complete.
func (l Larger) missing(run Timeframe, before []Time, current Time, more int, ahead iter.Seq[Time]) int {
	var b Bucket // that is open
	begun := len(before) > 0
	usable := false
	if begun {
		if b = l.Timeframe.Bucket(before[len(before)-1]); b.OpenTime >= current {
			usable = run.Opening(before[0]) <= b.OpenTime
		}
	}
	short := 0
	for t := range ahead {
		if usable && run.Opening(t) >= b.CloseTime {
			if more--; more == 0 {
				return short
			}
		}
		if !begun || t >= b.CloseTime {
			b = l.Timeframe.Bucket(t)
			usable = begun || run.Opening(t) <= b.OpenTime
		}
		begun = true
		short++
	}
	return short
}

// Nominal are the times at which candles open from a moment on where none is missing.
func (t Timeframe) Nominal(from Time) iter.Seq[Time] {
	return func(yield func(Time) bool) {
		for ; yield(from); from = t.Next(from) {
		}
	}
}

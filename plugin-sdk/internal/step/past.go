package step

import "github.com/assay-run/assay/plugin-sdk/market"

// Window is candles that follow each other, as columns of equal length, oldest first.
type Window struct {
	OpenTime, CloseTime            []market.Time
	Open, High, Low, Close, Volume []float64
}

// Past keeps the newest candles of one symbol and timeframe.
type Past struct {
	Keep int // candles at most; 0 keeps none
	all  Window
}

// Add takes the next candle.
func (p *Past) Add(c *market.Candle) {
	if p.Keep == 0 {
		return
	}
	w := &p.all
	if len(w.Close) >= 2*p.Keep {
		p.drop(len(w.Close) - p.Keep + 1)
	}
	w.OpenTime, w.CloseTime = append(w.OpenTime, c.OpenTime), append(w.CloseTime, c.CloseTime)
	w.Open, w.High, w.Low = append(w.Open, c.Open), append(w.High, c.High), append(w.Low, c.Low)
	w.Close, w.Volume = append(w.Close, c.Close), append(w.Volume, c.Volume)
}

// drop forgets the n oldest candles, now and then, not for every candle.
func (p *Past) drop(n int) {
	w := &p.all
	for _, column := range []*[]market.Time{&w.OpenTime, &w.CloseTime} {
		*column = (*column)[:copy(*column, (*column)[n:])]
	}
	for _, column := range []*[]float64{&w.Open, &w.High, &w.Low, &w.Close, &w.Volume} {
		*column = (*column)[:copy(*column, (*column)[n:])]
	}
}

// Len is how many candles are kept.
func (p *Past) Len() int { return min(len(p.all.Close), p.Keep) }

// Last is the newest n candles, or all that are kept. The columns' capacity ends with the newest.
func (p *Past) Last(n int) Window {
	w, to := &p.all, len(p.all.Close)
	from := to - min(n, p.Len())
	return Window{
		OpenTime: w.OpenTime[from:to:to], CloseTime: w.CloseTime[from:to:to],
		Open: w.Open[from:to:to], High: w.High[from:to:to], Low: w.Low[from:to:to],
		Close: w.Close[from:to:to], Volume: w.Volume[from:to:to],
	}
}

// Frame is one symbol on a timeframe above the run's own, built from the candles that it is
// told of.
type Frame struct {
	Base, Timeframe market.Timeframe
	Candle          market.Candle // newest complete one
	Closed          bool          // it was completed at this step
	Past            Past

	bucket market.Bucket // in the making; empty without rows
	cut    bool          // the history begins inside of it
	begun  bool
	done   market.Time // close of the newest complete bucket
}

// Advance goes on to a step with the candle of the symbol that closed then, nil if none did. A
// bucket is complete at the first step that closes when it does, or later.
func (f *Frame) Advance(now market.Time, c *market.Candle) {
	f.Closed = false
	if c != nil && (!f.begun || c.OpenTime >= f.done) {
		if f.bucket.Rows > 0 && c.OpenTime >= f.bucket.CloseTime {
			f.complete()
		}
		if f.bucket.Rows == 0 {
			f.bucket = f.Timeframe.Bucket(c.OpenTime)
			f.cut = !f.begun && f.Base.Opening(c.OpenTime) > f.bucket.OpenTime
			f.begun = true
		}
		f.bucket.Add(c)
	}
	if f.bucket.Rows > 0 && f.bucket.CloseTime <= now {
		f.complete()
	}
}

func (f *Frame) complete() {
	f.done = f.bucket.CloseTime
	if !f.cut {
		f.Candle, f.Closed = f.bucket.Candle, true
		f.Past.Add(&f.Candle)
	}
	f.bucket = market.Bucket{}
}

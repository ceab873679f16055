package sdk

import (
	"fmt"
	"math"

	"github.com/assay-run/assay/plugin-sdk/internal/step"
)

// Lookback is how many complete candles a strategy looks back on, by timeframe: "" is the
// run's own, the others are those of [Spec.Extra].
//
//	sdk.Lookback{"": 50, "1d": 200}
type Lookback map[string]int

// HistoryReader is a Strategy that reads earlier candles in its View. The host starts each
// symbol early enough for all of them, as far as there are candles; what is missing are the
// first candles of the window, on which orders are rejected with the code "warmup". Lookback
// is called once, right after the strategy is made. A strategy that is a [Warmer] as well gets
// the larger number of candles.
type HistoryReader interface {
	Lookback() Lookback
}

// History is finished candles of one symbol that follow each other, oldest first. It is valid
// during the call in which it was asked for. The columns hold nothing after the newest candle
// and must not be written.
type History struct{ window step.Window }

// Len is the number of candles.
func (h History) Len() int { return len(h.window.Close) }

// At is candle i; 0 is the oldest, Len()-1 the newest.
func (h History) At(i int) Candle {
	w := &h.window
	return Candle{OpenTime: w.OpenTime[i], CloseTime: w.CloseTime[i], Open: w.Open[i], High: w.High[i],
		Low: w.Low[i], Close: w.Close[i], Volume: w.Volume[i]}
}

// Open is the open of candle i.
func (h History) Open(i int) float64 { return h.window.Open[i] }

// High is the high of candle i.
func (h History) High(i int) float64 { return h.window.High[i] }

// Low is the low of candle i.
func (h History) Low(i int) float64 { return h.window.Low[i] }

// Close is the close of candle i.
func (h History) Close(i int) float64 { return h.window.Close[i] }

// Volume is the volume of candle i.
func (h History) Volume(i int) float64 { return h.window.Volume[i] }

// Opens are the opens.
func (h History) Opens() []float64 { return h.window.Open }

// Highs are the highs.
func (h History) Highs() []float64 { return h.window.High }

// Lows are the lows.
func (h History) Lows() []float64 { return h.window.Low }

// Closes are the closes.
func (h History) Closes() []float64 { return h.window.Close }

// Volumes are the volumes.
func (h History) Volumes() []float64 { return h.window.Volume }

// last is the newest n candles of what is kept. More than is kept panics, which ends the run
// with STRATEGY_ERROR.
func last(p *step.Past, n int, timeframe Timeframe) History {
	if n < 0 || n > p.Keep {
		panic(fmt.Sprintf("History(%d) of %s is more than Lookback asks for: %d", n, timeframe, p.Keep))
	}
	return History{p.Last(n)}
}

// back is the close n candles before the newest; NaN if there are not so many. The newest needs
// no Lookback.
func back(p *step.Past, newest Candle, n int, timeframe Timeframe) float64 {
	switch {
	case n == 0 && newest.CloseTime != 0:
		return newest.Close
	case n < 0 || n > 0 && n >= p.Keep:
		panic(fmt.Sprintf("Close(%d) is one of %d candles of %s, Lookback asks for %d", n, n+1, timeframe,
			p.Keep))
	case n >= p.Len():
		return math.NaN()
	}
	return p.Last(n + 1).Close[0]
}

// past is what is kept of the symbol's candles.
func (v SymbolView) past() *step.Past {
	if s, i := v.at(); s.Pasts != nil {
		return &s.Pasts[i]
	}
	return &step.Past{}
}

// Timeframe is that of the run.
func (v SymbolView) Timeframe() Timeframe { return step.Ref(v).Step().Timeframe }

// History is the newest n candles, or all there are. More than [Lookback] asks for ends the
// run with STRATEGY_ERROR.
func (v SymbolView) History(n int) History { return last(v.past(), n, v.Timeframe()) }

// Close is the close n candles before the newest, whose close is Close(0); NaN if there are not
// so many. Lookback must ask for n+1 candles at least, unless n is 0.
func (v SymbolView) Close(n int) float64 {
	return back(v.past(), v.Candle(), n, v.Timeframe())
}

// At is the symbol on a timeframe of [Spec.Extra], such as 1d; on the run's own it is what v is. Another
// one panics, which ends the run with STRATEGY_ERROR.
func (v SymbolView) At(timeframe string) FrameView {
	s, i := v.at()
	for k, name := range s.Larger {
		if name != timeframe {
			continue
		}
		if s.Frames[k] == nil {
			return FrameView{base: v}
		}
		return FrameView{base: v, frame: &s.Frames[k][i]}
	}
	if s.Timeframe.String() == timeframe {
		return FrameView{base: v}
	}
	panic(fmt.Sprintf("At(%q): Spec.Extra does not list this timeframe, it has %v", timeframe, s.Larger))
}

// FrameView is one symbol on a larger timeframe, built from the run's candles: buckets from the
// epoch, weeks from Mondays, calendar months. A candle of it shows at the first step that closes
// when it does or later, whether its last candles exist or not; one inside of which the history
// begins does not. [SymbolView.At] makes it; it is valid as long as the View.
type FrameView struct {
	base  SymbolView
	frame *step.Frame // nil: the run's own timeframe
}

// Timeframe is that of its candles.
func (f FrameView) Timeframe() Timeframe {
	if f.frame == nil {
		return f.base.Timeframe()
	}
	return f.frame.Timeframe
}

// Candle is the newest complete candle; the zero value before the first.
func (f FrameView) Candle() Candle {
	if f.frame == nil {
		return f.base.Candle()
	}
	return f.frame.Candle
}

// Closed reports whether a candle was completed at this step. Behind a gap it may be several:
// History has them all.
func (f FrameView) Closed() bool {
	if f.frame == nil {
		return f.base.Closed()
	}
	return f.frame.Closed
}

// History is that of [SymbolView.History] in candles of the timeframe.
func (f FrameView) History(n int) History { return last(f.past(), n, f.Timeframe()) }

// Close is that of [SymbolView.Close] in candles of the timeframe.
func (f FrameView) Close(n int) float64 { return back(f.past(), f.Candle(), n, f.Timeframe()) }

func (f FrameView) past() *step.Past {
	if f.frame == nil {
		return f.base.past()
	}
	return &f.frame.Past
}

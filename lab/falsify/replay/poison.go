package replay

import (
	"math"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// poisonReach bounds poisoned prices to this factor around the close at the cut: on
	// their own, ten times the moves end at prices that no ledger can hold.
	poisonReach = 1000
	// endCandles is how many synthetic candles DataEnd appends.
	endCandles = 200
)

// body is the rest of a candle over its open, with the volume that goes with it.
type body struct{ high, low, close, volume float64 }

// mirrored turns up into down.
func (b body) mirrored() body { return body{1 / b.low, 1 / b.high, 1 / b.close, b.volume} }

func (b body) amplified() body {
	return body{amplify(b.high), amplify(b.low), amplify(b.close), b.volume}
}

// amplify is the ratio whose logarithm is ten times that of r, clipped to +-1. Only
// products, so that every CPU agrees.
func amplify(r float64) float64 {
	r2 := r * r
	r4 := r2 * r2
	return min(max(r4*r4*r2, 1/math.E), math.E)
}

// moves are the gaps (open over the close before) and bodies of the candles from first
// on; the candle before first is needed.
func moves(s *market.Series, first int) (gaps []float64, bodies []body) {
	for i := first; i < s.Len(); i++ {
		gaps = append(gaps, s.Open[i]/s.Close[i-1])
		bodies = append(bodies, body{s.High[i] / s.Open[i], s.Low[i] / s.Open[i], s.Close[i] / s.Open[i], s.Volume[i]})
	}
	return gaps, bodies
}

// Poison leaves what has closed by the cut and makes nonsense of the rest: the later
// gaps and bodies shuffled, each log ratio ten times as large but at most 1, rebuilt from
// the close at the cut. Times and volumes stay real. A strategy that decides otherwise up
// to the cut has seen the rest. Where prices would leave a thousandth or a thousand times
// that close, a move is turned round. Stream: poison.
func Poison(set Set, cut market.Time, seed, replica uint64) Set {
	stream := random.New(seed, random.Poison, replica)
	return set.each(func(s *market.Series) *market.Series {
		// A symbol without a candle yet has no close to go on from: its first stays.
		k := max(closedBy(s, cut), 1)
		out := clone(s)
		gaps, bodies := moves(s, k)
		byGap, byBody := stream.Perm(len(gaps)), stream.Perm(len(bodies))
		price := s.Close[k-1]
		low, high := price/poisonReach, price*poisonReach
		inside := func(x float64) bool { return x >= low && x <= high }
		for i := range gaps {
			gap, b := amplify(gaps[byGap[i]]), bodies[byBody[i]].amplified()
			if !inside(price * gap) {
				gap = 1 / gap
			}
			open := price * gap
			if !inside(open * b.close) {
				b = b.mirrored()
			}
			out.Open[k+i], out.High[k+i], out.Low[k+i], out.Close[k+i] = open, open*b.high, open*b.low, open*b.close
			out.Volume[k+i] = b.volume
			price = out.Close[k+i]
		}
		return out
	})
}

// DataEnd appends 200 candles to every symbol, of gaps and bodies drawn from its own
// without putting back, rebuilt from the last close. They begin when the candles of all
// symbols have ended. Stream: poison.
func DataEnd(set Set, seed, replica uint64) Set {
	stream := random.New(seed, random.Poison, replica)
	end := market.Time(0)
	for i := range set {
		s := set[i].Series
		end = max(end, s.CloseTime(s.Len()-1))
	}
	out := make(Set, len(set))
	for i := range set {
		out[i] = set[i]
		out[i].Series = continued(set[i], end, stream)
	}
	return out
}

func continued(c Candles, end market.Time, stream *random.Stream) *market.Series {
	out := clone(c.Series)
	gaps, bodies := moves(c.Series, 1)
	if len(gaps) == 0 { // one candle has no moves: it goes on flat
		gaps, bodies = []float64{1}, []body{{1, 1, 1, c.Series.Volume[0]}}
	}
	var byGap, byBody []int
	for len(byGap) < endCandles {
		byGap = append(byGap, stream.Perm(len(gaps))...)
		byBody = append(byBody, stream.Perm(len(bodies))...)
	}
	last := out.Len() - 1
	at, price := out.Time[last], out.Close[last]
	for i := range endCandles {
		at = nextOpen(at, end, c)
		open, b := price*gaps[byGap[i]], bodies[byBody[i]]
		out.Append(market.Candle{
			OpenTime: at, Open: open, High: open * b.high, Low: open * b.low, Close: open * b.close, Volume: b.volume,
		})
		price = open * b.close
	}
	return out
}

// nextOpen is the first open on the grid of the series after a candle and not before
// end, on a day that its calendar has.
func nextOpen(at, end market.Time, c Candles) market.Time {
	tf := c.Series.Timeframe
	for {
		at = tf.Next(at)
		day := at.Time().Weekday()
		weekend := c.Dataset.Calendar == candle.Weekdays && tf.Approx() <= 24*time.Hour && (day == time.Saturday || day == time.Sunday)
		if at >= end && !weekend {
			return at
		}
	}
}

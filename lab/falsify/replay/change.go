package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// cutsEach is how many cuts are made at decisions and how many anywhere. It is policy.
const cutsEach = 10

// How many of the decisions, and of all steps, a play in pieces holds at. It is policy.
const (
	HeldDecisions = 200
	HeldSteps     = 1000
)

// Holds are the steps at which a play in pieces ends a piece, ascending and distinct: HeldDecisions of the
// decisions, which are steps, and HeldSteps of the steps [first, end), in which decisions count. Stream:
// holds, index 0.
func Holds(decisions []int, first, end int, seed uint64) []int {
	stream := random.New(seed, random.Holds, 0)
	inside := slices.DeleteFunc(slices.Clone(decisions), func(k int) bool { return k < first || k >= end })
	stream.Shuffle(len(inside), func(i, j int) { inside[i], inside[j] = inside[j], inside[i] })
	out := inside[:min(HeldDecisions, len(inside))]
	for n := min(HeldSteps, end-first); n > 0; n-- {
		out = append(out, first+stream.IntN(end-first))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Cuts are the steps after which the lookahead test cuts, ascending and distinct: ten of
// the decisions, which are steps, and ten of the steps [first, last). Where there are
// fewer decisions there are more of the others; where there are fewer steps than cuts,
// each is one. Stream: cuts, index 0.
func Cuts(decisions []int, first, last int, seed uint64) []int {
	stream := random.New(seed, random.Cuts, 0)
	inside := slices.DeleteFunc(slices.Clone(decisions), func(k int) bool { return k < first || k >= last })
	slices.Sort(inside)
	inside = slices.Compact(inside)
	stream.Shuffle(len(inside), func(i, j int) { inside[i], inside[j] = inside[j], inside[i] })
	out := inside[:min(cutsEach, len(inside))]
	want := min(2*cutsEach, max(last-first, 0))
	for len(out) < want {
		if k := first + stream.IntN(last-first); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// PriceNoise multiplies open, high, low and close of every candle, drawn in this order,
// by 1 + s z: z normal, s some percent of the median of true range / close of the symbol.
// High and low are repaired to the extremes, prices rounded to the price step and at least
// one step. The draws of a replica are the same at every size. Stream: noise.
func PriceNoise(set Set, percent int, seed, replica uint64) Set {
	stream := random.New(seed, random.Noise, replica)
	return set.each(func(c Candles) *market.Series {
		g, out := gridOf(c.Dataset.PriceStep), clone(c.Series)
		size := float64(percent) / 100 * medianRange(c.Series)
		for i := range out.Time {
			for _, column := range [][]float64{out.Open, out.High, out.Low, out.Close} {
				column[i] = g.round(column[i] * (1 + float64(size*stream.Normal())))
			}
			o, h, l, c := out.Open[i], out.High[i], out.Low[i], out.Close[i]
			out.High[i], out.Low[i] = max(o, h, l, c), min(o, h, l, c)
		}
		return out
	})
}

// medianRange is the median of true range / close. The true range of the first candle
// is high - low. Source: Wilder (1978).
func medianRange(s *market.Series) float64 {
	ranges := make([]float64, s.Len())
	for i := range ranges {
		high, low := s.High[i], s.Low[i]
		if i > 0 {
			high, low = max(high, s.Close[i-1]), min(low, s.Close[i-1])
		}
		ranges[i] = (high - low) / s.Close[i]
	}
	// A series has at least one candle.
	median, _ := stat.Quantile(ranges, 0.5)
	return median
}

// grid is a price step as num / 10^scale; without one, prices are left as they are.
type grid struct{ num, power float64 }

func gridOf(step decimal.Decimal) grid {
	if !step.IsPos() {
		return grid{}
	}
	power := 1.0
	for range step.Scale() {
		power *= 10
	}
	return grid{float64(step.Coef()), power}
}

// round is the float64 nearest to the nearest multiple of the step, at least one step.
func (g grid) round(x float64) float64 {
	if g.num == 0 {
		return math.Max(x, math.SmallestNonzeroFloat64)
	}
	steps := max(math.Round(x*g.power/g.num), 1)
	return steps * g.num / g.power
}

const (
	// gapShare is one candle in so many that is dropped, gapHole how long nothing trades
	// at all. Both are policy.
	gapShare = 100
	gapHole  = 24 * time.Hour
)

// Gaps leaves candles out: a hole of 24 hours, the same for all symbols as when a venue
// is down, and 1 % (at least one) of the candles of each symbol. The first candle of a
// symbol stays. Stream: gaps.
func Gaps(set Set, seed, replica uint64) Set {
	stream := random.New(seed, random.Gaps, replica)
	from := holeStart(set[0].Series, stream)
	to := from.Add(gapHole)
	return set.each(func(c Candles) *market.Series {
		s, gone := c.Series, map[int]bool{}
		for i := range s.Time {
			if s.Time[i] >= from && s.Time[i] < to {
				gone[i] = true
			}
		}
		if n := s.Len() - 1; n > 0 {
			for _, i := range stream.Perm(n)[:max(s.Len()/gapShare, 1)] {
				gone[1+i] = true
			}
		}
		delete(gone, 0)
		return without(s, gone)
	})
}

// holeStart is the open of a candle after which there are 24 hours of candles, if there
// is one, but never of the first.
func holeStart(s *market.Series, stream *random.Stream) market.Time {
	last := s.Time[s.Len()-1]
	n := s.Search(last.Add(-gapHole) + 1)
	if n < 2 {
		n = s.Len()
	}
	if n < 2 {
		return last + 1 // nowhere: the only candle stays
	}
	return s.Time[1+stream.IntN(n-1)]
}

func without(s *market.Series, gone map[int]bool) *market.Series {
	out := &market.Series{Symbol: s.Symbol, Timeframe: s.Timeframe}
	for i := range s.Time {
		if !gone[i] {
			out.Append(row(s, i))
		}
	}
	return out
}

// row is candle i without its close time.
func row(s *market.Series, i int) market.Candle {
	return market.Candle{OpenTime: s.Time[i], Open: s.Open[i], High: s.High[i], Low: s.Low[i],
		Close: s.Close[i], Volume: s.Volume[i]}
}

// Permute shuffles the gaps and the bodies of every symbol, see trade.Permute: drift and
// volatility stay, patterns do not. One permutation serves all symbols when their
// timelines are equal, which keeps what they have in common; else each has its own, and
// joint is false. Stream: permute.
func Permute(set Set, seed, replica uint64) (_ Set, joint bool) {
	stream := random.New(seed, random.Permute, replica)
	joint = set.Joint()
	var gaps, bodies []int
	return set.each(func(c Candles) *market.Series {
		if n := c.Series.Len() - 1; gaps == nil || !joint {
			gaps, bodies = stream.Perm(n), stream.Perm(n)
		}
		return rearranged(c.Series, gaps, bodies)
	}), joint
}

// Reverse puts gaps and bodies in the opposite order: the last move comes first, up
// stays up, and the last close is the old one.
func Reverse(set Set) Set {
	return set.each(func(c Candles) *market.Series {
		n := c.Series.Len() - 1
		order := make([]int, n)
		for i := range order {
			order[i] = n - 1 - i
		}
		return rearranged(c.Series, order, order)
	})
}

func rearranged(s *market.Series, gaps, bodies []int) *market.Series {
	rows := make([]market.Candle, s.Len())
	for i := range rows {
		rows[i] = row(s, i)
	}
	out := clone(s)
	for i, c := range trade.Permute(rows, gaps, bodies) {
		out.Open[i], out.High[i], out.Low[i], out.Close[i], out.Volume[i] = c.Open, c.High, c.Low, c.Close,
			c.Volume
	}
	return out
}

const (
	// poisonReach bounds poisoned prices to this factor around the close at the cut: on
	// their own, ten times the moves end at prices that no ledger can hold.
	poisonReach = 1000
	// endCandles is how many synthetic candles DataEnd appends.
	endCandles = 200
)

// body is the rest of a candle over its open, with the volume that goes with it.
type body struct{ high, low, close, volume float64 }

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
		bodies = append(bodies,
			body{s.High[i] / s.Open[i], s.Low[i] / s.Open[i], s.Close[i] / s.Open[i], s.Volume[i]})
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
	return set.each(func(c Candles) *market.Series {
		s := c.Series
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
			out.Open[k+i], out.High[k+i], out.Low[k+i], out.Close[k+i] = open, open*b.high, open*b.low,
				open*b.close
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
	return set.each(func(c Candles) *market.Series { return continued(c, end, stream) })
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
			OpenTime: at, Open: open, High: open * b.high, Low: open * b.low, Close: open * b.close,
			Volume: b.volume,
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
		weekend := c.Dataset.Calendar == candle.Weekdays && tf.Approx() <= 24*time.Hour &&
			(day == time.Saturday || day == time.Sunday)
		if at >= end && !weekend {
			return at
		}
	}
}

// ScaleFactor is what Scale multiplies prices with and divides volumes by.
const ScaleFactor = 1000

// Scale multiplies prices by 1000 and divides volumes by 1000, the price step included:
// the same market in another unit.
func Scale(set Set) (Set, error) {
	out := set.each(func(x Candles) *market.Series {
		c := clone(x.Series)
		for i := range c.Time {
			for _, column := range [][]float64{c.Open, c.High, c.Low, c.Close} {
				column[i] *= ScaleFactor
			}
			c.Volume[i] /= ScaleFactor
		}
		return c
	})
	for i := range out {
		step, err := out[i].Dataset.PriceStep.Mul(decimal.MustNew(ScaleFactor, 0))
		if err != nil {
			return nil, fmt.Errorf("price step of %s: %w", out[i].Series.Symbol, err)
		}
		out[i].Dataset.PriceStep = step.Trim(0)
	}
	return out, nil
}

// Moved is how times are moved: the moment that each becomes, and the one that it was.
type Moved struct{ To, Back func(market.Time) market.Time }

// Shift moves times by whole days.
func Shift(days int) Moved {
	by := time.Duration(days) * 24 * time.Hour
	return Moved{
		func(t market.Time) market.Time { return t.Add(by) },
		func(t market.Time) market.Time { return t.Add(-by) },
	}
}

// warpWeeks is how many weeks of candles follow each other before as many are left out.
const warpWeeks = 4

// Warp stretches the time from a moment on: every four weeks of it are followed by four weeks
// without candles. The weekday and the time of day stay.
func Warp(from market.Time) func(market.Time) market.Time {
	const span = market.Time(warpWeeks * 7 * 24 * time.Hour / time.Millisecond)
	return func(t market.Time) market.Time { return t + max(t-from, 0)/span*span }
}

// Move moves the time of every candle.
func Move(set Set, to func(market.Time) market.Time) Set {
	return set.each(func(c Candles) *market.Series {
		out := *c.Series
		out.Time = slices.Clone(out.Time)
		for i := range out.Time {
			out.Time[i] = to(out.Time[i])
		}
		return &out
	})
}

// segmentDays is the length of the segments that [Segments] shuffles.
const segmentDays = 30

// Segments puts stretches of thirty days in another order, gaps and bodies together, as many
// candles in each as the first has: what happens within a month stays, the order of the months
// does not. One order serves all symbols when their timelines are equal. Stream: segments.
func Segments(set Set, seed uint64) Set {
	stream := random.New(seed, random.Segments, 0)
	joint := set.Joint()
	var order []int
	return set.each(func(c Candles) *market.Series {
		n := c.Series.Len() - 1
		size := max(c.Series.Search(c.Series.Time[0].Add(segmentDays*24*time.Hour)), 1)
		if order == nil || !joint {
			order = order[:0:0]
			for _, k := range stream.Perm((n + size - 1) / size) {
				for i := k * size; i < min((k+1)*size, n); i++ {
					order = append(order, i)
				}
			}
		}
		return rearranged(c.Series, order, order)
	})
}

// Rotate gives every symbol the candles of the next one, at its own times. It is false where there
// is one symbol, or where their timelines differ.
func Rotate(set Set) (Set, bool) {
	if len(set) < 2 || !set.Joint() {
		return nil, false
	}
	out := slices.Clone(set)
	for i := range out {
		other := set[(i+1)%len(set)]
		series := *other.Series
		series.Symbol = set[i].Series.Symbol
		out[i].Series, out[i].Dataset.PriceStep = &series, other.Dataset.PriceStep
		out[i].Dataset.VolumeUnit = other.Dataset.VolumeUnit
	}
	return out, true
}

// Rename gives the symbols names without a meaning in one quote currency. names maps the old to
// the new ones.
func Rename(set Set) (_ Set, names map[market.Symbol]market.Symbol) {
	names = map[market.Symbol]market.Symbol{}
	return set.each(func(c Candles) *market.Series {
		series := *c.Series
		name := market.Symbol(fmt.Sprintf("XA%d/XQ", len(names)))
		names[series.Symbol], series.Symbol = name, name
		return &series
	}), names
}

package replay

import (
	"math"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// PriceNoise multiplies open, high, low and close of every candle, drawn in this order,
// by 1 + s z: z normal, s some percent of the median of true range / close of the symbol.
// High and low are repaired to the extremes, prices rounded to the price step and at least
// one step. The draws of a replica are the same at every size. Stream: noise.
func PriceNoise(set Set, percent int, seed, replica uint64) Set {
	stream := random.New(seed, random.Noise, replica)
	out := make(Set, len(set))
	for i := range set {
		out[i] = set[i]
		out[i].Series = noisy(set[i].Series, percent, gridOf(set[i].Dataset.PriceStep), stream)
	}
	return out
}

func noisy(s *market.Series, percent int, g grid, stream *random.Stream) *market.Series {
	size := float64(percent) / 100 * medianRange(s)
	out := clone(s)
	for i := range s.Time {
		for _, column := range [][]float64{out.Open, out.High, out.Low, out.Close} {
			column[i] = g.round(column[i] * (1 + float64(size*stream.Normal())))
		}
		o, h, l, c := out.Open[i], out.High[i], out.Low[i], out.Close[i]
		out.High[i], out.Low[i] = max(o, h, l, c), min(o, h, l, c)
	}
	return out
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

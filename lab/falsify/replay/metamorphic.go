package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// ScaleFactor is what Scale multiplies prices with and divides volumes by.
const ScaleFactor = 1000

// shiftDays is a whole number of weeks, so that every day of the week stays one.
const shiftDays = 364

// Scale multiplies prices by 1000 and divides volumes by 1000, the price step included:
// the same market in another unit.
func Scale(set Set) (Set, error) {
	out := set.each(func(s *market.Series) *market.Series {
		c := clone(s)
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

// Shift moves every candle 364 days on.
func Shift(set Set) Set {
	return set.each(func(s *market.Series) *market.Series {
		out := *s
		out.Time = slices.Clone(s.Time)
		for i := range out.Time {
			out.Time[i] = Shifted(out.Time[i])
		}
		return &out
	})
}

// Shifted is a moment as Shift moves it, for the window of the run.
func Shifted(t market.Time) market.Time { return t.Add(shiftDays * 24 * time.Hour) }

// Unshifted is the moment that Shifted has moved.
func Unshifted(t market.Time) market.Time { return t.Add(-shiftDays * 24 * time.Hour) }

// Rename gives the symbols names that say nothing; all keep one quote currency. names
// maps the old to the new ones.
func Rename(set Set) (_ Set, names map[market.Symbol]market.Symbol) {
	names = map[market.Symbol]market.Symbol{}
	out := slices.Clone(set)
	for i := range out {
		series := *out[i].Series
		name := market.Symbol(fmt.Sprintf("XA%d/XQ", i))
		names[series.Symbol] = name
		series.Symbol = name
		out[i].Series = &series
	}
	return out, names
}

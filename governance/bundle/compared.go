package bundle

import (
	"fmt"

	"github.com/assay-run/assay/host/base/field"
)

// ComparedRun is a finished paper or live run, held against a shadow that began when it did.
type ComparedRun struct {
	RunID string `json:"run_id" is:"id"`
	// Fills are those of the run, Diverging those of both without an equal partner: of one
	// symbol, side and quantity in the same candle.
	Fills     int64         `json:"fills"`
	Diverging int64         `json:"diverging_fills"`
	Days      []ComparedDay `json:"days" max:"5000"`
}

// ComparedDay is one UTC day of a comparison. In statements of earlier versions days without fills are
// absent, and so are returns.
type ComparedDay struct {
	Date      string `json:"date" is:"filled"`
	Fills     int64  `json:"fills"`
	Diverging int64  `json:"diverging_fills"`
	// Return and ShadowReturn are net, a fraction of the equity of the day before; absent where the day is
	// partial.
	Return       *float64 `json:"return,omitempty" min:"-1000000"`
	ShadowReturn *float64 `json:"shadow_return,omitempty" min:"-1000000"`
	// Partial is why a day has no returns to compare: the run began or ended within it, or had other
	// candles than the shadow.
	Partial string `json:"partial,omitempty" is:"oneof begin end candles"`
}

// The values of Partial.
const (
	PartialBegin   = "begin"
	PartialEnd     = "end"
	PartialCandles = "candles"
)

// Check implements [field.Checker].
func (c *ComparedRun) Check(o field.Object) {
	fills, diverging := int64(0), int64(0)
	last := ""
	for i, d := range c.Days {
		at := fmt.Sprintf("days/%d/", i)
		if _, ok := Day(d.Date); !ok {
			o.FailAt(field.InvalidField, at+"date", "is not a day such as 2026-01-31")
		}
		if fills, diverging = fills+d.Fills, diverging+d.Diverging; fills < 0 || diverging < 0 {
			o.Fail(field.InvalidField, "days", "are more than can be counted")
		}
		whole := d.Return != nil
		switch {
		case whole != (d.ShadowReturn != nil):
			o.FailAt(field.InvalidField, at+"shadow_return", "return and shadow_return need each other")
		case whole && d.Partial != "":
			o.FailAt(field.InvalidField, at+"partial", "a partial day has no returns")
		case (whole || d.Partial != "") && d.Date <= last:
			o.FailAt(field.InvalidField, at+"date", "is not after the day before")
		}
		last = d.Date
	}
	if fills != c.Fills || diverging != c.Diverging {
		o.Fail(field.InvalidField, "diverging_fills", "is not the sum over the days")
	}
}

// Beside is what the whole days of a run come to beside those of its shadow.
type Beside struct {
	// Whole are the days that are compared, Partial the dates of those that are not.
	Whole   int64    `json:"whole_days"`
	Partial []string `json:"partial_days"`
	// Return and ShadowReturn are those of all whole days together, MeanDifference the mean of the
	// daily return less that of the shadow; null without a whole day.
	Return         *float64 `json:"total_return"`
	ShadowReturn   *float64 `json:"shadow_total_return"`
	MeanDifference *float64 `json:"mean_daily_difference"`
	// Largest is the day on which they differ most, null where none differs.
	Largest *LargestDifference `json:"largest_difference"`
}

// LargestDifference is a day and by how much its return is above that of the shadow.
type LargestDifference struct {
	Date       string  `json:"date"`
	Difference float64 `json:"difference"`
}

// Beside works out what the whole days come to, by + - * / alone.
func (c *ComparedRun) Beside() Beside {
	out := Beside{Partial: []string{}}
	own, shadow, sum := 1.0, 1.0, 0.0
	for _, d := range c.Days {
		if d.Partial != "" {
			out.Partial = append(out.Partial, d.Date)
		}
		if d.Return == nil || d.ShadowReturn == nil {
			continue
		}
		out.Whole++
		own, shadow = bounded(own*(1+*d.Return)), bounded(shadow*(1+*d.ShadowReturn))
		difference := bounded(*d.Return - *d.ShadowReturn)
		sum += difference
		if difference != 0 && (out.Largest == nil || max(difference, -difference) >
			max(out.Largest.Difference, -out.Largest.Difference)) {
			out.Largest = &LargestDifference{d.Date, difference}
		}
	}
	if out.Whole > 0 {
		own, shadow, sum = own-1, shadow-1, sum/float64(out.Whole)
		out.Return, out.ShadowReturn, out.MeanDifference = &own, &shadow, &sum
	}
	return out
}

// bounded keeps what is worked out a number, whatever was stated.
func bounded(x float64) float64 {
	const largest = 1e300
	return max(-largest, min(x, largest))
}

// String says it in words.
func (b Beside) String() string {
	if b.Whole == 0 && len(b.Partial) == 0 {
		return "returns not compared"
	}
	text := fmt.Sprintf("%d whole days", b.Whole)
	if b.Whole > 0 {
		text += fmt.Sprintf(": %+.4g %%, its shadow %+.4g %%, mean difference %+.4g %% a day",
			100**b.Return, 100**b.ShadowReturn, 100**b.MeanDifference)
	}
	if b.Largest != nil {
		text += fmt.Sprintf(", most on %s (%+.4g %%)", b.Largest.Date, 100*b.Largest.Difference)
	}
	for i, date := range b.Partial {
		text += map[bool]string{true: "; partial, not compared: ", false: ", "}[i == 0] + date
	}
	return text
}

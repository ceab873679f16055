package trade

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Capacity says which share of the market's volume the fills would have been.
type Capacity struct {
	// Participation is quantity / volume of each fill; where nothing was traded in the
	// candle there is none, and Untradable has the index.
	Participation []float64
	Untradable    []int
	// Violations are the indices of the fills above the limit, ascending, with those of
	// Untradable among them.
	Violations []int
	// MaxScale is the factor on all quantities that brings the largest participation to
	// the limit; 0 when a fill is untradable.
	MaxScale       float64
	MaxScaleReason stat.Reason
}

// Participate compares quantities with the volumes of their candles, both in base units
// and not below 0; limit is a fraction. A quantity of 0 takes no part of any volume. The
// reason beside MaxScale is NoTrades when all are.
func Participate(quantities, volumes []float64, limit float64) Capacity {
	out := Capacity{Participation: make([]float64, len(quantities)), Violations: []int{}}
	largest := 0.0
	for i, q := range quantities {
		share := 0.0
		if q != 0 {
			share = q / volumes[i]
		}
		if math.IsInf(share, 1) {
			out.Untradable = append(out.Untradable, i)
		} else {
			out.Participation[i] = share
		}
		if share > limit {
			out.Violations = append(out.Violations, i)
		}
		largest = max(largest, share)
	}
	switch {
	case largest == 0:
		out.MaxScaleReason = stat.NoTrades
	case len(out.Untradable) == 0:
		out.MaxScale, out.MaxScaleReason = stat.Finite(limit / largest)
	}
	return out
}

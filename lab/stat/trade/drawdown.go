package trade

// Drawdowns are the deepest falls below a running peak, in money, one for every stretch
// between a peak and the next strictly higher one, in order of time, the last stretch
// included. Equal highs do not end a stretch.
func Drawdowns(equity []float64) []float64 {
	out := []float64{}
	if len(equity) == 0 {
		return out
	}
	peak, deepest := equity[0], 0.0
	for _, e := range equity[1:] {
		if e > peak {
			if deepest > 0 {
				out = append(out, deepest)
			}
			peak, deepest = e, 0
		}
		deepest = max(deepest, peak-e)
	}
	if deepest > 0 {
		out = append(out, deepest)
	}
	return out
}

// MaxDrawdown is the largest (peak - equity) / peak, a fraction; equity begins above 0.
func MaxDrawdown(equity []float64) float64 {
	most, peak := 0.0, 0.0
	for i, e := range equity {
		if i == 0 || e > peak {
			peak = e
		}
		most = max(most, (peak-e)/peak)
	}
	return most
}

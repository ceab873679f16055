package null

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Confidence of the interval of the mean difference.
const Confidence = 0.95

// Benchmark compares a run, return by return of its main sample, with holding all symbols
// in equal parts at the run's mean net exposure.
type Benchmark struct {
	Time                          []market.Time
	Strategy, Holding, Difference []float64
	Exposure                      float64 // mean of position value / equity over the steps of the returns
	Mean, Low, High, P, SmallestP float64
	B                             int
	MeanBlock                     float64 // of the resampling, at least 1
}

// AgainstHolding resamples the mean difference b times in blocks of the length of Politis
// and White. P is that of the hypothesis that the run is no better than holding, one-sided.
// The reason is TooFewReturns below 11 returns. Stream: bootstrap.
func AgainstHolding(r *Run, seed uint64, b int) (*Benchmark, stat.Reason, error) {
	g, err := newGrid(r)
	if err != nil {
		return nil, "", err
	}
	out := &Benchmark{Time: g.returns.Time, Strategy: g.returns.Return, Exposure: g.exposure(), B: b, SmallestP: stat.SmallestP(b)}
	for k, held := range g.holding()[:len(out.Strategy)] {
		out.Holding = append(out.Holding, out.Exposure*held)
		out.Difference = append(out.Difference, out.Strategy[k]-out.Holding[k])
	}
	out.Mean = stat.Mean(out.Difference)
	block, why := bootstrap.PolitisWhite(out.Difference)
	switch why {
	case "":
		out.MeanBlock = max(block.Stationary, 1) // no block is shorter than a return
	case stat.TooFewReturns:
		return out, why, nil
	default: // nothing hangs together
		out.MeanBlock = 1
	}
	plan := bootstrap.Plan{Seed: seed, B: b, MeanBlock: out.MeanBlock}
	interval, why := bootstrap.MeanInterval(out.Difference, plan, Confidence)
	switch why {
	case "":
		out.Low, out.High = interval.Low, interval.High
	case stat.ZeroVariance:
		out.Low, out.High = out.Mean, out.Mean
	default:
		return out, why, nil
	}
	extreme := 0
	for _, m := range bootstrap.Resample(out.Difference, plan, stat.Mean) {
		if m-out.Mean >= out.Mean {
			extreme++
		}
	}
	out.P = stat.ResampledP(extreme, b)
	return out, "", nil
}

// exposure is the mean of position value over equity, short positions negative, over the
// steps at which the returns of the main sample are earned: not those before the first
// level, where a run that is always invested is not yet.
func (g *grid) exposure() float64 {
	c := &g.run.Results.Equity
	if len(g.levels) < 2 {
		return 0
	}
	first, last := g.levels[0], g.levels[len(g.levels)-1]
	var sum stat.Accumulator
	for i := first; i < last; i++ {
		if e := c.Equity[i]; e > 0 {
			sum.Add(c.PositionValue[i] / e)
		}
	}
	return sum.Value() / float64(last-first)
}

package null

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Run is the run under attack: what it did, and the market that it did it in.
type Run struct {
	// Input is what its metrics were computed from: one curve.
	Input   metric.Input
	Results *artifact.Results
	// Candles are those of the window by symbol, each Series with its Symbol.
	Candles []*market.Series
	// VolumeUnits of Candles: base, quote, contracts or ticks; base where there is none.
	VolumeUnits []string
}

// Net is the final value less the cash it began with.
func (r *Run) Net() (decimal.Decimal, error) { return net(r.Results) }

func net(r *artifact.Results) (decimal.Decimal, error) {
	final, err := decimal.Parse(r.FinalValue)
	if err != nil {
		return decimal.Decimal{}, fmt.Errorf("final value: %w", err)
	}
	cash, err := decimal.Parse(r.InitialCash)
	if err != nil {
		return decimal.Decimal{}, fmt.Errorf("initial cash: %w", err)
	}
	return final.Sub(cash)
}

// grid is a run laid out by steps.
type grid struct {
	run     *Run
	curve   *metric.Curve
	returns metric.Returns
	// levels are the steps between which the returns of the main sample are taken.
	levels []int
	// steps is the step in which each candle of a symbol closes, as far as the run went,
	// marks the last close of the symbol at each step, 0 before its first.
	steps [][]int
	marks [][]float64
}

// newGrid fails when the run has no or several curves, or candles of something else.
// Candles behind the last step are left out: a bankrupt run has ended before them.
func newGrid(r *Run) (*grid, error) {
	if len(r.Input.Curves) != 1 || len(r.Input.Curves[0].Equity) == 0 {
		return nil, errors.New("a run has one equity curve with at least one point")
	}
	returns, err := metric.MainReturns(r.Input)
	if err != nil {
		return nil, err
	}
	g := &grid{run: r, curve: &r.Input.Curves[0], returns: returns}
	if returns.Sample == metric.SampleDay {
		g.levels = metric.DayEnds(g.curve.OpenTime)
	} else {
		for i := range g.curve.Equity {
			g.levels = append(g.levels, i)
		}
	}
	closes := g.curve.CloseTime
	for _, s := range r.Candles {
		steps, marks := make([]int, 0, s.Len()), make([]float64, len(closes))
		at := 0
		for i := range s.Time {
			for at < len(closes) && closes[at] <= s.Time[i] {
				at++
			}
			if at == len(closes) {
				break
			}
			if closes[at] > s.CloseTime(i) {
				return nil, fmt.Errorf("the run has no step for the candle of %s at %s", s.Symbol, s.Time[i])
			}
			steps = append(steps, at)
			marks[at] = s.Close[i]
		}
		for i := 1; i < len(marks); i++ {
			if marks[i] == 0 {
				marks[i] = marks[i-1]
			}
		}
		g.steps, g.marks = append(g.steps, steps), append(g.marks, marks)
	}
	return g, nil
}

// before is the equity at the last step that has closed by a time.
func (g *grid) before(t market.Time) float64 {
	n := sort.Search(len(g.curve.CloseTime), func(i int) bool { return g.curve.CloseTime[i] > t })
	return g.curve.Equity[max(n-1, 0)]
}

// holding is the mean over the symbols of close to close returns between levels.
func (g *grid) holding() []float64 {
	out := make([]float64, max(len(g.levels)-1, 0))
	for k := range out {
		var sum stat.Accumulator
		n := 0
		for _, marks := range g.marks {
			if from := marks[g.levels[k]]; from > 0 {
				sum.Add(marks[g.levels[k+1]]/from - 1)
				n++
			}
		}
		if n > 0 {
			out[k] = sum.Value() / float64(n)
		}
	}
	return out
}

// annual is the Sharpe ratio of returns of the main sample, per year; nil where it is
// undefined.
func (g *grid) annual(returns []float64) *float64 {
	ratio, why := sharpe.Ratio(returns, 0, 1)
	if why != "" {
		return nil
	}
	ratio *= math.Sqrt(g.returns.PeriodsPerYear)
	return &ratio
}

// float is a decimal as a float64.
func float(d decimal.Decimal) float64 {
	f, _ := d.Float64() // every decimal has a nearest one
	return f
}

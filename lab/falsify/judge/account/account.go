// Package account lays the run under attack out by steps, for the tests that need no replay:
// what it did, the market that it did it in, the returns of the main sample between levels, and
// what it costs at a multiple of its costs, which lab run asks for, too.
//
// Sharpe ratios are those of metrics-v1 on its main sample. Money is in the quote currency. It
// imports packages metric and artifact of the host, the market nouns, sim.Float, and lab/stat.
package account

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
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
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

// Net is the final value of a run less the cash it began with.
func Net(r *artifact.Results) (decimal.Decimal, error) {
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

// Grid is a run laid out by steps.
type Grid struct {
	Run     *Run
	Curve   *metric.Curve
	Returns metric.Returns
	// Levels are the steps between which the returns of the main sample are taken.
	Levels []int
	// Steps is the step in which each candle of a symbol closes, as far as the run went,
	// Marks the last close of the symbol at each step, 0 before its first.
	Steps [][]int
	Marks [][]float64
}

// NewGrid fails when the run has no or several curves, or candles of something else.
// Candles behind the last step are left out: a bankrupt run has ended before them.
func NewGrid(r *Run) (*Grid, error) {
	if len(r.Input.Curves) != 1 || len(r.Input.Curves[0].Equity) == 0 {
		return nil, errors.New("a run has one equity curve with at least one point")
	}
	returns, err := metric.MainReturns(r.Input)
	if err != nil {
		return nil, err
	}
	g := &Grid{Run: r, Curve: &r.Input.Curves[0], Returns: returns}
	if returns.Sample == metric.SampleDay {
		g.Levels = metric.DayEnds(g.Curve.OpenTime)
	} else {
		for i := range g.Curve.Equity {
			g.Levels = append(g.Levels, i)
		}
	}
	closes := g.Curve.CloseTime
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
		g.Steps, g.Marks = append(g.Steps, steps), append(g.Marks, marks)
	}
	return g, nil
}

// Before is the equity at the last step that has closed by a time.
func (g *Grid) Before(t market.Time) float64 {
	n := sort.Search(len(g.Curve.CloseTime), func(i int) bool { return g.Curve.CloseTime[i] > t })
	return g.Curve.Equity[max(n-1, 0)]
}

// Holding is the mean over the symbols of close to close returns between levels.
func (g *Grid) Holding() []float64 {
	out := make([]float64, max(len(g.Levels)-1, 0))
	for k := range out {
		var sum stat.Accumulator
		n := 0
		for _, marks := range g.Marks {
			if from := marks[g.Levels[k]]; from > 0 {
				sum.Add(marks[g.Levels[k+1]]/from - 1)
				n++
			}
		}
		if n > 0 {
			out[k] = sum.Value() / float64(n)
		}
	}
	return out
}

// Annual is the Sharpe ratio of returns of the main sample, per year; nil where it is
// undefined.
func (g *Grid) Annual(returns []float64) *float64 {
	ratio, why := sharpe.Ratio(returns, 0, 1)
	if why != "" {
		return nil
	}
	ratio *= math.Sqrt(g.Returns.PeriodsPerYear)
	return &ratio
}

// Float is sim.Float, under the name that the tests of the battery use.
func Float(d decimal.Decimal) float64 { return sim.Float(d) }

// Factors are what each closed trade has multiplied the equity before it with, at least 0.
func (g *Grid) Factors() []float64 {
	out := make([]float64, len(g.Run.Input.Trades))
	for i := range out {
		t := &g.Run.Input.Trades[i]
		out[i] = max(1+Float(t.PnL)/g.Before(t.EntryTime), 0)
	}
	return out
}

// Sum adds decimals.
func Sum(parts ...decimal.Decimal) (total decimal.Decimal, err error) {
	for _, p := range parts {
		if total, err = total.Add(p); err != nil {
			return total, err
		}
	}
	return total, nil
}

// Cost is a run at a multiple of its costs. Net = Gross - Costs; Turnover is the notional
// of all fills.
type Cost struct {
	Multiplier        float64
	Gross, Costs, Net decimal.Decimal
	Turnover          float64
	// BreakEvenBps are the costs, in basis points of the turnover, at which nothing would
	// be left; nil without turnover.
	BreakEvenBps *float64
}

// CostOf takes one run of the cost stress apart.
func CostOf(multiplier float64, r *artifact.Results, in metric.Input) (Cost, error) {
	out := Cost{Multiplier: multiplier, Turnover: in.Totals.FillNotional.Float64()}
	var err error
	if out.Net, err = Net(r); err != nil {
		return out, err
	}
	parts := make([]decimal.Decimal, 0, 2*len(r.Fills))
	for i := range r.Fills {
		parts = append(parts, r.Fills[i].Fee, r.Fills[i].Slippage)
	}
	if out.Costs, err = Sum(parts...); err != nil {
		return out, err
	}
	if out.Gross, err = out.Net.Add(out.Costs); err != nil {
		return out, err
	}
	if bps, why := trade.BreakEvenBps(Float(out.Gross), out.Turnover); why == "" {
		out.BreakEvenBps = &bps
	}
	return out, nil
}

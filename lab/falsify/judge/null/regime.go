package null

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/lab/stat"
)

// regimeWindow is how much of the past a day's volatility is measured over.
const regimeWindow = 30 * 24 * time.Hour

// The regimes of volatility, a third of the days each.
var terciles = [3]string{"volatility_low", "volatility_middle", "volatility_high"}

// Regime is what a run did on the days of one kind. Days counts returns of the main
// sample; Sharpe is annual, nil where it is undefined.
type Regime struct {
	Name   string
	Days   int
	PnL    float64
	Sharpe *float64
}

// Regimes are the days of a run by the volatility of the market and by calendar year.
type Regimes struct {
	// Terciles are low, middle and high volatility: the standard deviation of the holding
	// returns of the 30 days that end with the day. The days before there are 30 are in
	// none. Without enough days there are no terciles.
	Terciles []Regime
	Years    []Regime
	// Total is the profit of all days.
	Total float64
}

// ByRegime divides the days of a run. Days of equal volatility are told apart by time.
func ByRegime(r *Run) (*Regimes, error) {
	g, err := newGrid(r)
	if err != nil {
		return nil, err
	}
	days := len(g.returns.Return)
	pnl := make([]float64, days)
	for k := range pnl {
		pnl[k] = g.curve.Equity[g.levels[k+1]] - g.curve.Equity[g.levels[k]]
	}
	out := &Regimes{Total: stat.Sum(pnl)}
	collect := func(name string, of []int) Regime {
		own, money := make([]float64, len(of)), make([]float64, len(of))
		for i, k := range of {
			own[i], money[i] = g.returns.Return[k], pnl[k]
		}
		return Regime{name, len(of), stat.Sum(money), g.annual(own)}
	}
	ranked := g.byVolatility(days)
	if n := len(ranked); n >= len(terciles) {
		for i, name := range terciles {
			part := slices.Sorted(slices.Values(ranked[n*i/3 : n*(i+1)/3]))
			out.Terciles = append(out.Terciles, collect(name, part))
		}
	}
	for from := 0; from < days; {
		year, to := g.returns.Time[from].Time().Year(), from
		var of []int
		for ; to < days && g.returns.Time[to].Time().Year() == year; to++ {
			of = append(of, to)
		}
		out.Years = append(out.Years, collect(strconv.Itoa(year), of))
		from = to
	}
	return out, nil
}

// byVolatility is the returns with a full window behind them, calmest first.
func (g *grid) byVolatility(days int) []int {
	held := g.holding()[:days]
	window := max(int(math.Ceil(float64(regimeWindow)/float64(g.returns.Every))), 2)
	volatility := make([]float64, days)
	var out []int
	for k := window - 1; k < days; k++ {
		volatility[k], _ = stat.Variance(held[k+1-window:k+1], 1) // a window has at least two returns
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(volatility[a], volatility[b]) })
	return out
}

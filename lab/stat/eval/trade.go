package eval

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/stat/candle"
	"github.com/assay-run/assay/lab/stat/eval/line"
	"github.com/assay-run/assay/lab/stat/trade"
)

// The largest answers and loops of one line.
const (
	mostSteps       = 100_000_000
	mostCoordinates = 1_000_000
	mostGridBytes   = 64 << 20
)

func tradeFunctions() []Function {
	return append(equityFunctions(), costFunctions()...)
}

func equityFunctions() []Function {
	return []Function{
		{
			Names: []string{"exact max-drawdown distribution over all orderings"}, Forms: form("trades[] (<= 9)", "start_equity"),
			Value: "n, observed, min, max, mean, sorted_unique_counts[[]], final_equity_all",
			Doc:   "Largest drawdown, a fraction of the peak, of every order of trades whose profits are money.",
			bind: func(in *line.Inputs) func() any {
				trades, start := in.Numbers("trades", line.Real()), in.Number("start_equity", line.Above(0))
				if len(trades) < 1 || len(trades) > trade.MostOrdered {
					in.Refuse(line.InvalidArgument, "trades", nil, "there are %d trades: 1 to %d can be put into every order", len(trades), trade.MostOrdered)
				}
				return func() any { return orderings(trades, start) }
			},
		},
		{
			Names: []string{"gambler_ruin"}, Forms: form("p[]", "units[]"), Value: "[] ((1-p)/p)^units, 1 if p <= 0.5",
			Doc: "Probability to ever lose so many units, betting one at a time.",
			bind: func(in *line.Inputs) func() any {
				p, units := in.Numbers("p", line.From(0, 1)), in.Numbers("units", line.AtLeast(0))
				sameLength(in, "units", len(units), "p", len(p))
				return func() any {
					out := make([]float64, len(p))
					for i := range p {
						out[i] = trade.Ruin(p[i], units[i])
					}
					return out
				}
			},
		},
		{
			Names: []string{"drawdown list (money)"}, Forms: form("equity[]"), Value: "drawdowns[] (deepest per stretch below a strict new high), max_drawdown_fraction",
			Doc: "Drawdowns of an equity curve in money, and the largest as a fraction of its peak.",
			bind: func(in *line.Inputs) func() any {
				equity := in.Numbers("equity", line.Real())
				if len(equity) == 0 || equity[0] <= 0 {
					in.Refuse(line.InvalidArgument, "equity", nil, "equity must begin above 0")
				}
				return func() any {
					return line.Object{{Name: "drawdowns", Value: trade.Drawdowns(equity)}, {Name: "max_drawdown_fraction", Value: trade.MaxDrawdown(equity)}}
				}
			},
		},
	}
}

func orderings(trades []float64, start float64) any {
	o := trade.Orderings(trades, start)
	table := [][]any{}
	for _, c := range o.Counts {
		table = append(table, []any{c.Drawdown, c.Orders})
	}
	return line.Object{
		{Name: "n", Value: o.N}, {Name: "observed", Value: o.Observed}, {Name: "min", Value: o.Min}, {Name: "max", Value: o.Max},
		{Name: "mean", Value: o.Mean}, {Name: "sorted_unique_counts", Value: table}, {Name: "final_equity_all", Value: o.FinalEquity},
	}
}

func costFunctions() []Function {
	return []Function{
		{
			Names: []string{"break_even_cost_bps"}, Forms: form("gross_pnl", "turnover_notional", "base_cost_bps"), Value: "net, break_even_bps, cost_multiple",
			Doc: "Profit after costs, the costs that would eat it up, and how many times the base that is.",
			bind: func(in *line.Inputs) func() any {
				gross, turnover, base := in.Number("gross_pnl", line.Real()), in.Number("turnover_notional", line.AtLeast(0)), in.Number("base_cost_bps", line.AtLeast(0))
				return func() any {
					bps, why := trade.BreakEvenBps(gross, turnover)
					return line.Object{
						{Name: "net", Value: trade.NetPnL(gross, turnover, base)}, {Name: "break_even_bps", Value: line.Defined(bps, why)},
						{Name: "cost_multiple", Value: line.Defined(bps/base, why)},
					}
				}
			},
		},
		{
			Names: []string{"max participation"}, Forms: form("orders_qty[]", "bar_volume[]", "limit"), Value: "participation[], violations[] (indices), max_scale",
			Doc:  "Share of the candle's volume that each fill would have been, and the scale that keeps all at the limit.",
			bind: participation,
		},
		{
			Names: []string{"ema20 last value vs startup length"}, Forms: form("prices[]", "ema_period", "startup[]"),
			Value: "full, rel_diff[] (last k+1 prices, seeded with the first)",
			Doc:   "How far an EMA that began k candles ago is from one that began with the first.",
			bind:  warmUp,
		},
	}
}

func participation(in *line.Inputs) func() any {
	quantities, volumes := in.Numbers("orders_qty", line.AtLeast(0)), in.Numbers("bar_volume", line.AtLeast(0))
	limit := in.Number("limit", line.Above(0))
	sameLength(in, "bar_volume", len(volumes), "orders_qty", len(quantities))
	return func() any {
		c := trade.Participate(quantities, volumes, limit)
		shares := each(c.Participation, func(x float64) any { return x })
		for _, i := range c.Untradable {
			shares[i] = line.Undefined{Reason: "not_applicable"}
		}
		return line.Object{
			{Name: "participation", Value: shares}, {Name: "violations", Value: c.Violations}, {Name: "max_scale", Value: line.Defined(c.MaxScale, c.MaxScaleReason)},
		}
	}
}

func warmUp(in *line.Inputs) func() any {
	prices, period := in.Numbers("prices", line.Real()), in.Integer("ema_period", 1, mostCandles)
	startup := in.Integers("startup", 0, max(len(prices)-1, 0))
	if len(prices) == 0 {
		in.Refuse(line.InvalidArgument, "prices", nil, "there are no prices")
	}
	return func() any {
		steps := 0
		for _, k := range startup {
			if steps += k + 1; steps > mostSteps {
				return tooMuch("startup", "the averages would take more than %d steps", mostSteps)
			}
		}
		full := candle.EMA(prices, period)
		differences := each(startup, func(k int) any { return line.Defined(candle.WarmUpError(prices, period, k, full)) })
		return line.Object{{Name: "full", Value: full}, {Name: "rel_diff", Value: differences}}
	}
}

func designFunctions() []Function {
	return []Function{
		{
			Names: []string{"first 8 points unscrambled d=3"}, Forms: form("d", "n"), Value: "[[]]",
			Doc: "First n points of the Sobol sequence in d dimensions, the origin included.",
			bind: func(in *line.Inputs) func() any {
				d, n := in.Integer("d", 1, design.MostDimensions), in.Integer("n", 0, 1<<32)
				return func() any {
					if n*d > mostCoordinates {
						return tooMuch("n", "%d points of %d dimensions are too many to list", n, d)
					}
					s, err := design.NewSobol(d)
					if err != nil {
						return refused("d", "%v", err)
					}
					out := make([][]float64, n)
					for i := range out {
						out[i] = design.Unit(s.Next(), nil)
					}
					return out
				}
			},
		},
		{
			Names: []string{"rungs"}, Forms: form("n", "eta", "min_budget", "max_budget"), Value: "[[n, budget]]",
			Doc: "Rounds of successive halving: how many trials run with which budget.",
			bind: func(in *line.Inputs) func() any {
				n, eta := in.Integer("n", 1, 1<<53), in.Integer("eta", 2, 1<<53)
				least, most := in.Integer("min_budget", 1, 1<<53), in.Integer("max_budget", 1, 1<<53)
				if most < least {
					in.Refuse(line.InvalidArgument, "max_budget", nil, "max_budget is below min_budget")
				}
				return func() any {
					rungs, err := design.Rungs(n, eta, least, most)
					if err != nil {
						return refused("n", "%v", err)
					}
					out := [][]int{}
					for _, r := range rungs {
						out = append(out, []int{r.Trials, r.Budget})
					}
					return out
				}
			},
		},
		{
			Names: []string{"cartesian order and count"}, Forms: form("params{name: []}"), Value: "count, order[{}]",
			Doc:  "Every combination of values, names sorted, the last name fastest.",
			bind: cartesian,
		},
	}
}

func cartesian(in *line.Inputs) func() any {
	params, values := in.Lists("params")
	return func() any {
		order := make([]int, len(params))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(params[i], params[j]) })
		sizes, longest := make([]int, len(order)), 0
		for axis, i := range order {
			sizes[axis] = len(values[i])
			longest += len(params[i]) + 4
			if len(values[i]) > 0 {
				longest += len(slices.MaxFunc(values[i], func(a, b jsontext.Value) int { return len(a) - len(b) }))
			}
		}
		count := design.GridSize(sizes)
		if count > design.MostPoints || count*longest > mostGridBytes {
			return tooMuch("params", "the grid is too large to list: it may have %d points and %d bytes", design.MostPoints, mostGridBytes)
		}
		points := []line.Object{}
		design.Grid(sizes, func(at []int) {
			point := line.Object{}
			for axis, i := range order {
				point = append(point, line.Field{Name: params[i], Value: values[i][at[axis]]})
			}
			points = append(points, point)
		})
		return line.Object{{Name: "count", Value: count}, {Name: "order", Value: points}}
	}
}

package eval

import (
	"github.com/assay-run/assay/lab/stat/trade"
)

// mostSteps bounds the averages of one line.
const mostSteps = 100_000_000

func equityFunctions() []Function {
	return []Function{
		define("max_drawdown_orderings",
			"n, observed, min, max, mean, sorted_unique_counts[[]], final_equity_all",
			"Largest drawdown, a fraction of the peak, of every order of trades whose profits are money.",
			func(in struct {
				Trades []float64 `in:"trades[] (<= 9)"`
				Start  float64   `in:"start_equity" is:">0"`
			}) any {
				if n := len(in.Trades); n < 1 || n > trade.MostOrdered {
					return refused(at("trades"), "there are %d trades: 1 to %d can be put into every order",
						n, trade.MostOrdered)
				}
				o := trade.Orderings(in.Trades, in.Start)
				table := [][]any{}
				for _, c := range o.Counts {
					table = append(table, []any{c.Drawdown, c.Orders})
				}
				return fields("n", o.N, "observed", o.Observed, "min", o.Min, "max", o.Max, "mean", o.Mean,
					"sorted_unique_counts", table, "final_equity_all", o.FinalEquity)
			}).named("exact max-drawdown distribution over all orderings"),
		define("gambler_ruin", "[] ((1-p)/p)^units, 1 if p <= 0.5",
			"Probability to ever lose so many units, betting one at a time.",
			func(in struct {
				P     []float64 `in:"p[]" is:"0..1"`
				Units []float64 `in:"units[]" is:">=0"`
			}) any {
				if bad := sameLength("units", in.Units, "p", in.P); bad != nil {
					return bad
				}
				out := make([]float64, len(in.P))
				for i := range in.P {
					out[i] = trade.Ruin(in.P[i], in.Units[i])
				}
				return out
			}),
		define("drawdowns",
			"drawdowns[] (deepest per stretch below a strict new high), max_drawdown_fraction",
			"Drawdowns of an equity curve in money, and the largest as a fraction of its peak.",
			func(in struct {
				Equity []float64 `in:"equity[]"`
			}) any {
				if len(in.Equity) == 0 || in.Equity[0] <= 0 {
					return refused(at("equity"), "equity must begin above 0")
				}
				return fields("drawdowns", trade.Drawdowns(in.Equity),
					"max_drawdown_fraction", trade.MaxDrawdown(in.Equity))
			}).named("drawdown list (money)"),
	}
}

func costFunctions() []Function {
	return []Function{
		define("break_even_cost_bps", "net, break_even_bps, cost_multiple",
			"Profit after costs, the costs that would eat it up, and how many times the base that is.",
			func(in struct {
				Gross    float64 `in:"gross_pnl"`
				Turnover float64 `in:"turnover_notional" is:">=0"`
				Base     float64 `in:"base_cost_bps" is:">=0"`
			}) any {
				bps, why := trade.BreakEvenBps(in.Gross, in.Turnover)
				return fields("net", trade.NetPnL(in.Gross, in.Turnover, in.Base),
					"break_even_bps", Defined(bps, why), "cost_multiple", Defined(bps/in.Base, why))
			}),
		define("max_participation", "participation[], violations[] (indices), max_scale",
			"Share of the candle's volume that each fill would have been, and the scale that keeps all at "+
				"the limit.",
			func(in struct {
				Quantities []float64 `in:"orders_qty[]" is:">=0"`
				Volumes    []float64 `in:"bar_volume[]" is:">=0"`
				Limit      float64   `in:"limit" is:">0"`
			}) any {
				if bad := sameLength("bar_volume", in.Volumes, "orders_qty", in.Quantities); bad != nil {
					return bad
				}
				c := trade.Participate(in.Quantities, in.Volumes, in.Limit)
				shares := each(c.Participation, func(x float64) any { return x })
				for _, i := range c.Untradable {
					shares[i] = Undefined{"not_applicable"}
				}
				return fields("participation", shares, "violations", c.Violations,
					"max_scale", Defined(c.MaxScale, c.MaxScaleReason))
			}).named("max participation"),
		define("ema_warmup", "full, rel_diff[] (last k+1 prices, seeded with the first)",
			"How far an EMA that began k candles ago is from one that began with the first.",
			func(in struct {
				Prices  []float64 `in:"prices[]"`
				Period  int       `in:"ema_period" is:"1..candles"`
				Startup []int     `in:"startup[]" is:"index prices"`
			}) any {
				return warmUp(in.Prices, in.Period, in.Startup)
			}).named("ema20 last value vs startup length"),
	}
}

func warmUp(prices []float64, period int, startup []int) any {
	if len(prices) == 0 {
		return refused(at("prices"), "there are no prices")
	}
	steps := 0
	for _, k := range startup {
		if steps += k + 1; steps > mostSteps {
			return tooMuch("startup", "the averages would take more than %d steps", mostSteps)
		}
	}
	full := trade.EMA(prices, period)
	return fields("full", full, "rel_diff", each(startup, func(k int) any {
		return Defined(trade.WarmUpError(prices, period, k, full))
	}))
}

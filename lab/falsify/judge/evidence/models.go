package evidence

import (
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Drawdowns is drawdowns.csv of trade_shuffle.
func Drawdowns(d *null.Drawdowns) File {
	s := newSheet(judge.TradeShuffle, "drawdowns.csv", "quantile", "max_drawdown")
	s.row("0.5", number(d.P50))
	s.row("0.95", number(d.P95))
	s.row("0.99", number(d.P99))
	return s.file()
}

// Regimes is regimes.csv of regime: the terciles of volatility, then the years.
func Regimes(r *null.Regimes) File {
	s := newSheet(judge.RegimeTest, "regimes.csv", "regime", "days", "pnl", "sharpe_ratio")
	for _, list := range [][]null.Regime{r.Terciles, r.Years} {
		for _, x := range list {
			s.row(x.Name, strconv.Itoa(x.Days), number(x.PnL), optional(x.Sharpe))
		}
	}
	return s.file()
}

// Capacity is capacity.csv of capacity: a row per fill.
func Capacity(c *null.Capacity) File {
	s := newSheet(judge.CapacityTest, "capacity.csv", "time", "symbol", "quantity", "volume", "participation")
	for _, x := range c.Fills {
		s.row(x.Time.String(), string(x.Symbol), number(x.Quantity), number(x.Volume), optional(x.Share))
	}
	return s.file()
}

// Benchmark is benchmark.csv of buy_and_hold: a row per return of the main sample.
func Benchmark(b *null.Benchmark) File {
	s := newSheet(judge.BuyAndHold, "benchmark.csv", "date", "strategy", "benchmark", "difference")
	for i := range b.Difference {
		s.row(date(b.Time[i]), number(b.Strategy[i]), number(b.Holding[i]), number(b.Difference[i]))
	}
	return s.file()
}

// date is the day of a return that ends with a day, else its time in full.
func date(t market.Time) string { return strings.TrimSuffix(t.String(), "T00:00:00.000Z") }

// Costs is costs.csv of cost_stress: a row per multiple of the costs.
func Costs(levels []null.Cost) File {
	s := newSheet(judge.CostStress, "costs.csv", "multiplier", "gross_pnl", "costs", "net_pnl", "turnover", "break_even_bps")
	for _, c := range levels {
		s.row(number(c.Multiplier), c.Gross.Trim(0).String(), c.Costs.Trim(0).String(), c.Net.Trim(0).String(), number(c.Turnover), optional(c.BreakEvenBps))
	}
	return s.file()
}

// Objective is the best one of a search: the trial that has it, and its value. Without one
// the trial is -1 and the value nil.
type Objective struct {
	Variant string
	Replica int
	Trial   int
	Value   *float64
}

// Objectives is objectives.csv of permuted_selection: a row per search.
func Objectives(list []Objective) File {
	s := newSheet(judge.PermutedSelection, "objectives.csv", "variant", "replica", "trial_index", "objective")
	for _, o := range list {
		trial := ""
		if o.Trial >= 0 {
			trial = strconv.Itoa(o.Trial)
		}
		s.row(o.Variant, strconv.Itoa(o.Replica), trial, optional(o.Value))
	}
	return s.file()
}

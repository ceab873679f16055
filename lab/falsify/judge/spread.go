package judge

import (
	"fmt"

	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
)

// symbolsForShare is the number of symbols from which one of them can have too much.
const symbolsForShare = 3

// LeftOut is a symbol with its part in the profit of the base, and the run without it.
type LeftOut struct {
	null.Symbol
	Without Replay
}

// Symbols judges symbol_holdout.
func (j *Judge) Symbols(list []LeftOut) *Test {
	if len(list) == 1 {
		return Skip(SymbolHoldout, SingleSymbol)
	}
	p := j.Policy
	t := j.begin(SymbolHoldout, len(list), map[string]any{"symbol_share": p.SymbolShare})
	var without []Replay
	for _, x := range list {
		without = append(without, x.Without)
	}
	t.measure("min_sharpe_ratio", nil, stat.Insufficient, ">", number(0))
	if len(list) == 0 || broken(without) {
		return t.end(Error, HostError, "a replay could not be made")
	}
	if j.tooLittle(t) {
		return t
	}
	least, at := 0.0, 0
	for i, sr := range ratios(without) {
		if i == 0 || sr < least {
			least, at = sr, i
		}
	}
	t.Undefined = nil
	t.measure("min_sharpe_ratio", &least, "", ">", number(0))
	if least <= 0 {
		return t.end(Fail, SharpeNegative, fmt.Sprintf("without %s the Sharpe ratio is %s",
			list[at].Symbol.Symbol, two(least)))
	}
	for _, x := range list {
		switch {
		case len(list) < symbolsForShare:
		case x.Share == nil:
			t.measure("symbol_share", nil, stat.NotApplicable, "<=", &p.SymbolShare)
			return t.end(Fail, NoProfit, "there is no profit to share")
		case *x.Share > p.SymbolShare:
			t.measure("symbol_share", x.Share, "", "<=", &p.SymbolShare)
			return t.end(Fail, Concentrated, fmt.Sprintf("%s of the profit comes from %s", percent(*x.Share),
				x.Symbol.Symbol))
		}
	}
	return j.capped(t.end(Pass, "", ""))
}

// Regimes judges regime: a profit in two thirds of the volatility, and not from one year.
func (j *Judge) Regimes(r *null.Regimes) *Test {
	p := j.Policy
	t := j.begin(RegimeTest, 0, map[string]any{"terciles": p.Terciles, "year_share": p.YearShare})
	won := 0
	for _, x := range r.Terciles {
		if x.PnL > 0 {
			won++
		}
	}
	t.measure("terciles_with_profit", number(float64(won)), "", ">=", number(float64(p.Terciles)))
	if j.idle(t) {
		return t
	}
	if len(r.Terciles) == 0 {
		t.measure("terciles_with_profit", nil, stat.TooFewReturns, ">=", number(float64(p.Terciles)))
		return t.end(Inconclusive, string(stat.TooFewReturns), "there are fewer days than a volatility takes")
	}
	if won < p.Terciles {
		return t.end(Fail, Concentrated, fmt.Sprintf("it earns money in %d of %d levels of volatility", won,
			len(r.Terciles)))
	}
	if r.Total <= 0 {
		t.measure("profit", &r.Total, "", ">", number(0))
		return t.end(Fail, NoProfit, "there is no profit to share")
	}
	if len(r.Years) < 2 {
		t.measure("best_year_share", nil, stat.Insufficient, "<=", &p.YearShare)
		return t.end(Inconclusive, string(stat.Insufficient), "all days are of one calendar year")
	}
	best := r.Years[0]
	for _, y := range r.Years[1:] {
		if y.PnL > best.PnL {
			best = y
		}
	}
	share := best.PnL / r.Total
	t.Params["best_year_share"] = rounded(&share)
	if share > p.YearShare {
		t.measure("best_year_share", &share, "", "<=", &p.YearShare)
		return t.end(Fail, Concentrated, fmt.Sprintf("%s of the profit comes from %s", percent(share),
			best.Name))
	}
	return j.capped(t.end(Pass, "", ""))
}

// Capacity judges whether the fills could have been had; why is the reason that null.CapacityOf gave.
func (j *Judge) Capacity(c *null.Capacity, why stat.Reason) *Test {
	p := j.Policy
	switch why {
	case stat.NotApplicable:
		return Skip(CapacityTest, NoVolume)
	case "":
	default:
		t := j.begin(CapacityTest, 0, nil)
		t.measure("fills_within_limit", nil, why, ">=", &p.ParticipationFills)
		return t.end(Inconclusive, string(why), "nothing was bought or sold")
	}
	t := j.begin(CapacityTest, 0, map[string]any{"participation": p.Participation, "participation_fills": p.ParticipationFills})
	t.Params["max_scale"] = rounded(&c.MaxScale)
	t.measure("fills_within_limit", &c.Within, "", ">=", &p.ParticipationFills)
	if c.Within >= p.ParticipationFills {
		return t.end(Pass, "", "")
	}
	return t.end(Fail, AboveLimit, fmt.Sprintf("%s of its fills take more than %s of the volume of their "+
		"candle",
		percent(1-c.Within), percent(p.Participation)))
}

// Shuffled describes trade_shuffle; why is the reason that null.ShuffleTrades gave.
func (j *Judge) Shuffled(d *null.Drawdowns, why stat.Reason) *Test {
	t := j.begin(TradeShuffle, 0, nil)
	if why != "" {
		t.measure("drawdown_p95", nil, why, "<=", nil)
		return t.end(Inconclusive, string(why), "there are no closed trades")
	}
	t.NReplays = d.Orders
	t.Params["orders"], t.Params["observed"] = d.Orders, rounded(&d.Observed)
	t.Params["p50"], t.Params["p99"], t.Params["p_drawdown_50"] = rounded(&d.P50), rounded(&d.P99), rounded(&d.Half)
	t.measure("drawdown_p95", &d.P95, "", "<=", nil)
	return t.end(Pass, "", "in 5 % of the orders of its closed trades the drawdown is "+percent(d.P95)+" or "+
		"more")
}

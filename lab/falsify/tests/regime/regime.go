// Package regime is the test regime: the profit by volatility and by year. One test, one
// folder.
package regime

import (
	"context"
	"fmt"
	"strconv"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "regime"

var entry = judge.Entry{
	Number: 13, ID: ID, Version: 2, Class: judge.Warning,
	Claim:  "no single year or level of volatility carries the profit",
	Method: "thirds of the days by 30-day volatility, and calendar years",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func(context.Context) (*battery.Finding, error) {
		r, err := null.ByRegime(b.Run)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, r)}
		f.Add(fileOf(r))
		return f, nil
	})
}

// Judge judges regime: a profit in two thirds of the volatility, and not from one year.
func Judge(j *judge.Judge, r *null.Regimes) *judge.Test {
	p := j.Policy
	t := j.Begin(entry, 0, map[string]any{"terciles": p.Terciles, "year_share": p.YearShare})
	won := 0
	for _, x := range r.Terciles {
		if x.PnL > 0 {
			won++
		}
	}
	t.Measure("terciles_with_profit", judge.Ptr(float64(won)), "", ">=", judge.Ptr(float64(p.Terciles)))
	if j.Idle(t) {
		return t
	}
	if len(r.Terciles) == 0 {
		t.Measure("terciles_with_profit", nil, stat.TooFewReturns, ">=", judge.Ptr(float64(p.Terciles)))
		return t.End(judge.Inconclusive, string(stat.TooFewReturns), "there are fewer days than a volatility takes")
	}
	if won < p.Terciles {
		return t.End(judge.Fail, judge.Concentrated, fmt.Sprintf("it earns money in %d of %d levels of volatility", won,
			len(r.Terciles)))
	}
	if r.Total <= 0 {
		t.Measure("profit", &r.Total, "", ">", judge.Ptr(0))
		return t.End(judge.Fail, judge.NoProfit, "there is no profit to share")
	}
	if len(r.Years) < 2 {
		t.Measure("best_year_share", nil, stat.Insufficient, "<=", &p.YearShare)
		return t.End(judge.Inconclusive, string(stat.Insufficient), "all days are of one calendar year")
	}
	best := r.Years[0]
	for _, y := range r.Years[1:] {
		if y.PnL > best.PnL {
			best = y
		}
	}
	share := best.PnL / r.Total
	t.Params["best_year_share"] = judge.Rounded(&share)
	if share > p.YearShare {
		t.Measure("best_year_share", &share, "", "<=", &p.YearShare)
		return t.End(judge.Fail, judge.Concentrated, fmt.Sprintf("%s of the profit comes from %s", judge.Percent(share),
			best.Name))
	}
	return j.Capped(t.End(judge.Pass, "", ""))
}

// fileOf is regimes.csv of regime: the terciles of volatility, then the years.
func fileOf(r *null.Regimes) judge.File {
	s := judge.NewSheet(entry.ID, "regimes.csv", "regime", "days", "pnl", "sharpe_ratio")
	for _, list := range [][]null.Regime{r.Terciles, r.Years} {
		for _, x := range list {
			s.Row(x.Name, strconv.Itoa(x.Days), judge.Plain(x.PnL), judge.Optional(x.Sharpe))
		}
	}
	return s.File()
}

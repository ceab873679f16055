// Package tradeshuffle is the test trade_shuffle: drawdowns over orders of the trades. One
// test, one folder.
package tradeshuffle

import (
	"context"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "trade_shuffle"

var entry = judge.Entry{
	Number: 19, ID: ID, Version: 1, Class: judge.Description,
	Claim:  "its drawdown is no luck of the order of its trades",
	Method: "999 orders of the closed trades: p50, p95, p99, P(drawdown >= 50 %)",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func(context.Context) (*battery.Finding, error) {
		d, why, err := null.ShuffleTrades(b.Run, b.Seed, b.Profile.Orders)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, d, why)}
		if d != nil {
			f.Add(fileOf(d))
		}
		return f, nil
	})
}

// Judge describes trade_shuffle; why is the reason that null.ShuffleTrades gave.
func Judge(j *judge.Judge, d *null.Drawdowns, why stat.Reason) *judge.Test {
	t := j.Begin(entry, 0, nil)
	if why != "" {
		t.Measure("drawdown_p95", nil, why, "<=", nil)
		return t.End(judge.Inconclusive, string(why), "there are no closed trades")
	}
	t.NReplays = d.Orders
	t.Params["orders"], t.Params["observed"] = d.Orders, judge.Rounded(&d.Observed)
	t.Params["p50"], t.Params["p99"], t.Params["p_drawdown_50"] = judge.Rounded(&d.P50), judge.Rounded(&d.P99), judge.Rounded(&d.Half)
	t.Measure("drawdown_p95", &d.P95, "", "<=", nil)
	return t.End(judge.Pass, "", "in 5 % of the orders of its closed trades the drawdown is "+judge.Percent(d.P95)+" or "+
		"more")
}

// fileOf is drawdowns.csv of trade_shuffle.
func fileOf(d *null.Drawdowns) judge.File {
	s := judge.NewSheet(entry.ID, "drawdowns.csv", "quantile", "max_drawdown")
	s.Row("0.5", judge.Plain(d.P50))
	s.Row("0.95", judge.Plain(d.P95))
	s.Row("0.99", judge.Plain(d.P99))
	return s.File()
}

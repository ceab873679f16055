// Package outliertrades is the test outlier_trades: the result without the best trades. One
// test, one folder.
package outliertrades

import (
	"context"
	"strconv"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
)

// ID names the test.
const ID = "outlier_trades"

var entry = judge.Entry{
	Number: 14, ID: ID, Version: 1, Class: judge.Warning,
	Claim:  "a few trades do not carry the profit",
	Method: "without the best 5 % of the trades (1 at least)",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func(context.Context) (*battery.Finding, error) {
		o, _, err := null.WithoutBest(b.Run)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, o)}
		if b.Judge.Base.Trades > 0 {
			f.Stressed = &judge.Replay{NetPnL: judge.Plain(o.Net * b.Judge.Base.Cash)}
		}
		return f, nil
	})
}

// Judge judges what is left without the best trades, each earning on the account as it
// would have stood without them.
func Judge(j *judge.Judge, o null.Outliers) *judge.Test {
	t := j.Begin(entry, 0, nil)
	t.Params["removed"] = o.Removed
	if j.Base.Trades == 0 {
		t.Measure("net_return", nil, "no_trades", ">", judge.Ptr(0))
		return t.End(judge.Inconclusive, "no_trades", "there are no closed trades")
	}
	t.Measure("net_return", &o.Net, "", ">", judge.Ptr(0))
	if o.Net > 0 {
		return t.End(judge.Pass, "", "")
	}
	best := plural(o.Removed, "trade")
	return t.End(judge.Fail, judge.NetLoss, "without the best "+best+" the net result is "+judge.Percent(o.Net))
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

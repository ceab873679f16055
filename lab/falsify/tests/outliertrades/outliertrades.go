// Package outliertrades is the test outlier_trades: the result without the best trades. One
// test, one folder.
package outliertrades

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
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
	return battery.Own(func() (*battery.Finding, error) {
		o, _, err := WithoutBest(b.Run)
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
func Judge(j *judge.Judge, o Outliers) *judge.Test {
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
	return t.End(judge.Fail, judge.NetLoss,
		"without the best "+best+" the net result is "+judge.Percent(o.Net))
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// outlierShare of the trades, the best, are what Outliers leaves out: one in so many. It
// is policy.
const outlierShare = 20

// Outliers is a run without its best trades.
type Outliers struct {
	Removed int
	// Net is the return without them, a fraction of the initial cash.
	Net float64
}

// WithoutBest leaves the best 5 % of the closed trades out, rounded down but at least one,
// and compounds what the others have earned in proportion to the equity before each, as
// ShuffleTrades does: in money, what a grown account has won with one trade is more than
// the small one that it would have been. What is still open counts as a trade that has not
// ended and is never left out. The reason is NoTrades.
func WithoutBest(r *account.Run) (Outliers, stat.Reason, error) {
	if len(r.Input.Trades) == 0 {
		return Outliers{}, stat.NoTrades, nil
	}
	g, err := account.NewGrid(r)
	if err != nil {
		return Outliers{}, "", err
	}
	factors := g.Factors()
	slices.SortFunc(factors, func(a, b float64) int { return cmp.Compare(b, a) })
	out := Outliers{Removed: max(len(factors)/outlierShare, 1)}
	left, err := open(g)
	if err != nil {
		return Outliers{}, "", err
	}
	for _, f := range factors[out.Removed:] {
		left *= f
	}
	out.Net = left - 1
	return out, "", nil
}

// open is what the positions that are left have multiplied the equity with that would be
// there without them, at least 0.
func open(g *account.Grid) (float64, error) {
	var parts []decimal.Decimal
	for i := range g.Run.Results.Positions {
		p := &g.Run.Results.Positions[i]
		parts = append(parts, p.UnrealizedPnL, p.RealizedPnL, p.Fees.Neg())
	}
	pnl, err := account.Sum(parts...)
	if err != nil || pnl.IsZero() {
		return 1, err
	}
	final := g.Curve.Equity[len(g.Curve.Equity)-1]
	before := final - account.Float(pnl)
	if before <= 0 {
		return 1, nil // they are all there is
	}
	return max(final/before, 0), nil
}

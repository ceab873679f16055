// Package tradeshuffle is the test trade_shuffle: drawdowns over orders of the trades. One
// test, one folder.
package tradeshuffle

import (
	"slices"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/trade"
)

// ID names the test.
const ID = "trade_shuffle"

var entry = judge.Entry{
	Number: 19, ID: ID, Version: 2, Class: judge.Description,
	Claim: "its drawdown is no luck of the order of its trades",
	Method: "999 orders of the trades, each with its worst open loss: p50, p95, p99, " +
		"P(drawdown >= 50 %)",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		d, why, err := ShuffleTrades(b.Run, b.Seed, b.Profile.Orders)
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

// Judge describes trade_shuffle; why is the reason that ShuffleTrades gave.
func Judge(j *judge.Judge, d *Drawdowns, why stat.Reason) *judge.Test {
	t := j.Begin(entry, 0, nil)
	if why != "" {
		t.Measure("open_drawdown_p95", nil, why, "<=", nil)
		return t.End(judge.Inconclusive, string(why), "there are no closed trades")
	}
	t.NReplays = d.Orders
	t.Params["orders"], t.Params["observed"] = d.Orders, judge.Rounded(&d.Observed)
	t.Params["p50"], t.Params["p99"], t.Params["p_drawdown_50"] = judge.Rounded(&d.P50),
		judge.Rounded(&d.P99), judge.Rounded(&d.Half)
	t.Measure("open_drawdown_p95", &d.P95, "", "<=", nil)
	return t.End(judge.Pass, "",
		"in 5 % of the orders of its trades the drawdown, open losses included, is "+
			judge.Percent(d.P95)+" or more")
}

func fileOf(d *Drawdowns) judge.File {
	s := judge.NewSheet(entry.ID, "drawdowns.csv", "quantile", "max_drawdown")
	s.Row("0.5", judge.Plain(d.P50))
	s.Row("0.95", judge.Plain(d.P95))
	s.Row("0.99", judge.Plain(d.P99))
	return s.File()
}

// ruinous is the drawdown whose probability Drawdowns has. It is policy.
const ruinous = 0.5

// Drawdowns is the distribution of the largest drawdown, a fraction of the peak, over
// random orders of the trades.
type Drawdowns struct {
	Orders        int
	Observed      float64
	P50, P95, P99 float64
	// Half is the share of the orders with a drawdown of 50 % or more.
	Half float64
}

// ShuffleTrades plays the trades in random orders. A trade changes the equity by the share by
// which it did, its profit over the equity before it: in money, the large trades of a grown
// account would ruin the small one that it began with. On its way there it takes its worst open
// loss, and a position that is open at the end is a trade as it stands. The reason is NoTrades.
// Stream: trade_shuffle.
func ShuffleTrades(r *account.Run, seed uint64, orders int) (*Drawdowns, stat.Reason, error) {
	g, err := account.NewGrid(r)
	if err != nil {
		return nil, "", err
	}
	list := tradesOf(g)
	if len(g.Run.Input.Trades) == 0 || orders < 1 {
		return nil, stat.NoTrades, nil
	}
	out := &Drawdowns{Orders: orders, Observed: compounded(list)}
	all, half := make([]float64, orders), 0
	shuffled := make([]traded, len(list))
	for i := range all {
		copy(shuffled, list)
		random.New(seed, random.TradeShuffle, uint64(i)).Shuffle(len(shuffled), func(a, b int) {
			shuffled[a], shuffled[b] = shuffled[b], shuffled[a]
		})
		all[i] = compounded(shuffled)
		if all[i] >= ruinous {
			half++
		}
	}
	out.Half = float64(half) / float64(orders)
	slices.Sort(all)
	out.P50, out.P95, out.P99 = all[stat.OrderIndex(.5, orders)], all[stat.OrderIndex(.95, orders)],
		all[stat.OrderIndex(.99, orders)]
	return out, "", nil
}

// traded is what a trade multiplies the equity before it with at its worst and at its end.
type traded struct{ low, end float64 }

func tradesOf(g *account.Grid) []traded {
	var out []traded
	for i, end := range g.Factors() {
		t := &g.Run.Input.Trades[i]
		low := 1 + account.Float(t.MAE)/g.Before(t.EntryTime)
		out = append(out, traded{max(min(low, end), 0), end})
	}
	for _, p := range g.Positions().List {
		if p.Leave < 0 && p.Equity > 0 {
			end := max(1+p.Last/p.Equity, 0)
			out = append(out, traded{max(min(1-p.WorstLoss/p.Equity, end), 0), end})
		}
	}
	return out
}

// compounded is the largest drawdown of the account that trades make.
func compounded(list []traded) float64 {
	equity := make([]float64, 1, 2*len(list)+1)
	equity[0] = 1
	for _, t := range list {
		before := equity[len(equity)-1]
		equity = append(equity, before*t.low, before*t.end)
	}
	return trade.MaxDrawdown(equity)
}

// Package tails is the test tails: whether many small wins are paid for by losses that are rare,
// or that are not closed. One test, one folder.
package tails

import (
	"strconv"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "tails"

var entry = judge.Entry{
	Number: 25, ID: ID, Version: 1, Class: judge.Gate,
	Claim: "no rare or open loss pays for its wins",
	Method: "adds to losing positions; where over 85 % of the trades win, open losses beside the average " +
		"win and beside the drawdown of closed trades",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		g, err := account.NewGrid(b.Run)
		if err != nil {
			return nil, err
		}
		held := g.Positions()
		f := &battery.Finding{Test: Judge(&b.Judge, Measure(g, held))}
		f.Add(fileOf(g, held))
		return f, nil
	})
}

// The thresholds. They are policy, and no fields of the profile: the simulated rates of
// docs/calibration.md are theirs together.
const (
	leastAdds     = 5    // to one position
	adverseShare  = 0.5  // of these adds while the position was losing
	largestGrowth = 4    // times the first order
	leastTrades   = 10   // closed ones
	winningShare  = 0.85 // of the closed trades
	lossInWins    = 20   // largest open loss in average wins
	hiddenShare   = 0.15 // of the closed balance that open losses are
	hiddenTimes   = 3    // times the drawdown of the closed balance
	gapSigmas     = 5    // daily standard deviations of the market
)

// Tails is what the test looks at. Shares are of 1.
type Tails struct {
	// Averaged is the first position that was added to against the market, nil without one; Name
	// and Since are its symbol and the close of its first step.
	Averaged *account.Position
	Name     market.Symbol
	Since    market.Time
	// Trades are closed ones, Won those with a profit after costs.
	Trades, Won int
	// AverageWin and WorstLoss are shares of the equity before the position; Hidden is the most
	// that open losses were of the closed balance, Closed and Open the largest drawdowns of the
	// closed balance and of the equity.
	AverageWin, WorstLoss, Hidden, Closed, Open float64
	// Skew is of the returns of the main sample, GapLoss the share of the equity that the largest
	// exposure loses in a move of five standard deviations of the market; nil where undefined.
	Skew, GapLoss *float64
}

// Measure finds the numbers of a run.
func Measure(g *account.Grid, held *account.Positions) *Tails {
	out := &Tails{}
	for i := range held.List {
		p := &held.List[i]
		if out.Averaged == nil && averagesDown(p) {
			out.Averaged, out.Name = p, g.Run.Candles[p.Symbol].Symbol
			out.Since = g.Curve.CloseTime[p.Enter]
		}
		if p.Equity > 0 {
			out.WorstLoss = max(out.WorstLoss, p.WorstLoss/p.Equity)
		}
	}
	var wins stat.Accumulator
	for i := range g.Run.Input.Trades {
		t := &g.Run.Input.Trades[i]
		out.Trades++
		if profit := account.Float(t.PnL); profit > 0 {
			out.Won++
			wins.Add(profit / g.Before(t.EntryTime))
		}
	}
	if out.Won > 0 {
		out.AverageWin = wins.Value() / float64(out.Won)
	}
	balance := make([]float64, len(held.OpenLoss))
	for k, loss := range held.OpenLoss {
		if balance[k] = g.Curve.Equity[k] + loss; balance[k] > 0 {
			out.Hidden = max(out.Hidden, loss/balance[k])
		}
	}
	out.Closed, out.Open = trade.MaxDrawdown(balance), trade.MaxDrawdown(g.Curve.Equity)
	if m, why := stat.Of(g.Returns.Return); why == "" {
		out.Skew = &m.Skew
	}
	out.GapLoss = gapLoss(g)
	return out
}

// averagesDown reports whether a position was added to against the market.
func averagesDown(p *account.Position) bool {
	return p.Adds >= leastAdds && float64(p.Losing) > float64(adverseShare*float64(p.Adds)) &&
		p.Largest >= float64(largestGrowth*p.First)
}

// gapLoss is what the largest exposure loses in a move of five standard deviations of the mean
// return of the symbols between levels.
func gapLoss(g *account.Grid) *float64 {
	m, why := stat.Of(g.Holding())
	if why != "" {
		return nil
	}
	most := 0.0
	for _, x := range g.Curve.Exposure {
		most = max(most, x)
	}
	return judge.Ptr(most * float64(gapSigmas*m.SD))
}

// Judge judges tails. Of (a), (b) and (c) one refutes: (a) an add to a losing position after
// another until it is many times its first order; where nearly all closed trades win, (b) an open
// loss beyond comparison with the average win, or (c) a balance of closed trades that hides what
// is open.
func Judge(j *judge.Judge, x *Tails) *judge.Test {
	t := j.Begin(entry, 0, map[string]any{
		"adds": leastAdds, "adverse_share": adverseShare, "largest_growth": largestGrowth,
		"trades": leastTrades, "winning_share": winningShare, "loss_in_wins": lossInWins,
		"hidden_share": hiddenShare, "hidden_times": hiddenTimes,
	})
	won, wins, hides := 0.0, 0.0, max(hiddenShare, float64(hiddenTimes*x.Closed))
	if x.Trades > 0 {
		won = float64(x.Won) / float64(x.Trades)
	}
	if x.AverageWin > 0 {
		wins = x.WorstLoss / x.AverageWin
	}
	for name, value := range map[string]*float64{
		"share_won": &won, "worst_open_loss": &x.WorstLoss, "worst_open_loss_in_wins": &wins,
		"hidden_loss": &x.Hidden, "open_drawdown": &x.Open, "closed_drawdown": &x.Closed,
		"skewness": x.Skew, "loss_in_5_sigma_gap": x.GapLoss,
	} {
		t.Params[name] = judge.Rounded(value)
	}
	t.Measure("share_won", &won, "", "<=", judge.Ptr(winningShare))
	if p := x.Averaged; p != nil {
		growth := p.Largest / p.First
		t.Measure("largest_position", &growth, "", "<", judge.Ptr(largestGrowth))
		return t.Endf(judge.Fail, judge.AddsToLosses, "its position in %s of %s was added to %d times, "+
			"%d of them while it was losing, until it was %.1f times its first order",
			x.Name, x.Since.String()[:10], p.Adds, p.Losing, growth)
	}
	switch {
	case j.Idle(t):
		return t
	case x.Trades < leastTrades:
		return t.Endf(judge.Inconclusive, string(stat.Insufficient), "it takes %d closed trades and there "+
			"are %d", leastTrades, x.Trades)
	case won <= winningShare:
		return t.End(judge.Pass, "", "")
	case wins > lossInWins:
		t.Measure("worst_open_loss_in_wins", &wins, "", "<=", judge.Ptr(lossInWins))
		return t.Endf(judge.Fail, judge.RareLosses, "%s of its trades win, and its worst open loss is %.0f "+
			"times the average win", judge.Percent(won), wins)
	case x.Hidden > hides:
		t.Measure("hidden_loss", &x.Hidden, "", "<=", &hides)
		return t.Endf(judge.Fail, judge.RareLosses, "%s of its trades win and their drawdown is %s, while "+
			"losses of up to %s of the balance were left open",
			judge.Percent(won), judge.Percent(x.Closed), judge.Percent(x.Hidden))
	}
	t.Measure("worst_open_loss_in_wins", &wins, "", "<=", judge.Ptr(lossInWins))
	return t.End(judge.Pass, "", "")
}

func fileOf(g *account.Grid, held *account.Positions) judge.File {
	s := judge.NewSheet(entry.ID, "positions.csv", "symbol", "first_close", "last_close", "adds",
		"adds_losing", "first_quantity", "largest_quantity", "worst_open_loss", "equity_before")
	for _, p := range held.List {
		last := ""
		if p.Leave >= 0 {
			last = g.Curve.CloseTime[p.Leave].String()
		}
		s.Row(string(g.Run.Candles[p.Symbol].Symbol), g.Curve.CloseTime[p.Enter].String(), last,
			strconv.Itoa(p.Adds), strconv.Itoa(p.Losing), judge.Plain(p.First), judge.Plain(p.Largest),
			judge.Plain(p.WorstLoss), judge.Plain(p.Equity))
	}
	return s.File()
}

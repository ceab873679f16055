package planetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
)

// Earning lets the baseline of a bundle earn money in its test, and gives it the tables of daily
// results: with them it passes the gates of the policy that is built in.
func Earning(b *bundle.Bundle) {
	for i := range b.Runs {
		if b.Runs[i].Role == bundle.RoleBaseline {
			b.Runs[i].Summary["total_return"] = 0.2
		}
	}
}

func earns(b *bundle.Bundle) bool {
	for i := range b.Runs {
		if _, ok := b.Runs[i].Summary["total_return"]; ok && b.Runs[i].Role == bundle.RoleBaseline {
			return true
		}
	}
	return false
}

// tables are the results of a run: of a test of the last 120 days of its candles with an edge of 40
// bps, and beside holding.
func tables(b *bundle.Bundle, run *bundle.Run) []file {
	const days = 120
	_, _, end := refs(b, run)
	first := moment(end).AddDate(0, 0, 1-days).Truncate(day)
	switch {
	case run.Role == bundle.RoleBaseline:
		var text strings.Builder
		text.WriteString("timestamp,equity,cash,position_value,drawdown,exposure\n")
		equity := 10000.0
		for i := range days {
			at := bundle.FormatTime(first.AddDate(0, 0, i))
			fmt.Fprintf(&text, "%s,%.2f,0,0,0,0\n", at, equity)
			equity *= 1 + 0.002 + 0.01*float64(i*7%11-5)/5
		}
		const trades = "trade_id,quantity,entry_price,exit_price,pnl\nt-1,2,90,110,3\nt-2,1,100,100,-0.6\n"
		return []file{{"splits/test/equity_curve.csv", []byte(text.String())},
			{"splits/test/trades.csv", []byte(trades)}}
	case run.Role == bundle.RoleFalsification:
		var text strings.Builder
		text.WriteString("date,strategy,benchmark,difference\n")
		for i := range days {
			at := first.AddDate(0, 0, i-1).Format(time.DateOnly)
			fmt.Fprintf(&text, "%s,0.001,0,%v\n", at, 0.001*float64(i%5-1))
		}
		return []file{{evidence.BenchmarkName, []byte(text.String())}}
	}
	return nil
}

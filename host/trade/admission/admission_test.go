package admission

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func guardIn(t *testing.T, reasons ...risk.Reason) *risk.Guard {
	t.Helper()
	minute, err := market.ParseTimeframe("1m")
	if err != nil {
		t.Fatal(err)
	}
	g, err := risk.NewGuard(risk.Setup{
		Limits: risk.Defaults(false), Mode: risk.Enforce, Timeframe: minute,
		StartEquity: decimal.MustNew(1000, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reasons {
		g.Raise(r)
	}
	return g
}

// fallen returns the barrier of a run that ends, flattening or not.
func fallen(flattens bool) *order.Barrier {
	b := new(order.Barrier)
	if b.Close(); flattens {
		b.LetExits()
	}
	return b
}

// limitsRow is the row of the limits of risk, which have columns of their own in [risk.Guard.Check].
const limitsRow = 6

// TestTable makes each condition hold alone and prints which orders it denies by which code: the table of
// docs/operators.md, in which every row stands as it is printed here.
func TestTable(t *testing.T) {
	killed := guardIn(t)
	killed.OnStep(1, decimal.MustNew(1000, 0))
	killed.OnStep(2, decimal.MustNew(800, 0))
	if !killed.Killed() {
		t.Fatal("a loss of a fifth does not end the run")
	}
	ends := risk.Reason{Code: "ENDS", State: risk.Halted}
	conditions := []Conditions{
		{Barrier: fallen(false)},
		{Barrier: fallen(true)},
		{Expired: true},
		{Reconciling: true},
		{InputStale: true},
		{Guard: killed},
		{Limits: func() risk.Code { return risk.OrderRate }},
		{Guard: guardIn(t, ends)},
		{Guard: guardIn(t, risk.Reason{Code: risk.Unprotected, State: risk.Halted})},
		{Guard: guardIn(t, risk.Reason{Code: risk.DailyLoss, State: risk.Reducing})},
		{Unresolved: true},
		{UnknownSale: true},
		{MarketHalted: true},
		{Unlinked: true},
		{Ban: time.Minute},
	}
	if len(conditions) != len(table) {
		t.Fatalf("%d conditions for %d rows", len(conditions), len(table))
	}
	page, err := os.ReadFile("../../../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range conditions {
		line := "| " + table[i].name + " |"
		for k := Entry; k <= Request; k++ {
			d := Judge(c, k)
			if d.Denies() != table[i].denies[k] && i != limitsRow {
				t.Errorf("%s: %s of %s, want denied %t", table[i].name, d.Code, k, table[i].denies[k])
			}
			if line += " "; d.Denies() {
				line += "`" + d.Code + "` |"
			} else {
				line += "leaves |"
			}
		}
		if i == limitsRow {
			line = "| " + table[i].name + " | by its code | leaves, recorded | leaves | leaves |"
		}
		t.Log(line)
		if !strings.Contains(string(page), "\n"+line+"\n") {
			t.Errorf("docs/operators.md lacks %s", line)
		}
	}
}

// The first row that holds counts, and what is open lets everything pass.
func TestJudge(t *testing.T) {
	for k := Entry; k <= Request; k++ {
		open := Conditions{Barrier: new(order.Barrier), Guard: guardIn(t), Limits: func() risk.Code {
			return ""
		}}
		if d := Judge(open, k); d.Denies() {
			t.Errorf("%s: %+v", k, d)
		}
	}
	asked := 0
	d := Judge(Conditions{Reconciling: true, Limits: func() risk.Code { asked++; return risk.OrderRate }},
		Entry)
	if d.Code != CodeStreamReconciling || asked != 0 {
		t.Errorf("%+v after %d looks at the limits: an order counts for a rate only where it leaves", d,
			asked)
	}
	for _, c := range []struct {
		conditions Conditions
		want       exchange.Result
	}{
		{Conditions{Unlinked: true, Ban: time.Second},
			exchange.Result{Outcome: exchange.NotSent, Message: "there is no connector", RetryAfterMS: 1000}},
		{Conditions{Ban: time.Second},
			exchange.Result{Outcome: exchange.Banned, Message: "the venue wants silence",
				RetryAfterMS: 1001}},
		{Conditions{Barrier: fallen(false)},
			exchange.Result{Outcome: exchange.NotSent, Message: "the run is ending"}},
	} {
		if got := Judge(c.conditions, Entry).Result(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

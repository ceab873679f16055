package run

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// What a run shows while it is on is the begin of what it shows in the end.
func TestLook(t *testing.T) {
	l := newLab(t, 20_000, "randomly")
	e, err := l.launcher.Launch(context.Background(), "svc_look",
		request("randomly", map[string]any{"seed": 7}, one, two))
	if err != nil {
		t.Fatal(err)
	}
	x := e.(*Execution)
	before := x.Look()
	if before.Orders != 0 || len(before.Equity.Time) != 0 || before.LogTotal != 0 {
		t.Errorf("before the run: %+v", before)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if o := x.Run(context.Background()); o.Failure != nil {
			t.Errorf("%+v", o.Failure)
		}
	}()
	last, looks := before, 0
	for on := true; on; looks++ {
		select {
		case <-ended:
			on = false
		case <-time.After(time.Millisecond):
		}
		now := x.Look()
		if now.Orders < last.Orders || !begins(now.Fills, last.Fills) || !begins(now.Trades, last.Trades) ||
			!slices.Equal(now.Changes[:len(last.Changes)], last.Changes) ||
			!slices.Equal(now.Equity.Equity[:len(last.Equity.Equity)], last.Equity.Equity) {
			t.Fatal("what had been shown was changed")
		}
		last = now
	}
	r := x.Results()
	if len(r.Fills) == 0 || !begins(r.Fills, last.Fills) || len(r.Fills) != len(last.Fills) ||
		len(r.Trades) != len(last.Trades) ||
		last.Orders != len(r.Orders) || !slices.Equal(r.Equity.Equity, last.Equity.Equity) ||
		!reflect.DeepEqual(r.Positions, last.Positions) {
		t.Errorf("after %d looks the last differs from the results", looks)
	}
	checkOrders(t, x, last.Changes)
	checkCandles(t, x)
}

func begins[T any](all, begin []T) bool {
	return len(begin) == 0 || len(all) >= len(begin) && reflect.DeepEqual(all[:len(begin)], begin)
}

// checkOrders holds that every order is among the changes.
func checkOrders(t *testing.T, x *Execution, changes []int32) {
	t.Helper()
	orders := x.Results().Orders
	seen := make([]bool, len(orders))
	for _, i := range changes {
		seen[i] = true
	}
	if slices.Contains(seen, false) || len(changes) <= len(orders) {
		t.Errorf("%d changes of %d orders", len(changes), len(orders))
	}
	got := x.OrdersAt([]int{3, 0})
	if !reflect.DeepEqual(got, []market.Order{orders[3], orders[0]}) {
		t.Errorf("orders %+v", got)
	}
}

// checkCandles reads the window, until the run is closed.
func checkCandles(t *testing.T, x *Execution) {
	t.Helper()
	n := 0
	count := func(s *market.Series) { n = s.Len() }
	if !x.Candles(two, count) || n != 20_000 {
		t.Errorf("%d candles", n)
	}
	if x.Candles("NO/NE", count) {
		t.Error("candles of an unknown symbol")
	}
	before := x.Results().Window
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x.Candles(two, count) {
		t.Error("candles after Close")
	}
	if w := x.Results().Window; w != before || w.Candles != 40_000 {
		t.Errorf("window %+v after Close, %+v before", w, before)
	}
}

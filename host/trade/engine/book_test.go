package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestOrdersMeetABook plays what a book does to orders, between the real connector and the test venue: fills
// over many prices that are heard of before the answer, parts that expire, parts that come one by one, exits
// that grow with them. The books are the venue's, and what was bought is sold.
func TestOrdersMeetABook(t *testing.T) {
	t.Parallel()
	book := shared(t)
	guarded := func(in market.Intent) market.Intent {
		in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.2}, &market.Child{Percent: 0.2}
		return in
	}
	immediate := func(in market.Intent) market.Intent { in.TimeInForce = market.IOC; return in }
	for name, c := range map[string]struct {
		thin   string
		first  func(last float64) market.Intent
		status market.OrderStatus // of the first order, once it is where it stays
		least  int                // fills of it
		whole  bool
		script *testvenue.Script
	}{
		"levels": {thin: "0.01", first: func(float64) market.Intent { return guarded(buy(0.03)) },
			status: market.StatusFilled, least: 5, whole: true},
		"fill before the answer": {thin: "0.01", first: func(float64) market.Intent {
			return guarded(buy(0.03))
		},
			status: market.StatusFilled, least: 5, whole: true,
			script: &testvenue.Script{Match: calledBy["submit"], Action: "late_answer", Args: []string{"400"},
				Times: 100}},
		"balances between reports": {thin: "0.01", first: func(float64) market.Intent {
			return guarded(buy(0.03))
		},
			status: market.StatusFilled, least: 5, whole: true,
			script: &testvenue.Script{Action: "chatty"}},
		"beyond the book": {thin: "0.004", first: func(float64) market.Intent { return guarded(buy(0.06)) },
			status: market.StatusExpired, least: 20},
		"immediate": {thin: "0.004",
			first: func(last float64) market.Intent {
				return guarded(immediate(limit(market.Buy, 0.06, last*1.01)))
			},
			status: market.StatusExpired, least: 10},
		"nothing at once": {thin: "1",
			first: func(last float64) market.Intent {
				return guarded(immediate(limit(market.Buy, 0.03, last*0.9)))
			},
			status: market.StatusExpired},
		"rests in parts": {thin: "0.004",
			first:  func(last float64) market.Intent { return guarded(limit(market.Buy, 0.06, last*1.01)) },
			status: market.StatusFilled, least: 20, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "book "+name, book)
			defer r.close()
			r.do(testvenue.Script{Action: "liquidity", Args: []string{"BTCUSDT", c.thin}})
			if c.script != nil {
				r.do(*c.script)
			}
			done := make(chan struct{})
			r.decide = func(v *View) []market.Intent {
				if v.Step == 1 {
					return []market.Intent{c.first(v.Candles[0].Close)}
				}
				select {
				case <-done:
					if c.least > 0 {
						return []market.Intent{{Action: market.Close}}
					}
					return nil
				default:
					return nil
				}
			}
			r.start()
			if !r.trades() || !r.step() || !r.step() ||
				!r.moving("the first order at its end",
					func(list []market.Order) bool { return len(list) > 0 && list[0].Status == c.status }) {
				return
			}
			first := r.notes().orders[0]
			if fills := r.fillsOf(first.Side.String()); len(fills) < c.least || c.least > 0 &&
				!first.FilledQuantity.IsPos() || c.whole != (first.FilledQuantity.Cmp(first.Quantity) == 0) {
				r.errorf("%d fills, %s of %s", len(fills), first.FilledQuantity, first.Quantity)
			}
			if c.least > 0 && !r.until(20*time.Second, "exits for what was bought", r.protected) {
				return
			}
			r.do(testvenue.Script{Action: "liquidity", Args: []string{"BTCUSDT", "10"}})
			if n := len(r.venue.Orders()); n > 10 { // exits are not placed anew for each part
				r.errorf("%d orders for one entry", n)
			}
			close(done)
			ok := r.step() && r.settled()
			if err := r.stop(); !errors.Is(err, errStop) || !ok {
				r.errorf("%v; %+v", err, r.notes())
			}
			r.check(dec{})
			if left := r.engine.books.manager.Ledger().Quantity(btc); left.Cmp(d("0.0002")) > 0 {
				r.errorf("%s are left: %+v", left, r.notes())
			}
			for _, w := range r.notes().warnings {
				// The first part of an entry may be too little for an exit of its own; the next ones make it
				// enough. On a busy machine a candle may come late, and is fetched.
				small := strings.HasPrefix(w, "EXIT_NOT_PLACED") && strings.Contains(w, "BELOW_MINIMUM")
				if !small && !strings.HasPrefix(w, "CANDLE_STALE") {
					r.errorf("it warned: %s", w)
				}
			}
		})
	}
}

// fillsOf are the venue's trades of a side.
func (r *rig) fillsOf(side string) []testvenue.Trade {
	var list []testvenue.Trade
	for _, tr := range r.venue.Trades() {
		if fmt.Sprint(tr.Side) == map[string]string{"buy": "BUY", "sell": "SELL"}[side] {
			list = append(list, tr)
		}
	}
	return list
}

// protected says that stops stand at the venue for what is held, but for less than a hundred-thousandth.
func (r *rig) protected() bool {
	held, stood := dec{}, dec{}
	for _, tr := range r.venue.Trades() {
		if tr.Side == "BUY" {
			held = order.Minus(order.Plus(held, tr.Quantity), tr.Fee)
		} else {
			held = order.Minus(held, tr.Quantity)
		}
	}
	for _, o := range r.venue.Orders() {
		if o.Open && o.Side == "SELL" && o.Kind == "STOP_LOSS" {
			stood = order.Plus(stood, o.Quantity)
		}
	}
	return held.IsPos() && order.Minus(held, stood).Abs().Cmp(d("0.00002")) < 0
}

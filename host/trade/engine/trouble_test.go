package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// at decides on some intents at one step.
func (b *bench) at(step int64, intents ...market.Intent) {
	b.decide = func(v *View) ([]market.Intent, error) {
		if v.Step == step {
			return intents, nil
		}
		return nil, nil
	}
}

func limit(side market.Side, q, price float64) market.Intent {
	return market.Intent{Side: side, Type: market.Limit, LimitPrice: price,
		Size: market.Size{Kind: market.SizeQuantity, Value: q}}
}

// overfill has the venue fill more of an order than was asked for: positions may only shrink then.
func overfill(b *bench, i int) {
	b.t.Helper()
	b.venue.mu.Lock()
	o := b.venue.orders[i]
	o.CumQuantity, o.Quantity = dec{}, d("0.5")
	b.venue.fill(o, d("100"))
	b.venue.mu.Unlock()
	b.sleep(minute)
	if !b.warned(order.CodeOverfill) || b.phase() != Reducing {
		b.t.Errorf("%v %v", b.warnings, b.phases)
	}
	b.check(b.stop())
}

// TestTerminalVerdicts: a list that lacks an order decides nothing, a fill after a cancel opens it
// again, and one beyond the quantity lets positions only shrink.
func TestTerminalVerdicts(t *testing.T) {
	t.Run("phantom in a list", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.at(1, limit(market.Buy, 1, 60))
			b.start()
			b.sleep(3 * minute)
			b.venue.mu.Lock()
			hidden := b.venue.orders[0]
			hidden.Symbol = "" // the list does not show it, a query does
			b.venue.orders[0] = &held{Order: hidden.Order}
			b.venue.orders[0].Symbol = btc
			b.venue.mu.Unlock()
			b.sleep(2 * minute)
			if s := b.orders[0].Status; s != market.StatusOpen {
				t.Errorf("%s", s)
			}
			b.check(b.stop())
		})
	})
	t.Run("late fill", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.decide = func(v *View) ([]market.Intent, error) {
				switch v.Step {
				case 1:
					return []market.Intent{limit(market.Buy, 1, 60)}, nil
				case 3:
					return []market.Intent{{Action: market.CancelAll, Symbol: btc}}, nil
				}
				return nil, nil
			}
			b.start()
			b.sleep(5 * minute)
			if b.orders[0].Status != market.StatusCanceled {
				t.Fatalf("%+v", b.orders[0])
			}
			b.venue.mu.Lock()
			b.venue.fill(b.venue.orders[0], d("60"))
			b.venue.mu.Unlock()
			b.sleep(minute)
			if !b.warned(order.CodeLateFill) || b.orders[0].Status != market.StatusFilled {
				t.Errorf("%v %+v", b.warnings, b.orders[0])
			}
			b.check(b.stop())
		})
	})
	t.Run("overfill of an exit", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.decide = func(v *View) ([]market.Intent, error) {
				switch v.Step {
				case 1:
					return []market.Intent{buy(1)}, nil
				case 3:
					return []market.Intent{{Action: market.Close}}, nil
				}
				return nil, nil
			}
			b.start()
			b.sleep(5 * minute)
			overfill(b, 1)
		})
	})
	t.Run("overfill", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.at(1, buy(1))
			b.start()
			b.sleep(3 * minute)
			overfill(b, 0)
		})
	})
}

// TestForeign: what is done by hand on the account is told, and lets positions only shrink.
func TestForeign(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(6, buy(1))
		b.start()
		b.sleep(minute)
		b.venue.mu.Lock()
		o := b.venue.take(exchange.OrderRequest{ClientOrderID: "by-hand", Symbol: btc, Quantity: d("1")})
		b.venue.fill(o, d("100"))
		b.venue.mu.Unlock()
		b.sleep(3 * minute)
		if !b.warned(CodeForeignOrders) || !b.warned(CodeBalanceDrift) || b.phase() != Reducing {
			t.Fatalf("%v %v", b.warnings, b.phases)
		}
		b.sleep(5 * minute)
		if len(b.orders) != 1 || b.orders[0].Reason != "STATE_REDUCING" {
			t.Errorf("%+v", b.orders)
		}
		if !b.engine.books.manager.Ledger().Quantity(btc).IsZero() {
			t.Error("the run took what is not its own")
		}
		b.check(b.stop())
	})
}

// TestStreamCut: after the account stream was cut nothing is missed, and nothing leaves before the
// snapshots are in.
func TestStreamCut(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 97))
		b.start()
		b.sleep(2*minute + time.Second)
		b.venue.cutStreams()
		b.venue.mu.Lock()
		b.venue.fill(b.venue.orders[0], d("97")) // while nobody listens
		b.venue.mu.Unlock()
		b.sleep(10 * time.Second)
		if b.orders[0].Status != market.StatusFilled {
			t.Errorf("%+v", b.orders[0])
		}
		b.check(b.stop())
	})
	inBubble(t, func(t *testing.T, b *bench) {
		b.venue.wrong = func(call string, n int) act {
			if call == "orders" && n > 1 {
				return cutBefore // so that it never comes to an end
			}
			return fine
		}
		b.decide = func(*View) ([]market.Intent, error) { return []market.Intent{buy(0.1)}, nil }
		b.start()
		b.sleep(minute + 30*time.Second)
		b.venue.cutStreams()
		b.sleep(2 * minute)
		if n := len(b.orders); n < 2 || b.orders[n-1].Reason != CodeStreamReconciling {
			t.Errorf("%+v", b.orders)
		}
		b.check(b.stop())
	})
}

// TestRiskKill: a drawdown beyond its limit takes everything back and fails the run.
func TestRiskKill(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxDrawdown = d("0.1")
		b.venue.price = func(n int64) float64 {
			return max(100-10*float64(max(n-nth(time.Unix(946684800, 0))-2, 0)), 10)
		}
		b.at(0, buy(80), limit(market.Buy, 0.2, 90.5))
		b.start()
		err := b.wait()
		b.check(err)
		if f, ok := errors.AsType[*Fault](err); !ok || f.Code != CodeRiskKill || !b.warned("RISK_KILL") {
			t.Errorf("%v %v", err, b.warnings)
		}
	})
}

// TestRejectBreaker: rejects in a row let positions only shrink.
func TestRejectBreaker(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxRejectsInRow, b.limits.MaxRejects = 3, 5
		b.venue.wrong = func(call string, _ int) act {
			if call == "submit" {
				return refuses
			}
			return fine
		}
		b.decide = func(*View) ([]market.Intent, error) { return []market.Intent{buy(1)}, nil }
		b.start()
		b.sleep(6 * minute)
		if b.calls["submit"] != 3 || b.phase() != Reducing || !b.warned("REJECTS_EXCEEDED") {
			t.Errorf("%d submits, %v %v", b.calls["submit"], b.phases, b.warnings)
		}
		b.check(b.stop())
	})
}

// TestBackoffSilence: while the venue has banned us it hears nothing, and then the order goes on.
func TestBackoffSilence(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var began, quiet time.Time // under the venue's lock
		b.venue.wrong = func(call string, n int) act {
			// At the very instant of the ban another request may be on its way.
			if now := time.Now(); now.After(began) && now.Before(quiet) {
				b.t.Errorf("%s while it should be silent", call)
			}
			if call == "submit" && n == 1 {
				began, quiet = time.Now(), time.Now().Add(time.Second)
				return bans
			}
			return fine
		}
		b.at(1, buy(1))
		b.start()
		b.sleep(4 * minute)
		b.check(b.stop())
		if b.calls["submit"] != 2 || b.orders[0].Status != market.StatusFilled {
			t.Errorf("%d %+v", b.calls["submit"], b.orders[0])
		}
	})
}

// TestUnknownHalts: an order of which nobody knows for two minutes halts the run until it is known.
func TestUnknownHalts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		deaf := true // under the venue's lock
		b.venue.wrong = func(call string, n int) act {
			if call == "submit" || deaf && (call == "query" || call == "fills") {
				return cutAfter
			}
			return fine
		}
		b.venue.events = func(exchange.AccountEvent) []exchange.AccountEvent { return nil }
		b.at(1, buy(1))
		b.start()
		b.sleep(5 * minute)
		if b.phase() != Halted || !b.warned(order.CodeUnresolvedTooOld) {
			t.Errorf("%v %v", b.phases, b.warnings)
		}
		b.venue.mu.Lock()
		deaf = false
		b.venue.mu.Unlock()
		b.sleep(minute)
		if b.phase() != Trading || b.orders[0].Status != market.StatusFilled {
			t.Errorf("%v %+v", b.phases, b.orders[0])
		}
		b.check(b.stop())
		if b.calls["submit"] != 1 {
			t.Error("it was sent again")
		}
	})
}

// TestHaltKeepsExits: what a halt refuses to sell keeps the exits that protect it.
func TestHaltKeepsExits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		deaf := false // under the venue's lock
		b.venue.wrong = func(call string, n int) act {
			if deaf && (call == "submit" || call == "query" || call == "fills") {
				return cutAfter
			}
			return fine
		}
		b.decide = func(v *View) ([]market.Intent, error) {
			switch v.Step {
			case 1:
				in := buy(1)
				in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.5}, &market.Child{Percent: 0.5}
				return []market.Intent{in}, nil
			case 3:
				b.venue.mu.Lock()
				defer b.venue.mu.Unlock()
				deaf = true
				b.venue.events = func(exchange.AccountEvent) []exchange.AccountEvent { return nil }
				return []market.Intent{buy(1)}, nil
			case 8:
				return []market.Intent{{Action: market.Close}}, nil
			}
			return nil, nil
		}
		exits := func() (n int) {
			b.venue.mu.Lock()
			defer b.venue.mu.Unlock()
			for _, o := range b.venue.orders {
				if o.Side == market.Sell && o.Status == exchange.OrderOpen {
					n++
				}
			}
			return n
		}
		b.start()
		b.sleep(11 * minute)
		if last := b.orders[len(b.orders)-1]; b.phase() != Halted || last.Reason != "STATE_HALTED" ||
			exits() != 2 {
			t.Errorf("%v, %+v, %d exits", b.phases, last, exits())
		}
		b.venue.mu.Lock()
		deaf, b.venue.events = false, nil
		b.venue.mu.Unlock()
		b.sleep(2 * minute)
		if b.phase() != Trading || exits() != 2 {
			t.Errorf("%v, %d exits", b.phases, exits())
		}
		b.check(b.stop())
	})
}

// TestStrategyEnds: an error of the strategy takes its orders back and keeps what it holds, also
// where a stop would sell.
func TestStrategyEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.onStop = Flatten
		broken := errors.New("the strategy broke")
		b.decide = func(v *View) ([]market.Intent, error) {
			switch v.Step {
			case 1:
				return []market.Intent{buy(1), limit(market.Buy, 1, 60)}, nil
			case 3:
				return nil, broken
			}
			return nil, nil
		}
		b.start()
		err := b.wait()
		b.check(err)
		if !errors.Is(err, broken) || b.engine.books.manager.Ledger().Quantity(btc).Cmp(d("1")) != 0 {
			t.Error(err, b.engine.Kept())
		}
	})
}

// TestLateAnswer: what a strategy decides after the barrier fell never leaves.
func TestLateAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.decide = func(v *View) ([]market.Intent, error) {
			if v.Step == 2 {
				time.Sleep(5 * time.Second)
				return []market.Intent{buy(1)}, nil
			}
			return nil, nil
		}
		b.start()
		for len(b.views) < 3 {
			b.sleep(time.Second)
		}
		err := b.stop()
		b.check(err)
		if b.calls["submit"] != 0 || slices.Contains(b.phases, Halted) {
			t.Error("it left")
		}
	})
}

// TestJournalFails: nothing leaves that cannot be written down, and cancels go on.
func TestJournalFails(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 60))
		b.start()
		b.sleep(3 * minute)
		if err := b.book.Close(); err != nil {
			t.Fatal(err)
		}
		err := <-b.ended
		if b.look(); err == nil || b.held[0].Status != exchange.OrderCanceled {
			t.Errorf("%v %+v", err, b.held[0])
		}
	})
}

// TestMarketStatus: a symbol that is halted while a run trades takes no entries, whatever protects or
// ends a position is left to go on, and it resumes by itself; rules that change hold for the next order.
func TestMarketStatus(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.decide = func(v *View) ([]market.Intent, error) {
			switch v.Step {
			case 1, 4, 8, 11:
				return []market.Intent{buy(1.2345)}, nil
			case 2:
				return []market.Intent{limit(market.Buy, 1, 60)}, nil
			case 5:
				return []market.Intent{{Action: market.CancelAll, Symbol: btc}}, nil
			}
			return nil, nil
		}
		b.start()
		rules := func(halted bool, step string) {
			b.venue.mu.Lock()
			defer b.venue.mu.Unlock()
			b.venue.halted, b.venue.step = halted, d(step)
		}
		upTo := func(step int) {
			for b.look(); len(b.views) <= step; b.look() {
				time.Sleep(time.Second)
			}
			b.sleep(30 * time.Second)
		}
		upTo(2)
		rules(true, "0.0001")
		upTo(5)
		if b.orders[0].Status != market.StatusFilled || b.orders[2].Status != market.StatusRejected ||
			b.orders[2].Reason == "" || b.calls["submit"] != 2 {
			t.Errorf("while it is halted: %+v, %d submits", b.orders, b.calls["submit"])
		}
		if b.orders[1].Status != market.StatusCanceled || b.phase() != Trading || !b.warned("MARKET_STATUS") {
			t.Errorf("the cancel: %+v %v %v", b.orders[1], b.phases, b.warnings)
		}
		rules(false, "0.0001")
		upTo(8)
		rules(false, "0.01")
		upTo(11)
		if len(b.orders) != 5 || b.orders[3].Status != market.StatusFilled ||
			b.orders[3].FilledQuantity.Cmp(d("1.2345")) != 0 {
			t.Fatalf("after it: %+v", b.orders)
		}
		if b.orders[4].Status != market.StatusFilled || b.orders[4].FilledQuantity.Cmp(d("1.23")) != 0 {
			t.Errorf("with the new rules: %+v", b.orders[4])
		}
		b.check(b.stop())
	})
}

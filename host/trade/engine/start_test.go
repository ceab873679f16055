package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestStartFaults: what a start fails by, with the reason that it is told with.
func TestStartFaults(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		change       func(*venue)
	}{
		{"symbol", "symbol", func(v *venue) { v.halted = true }},
		{"clock", "clock_skew", func(v *venue) { v.offset = -3 * time.Second }},
		{"refused", "subscription_refused", func(v *venue) { v.refusal = exchange.Rejected }},
		{"out of reach", "unreachable", func(v *venue) {
			v.wrong = func(call string, _ int) act {
				if call == "open" {
					return act(exchange.Unknown)
				}
				return fine
			}
		}},
		{"stream out of reach", "unreachable", func(v *venue) { v.refusal = exchange.Unknown }},
		{"no list", "reconcile", func(v *venue) {
			v.wrong = func(call string, _ int) act {
				if call == "orders" {
					return cutBefore
				}
				return fine
			}
		}},
		{"no cash", "reconcile", func(v *venue) { v.cash = dec{} }},
		{"bad key", "", func(v *venue) {
			v.wrong = func(call string, _ int) act {
				if call == "open" {
					return act(exchange.AuthFailed)
				}
				return fine
			}
		}},
		{"key without rights", "", func(v *venue) { v.refusal = exchange.AuthFailed }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				c.change(b.venue)
				b.start()
				err := b.wait()
				b.check(err)
				answer, auth := errors.AsType[*exchange.Error](err)
				f, ok := errors.AsType[*Fault](err)
				switch {
				case c.reason == "" && (!auth || answer.Result.Outcome != exchange.AuthFailed || ok):
					t.Error(err)
				case c.reason != "" &&
					(!ok || f.Code != CodeExchange || f.Reason != c.reason || f.Data["reason"] != c.reason):
					t.Errorf("%v %+v", err, f)
				}
				if b.calls["submit"]+b.calls["cancel"] > 0 {
					t.Error("something left")
				}
			})
		})
	}
}

// earlier writes an order of an earlier run down, with the state that the journal has of it.
func (b *bench) earlier(n int64, state order.State) order.Spec {
	b.t.Helper()
	id := b.before
	run, err := b.book.Resume(b.t.Context(), id)
	if errors.Is(err, journal.ErrNotFound) {
		run, err = b.book.Begin(b.t.Context(),
			journal.Info{RunID: id, RunTag: order.Tag(id), Mode: journal.Live, Exchange: "fake",
				AccountID: b.venue.account, Symbols: []market.Symbol{btc},
				Timeframe: market.MustTimeframe("1m"), Request: json.RawMessage(`{}`)})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	s := order.Spec{Seq: n, ClientOrderID: order.ClientID(id, n), Symbol: btc, Type: market.Limit,
		Quantity: d("1"), LimitPrice: d("50"), Public: market.OrderID(n)}
	body, err := json.Marshal(s)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := run.Intent(b.t.Context(),
		journal.Intent{Seq: n, ClientOrderID: s.ClientOrderID, Symbol: btc, Body: body,
			CreatedAt: market.FromTime(time.Now())}); err != nil {
		b.t.Fatal(err)
	}
	if state != order.Intent {
		ev := journal.Event{ClientOrderID: s.ClientOrderID, Kind: string(state), Source: "reply",
			At: market.FromTime(time.Now())}
		if state == order.Filled {
			ev.CumQuantity = s.Quantity
		}
		if err := run.Events(b.t.Context(), ev); err != nil {
			b.t.Fatal(err)
		}
	}
	return s
}

// TestReconcileStart: orders of an earlier run are found out about, and taken back, before this
// one trades. Some never reached the venue, some rest there, some filled while nobody looked.
func TestReconcileStart(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.resume = Release
		never := b.earlier(1, order.Intent)
		open := b.earlier(2, order.Lost)
		filled := b.earlier(3, order.Sent)
		believed := b.earlier(4, order.Canceled) // the journal has its end, the venue does not
		heard := b.earlier(5, order.Filled)      // the journal has its end, and not its fill
		b.venue.mu.Lock()
		for _, s := range []order.Spec{open, filled, believed, heard} {
			b.venue.take(s.Request())
		}
		b.venue.fill(b.venue.find(filled.ClientOrderID), d("50"))
		b.venue.fill(b.venue.find(heard.ClientOrderID), d("50"))
		b.venue.mu.Unlock()
		b.start()
		b.sleep(2 * minute)
		if b.phase() != Trading {
			t.Fatalf("%v %v", b.phases, b.warnings)
		}
		err := b.stop()
		b.check(err)
		left, err := b.book.OpenOrders(t.Context(), "svc_before")
		if err != nil || len(left) != 0 {
			t.Errorf("not settled: %+v %v", left, err)
		}
		for _, o := range b.held {
			if o.Status == exchange.OrderOpen {
				t.Errorf("%s is open", o.ClientOrderID)
			}
		}
		fills, err := b.book.Fills(t.Context(), "svc_before", journal.Page{})
		if err != nil || len(fills.Items) != 2 || fills.Items[0].ClientOrderID != filled.ClientOrderID ||
			fills.Items[1].ClientOrderID != heard.ClientOrderID {
			t.Errorf("%+v %v", fills, err)
		}
		events, _ := b.book.Events(t.Context(), "svc_before", journal.Page{})
		last := map[string]string{}
		for _, e := range events.Items {
			last[e.ClientOrderID] = e.Kind
		}
		want := map[string]string{never.ClientOrderID: "rejected", open.ClientOrderID: "canceled",
			filled.ClientOrderID: "filled", believed.ClientOrderID: "canceled", heard.ClientOrderID: "filled"}
		if fmt.Sprint(last) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", last, want)
		}
		if have := b.engine.books.manager.Ledger().Quantity(btc); !have.IsZero() {
			t.Errorf("the run began with %s that it did not buy", have)
		}
	})
	t.Run("ten restarts", testTenRestarts)
}

// testTenRestarts runs over and over on one account. Each begins flat and ends with nothing open.
func testTenRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.decide = func(v *View) ([]market.Intent, error) {
			return []market.Intent{buy(0.1),
				{Type: market.Limit, LimitPrice: 60,
					Size: market.Size{Kind: market.SizeQuantity, Value: 0.1}}}, nil
		}
		for range 10 {
			b.onStop = Flatten
			b.start()
			b.sleep(4*minute + 30*time.Second)
			err := b.stop()
			b.check(err)
			if !errors.Is(err, errStop) || len(b.fills) == 0 {
				t.Fatalf("%v %v", err, b.warnings)
			}
		}
		if len(b.warnings) > 0 {
			t.Error(b.warnings)
		}
	})
}

// TestStrangeOrders: an id of this product that the journal does not know ends the start, a
// foreign one is told and left alone.
func TestStrangeOrders(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.venue.mu.Lock()
		b.venue.take(exchange.OrderRequest{ClientOrderID: "manual-1", Symbol: btc, Type: market.Limit,
			Quantity: d("1"), LimitPrice: d("50")})
		b.venue.mu.Unlock()
		b.start()
		b.sleep(minute)
		if !b.warned(CodeForeignOrders) || b.phase() != Trading {
			t.Errorf("%v %v", b.warnings, b.phases)
		}
		b.check(b.stop())
		if b.venue.find("manual-1").Status != exchange.OrderOpen || b.calls["cancel"] != 0 {
			t.Error("a foreign order was touched")
		}
		strange := order.ClientID("svc_elsewhere", 1)
		b.venue.mu.Lock()
		b.venue.take(exchange.OrderRequest{ClientOrderID: strange, Symbol: btc, Type: market.Limit,
			Quantity: d("1"), LimitPrice: d("50")})
		b.venue.mu.Unlock()
		b.start()
		f, ok := errors.AsType[*Fault](b.wait())
		if !ok || f.Reason != "reconcile" || !slices.Equal(f.Data["orders"].([]string), []string{strange}) {
			t.Errorf("%+v", f)
		}
	})
}

// TestStopWhileStarting: a stop is heard wherever the start waits, and it is a stop.
func TestStopWhileStarting(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.venue.wrong = func(call string, n int) act {
			if call == "orders" || call == "open" && n < 4 {
				return act(exchange.Unknown)
			}
			return fine
		}
		for _, wait := range []time.Duration{0, time.Second, 1500 * time.Millisecond} {
			b.start()
			time.Sleep(wait)
			began := time.Now()
			b.stopped(b.stop())
			if took := time.Since(began); took > time.Second {
				t.Errorf("after %s it took %s", wait, took)
			}
		}
	})
}

// stopped says that a run ended by nothing but the stop.
func (b *bench) stopped(err error) {
	b.t.Helper()
	if _, fault := errors.AsType[*Fault](err); fault || !errors.Is(err, errStop) {
		b.t.Errorf("it did not end as a stop: %v", err)
	}
}

// TestStopAtCall stops a run in the middle of every call of its start: what the stop breaks off,
// a read of the journal too, is no failure.
func TestStopAtCall(t *testing.T) {
	book := shared(t)
	for _, call := range []string{"launch", "stream", "query", "cancel", "orders", "fills", "balances",
		"candles"} {
		for try := range 3 {
			sharing(t, book, fmt.Sprint(call, try), func(b *bench) {
				b.warmup.Candles, b.resume = 5, Release
				stop := func() { b.cancel(errStop) }
				b.venue.mu.Lock()
				for n := range int64(2) {
					b.venue.take(b.earlier(n+1, order.Lost).Request())
				}
				b.venue.fill(b.venue.orders[1], d("50"))
				b.venue.mu.Unlock()
				b.venue.wrong = func(c string, _ int) act {
					if c == call {
						stop()
					}
					return fine
				}
				switch call {
				case "launch":
					b.venue.connecting = func(ctx context.Context) error {
						stop()
						<-ctx.Done()
						return fmt.Errorf("launch: %w", ctx.Err())
					}
				case "stream":
					b.venue.streaming = stop
				case "candles":
					b.venue.paging = func(int) error { stop(); return nil }
				}
				b.start()
				b.stopped(b.wait())
			})
		}
	}
}

// TestSilenceAtStart: a venue that refuses a request of the start for a while is left alone for as
// long as it says and asked again.
func TestSilenceAtStart(t *testing.T) {
	book := shared(t)
	for _, call := range []string{"open", "orders", "fills", "balances", "query", "cancel"} {
		for _, a := range []act{notSent, throttles, bans, clocks} {
			sharing(t, book, fmt.Sprint(call, " ", a), func(b *bench) {
				b.venue.mu.Lock()
				b.venue.take(b.earlier(1, order.Lost).Request())
				b.venue.mu.Unlock()
				b.venue.wait = 8 * time.Second
				var quiet time.Time // under the venue's lock
				b.venue.wrong = func(c string, n int) act {
					if time.Now().Before(quiet) {
						b.t.Errorf("%s while it should be silent", c)
					}
					if c == call && n <= 5 {
						quiet = time.Now().Add(b.venue.wait)
						return a
					}
					return fine
				}
				b.start()
				b.sleep(110 * time.Second)
				if b.phase() != Trading || b.calls[call] < 6 {
					b.t.Errorf("%v %v, %d calls", b.phases, b.warnings, b.calls[call])
				}
				b.stopped(b.stop())
			})
		}
	}
}

// TestSilenceTooLong: a start that the venue does not let ask ends as one that does not reach it; a stop
// meanwhile ends it at once.
func TestSilenceTooLong(t *testing.T) {
	for _, c := range []struct {
		wait, least, most time.Duration
	}{{8 * time.Second, 100 * time.Second, 120 * time.Second}, {10 * minute, 0, time.Second}} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.venue.wait = c.wait
			b.venue.wrong = func(call string, _ int) act {
				if call == "balances" {
					return throttles
				}
				return fine
			}
			b.start()
			began := time.Now()
			err := b.wait()
			f, ok := errors.AsType[*Fault](err)
			if took := time.Since(began); !ok || f.Reason != "unreachable" || took < c.least ||
				took > c.most {
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
	inBubble(t, func(t *testing.T, b *bench) {
		b.venue.wait = minute
		b.venue.wrong = func(call string, _ int) act {
			if call == "balances" {
				return throttles
			}
			return fine
		}
		b.start()
		b.sleep(10 * time.Second)
		began := time.Now()
		b.stopped(b.stop())
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stop took %s", took)
		}
	})
}

// TestCrashWhileStarting: a connector that dies before the books are open is started again, and the
// start begins anew; one that always does ends it.
func TestCrashWhileStarting(t *testing.T) {
	book := shared(t)
	for _, call := range []string{"query", "cancel", "orders", "fills", "balances"} {
		for _, always := range []bool{false, true} {
			sharing(t, book, fmt.Sprint(call, always), func(b *bench) {
				b.venue.mu.Lock()
				b.venue.take(b.earlier(1, order.Lost).Request())
				b.venue.mu.Unlock()
				crashed := 0 // by the sessions that were open then
				b.venue.wrong = func(c string, _ int) act {
					if c != call || b.venue.opens > 1 && !always {
						return fine
					}
					if crashed < b.venue.opens {
						crashed = b.venue.opens
						go b.venue.crash()
					}
					return cutBefore
				}
				b.start()
				if always {
					err := b.wait()
					if f, ok := errors.AsType[*Fault](err); !ok || f.Reason != "connector_crashed" ||
						b.venue.opens != 4 {
						b.t.Errorf("after %d sessions: %v", b.venue.opens, err)
					}
					return
				}
				b.sleep(2 * minute)
				if b.phase() != Trading || !b.warned(CodeConnectorCrashed) || !b.warned(CodeConnectorBack) {
					b.t.Errorf("%v %v", b.phases, b.warnings)
				}
				b.stopped(b.stop())
			})
		}
	}
}

// TestCrashInWarmUp: a connector that dies while the warm-up is read is started again. The candles
// begin once both are there, whichever comes second, and each step comes once.
func TestCrashInWarmUp(t *testing.T) {
	for name, c := range map[string]struct {
		read   time.Duration // of the page
		launch time.Duration
	}{"back before it is read": {30 * time.Second, 0}, "back after it": {time.Second, 30 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.warmup.Candles = 5
				pages, launches := 0, 0
				b.venue.connecting = func(context.Context) error {
					if launches++; launches > 1 {
						time.Sleep(c.launch)
					}
					return nil
				}
				b.venue.paging = func(int) error {
					if pages++; pages == 1 {
						b.venue.crash()
						time.Sleep(c.read)
						b.venue.mu.Lock()
						if b.venue.follows > 0 {
							t.Error("the candles began while the warm-up was read")
						}
						b.venue.mu.Unlock()
					}
					return nil
				}
				b.start()
				b.sleep(5 * minute)
				if b.phase() != Trading || !b.warned(CodeConnectorBack) || len(b.views) < 8 {
					t.Fatalf("%v %v, %d steps", b.phases, b.warnings, len(b.views))
				}
				for i, v := range b.views[1:] {
					if step := v.CloseTime.Time().Sub(b.views[i].CloseTime.Time()); step != minute {
						t.Errorf("step %d comes %s after the one before", i+1, step)
					}
				}
				b.stopped(b.stop())
			})
		})
	}
	t.Run("it answers no more", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.warmup.Candles = 5
			first := true
			b.venue.paging = func(conn int) error {
				if conn > 1 {
					return nil
				}
				if first {
					first = false
					b.venue.crash()
				}
				return errors.New("the connector is gone")
			}
			b.start()
			b.sleep(3 * minute)
			if b.phase() != Trading || len(b.views) < 7 {
				t.Errorf("%v %v, %d steps", b.phases, b.warnings, len(b.views))
			}
			b.stopped(b.stop())
		})
	})
}

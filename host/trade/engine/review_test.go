package engine

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestBusyStream: an account that has news all the time does not keep the run from looking at the venue
// in its turn, nor from what is due for its orders.
func TestBusyStream(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.venue.wrong = func(call string, n int) act {
			if call == "submit" && n == 1 {
				return throttles // again after a second
			}
			return fine
		}
		b.at(1, limit(market.Buy, 1, 60))
		b.start()
		b.sleep(minute)
		orders, fills := b.calls["orders"], b.calls["fills"]
		for end := time.Now().Add(3 * minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			b.venue.mu.Lock()
			b.venue.tell(exchange.AccountEvent{Balance: &exchange.Balance{Asset: "DOGE", Free: d("1")}})
			b.venue.mu.Unlock()
		}
		b.look()
		if b.calls["orders"]-orders < 5 || b.calls["fills"]-fills < 2 {
			t.Errorf("within 3 minutes the open orders were read %d times, the fills %d times",
				b.calls["orders"]-orders, b.calls["fills"]-fills)
		}
		if len(b.held) != 1 || b.held[0].Status != exchange.OrderOpen {
			t.Errorf("the order was not sent again: %+v", b.held)
		}
		b.check(b.stop())
	})
}

// TestKeysRevoked: keys that the venue does not take any more end the run, whatever was asked with them.
func TestKeysRevoked(t *testing.T) {
	for _, call := range []string{"submit", "query", "cancel", "orders", "fills", "balances"} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				on := false
				b.venue.wrong = func(c string, n int) act {
					if c == call && on {
						return act(exchange.AuthFailed)
					}
					return fine
				}
				b.decide = func(v *View) ([]market.Intent, error) {
					switch v.Step {
					case 1:
						return []market.Intent{limit(market.Buy, 1, 60)}, nil
					case 5:
						return []market.Intent{{Action: market.CancelAll, Symbol: btc}, buy(1)}, nil
					}
					return nil, nil
				}
				b.start()
				b.sleep(150 * time.Second)
				b.venue.mu.Lock()
				on = true
				if call == "query" { // the list shows it no more, so it is asked for
					b.venue.orders[0].Symbol = "X/USDT"
				}
				b.venue.mu.Unlock()
				err := b.wait()
				if answer, ok := errors.AsType[*exchange.Error](err); !ok ||
					answer.Result.Outcome != exchange.AuthFailed {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestStrangersAfterReconnect: orders of another state folder that came while the stream was away end the
// run as they would have ended its start; those of people are told and left alone.
func TestStrangersAfterReconnect(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start()
		b.sleep(2 * minute)
		put := func(id string) {
			b.venue.mu.Lock()
			b.venue.take(exchange.OrderRequest{ClientOrderID: id, Symbol: btc, Type: market.Limit,
				Quantity: d("1"), LimitPrice: d("50")})
			b.venue.mu.Unlock()
		}
		put("by-hand")
		b.venue.cutStreams()
		b.sleep(minute)
		if !b.warned(CodeStreamReconciling) || !b.warned(CodeForeignOrders) || b.phase() != Trading {
			t.Errorf("%v %v", b.phases, b.warnings)
		}
		put(order.ClientID("svc_of_another_folder", 1))
		b.venue.cutStreams()
		err := b.wait()
		f, ok := errors.AsType[*Fault](err)
		if !ok || f.Reason != "reconcile" || len(f.Data["orders"].([]string)) != 1 {
			t.Fatalf("%v", err)
		}
		if i := slices.IndexFunc(b.held, func(o exchange.Order) bool {
			return o.ClientOrderID == "by-hand"
		}); b.held[i].Status != exchange.OrderOpen {
			t.Error("an order that is not ours was touched")
		}
	})
}

// TestStopUnwritten: a stop whose cancels cannot be written down is no good end.
func TestStopUnwritten(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 60))
		b.venue.wrong = func(call string, n int) act {
			if call == "cancel" && n == 1 {
				if err := b.book.Close(); err != nil {
					t.Error(err)
				}
			}
			return fine
		}
		b.start()
		b.sleep(3 * minute)
		if err := b.stop(); err == nil || errors.Is(err, errStop) {
			t.Errorf("the stop ended as if all was well: %v", err)
		}
		if b.held[0].Status != exchange.OrderCanceled {
			t.Errorf("%+v", b.held[0])
		}
	})
}

// TestFlattenByHand: what a stop sells is closed manually.
func TestFlattenByHand(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.onStop = Flatten
		b.at(1, buy(1))
		b.start()
		b.sleep(3 * minute)
		b.check(b.stop())
		if len(b.trades) != 1 || b.trades[0].ExitReason != "manual" || b.orders[1].ExchangeID == "" {
			t.Errorf("%+v %+v", b.trades, b.orders)
		}
	})
}

// TestGateIsFree: whoever looks at the run never waits for the venue or the strategy: while any call hangs
// nobody holds the gate.
func TestGateIsFree(t *testing.T) {
	for _, call := range []string{"submit", "query", "cancel", "orders", "fills", "balances", "decide"} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				begun, hung := time.Now(), false
				b.venue.wrong = func(c string, n int) act {
					if c == call && time.Since(begun) > 90*time.Second {
						hung = true
						return hangs
					}
					if c == "submit" && call == "query" {
						return cutBefore
					}
					return fine
				}
				wait := make(chan struct{})
				b.decide = func(v *View) ([]market.Intent, error) {
					switch {
					case v.Step == 2 && call == "decide":
						hung = true
						<-wait
					case v.Step == 2:
						held := buy(1)
						held.StopLoss = &market.Child{Percent: 0.3}
						return []market.Intent{limit(market.Buy, 1, 60), held}, nil
					case v.Step == 4:
						return []market.Intent{{Action: market.CancelAll, Symbol: btc}}, nil
					}
					return nil, nil
				}
				b.start()
				for range 400 {
					time.Sleep(time.Second)
					synctest.Wait()
					if !b.gate.TryLock() {
						t.Fatal("somebody holds the gate and waits")
					}
					if b.engine.books.manager != nil {
						books, _ := b.engine.Books()
						_, _ = books.Equity(), books.CashExact()
						_, _ = books.Positions()
					}
					b.gate.Unlock()
				}
				if !hung {
					t.Error("nothing hung")
				}
				close(wait)
				_ = b.stop()
			})
		})
	}
}

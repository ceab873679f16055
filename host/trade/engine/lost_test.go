package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestConnectorCrash: a connector that dies is started again, and trading goes on when all was read;
// the fourth time within five minutes ends the run.
func TestConnectorCrash(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 60))
		b.start()
		b.sleep(3 * minute)
		b.venue.mu.Lock()
		b.venue.wrong = func(call string, n int) act {
			if call == "open" && n < 4 {
				return act(exchange.Unknown)
			}
			return fine
		}
		b.venue.mu.Unlock()
		b.venue.crash()
		b.sleep(time.Second)
		if b.phase() != Halted {
			t.Errorf("%v", b.phases)
		}
		b.venue.mu.Lock()
		b.venue.fill(b.venue.orders[0], d("60"))
		b.venue.mu.Unlock()
		b.sleep(20 * time.Second)
		if b.phase() != Trading || b.orders[0].Status != market.StatusFilled || !b.warned(CodeConnectorBack) {
			t.Errorf("%v %v %+v", b.phases, b.warnings, b.orders[0])
		}
		steps := len(b.views)
		b.sleep(3 * minute)
		if len(b.views) < steps+3 {
			t.Errorf("%d steps, %d before", len(b.views), steps)
		}
		for range 4 {
			b.venue.crash()
			b.sleep(20 * time.Second)
		}
		err := b.wait()
		b.check(err)
		if f, ok := errors.AsType[*Fault](err); !ok || f.Reason != "connector_crashed" {
			t.Error(err)
		}
	})
}

// TestCrashAndStreamCut: a stream that is cut while everything is read again after a crash does not keep
// the run halted.
func TestCrashAndStreamCut(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start()
		b.sleep(2*minute + time.Second)
		slow := true // under the venue's lock
		b.venue.mu.Lock()
		b.venue.wrong = func(call string, _ int) act {
			if call == "orders" && slow {
				return hangs
			}
			return fine
		}
		b.venue.mu.Unlock()
		b.venue.crash()
		b.sleep(2 * time.Second)
		b.venue.mu.Lock()
		slow = false
		b.venue.mu.Unlock()
		b.venue.cutStreams()
		b.sleep(30 * time.Second)
		if b.phase() != Trading || !b.warned(CodeConnectorBack) {
			t.Errorf("%v %v", b.phases, b.warnings)
		}
		b.check(b.stop())
	})
}

// TestCrashTwice: what was read over a connector that is gone again does not let orders leave.
func TestCrashTwice(t *testing.T) {
	book := shared(t)
	for n := range 3 {
		sharing(t, book, fmt.Sprint(n), func(b *bench) {
			b.start()
			b.sleep(2*minute + time.Second)
			crashed := false // under the venue's lock
			b.venue.mu.Lock()
			b.venue.wrong = func(call string, _ int) act {
				if call == "balances" && !crashed {
					crashed = true
					b.venue.crashLocked() // and the answer arrives all the same
				}
				if call == "open" && crashed {
					return act(exchange.Unknown)
				}
				return fine
			}
			b.venue.mu.Unlock()
			b.venue.crash()
			b.sleep(20 * time.Second)
			if b.phase() != Halted || b.engine.recon.synced {
				b.t.Errorf("%v %v without a connector", b.phases, b.warnings)
			}
			b.check(b.stop())
		})
	}
}

// TestRefusedLater: a stream that is refused for good while the run trades ends it.
func TestRefusedLater(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start()
		b.sleep(2 * minute)
		b.venue.mu.Lock()
		b.venue.refusal = exchange.Rejected
		b.venue.mu.Unlock()
		b.venue.cutStreams()
		b.sleep(minute)
		select {
		case err := <-b.ended:
			if f, ok := errors.AsType[*Fault](err); !ok || f.Data["reason"] != "subscription_refused" {
				t.Error(err)
			}
		default:
			t.Fatalf("it goes on: %v", b.phases)
		}
	})
}

// TestPanicLeavesTheConnector: when the run breaks, its connector takes it for the loss of its host.
func TestPanicLeavesTheConnector(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 60))
		b.start()
		b.sleep(2 * minute)
		b.explode = true
		b.engine.Stop(errStop)
		err := <-b.ended
		if err == nil || !strings.Contains(err.Error(), "broken") || b.venue.left != 1 ||
			b.venue.released != 0 {
			t.Errorf("%v; the connector was left %d times, ended %d times", err, b.venue.left,
				b.venue.released)
		}
	})
}

// TestPanicLetsGoOfTheGate: a run that breaks while it changes what others read can still be read.
func TestPanicLetsGoOfTheGate(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.start()
		b.sleep(2 * minute)
		b.gate.Lock()
		b.breaks = true
		b.gate.Unlock()
		err := <-b.ended
		if err == nil || !strings.Contains(err.Error(), "broken") {
			t.Error(err)
		}
		if !b.gate.TryLock() {
			t.Fatal("the gate is held by nobody")
		}
		b.gate.Unlock()
	})
}

// TestUnconfirmedWhileRelaunching: a connector that comes up while the run ends with orders of unknown fate
// is left to cancel them; where there are none it is ended.
func TestUnconfirmedWhileRelaunching(t *testing.T) {
	for _, open := range []bool{true, false} {
		t.Run(fmt.Sprint(open), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				if open {
					b.at(1, limit(market.Buy, 1, 60))
				}
				b.start()
				b.sleep(3 * minute)
				up := make(chan struct{})
				b.venue.streaming = func() { <-up } // never confirmed
				b.venue.crash()
				b.sleep(time.Second)
				b.venue.mu.Lock()
				b.venue.released = 0 // the one that is gone
				b.venue.mu.Unlock()
				b.cancel(errStop)
				time.AfterFunc(29*time.Second, func() { close(up) })
				err := b.wait()
				f, ok := errors.AsType[*Fault](err)
				if unconfirmed := ok && f.Code == CodeUnconfirmed; unconfirmed != open {
					t.Errorf("%v", err)
				}
				if left, ended := b.venue.left, b.venue.released; open && (left != 1 || ended != 0) ||
					!open && (left != 0 || ended != 1) {
					t.Errorf("the connector was left %d times, ended %d times", left, ended)
				}
			})
		})
	}
}

// TestCrashInABan: a connector that is started while the venue wants no requests makes none either.
func TestCrashInABan(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.venue.wait = 40 * time.Second
		var quiet time.Time // under the venue's lock
		begun := false      // likewise
		b.venue.wrong = func(call string, _ int) act {
			switch {
			case time.Now().Before(quiet):
				t.Errorf("%s while it should be silent", call)
			case begun && quiet.IsZero() && call == "orders":
				quiet = time.Now().Add(b.venue.wait)
				return bans
			}
			return fine
		}
		b.start()
		b.sleep(2 * minute)
		b.venue.mu.Lock()
		begun = true
		b.venue.mu.Unlock()
		for !b.warned(string(exchange.Banned)) {
			b.sleep(time.Second)
		}
		b.venue.crash()
		b.sleep(2 * minute)
		if b.phase() != Trading || !b.warned(CodeConnectorBack) || b.venue.opens != 2 {
			t.Errorf("%v %v, %d sessions", b.phases, b.warnings, b.venue.opens)
		}
		b.check(b.stop())
	})
}

package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// leaves is a run that holds one, protected, when it is stopped.
func (b *bench) leaves() {
	b.t.Helper()
	b.at(1, bracketed(1))
	b.start()
	b.sleep(3 * minute)
	if err := b.stop(); !errors.Is(err, errStop) {
		b.t.Fatal(err)
	}
	if kept := b.engine.Kept(); !strings.Contains(kept, "Kept: 1 of BTC/USDT.") ||
		strings.Count(kept, "Left open: as") != 2 {
		b.t.Error(kept)
	}
	if b.bare().IsPos() || b.exits() != 2 {
		b.t.Fatalf("%s bare, %d exits", b.bare(), b.exits())
	}
	b.decide = func(*View) ([]market.Intent, error) { return nil, nil }
}

// exits returns how many sales stand at the venue.
func (b *bench) exits() (n int) {
	b.venue.mu.Lock()
	defer b.venue.mu.Unlock()
	for _, o := range b.venue.orders {
		if o.Side == market.Sell && o.Status == exchange.OrderOpen {
			n++
		}
	}
	return n
}

// TestStartOverWhatWasLeft: the next run refuses with the numbers and touches nothing, or sells what the
// journal attributes to earlier runs and begins flat, or hands it to the operator; and the one after that
// starts.
func TestStartOverWhatWasLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.leaves()
		for range 2 { // a refusal changes nothing about the next start
			b.start()
			err := b.wait()
			f, ok := errors.AsType[*Fault](err)
			if !ok || f.Code != CodeExchange || f.Reason != ReasonLeft ||
				!strings.Contains(f.Message, "1 of BTC/USDT with 2 orders") {
				t.Fatal(err)
			}
			text, err := json.Marshal(f.Data)
			if err != nil ||
				!strings.Contains(string(text), `"left":[{"symbol":"BTC/USDT","quantity":"1","orders":["as`) {
				t.Errorf("%s %v", text, err)
			}
			if b.exits() != 2 || b.bare().IsPos() {
				t.Error("the exits were touched")
			}
		}
		b.resume = Flat
		b.start()
		b.sleep(2 * minute)
		if b.phase() != Trading || b.exits() != 0 || !b.warned(CodePositionsLeft) {
			t.Fatalf("%v %v, %d exits", b.phases, b.warnings, b.exits())
		}
		if held := b.venue.net(func(string) bool { return true }); !held.IsZero() {
			t.Errorf("%s is still held", held)
		}
		if len(b.orders)+len(b.trades) > 0 || !b.engine.books.manager.Ledger().Quantity(btc).IsZero() {
			t.Errorf("what was sold is in the books of the new run: %+v", b.orders)
		}
		flat := b.engine.cfg.RunID
		b.check(b.stop())
		intents, err := b.book.Intents(t.Context(), flat, journal.Page{})
		if err != nil || len(intents.Items) != 1 ||
			!strings.Contains(string(intents.Items[0].Body), `"settles":true`) {
			t.Errorf("%+v %v", intents, err)
		}
		b.resume = Refuse
		b.at(1, buy(1))
		b.start()
		b.sleep(3 * minute)
		if b.phase() != Trading || len(b.fills) != 1 {
			t.Errorf("%v %v", b.phases, b.warnings)
		}
		b.check(b.stop())
	})
	t.Run("released", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.leaves()
			b.resume = Release
			b.start()
			b.sleep(2 * minute)
			if b.phase() != Trading || b.exits() != 0 || b.calls["submit"] != 2 {
				t.Errorf("%v, %d exits, %d submits", b.phases, b.exits(), b.calls["submit"])
			}
			b.check(b.stop())
			b.resume = Refuse
			b.start()
			b.sleep(2 * minute)
			if b.phase() != Trading {
				t.Errorf("%v %v", b.phases, b.warnings)
			}
			b.check(b.stop())
		})
	})
	t.Run("sold by hand", func(t *testing.T) {
		inBubble(t, func(t *testing.T, b *bench) {
			b.leaves()
			b.venue.mu.Lock()
			b.venue.coins = dec{}
			b.venue.mu.Unlock()
			b.start()
			b.sleep(2 * minute)
			if b.phase() != Trading || b.exits() != 0 {
				t.Errorf("%v, %d exits of nothing", b.phases, b.exits())
			}
			b.check(b.stop())
		})
	})
}

// TestFlatIsNotSoldTwice: the connector is gone while what was left is being sold, and the start begins anew.
func TestFlatIsNotSoldTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.leaves()
		b.resume = Flat
		b.venue.wrong = func(call string, n int) act {
			if call == "submit" && n == 3 {
				go b.venue.crash()
				return cutAfter
			}
			return fine
		}
		b.start()
		b.sleep(4 * minute)
		if held := b.venue.net(func(string) bool { return true }); !held.IsZero() || b.phase() != Trading {
			t.Errorf("%s is held, %v %v", held, b.phases, b.warnings)
		}
		b.check(b.stop())
	})
}

// TestFailureLeavesExits: a strategy that fails leaves what protects its position, whatever a stop would do.
func TestFailureLeavesExits(t *testing.T) {
	for _, way := range []OnStop{Leave, Cancel, Flatten} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.onStop = way
			b.decide = func(v *View) ([]market.Intent, error) {
				switch v.Step {
				case 1:
					return []market.Intent{bracketed(1), limit(market.Buy, 1, 60)}, nil
				case 4:
					return nil, errors.New("the strategy is broken")
				}
				return nil, nil
			}
			b.start()
			err := b.wait()
			open := 0
			for _, o := range b.held {
				if o.Status == exchange.OrderOpen {
					open++
				}
			}
			if err == nil || err.Error() != "the strategy is broken" || b.exits() != 2 || open != 2 ||
				b.bare().IsPos() {
				t.Errorf("%s: %v, %d exits of %d orders, %s bare", way, err, b.exits(), open, b.bare())
			}
		})
	}
}

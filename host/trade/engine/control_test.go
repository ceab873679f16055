package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// operates asks the engine for something, as an operator does from outside of its loop.
func (b *bench) operates(f func(context.Context) (string, error)) error {
	b.t.Helper()
	text, err := f(b.t.Context())
	if err == nil && text == "" {
		b.t.Error("the operator is told nothing")
	}
	return err
}

func wantRefused(t *testing.T, err error, reason string) {
	t.Helper()
	if r, ok := errors.AsType[*Refused](err); !ok || r.Reason != reason {
		t.Errorf("%v, want %s", err, reason)
	}
}

// TestOperatorPauses: entries are refused until the operator lets them again; exits stand all the while.
func TestOperatorPauses(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.decide = func(*View) ([]market.Intent, error) { return []market.Intent{buy(1)}, nil }
		b.start()
		b.sleep(3 * minute)
		wantRefused(t, b.operates(b.engine.Resume), "not_paused")
		if err := b.operates(b.engine.Pause); err != nil {
			t.Fatal(err)
		}
		if b.look(); b.phase() != Reducing {
			t.Errorf("%v", b.phases)
		}
		n := b.calls["submit"]
		b.sleep(3 * minute)
		if b.calls["submit"] != n || b.orders[len(b.orders)-1].Reason != "STATE_REDUCING" {
			t.Errorf("%d submits after %d: %+v", b.calls["submit"], n, b.orders[len(b.orders)-1])
		}
		b.wantOpen("paused", CodePaused, "STATE_REDUCING")
		if err := b.operates(b.engine.Resume); err != nil {
			t.Fatal(err)
		}
		b.sleep(2 * minute)
		if b.calls["submit"] == n || b.phase() != Trading {
			t.Errorf("%d submits, %v", b.calls["submit"], b.phases)
		}
		b.wantOpen("resumed")
		b.check(b.stop())
	})
}

// TestOperatorCloses: one position is sold at once, between two candles, past its exits; the strategy is
// told.
func TestOperatorCloses(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, market.Intent{Size: market.Size{Kind: market.SizeQuantity, Value: 1},
			StopLoss: &market.Child{Percent: 0.5}})
		b.start()
		b.sleep(4 * minute)
		if err := b.operates(func(ctx context.Context) (string, error) {
			return b.engine.Close(ctx, btc)
		}); err != nil {
			t.Fatal(err)
		}
		b.sleep(2 * minute)
		last := b.orders[len(b.orders)-1]
		if last.Tag != "operator" || last.Status != market.StatusFilled || len(b.trades) != 1 ||
			!b.venue.coins.IsZero() {
			t.Errorf("%+v, %d trades, %s held", last, len(b.trades), b.venue.coins)
		}
		wantRefused(t,
			b.operates(func(ctx context.Context) (string, error) {
				return b.engine.Close(ctx, btc)
			}), "no_position")
		b.check(b.stop())
	})
}

// TestOperatorCancels: one order by its id, or every entry.
func TestOperatorCancels(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 50), limit(market.Buy, 1, 51), limit(market.Buy, 1, 52))
		b.start()
		b.sleep(4 * minute)
		cancel := func(id string) error {
			return b.operates(func(ctx context.Context) (string, error) { return b.engine.Cancel(ctx, id) })
		}
		if err := cancel("o-000002"); err != nil {
			t.Fatal(err)
		}
		b.sleep(minute)
		if b.orders[1].Status != market.StatusCanceled || b.orders[1].Reason != "operator" ||
			b.orders[0].Status != market.StatusOpen {
			t.Errorf("%+v", b.orders)
		}
		wantRefused(t, cancel("o-000002"), "no_order")
		if err := cancel(""); err != nil {
			t.Fatal(err)
		}
		b.sleep(minute)
		if b.orders[0].Status != market.StatusCanceled || b.orders[2].Status != market.StatusCanceled {
			t.Errorf("%+v", b.orders)
		}
		b.check(b.stop())
	})
}

// TestOperatorFlattens: entries go, positions are sold, and nothing is bought again until the operator says
// so.
func TestOperatorFlattens(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.decide = func(v *View) ([]market.Intent, error) {
			return []market.Intent{buy(1), limit(market.Buy, 1, 50)}, nil
		}
		b.start()
		b.sleep(4 * minute)
		if !b.venue.coins.IsPos() {
			t.Fatal("nothing is held")
		}
		if err := b.operates(b.engine.Flatten); err != nil {
			t.Fatal(err)
		}
		b.sleep(3 * minute)
		if !b.venue.coins.IsZero() {
			t.Errorf("%s is held", b.venue.coins)
		}
		for _, o := range b.orders {
			if o.Status == market.StatusOpen {
				t.Errorf("%+v", o)
			}
		}
		b.check(b.stop())
	})
}

// TestOperatorChoosesTheStop: what becomes of positions goes by the operator's word, whatever the service's
// option is.
func TestOperatorChoosesTheStop(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, buy(1))
		b.start()
		b.sleep(4 * minute)
		b.engine.StopAs(Flatten)
		b.check(b.stop())
		if !b.venue.coins.IsZero() {
			t.Errorf("%s is held", b.venue.coins)
		}
		wantRefused(t, b.operates(func(context.Context) (string, error) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return b.engine.Pause(ctx)
		}), "no_answer")
	})
}

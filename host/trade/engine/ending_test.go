package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// stopLimit is how long a stop may take at most: a service that is told to end has 30 seconds, of
// which the processes need some.
const stopLimit = 27 * time.Second

// hangingClose returns a connector that does not come to an end of its session.
func hangingClose(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestStopUnconfirmed: a stop says in time which orders it could not confirm, and the connector is left
// to go on with them.
func TestStopUnconfirmed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, limit(market.Buy, 1, 60))
		b.venue.closing = hangingClose
		b.start()
		b.sleep(3 * minute)
		b.venue.mu.Lock()
		b.venue.wrong = func(call string, _ int) act {
			if call == "cancel" || call == "query" {
				return hangs
			}
			return fine
		}
		b.venue.mu.Unlock()
		began := time.Now()
		f, ok := errors.AsType[*Fault](b.stop())
		if took := time.Since(began); !ok || f.Code != CodeUnconfirmed || took < 20*time.Second ||
			took > stopLimit {
			t.Errorf("%+v after %s", f, took)
		}
		if ids := f.Data["orders"].([]string); len(ids) != 1 || ids[0] != order.ClientID("svc_run1", 1) {
			t.Error(ids)
		}
		if b.venue.left != 1 || b.venue.released != 0 {
			t.Errorf("the connector was left %d times, ended %d times", b.venue.left, b.venue.released)
		}
	})
}

// TestStopInTime: a stop is over in time also where nearly all of it is spent on the cancels and the
// sale of what is held hangs, and where all is confirmed and only the end of the session hangs.
func TestStopInTime(t *testing.T) {
	for _, way := range []OnStop{Flatten, Cancel} {
		t.Run(string(way), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.onStop = way
				b.at(1, buy(1), limit(market.Buy, 1, 60))
				b.venue.closing = hangingClose
				b.start()
				b.sleep(3 * minute)
				began := time.Now()
				b.venue.mu.Lock()
				b.venue.wrong = func(call string, _ int) act {
					if call == "submit" || time.Since(began) < 12*time.Second {
						return hangs
					}
					return fine
				}
				b.venue.mu.Unlock()
				err := b.stop()
				if took := time.Since(began); took < 12*time.Second || took > stopLimit {
					t.Errorf("it took %s", took)
				}
				f, ok := errors.AsType[*Fault](err)
				switch {
				case way == Flatten && (!ok || f.Code != CodeUnconfirmed || b.venue.left != 1):
					t.Errorf("%v, left %d", err, b.venue.left)
				case way == Cancel && (ok || !errors.Is(err, errStop) || b.venue.released != 1):
					t.Errorf("%v, ended %d", err, b.venue.released)
				}
			})
		})
	}
}

// TestOnStop: the three ways to stop a run that holds something.
func TestOnStop(t *testing.T) {
	for _, way := range []OnStop{Cancel, Flatten, Leave} {
		t.Run(string(way), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.onStop = way
				in := buy(1)
				in.StopLoss = &market.Child{Percent: 0.3}
				b.at(1, in, limit(market.Buy, 1, 60))
				b.start()
				b.sleep(3 * minute)
				err := b.stop()
				b.check(err)
				if !errors.Is(err, errStop) {
					t.Fatal(err)
				}
				open := []string{}
				for _, o := range b.held {
					if o.Status == exchange.OrderOpen {
						open = append(open, o.Type.String())
					}
				}
				held := b.engine.books.manager.Ledger().Quantity(btc).String()
				want := map[OnStop]string{Cancel: "1.0000 []", Flatten: "0 []", Leave: "1.0000 [stop]"}[way]
				if got := held + " [" + strings.Join(open, " ") + "]"; strings.ReplaceAll(got, ".0000",
					"") != strings.ReplaceAll(want, ".0000", "") {
					t.Errorf("%s, want %s", got, want)
				}
				if kept := b.engine.Kept(); (kept == "") != (way == Flatten) {
					t.Error(kept)
				}
			})
		})
	}
}

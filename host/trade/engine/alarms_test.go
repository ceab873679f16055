package engine

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// open are the codes of the alarms that are open, sorted.
func (b *bench) open() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var codes []string
	for _, a := range b.set.Open() {
		codes = append(codes, a.Code)
	}
	slices.Sort(codes)
	return codes
}

func (b *bench) wantOpen(when string, codes ...string) {
	b.t.Helper()
	if got := b.open(); !slices.Equal(got, codes) {
		b.t.Errorf("%s: %v, want %v", when, got, codes)
	}
}

// TestRejectedOrdersAreAlarms: a run whose orders are all refused says so, and stops saying so with the first
// that is taken.
func TestRejectedOrdersAreAlarms(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxRejectsInRow, b.limits.MaxRejects = 30, 50
		refusing := true // under the venue's lock
		b.venue.wrong = func(call string, _ int) act {
			if call == "submit" && refusing {
				return refuses
			}
			return fine
		}
		b.decide = func(*View) ([]market.Intent, error) { return []market.Intent{buy(1)}, nil }
		b.start()
		b.sleep(4 * minute)
		b.wantOpen("refused", CodeOrderRejected)
		b.mu.Lock()
		if a := b.set.Open()[0]; a.Count < 3 || a.Severity != alarm.Error || a.Since > a.Last {
			t.Errorf("%+v", a)
		}
		b.mu.Unlock()
		b.venue.mu.Lock()
		refusing = false
		b.venue.mu.Unlock()
		b.sleep(2 * minute)
		b.wantOpen("taken")
		b.check(b.stop())
	})
}

// TestLimitsOfOrdersAreAlarms: so with orders that break a limit here.
func TestLimitsOfOrdersAreAlarms(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxOrderFraction = d("0.1") // of 10,000, at a price of about 100
		sizes := map[int64]float64{1: 50, 5: 1}
		b.decide = func(v *View) ([]market.Intent, error) {
			if size := sizes[v.Step]; size > 0 {
				return []market.Intent{buy(size)}, nil
			}
			return nil, nil
		}
		b.start()
		b.sleep(4 * minute)
		b.wantOpen("too much", string(risk.OrderNotional))
		b.sleep(4 * minute)
		b.wantOpen("less")
		b.check(b.stop())
	})
}

// TestConditionsClear: what is about the connection or an order of unknown fate ends with it.
func TestConditionsClear(t *testing.T) {
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
		b.wantOpen("deaf", order.CodeUnresolvedTooOld, order.CodeUnknownOrder)
		b.venue.mu.Lock()
		deaf = false
		b.venue.mu.Unlock()
		b.sleep(minute)
		b.wantOpen("heard")
		b.venue.cutStreams()
		b.sleep(minute)
		b.wantOpen("the stream is back")
		if !b.warned(CodeStreamReconciling) {
			t.Error("nobody was told of the stream")
		}
		b.venue.crash()
		b.sleep(minute)
		b.wantOpen("the connector is back", CodeConnectorBack)
		b.check(b.stop())
	})
}

// TestAlarmTable: every code is listed once, with a severity.
func TestAlarmTable(t *testing.T) {
	var list []string
	for _, r := range AlarmTable() {
		if slices.Contains(list, r.Code) || !slices.Contains(alarm.Severities(), r.Severity) {
			t.Errorf("%+v", r)
		}
		list = append(list, r.Code)
	}
}

package binance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestTooManyOrders: beyond the count of orders a submit is throttled and not repeated, while queries and
// cancels go on; after the time that the exchange named the same id is taken.
func TestTooManyOrders(t *testing.T) {
	v, err := testvenue.Start(testvenue.Options{History: 60, Orders: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for span := int64(10); time.Now().Unix()%span > span-4; { // the ten seconds are those of the clock
		time.Sleep(100 * time.Millisecond)
	}
	s := openedSession(t, &bench{v, t, plainWrap}, brisk)
	order := func(i int) exchange.OrderRequest {
		return exchange.OrderRequest{ClientOrderID: fmt.Sprintf("asaaaaaa%010d", i), Symbol: "BTC/USDT",
			Side: market.Buy, Type: market.Limit,
			Quantity: decimal.MustParse("0.001"), LimitPrice: decimal.MustNew(20000, 0)}
	}
	for i := range 2 {
		if r, _ := s.Submit(t.Context(), order(i)); r.Outcome != exchange.Accepted {
			t.Fatalf("%+v", r)
		}
	}
	r, _ := s.Submit(t.Context(), order(2))
	if r.Outcome != exchange.Throttled || r.VenueCode != "-1015" || r.RetryAfterMS < 1000 ||
		r.RetryAfterMS > 10_000 {
		t.Fatalf("the third order: %+v", r)
	}
	again := time.Now().Add(time.Duration(r.RetryAfterMS) * time.Millisecond)
	if early, _ := s.Submit(t.Context(), order(2)); early.Outcome != exchange.NotSent ||
		v.Count("submit") != 3 {
		t.Errorf("before its time: %+v, %d requests", early, v.Count("submit"))
	}
	ref := exchange.OrderRef{ClientOrderID: order(0).ClientOrderID, Symbol: "BTC/USDT"}
	if r, _ := s.Query(t.Context(), ref); r.Outcome != exchange.Accepted {
		t.Errorf("a query meanwhile: %+v", r)
	}
	if r, _ := s.Cancel(t.Context(), ref); r.Outcome != exchange.Accepted {
		t.Errorf("a cancel meanwhile: %+v", r)
	}
	time.Sleep(time.Until(again) + 50*time.Millisecond)
	if r, _ := s.Submit(t.Context(), order(2)); r.Outcome != exchange.Accepted {
		t.Errorf("in its time: %+v", r)
	}
}

// TestLateCorrection: a closed candle that comes once more with other numbers is not a second one.
func TestLateCorrection(t *testing.T) {
	b := newBench(t, plainWrap)
	s := openedSession(t, b, brisk)
	var h heard
	stop, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.StreamCandles(stop, h.add); err != nil {
			t.Error(err)
		}
	})
	delivered := func(n int) []market.Candle {
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if _, candles := h.split(); len(candles) >= n || time.Now().After(end) {
				return candles
			}
		}
	}
	for end := time.Now().Add(10 * time.Second); b.Listeners(false) == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := b.Step(); err != nil {
		t.Fatal(err)
	}
	first := delivered(1)
	if err := b.Do(testvenue.Script{Action: "candle_amend", Args: []string{"BTCUSDT"}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Step(); err != nil {
		t.Fatal(err)
	}
	all := delivered(2)
	cancel()
	wg.Wait()
	if len(all) != 2 || len(first) != 1 || all[0] != first[0] || all[1].OpenTime != first[0].CloseTime {
		t.Errorf("%+v, then %+v", first, all)
	}
}

package binance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	gb "github.com/adshao/go-binance/v2"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func orderLimits(tenSeconds, day int64) []gb.RateLimit {
	return []gb.RateLimit{
		{RateLimitType: "REQUEST_WEIGHT", Interval: "MINUTE", IntervalNum: 1, Limit: 1200},
		{RateLimitType: "ORDERS", Interval: "SECOND", IntervalNum: 10, Limit: tenSeconds},
		{RateLimitType: "ORDERS", Interval: "DAY", IntervalNum: 1, Limit: day},
	}
}

// TestLimitsOfOrders: submits wait for the exchange's limits and let others pass meanwhile; for the next day
// no caller waits.
func TestLimitsOfOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		defer q.close()
		q.limit(orderLimits(3, 5))
		begin := time.Now()
		if err := errors.Join(q.enter(t.Context(), submits, 1, 1),
			q.enter(t.Context(), submits, 1, 2)); err != nil || time.Since(begin) > 0 {
			t.Fatal(err, time.Since(begin))
		}
		gone := make(chan error, 1)
		go func() { gone <- q.enter(t.Context(), submits, 1, 2) }()
		synctest.Wait()
		if err := q.enter(t.Context(), data, 1); err != nil || time.Since(begin) > 0 {
			t.Errorf("a question behind it waits %s: %v", time.Since(begin), err)
		}
		if err := <-gone; err != nil || time.Since(begin) == 0 || time.Since(begin) > 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		var quiet *silence
		if err := q.enter(t.Context(), submits, 1, 1); !errors.As(err, &quiet) || quiet.left < time.Minute ||
			quiet.left > 24*time.Hour {
			t.Errorf("the sixth of a day: %v", err)
		}
		if err := q.enter(t.Context(), cancels, 1); err != nil {
			t.Errorf("a cancel is no order: %v", err)
		}
		time.Sleep(24 * time.Hour)
		if err := q.enter(t.Context(), submits, 1, 1); err != nil {
			t.Errorf("the next day: %v", err)
		}
	})
}

// TestTheExchangeCounts: what its headers say of the weight and of orders counts more than what is known
// here.
func TestTheExchangeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		defer q.close()
		q.limit(orderLimits(50, 5))
		h := http.Header{}
		h.Set("X-MBX-USED-WEIGHT-1M", "959")
		h.Set("X-MBX-ORDER-COUNT-10S", "50")
		h.Set("X-MBX-ORDER-COUNT-1D", "4")
		h.Set("X-MBX-ORDER-COUNT-1Q", "7")
		h.Set("X-MBX-ORDER-COUNT-", "x")
		q.heard(countedBy(h))
		begin := time.Now()
		if err := q.enter(t.Context(), data, 1); err != nil || time.Since(begin) > 0 {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.enter(limited, data, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beyond four fifths of 1200: %v", err)
		}
		if err := q.enter(t.Context(), submits, 1, 1); err != nil || time.Since(begin) < 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		h = http.Header{}
		h.Set("X-MBX-ORDER-COUNT-1D", "0")
		q.heard(countedBy(h)) // they have filled
		if err := q.enter(t.Context(), submits, 1, 5); err != nil {
			t.Error(err)
		}
	})
}

// TestOpenOrdersWeighTheLess: above thirteen symbols one list of all costs less than one each.
func TestOpenOrdersWeighTheLess(t *testing.T) {
	for n, want := range map[int]int{13: 13, 14: 1, 256: 1} {
		b := newBench(t, plainWrap)
		s := &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())}, tuning: brisk}
		req := b.Request()
		req.RunID, req.RunTag, req.Trading, req.Config.RateLimitMS = "svc_many", "aaaaaa", true, 1
		req.Symbols = []market.Symbol{"BTC/USDT"}
		for i := range n - 1 {
			req.Symbols = append(req.Symbols, market.Symbol(fmt.Sprintf("A%d/USDT", i)))
		}
		if _, err := s.Open(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		before := b.Count("GET /api/v3/openOrders")
		if _, err := s.OpenOrders(t.Context()); err != nil && want == 1 {
			t.Error(err)
		}
		if got := b.Count("GET /api/v3/openOrders") - before; want == 1 && got != 1 || want > 1 && got < 1 {
			t.Errorf("%d symbols: %d requests, want %d", n, got, want)
		}
		if _, err := s.Close(context.WithoutCancel(t.Context()), false); err != nil {
			t.Error(err)
		}
	}
}

func FuzzCounted(f *testing.F) {
	f.Add("X-MBX-ORDER-COUNT-10S", "50")
	f.Add("X-MBX-USED-WEIGHT-1M", "-1")
	f.Fuzz(func(t *testing.T, name, value string) {
		c := countedBy(http.Header{name: {value}})
		if c.weight < -1 {
			t.Error(c.weight)
		}
		for span, n := range c.orders {
			if span <= 0 || n < 0 {
				t.Errorf("%s %d", span, n)
			}
		}
	})
}

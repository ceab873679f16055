package binance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard collects the candle events of a session.
type heard struct {
	mu     sync.Mutex
	events []exchange.CandleEvent
}

func (h *heard) add(e exchange.CandleEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *heard) split() (states []exchange.LinkState, candles []market.Candle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.State != "" {
			states = append(states, e.State)
		} else if e.Symbol == "BTC/USDT" {
			candles = append(candles, e.Candle)
		}
	}
	return states, candles
}

// openedSession returns an open session at a venue whose market moves by steps.
func openedSession(t *testing.T, b *bench, times tuning) *session {
	t.Helper()
	s := &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())}, tuning: times}
	req := b.Request()
	req.RunID, req.RunTag, req.Trading = "svc_streams", "aaaaaa", true
	if _, err := s.Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.Close(context.WithoutCancel(t.Context()), false); err != nil {
			t.Error(err)
		}
	})
	return s
}

func plainWrap(_ testing.TB, c exchange.Connection) exchange.Connection { return c }

// TestStreams: a connection that grows old, or is announced to end, is replaced by an
// overlapping one, without a candle lost or told twice and without a word about it. One that is
// refused is no connection, and that is told.
func TestStreams(t *testing.T) {
	for name, trouble := range map[string]func(*bench) error{
		"24 hours":       nil,
		"serverShutdown": func(b *bench) error { return b.Do(testvenue.Script{Action: "server_shutdown"}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, plainWrap)
			times := brisk
			if trouble == nil {
				times.age = 60 * time.Millisecond
			}
			s := openedSession(t, b, times)
			var h heard
			var wg sync.WaitGroup
			stop, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				if err := s.StreamCandles(stop, h.add); err != nil {
					t.Error(err)
				}
			})
			for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(
				10 * time.Millisecond) {
				if states, _ := h.split(); len(states) == 0 {
					continue
				}
				if trouble != nil && time.Until(end) < 800*time.Millisecond {
					if err := trouble(b); err != nil {
						t.Fatal(err)
					}
					trouble = func(*bench) error { return nil }
				}
				if err := b.Step(); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(50 * time.Millisecond)
			cancel()
			wg.Wait()
			states, candles := h.split()
			if !slices.Equal(states, []exchange.LinkState{exchange.Connected}) {
				t.Errorf("states %v", states)
			}
			if len(candles) < 20 {
				t.Fatalf("%d candles", len(candles))
			}
			for i := 1; i < len(candles); i++ {
				if candles[i].OpenTime != candles[i-1].CloseTime {
					t.Errorf("%s after %s", candles[i].OpenTime, candles[i-1].OpenTime)
				}
			}
		})
	}
	t.Run("refused subscription", testRefusedSubscription)
}

// TestAccountStreamIsReplaced: the same of the account, while orders are sent: each is heard of, and
// nothing is said of a break that there was not.
func TestAccountStreamIsReplaced(t *testing.T) {
	for _, announced := range []bool{false, true} {
		b := newBench(t, plainWrap)
		times := brisk
		if !announced {
			times.age = 60 * time.Millisecond
		}
		s := openedSession(t, b, times)
		var mu sync.Mutex
		var states []exchange.LinkState
		seen := map[string]int{}
		stop, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			err := s.StreamAccount(stop, func(e exchange.AccountEvent) {
				mu.Lock()
				defer mu.Unlock()
				if e.State != "" {
					states = append(states, e.State)
				}
				if e.Order != nil {
					seen[e.Order.ClientOrderID]++
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
		for deadline := time.Now().Add(10 * time.Second); b.Listeners(true) == 0 &&
			time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		const orders = 30
		for i := range orders {
			if announced && i%10 == 5 {
				if err := b.Do(testvenue.Script{Action: "server_shutdown"}); err != nil {
					t.Fatal(err)
				}
			}
			r, _ := s.Submit(t.Context(), exchange.OrderRequest{
				ClientOrderID: fmt.Sprintf("asaaaaaa00000000%02d", i), Symbol: "BTC/USDT", Type: market.Limit,
				Quantity: decimal.MustParse("0.001"), LimitPrice: decimal.MustParse("20000"),
			})
			if r.Outcome != exchange.Accepted {
				t.Fatalf("%+v", r)
			}
			time.Sleep(20 * time.Millisecond)
		}
		heard := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(seen)
		}
		for deadline := time.Now().Add(10 * time.Second); heard() < orders && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
		wg.Wait()
		if len(seen) != orders || !slices.Equal(states, []exchange.LinkState{exchange.Connected}) {
			t.Errorf("announced %v: heard of %d orders of %d, states %v", announced, len(seen), orders,
				states)
		}
		if n := b.Count("subscribe"); n < 2 {
			t.Errorf("announced %v: %d connections", announced, n)
		}
	}
}

func testRefusedSubscription(t *testing.T) {
	b := newBench(t, plainWrap)
	s := openedSession(t, b, brisk)
	if err := b.Do(testvenue.Script{Action: "refuse_user_stream"}); err != nil {
		t.Fatal(err)
	}
	err := s.StreamAccount(t.Context(), func(exchange.AccountEvent) {
		t.Error("an event of a refused stream")
	})
	var refused *exchange.Error
	if !errors.As(err, &refused) || refused.Result.Outcome != exchange.Rejected ||
		!strings.Contains(refused.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// TestBackoffSilence: 0 requests in the window that the exchange asked for.
func TestBackoffSilence(t *testing.T) {
	for action, want := range map[string]exchange.Outcome{"429": exchange.Throttled, "418": exchange.Banned} {
		b := newBench(t, plainWrap)
		s := openedSession(t, b, brisk)
		if err := b.Do(testvenue.Script{Match: "GET /api/v3/account", Action: action}); err != nil {
			t.Fatal(err)
		}
		var e *exchange.Error
		if _, err := s.Balances(t.Context()); !errors.As(err, &e) || e.Result.Outcome != want ||
			e.Result.RetryAfterMS != 2000 {
			t.Fatalf("%s: %v", action, err)
		}
		paths := []string{"GET /api/v3/account", "GET /api/v3/order", "DELETE /api/v3/order",
			"POST /api/v3/order", "GET /api/v3/openOrders", "GET /api/v3/klines"}
		count := func() (n int) {
			for _, p := range paths {
				n += b.Count(p)
			}
			return n
		}
		before := count()
		ref := exchange.OrderRef{ClientOrderID: "asaaaaaa0000000001", Symbol: "BTC/USDT"}
		for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
			if r, _ := s.Cancel(t.Context(), ref); r.Outcome != exchange.NotSent || r.RetryAfterMS <= 0 {
				t.Fatalf("%s: a cancel in the window: %+v", action, r)
			}
			_, err := s.Candles(t.Context(),
				exchange.CandleQuery{Symbol: "BTC/USDT", From: 1, To: 2, Limit: 1})
			if !errors.As(err, &e) || e.Result.Outcome != exchange.NotSent {
				t.Fatalf("%s: candles in the window: %v", action, err)
			}
		}
		if n := count() - before; n != 0 {
			t.Errorf("%s: %d requests in the window", action, n)
		}
	}
}

// TestRetryTime: whatever an error of the WebSocket API has for data.
func TestRetryTime(t *testing.T) {
	var s session
	for data, want := range map[string]time.Duration{
		`{"serverTime":1659142907531,"retryAfter":1659142937531}`: 30 * time.Second,
		`{"serverTime":1659142937531,"retryAfter":1659142907531}`: 0,
		`{"serverTime":-1,"retryAfter":9223372036854775807}`:      0,
		`{"serverTime":1,"retryAfter":9223372036854775807}`:       0,
		`{"retryAfter":5}`: 0, `{}`: 0, `"soon"`: 0, ``: 0, `null`: 0,
	} {
		if got := s.retryTime([]byte(data)); got != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
}

func FuzzClosedCandle(f *testing.F) {
	s := &session{names: map[string]market.Symbol{"BTCUSDT": "BTC/USDT"},
		req: exchange.OpenRequest{Timeframe: market.MustTimeframe("1m")}}
	f.Add([]byte(
		`{"stream":"x","data":{"e":"kline","E":1,"s":"BTCUSDT","k":{"t":60000,"T":119999,"s":"BTCUSDT","i":"1m","o":"1","c":"1","h":"1","l":"1","v":"1","x":true}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		symbol, c, ok := s.closedCandle(text)
		if ok && (symbol != "BTC/USDT" || c.CloseTime != s.req.Timeframe.Next(c.OpenTime)) {
			t.Errorf("%s %+v", symbol, c)
		}
		leaving(text)
	})
}

func FuzzAccountEvent(f *testing.F) {
	s := &session{names: map[string]market.Symbol{"BTCUSDT": "BTC/USDT"}, ours: map[orderKey]string{}}
	f.Add([]byte(
		`{"subscriptionId":0,"event":{"e":"executionReport","E":1,"s":"BTCUSDT","c":"asaaaaaa0000000001","S":"BUY","o":"LIMIT","q":"1","p":"2","P":"0","x":"TRADE","X":"FILLED","i":7,"l":"1","z":"1","L":"2","n":"0.1","N":"BNB","T":5,"t":9,"Z":"2"}}`))
	f.Add([]byte(`{"event":{"e":"balanceUpdate","E":1,"a":"BTC","d":"-1.5","T":1}}`))
	f.Add([]byte(`{"event":{"e":"outboundAccountPosition","B":[{"a":"BTC","f":"1","l":"0"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s.accountEvent(text, func(e exchange.AccountEvent) {
			if e.Fill != nil && (e.Fill.Quantity.IsNeg() || e.Fill.Price.IsNeg()) || e.Order != nil &&
				e.Order.Status == "" {
				t.Errorf("%+v", e)
			}
		})
	})
}

// TestTransfers: deposits and withdrawals are told by their name; one that cannot be read is a gap.
func TestTransfers(t *testing.T) {
	s := &session{}
	for text, want := range map[string]exchange.AccountEvent{
		`{"e":"balanceUpdate","E":1573200697110,"a":"BTC","d":"100.00000000","T":1573200697068}`: {
			Transfer: &exchange.Transfer{Asset: "BTC", Amount: decimal.MustParse("100"),
				Time: 1573200697068}},
		`{"e":"balanceUpdate","E":1573200697110,"a":"USDT","d":"-0.50","T":1573200697068}`: {
			Transfer: &exchange.Transfer{Asset: "USDT", Amount: decimal.MustParse("-0.5"),
				Time: 1573200697068}},
		`{"e":"balanceUpdate","E":1,"a":"","d":"1","T":1}`: {State: exchange.Gap,
			Reason: "a balance update could not be read"},
		`{"e":"balanceUpdate","E":1,"a":"USDT","d":"x","T":1}`: {State: exchange.Gap},
	} {
		var got []exchange.AccountEvent
		s.accountEvent([]byte(`{"subscriptionId":0,"event":`+text+`}`), func(e exchange.AccountEvent) {
			got = append(got, e)
		})
		switch {
		case len(got) != 1 || got[0].State != want.State ||
			(want.Reason != "" && got[0].Reason != want.Reason):
			t.Errorf("%s: %+v", text, got)
		case want.Transfer != nil &&
			(got[0].Transfer == nil || got[0].Transfer.Amount.Cmp(want.Transfer.Amount) != 0 ||
				got[0].Transfer.Asset != want.Transfer.Asset || got[0].Transfer.Time != want.Transfer.Time):
			t.Errorf("%s: %+v", text, got[0].Transfer)
		}
	}
}

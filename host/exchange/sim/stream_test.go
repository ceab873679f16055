package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request opens a session with settings.
func request(trading bool, settings string, symbols ...market.Symbol) exchange.OpenRequest {
	if len(symbols) == 0 {
		symbols = []market.Symbol{"BTC/USDT"}
	}
	return exchange.OpenRequest{RunID: "svc_1", RunTag: "abcdef", Trading: trading, Symbols: symbols,
		Timeframe: hour, Config: exchange.Config{Settings: json.RawMessage(settings)}}
}

func open(t *testing.T, c exchange.Connection, req exchange.OpenRequest) {
	t.Helper()
	if _, err := c.Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(context.Background(), true) })
}

// collect streams n candles and what the clocks said at each.
func collect(t *testing.T, c exchange.Connection, n int, each func(market.Candle)) []exchange.CandleEvent {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var list []exchange.CandleEvent
	err := c.StreamCandles(ctx, func(e exchange.CandleEvent) {
		if e.State != "" {
			return
		}
		list = append(list, e)
		if each != nil {
			each(e.Candle)
		}
		if len(list) == n {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A candle lasts 1/candles_per_second; venue time passes in proportion and stands still
// while a step is answered.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(nil)
		open(t, c, request(false, `{"candles_per_second":2}`))
		if now := c.Clock.Now(); now != usual {
			t.Errorf("before the stream it is %s", now)
		}
		time.Sleep(time.Minute)
		begun := time.Now()
		var walls []time.Duration
		collect(t, c, 4, func(k market.Candle) {
			walls = append(walls, time.Since(begun))
			if now := c.Clock.Now(); now != k.CloseTime {
				t.Errorf("at the close of %s it is %s", k.CloseTime, now)
			}
			if len(walls) == 2 {
				time.Sleep(3 * time.Second)
				if now := c.Clock.Now(); now != k.CloseTime {
					t.Errorf("while the step is answered it is %s", now)
				}
			}
			if w := c.Clock.Wall(time.Hour); w != 500*time.Millisecond {
				t.Errorf("an hour lasts %s", w)
			}
		})
		half := 500 * time.Millisecond
		if want := []time.Duration{half, 2 * half, 2*half + 3*time.Second,
			3*half + 3*time.Second}; !slices.Equal(walls, want) {
			t.Errorf("candles at %v, want %v", walls, want)
		}
		time.Sleep(time.Hour) // the last step was given up, not answered
		if now := c.Clock.Now(); now != usual+4*3600_000 {
			t.Errorf("it is %s", now)
		}
		ctx, cancel := context.WithTimeout(t.Context(), half/2)
		defer cancel()
		if err := c.StreamCandles(ctx, func(exchange.CandleEvent) {}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // time goes on without a listener, but never into the next close
		if now := c.Clock.Now(); now != usual+6*3600_000-1 {
			t.Errorf("it is %s", now)
		}
	})
}

// The stream delivers what history has, over several streams of one session.
func TestHistoryIsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(nil)
		open(t, c, request(false, `{"candles_per_second":200,"seed":"x","start":"2024-01-31"}`, "BTC/USDT",
			"ETH/USDT"))
		streamed := map[market.Symbol][]market.Candle{}
		for range 5 {
			events := collect(t, c, 40, nil)
			for i, e := range events {
				if n := len(streamed[e.Symbol]); n > 0 && streamed[e.Symbol][n-1] == e.Candle {
					continue // the last one of the stream before was given up in the middle
				}
				streamed[e.Symbol] = append(streamed[e.Symbol], e.Candle)
				if i > 0 && events[i-1].Candle.CloseTime > e.Candle.CloseTime {
					t.Error("steps out of order")
				}
			}
		}
		for symbol, got := range streamed {
			all, err := c.Candles(t.Context(),
				exchange.CandleQuery{Symbol: symbol, From: mustTime("2024-01-31"),
					To: got[len(got)-1].CloseTime})
			if err != nil || !slices.Equal(all, got) {
				t.Errorf("%s: %d streamed, %d in history, %v", symbol, len(got), len(all), err)
			}
			before, err := c.Candles(t.Context(),
				exchange.CandleQuery{Symbol: symbol, To: mustTime("2030-01-01"), Limit: 5000})
			if err != nil || len(before) != 1000 ||
				before[0].OpenTime != mustTime("2024-01-31")-5000*3600_000 {
				t.Errorf("%d, %v", len(before), err)
			}
		}
		future, err := c.Candles(t.Context(),
			exchange.CandleQuery{Symbol: "BTC/USDT", From: c.Clock.Now(), To: mustTime("2030-01-01")})
		if err != nil || len(future) != 0 {
			t.Errorf("%d candles that have not closed, %v", len(future), err)
		}
	})
}

// A second session of the same settings sees the same market.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs [2][]exchange.CandleEvent
		for i := range runs {
			c := New(nil)
			open(t, c, request(i == 1, `{"candles_per_second":100}`, "BTC/USDT", "SOL/USDT"))
			runs[i] = collect(t, c, 600, nil)
		}
		if !slices.Equal(runs[0], runs[1]) {
			t.Error("two sessions differ")
		}
	})
}

func replayStore(t *testing.T) *candle.Store {
	t.Helper()
	a := sdktest.Synth(1, 400, usual.Time(), time.Hour)
	a.Symbol = "A/USD"
	b := sdktest.Synth(2, 300, usual.Add(50*time.Hour).Time(), time.Hour)
	b.Symbol = "B/USD"
	holes := &market.Series{Symbol: "B/USD", Timeframe: hour}
	for i := range b.Len() {
		if i%7 != 3 && (i < 120 || i > 168) {
			holes.Append(b.At(i))
		}
	}
	s, err := candle.Temporary(t.Context(), t.TempDir(),
		[]candle.PutRequest{{Exchange: "mine", Series: a}, {Exchange: "mine", Series: holes}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A replay delivers the stored candles, step by step, and ends with ErrEnded.
func TestReplay(t *testing.T) {
	store := replayStore(t)
	synctest.Test(t, func(t *testing.T) {
		start := usual + 100*3600_000
		settings := fmt.Sprintf(`{"candles_per_second":200,"start":%q}`, start)
		for _, c := range []exchange.Connection{
			New(store), NewStore(store, candle.Exchange{ID: "mine"}),
		} {
			d, _ := c.Describe(t.Context())
			with := settings
			if d.ID == ID {
				with = `{"market":"replay","source":"mine",` + settings[1:]
			}
			open(t, c, request(false, with, "A/USD", "B/USD", "NONE/USD"))
			markets, err := c.Markets(t.Context())
			if err != nil || len(markets) != 2 || markets[1].Symbol != "B/USD" ||
				!markets[1].PriceTick.IsPos() {
				t.Fatalf("%v, %v", markets, err)
			}
			got := map[market.Symbol]int{}
			last := market.Time(0)
			err = c.StreamCandles(t.Context(), func(e exchange.CandleEvent) {
				if e.State != "" {
					return
				}
				got[e.Symbol]++
				if e.Candle.OpenTime < start || e.Candle.CloseTime < last ||
					c.Clock.Now() != e.Candle.CloseTime {
					t.Errorf("%s at %s", e.Candle.CloseTime, c.Clock.Now())
				}
				last = e.Candle.CloseTime
			})
			if !errors.Is(err, exchange.ErrEnded) || got["A/USD"] != 300 || got["NONE/USD"] != 0 {
				t.Errorf("%v: %v", got, err)
			}
			rest, err := c.Candles(t.Context(),
				exchange.CandleQuery{Symbol: "B/USD", From: start, To: last + 1})
			if err != nil || len(rest) != got["B/USD"] {
				t.Errorf("%d of B in history, %d streamed, %v", len(rest), got["B/USD"], err)
			}
		}
	})
}

func TestReplayStart(t *testing.T) {
	store := replayStore(t)
	for _, c := range []struct {
		settings, want string
	}{
		{`{"market":"replay","source":"mine"}`, ""},
		{`{"market":"replay","source":"mine","start":"2027-01-01"}`, "after the stored candles"},
		{`{"market":"replay","source":"nobody"}`, "nobody"},
		{`{"market":"replay","source":"mine","start":"2025-02-31"}`, "not a time"},
	} {
		conn := New(store)
		_, err := conn.Open(t.Context(), request(false, c.settings, "A/USD"))
		if (err == nil) != (c.want == "") || (err != nil && !contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.settings, err)
		}
		_, _ = conn.Close(context.Background(), false)
	}
	if _, err := New(nil).Open(t.Context(), request(false, `{"market":"replay"}`)); err == nil {
		t.Error("a replay without a store")
	}
}

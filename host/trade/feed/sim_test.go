package feed_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

var hour = market.MustTimeframe("1h")

func simulated(t *testing.T, c exchange.Connection, settings string, symbols ...market.Symbol) {
	t.Helper()
	_, err := c.Open(t.Context(),
		exchange.OpenRequest{RunID: "r", Symbols: symbols, Timeframe: hour,
			Config: exchange.Config{Settings: json.RawMessage(settings)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(context.Background(), false) })
}

// Over the simulated market the feed never has to ask: every step is whole, streamed, and
// answered before the next closes, at the fastest pace and with slow answers.
func TestOverSim(t *testing.T) {
	for _, stored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := sim.New(nil)
			symbols := []market.Symbol{"BTC/USDT", "ETH/USDT", "X/USDT"}
			simulated(t, c, `{"candles_per_second":200,"start":"2025-03-01T10:20:00Z"}`, symbols...)
			l := &log{}
			config := l.config(stored, symbols...)
			config.Timeframe, config.Clock = hour, c.Clock
			f, err := feed.New(config)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := f.Warm(t.Context(), c, market.Warmup{Candles: 1500}); n != 1500 || err != nil {
				t.Fatal(n, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			l.answer = func(s *feed.Step) error {
				if now := c.Clock.Now(); now != s.CloseTime {
					t.Errorf("the step of %s is taken at %s", s.CloseTime, now)
				}
				if len(l.steps)%50 == 0 {
					time.Sleep(time.Second)
				}
				if len(l.steps) == 2500 {
					cancel()
				}
				return nil
			}
			if err := f.Run(ctx, c); err != context.Canceled {
				t.Fatal(err)
			}
			for i, s := range l.steps {
				if i > 0 && s.CloseTime != l.steps[i-1].CloseTime+3600_000 ||
					slices.Contains(s.Closed, false) {
					t.Fatalf("step %d at %s", i, s.CloseTime)
				}
				want := feed.Stream
				if i < 1500 {
					want = feed.Warmup
				}
				if !slices.Equal(s.Sources, []feed.Source{want, want, want}) {
					t.Fatalf("step %d is from %s", i, s.Sources)
				}
			}
			if len(l.alarms) != 0 {
				t.Error(l.alarms)
			}
		})
	}
}

// A replay of stored candles with holes and different beginnings gives the very steps of
// a backtest, and no alarm about holes that the market had.
func TestOverReplay(t *testing.T) {
	from, _ := market.ParseTime("2025-01-01")
	a := sdktest.Synth(1, 700, from.Time(), time.Hour)
	a.Symbol = "A/USD"
	b, full := &market.Series{Symbol: "B/USD", Timeframe: hour},
		sdktest.Synth(2, 600, (from.Add(70*time.Hour)).Time(), time.Hour)
	for i := range full.Len() {
		if i%5 != 2 && (i < 300 || i > 348) {
			b.Append(full.At(i))
		}
	}
	store, err := candle.Temporary(t.Context(), t.TempDir(),
		[]candle.PutRequest{{Exchange: "mine", Series: a}, {Exchange: "mine", Series: b}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	synctest.Test(t, func(t *testing.T) {
		c := sim.NewStore(store, candle.Exchange{ID: "mine"})
		simulated(t, c, `{"candles_per_second":200,"start":"2025-01-08"}`, "A/USD", "B/USD")
		l := &log{}
		config := l.config(true, "A/USD", "B/USD")
		config.Timeframe, config.Clock = hour, c.Clock
		f, err := feed.New(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Warm(t.Context(), c, market.Warmup{Candles: 80}); err != nil {
			t.Fatal(err)
		}
		if err := f.Run(t.Context(), c); !errors.Is(err, exchange.ErrEnded) {
			t.Fatal(err)
		}
		for i, s := range []*market.Series{a, b} {
			got, _ := l.candles(i)
			first := s.Search(got[0].OpenTime)
			if len(got) != s.Len()-first || len(got) < 80 {
				t.Fatalf("%d candles of %s, want %d", len(got), s.Symbol, s.Len()-first)
			}
			for n, c := range got {
				if c != s.At(first+n) {
					t.Fatalf("candle %d: %+v", n, c)
				}
			}
		}
		for i, s := range l.steps[1:] {
			if s.CloseTime <= l.steps[i].CloseTime {
				t.Fatalf("%s after %s", s.CloseTime, l.steps[i].CloseTime)
			}
		}
		if len(l.alarms) != 0 {
			t.Error(l.alarms)
		}
	})
}

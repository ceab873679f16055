package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFeedScripts runs seeded scripts of gaps of 1 to 500 candles, duplicates, late,
// corrected, reordered and broken candles, silence, cuts and failing requests. What is
// delivered is the venue's history, each candle once and in order.
func TestFeedScripts(t *testing.T) {
	first, n, done := uint64(1), ring.Size(50, 200, 5000), 0
	if text := os.Getenv("FEED_SCRIPT"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, n = seed, 1
	}
	faults := map[string]int{}
	for seed := first; seed < first+uint64(n); seed++ {
		synctest.Test(t, func(t *testing.T) { runScript(t, seed, faults) })
		if t.Failed() {
			t.Fatalf("script %d; run it alone with FEED_SCRIPT=%d", seed, seed)
		}
		done++
	}
	if n == 1 {
		return
	}
	for _, name := range append(exchangetest.Kinds(), "hole") {
		if faults[name] == 0 {
			t.Errorf("no script had the fault %q", name)
		}
	}
	t.Log(faults)
	ring.Count(t, "feed scripts", done, n)
}

// script is the stream of one run as it is written while the venue's clock goes on.
type script struct {
	exchangetest.Script
	v *fakeVenue
}

func newScript(r *rand.Rand, v *fakeVenue, span market.Time, faults map[string]int) *script {
	s := &script{v: v}
	s.Script = exchangetest.Script{Random: r, Span: span, LongGap: 500, Odds: 16, Faults: faults,
		Send: func(e exchange.CandleEvent) { v.events <- e },
		Later: func(wait market.Time, e exchange.CandleEvent) {
			go func() {
				time.Sleep(time.Duration(wait) * time.Millisecond)
				v.events <- e
			}()
		}}
	return s
}

var scriptSymbols = []market.Symbol{"A/USD", "B/USD"}

func runScript(t *testing.T, seed uint64, faults map[string]int) {
	r := rand.New(rand.NewPCG(seed, 99))
	symbols := scriptSymbols[:1+r.IntN(2)]
	before, length := r.IntN(60), 20+r.IntN(40)
	if r.IntN(3) == 0 {
		length += 500
	}
	time.Sleep(time.Duration(r.IntN(120_000)) * time.Millisecond)
	begun := market.FromTime(time.Now())
	// With candles of a second the stream outruns the waiting, with minutes it is the other way round.
	timeframe := market.MustTimeframe([]string{"1m", "1s"}[r.IntN(2)])
	span := market.Time(timeframe.Duration() / time.Millisecond)
	begun -= begun % span
	v := &fakeVenue{history: map[market.Symbol][]market.Candle{}, events: make(chan exchange.CandleEvent, 64)}
	s := newScript(r, v, span, faults)
	for _, symbol := range symbols {
		v.history[symbol] = makeSpans(r, begun-market.Time(before)*span, span, before+length,
			func(i int) bool {
				if i > before && r.IntN(60) == 0 {
					faults["hole"]++
					return true
				}
				return false
			})
	}
	requests := rand.New(rand.NewPCG(seed, 100)) // history is asked from another goroutine
	v.fail = func(exchange.CandleQuery) error {
		if requests.IntN(10) == 0 {
			return errNetwork
		}
		return nil
	}
	got := &log{}
	config := got.config(false, symbols...)
	config.Timeframe = timeframe
	f, err := feed.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		if _, err := f.Warm(ctx, v, market.Warmup{Candles: before}); err != nil {
			t.Error(err)
		}
		ended <- f.Run(ctx, v)
	}()
	s.play(symbols, begun, length)
	time.Sleep(3 * time.Minute)
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	checkTruth(t, got, v, symbols, begun)
}

// play sends the candles of a symbol at their closes, or what the script makes of them.
func (s *script) play(symbols []market.Symbol, begun market.Time, length int) {
	at := map[market.Symbol]map[market.Time]market.Candle{}
	for symbol, list := range s.v.history {
		at[symbol] = map[market.Time]market.Candle{}
		for _, c := range list {
			at[symbol][c.CloseTime] = c
		}
	}
	for n := 1; n <= length; n++ {
		sleepUntil(begun + market.Time(n)*s.Span)
		for i, symbol := range symbols {
			if c, ok := at[symbol][begun+market.Time(n)*s.Span]; ok {
				s.Candle(i, exchange.CandleEvent{Symbol: symbol, Candle: c})
			}
		}
	}
}

// checkTruth holds the steps against the history of the venue.
func checkTruth(t *testing.T, got *log, v *fakeVenue, symbols []market.Symbol, begun market.Time) {
	t.Helper()
	var last market.Time
	for _, s := range got.steps {
		if s.CloseTime <= last {
			t.Errorf("a step at %s after one at %s", s.CloseTime, last)
		}
		last = s.CloseTime
		for i := range symbols {
			if s.Closed[i] && s.Candles[i].CloseTime != s.CloseTime || s.Closed[i] != (s.Sources[i] != "") {
				t.Errorf("the step at %s has %+v, %q", s.CloseTime, s.Candles[i], s.Sources[i])
			}
			if s.Closed[i] && (s.CloseTime <= begun) != (s.Sources[i] == feed.Warmup) {
				t.Errorf("%s is from %s", s.CloseTime, s.Sources[i])
			}
		}
	}
	for i, symbol := range symbols {
		list, _ := got.candles(i)
		if want := v.history[symbol]; !slices.Equal(list, want) {
			t.Errorf("%s: %s", symbol, firstDifference(list, want))
		}
	}
}

func firstDifference(got, want []market.Candle) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("candle %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d candles, want %d", len(got), len(want))
}

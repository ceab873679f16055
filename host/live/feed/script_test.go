package feed_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/feed"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFeedScripts runs seeded scripts of gaps of 1 to 500 candles, duplicates, late,
// corrected, reordered and broken candles, silence, cuts and failing requests. What is
// delivered is the venue's history, each candle once and in order.
func TestFeedScripts(t *testing.T) { runScripts(t, 200) }

// TestFeedScriptsSoak is the same many times over.
func TestFeedScriptsSoak(t *testing.T) {
	if os.Getenv("ASSAY_SOAK") == "" {
		t.Skip("set ASSAY_SOAK")
	}
	runScripts(t, 5000)
}

func runScripts(t *testing.T, n int) {
	first := uint64(1)
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
	}
	if n >= 200 {
		t.Log(faults)
		for _, name := range []string{"gap", "long gap", "duplicate", "late", "corrected", "silence", "reorder", "broken", "cut", "hole"} {
			if faults[name] == 0 {
				t.Errorf("no script had the fault %q", name)
			}
		}
	}
}

// script is the stream of one run as it is written while the venue's clock goes on.
type script struct {
	t      *testing.T
	r      *rand.Rand
	v      *fakeVenue
	faults map[string]int
	span   market.Time
	quiet  [2]int // candles of a symbol still to be swallowed
	broken [2]int // candles of a symbol since one was sent whole
	held   [2]*exchange.CandleEvent
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
	s := &script{t: t, r: r, v: v, span: span, faults: faults}
	for _, symbol := range symbols {
		v.history[symbol] = makeSpans(r, begun-market.Time(before)*span, span, before+length, func(i int) bool {
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
		if _, err := f.Warm(ctx, v, before); err != nil {
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
		sleepUntil(begun + market.Time(n)*s.span)
		for i, symbol := range symbols {
			if c, ok := at[symbol][begun+market.Time(n)*s.span]; ok {
				s.send(i, exchange.CandleEvent{Symbol: symbol, Candle: c})
			}
		}
	}
}

func (s *script) send(i int, e exchange.CandleEvent) {
	if s.quiet[i] > 0 {
		s.quiet[i]--
		return
	}
	if h := s.held[i]; h != nil {
		s.held[i] = nil
		s.v.events <- e
		s.v.events <- *h
		return
	}
	switch s.r.IntN(16) {
	case 0:
		s.faults["gap"]++
		s.quiet[i] = s.r.IntN(5)
	case 1:
		if s.r.IntN(4) == 0 {
			s.faults["long gap"]++
			s.quiet[i] = s.r.IntN(500)
		}
	case 2:
		s.faults["duplicate"]++
		for range 1 + s.r.IntN(3) {
			s.v.events <- e
		}
		s.v.events <- e
	case 3:
		s.faults["late"]++
		go func(d time.Duration) {
			time.Sleep(d)
			s.v.events <- e
		}(time.Duration(s.r.Int64N(int64(s.span)*3/2)) * time.Millisecond)
	case 4:
		s.faults["corrected"]++
		s.v.events <- e
		e.Candle.High += 7
		s.v.events <- e
	case 5:
		s.faults["silence"]++
		s.quiet = [2]int{s.r.IntN(8), s.r.IntN(8)}
	case 6:
		s.faults["reorder"]++
		s.held[i] = &e
	case 7:
		s.faults["broken"]++
		s.v.events <- s.breakCandle(e)
		if s.broken[i]++; s.r.IntN(2) == 0 || s.broken[i] == 2 { // a third in a row would end the run
			s.broken[i] = 0
			s.v.events <- e
		}
	case 8:
		s.faults["cut"]++
		s.v.events <- exchange.CandleEvent{State: exchange.Reconnecting, Reason: "cut"}
		s.quiet[i] = s.r.IntN(3)
		s.v.events <- exchange.CandleEvent{State: exchange.Connected}
	default:
		s.v.events <- e
	}
}

func (s *script) breakCandle(e exchange.CandleEvent) exchange.CandleEvent {
	c := &e.Candle
	switch s.r.IntN(6) {
	case 0:
		c.Close = math.NaN()
	case 1:
		c.High, c.Low = c.Low, c.High
	case 2:
		c.Volume = -1
	case 3:
		c.OpenTime += 500
	case 4:
		c.Low = -c.Low
	default:
		c.OpenTime, c.CloseTime = c.OpenTime+1000*s.span, c.CloseTime+1000*s.span // not closed
	}
	return e
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

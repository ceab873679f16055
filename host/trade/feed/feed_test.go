package feed_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rig is a feed that runs over a fake venue of n future candles of each symbol.
type rig struct {
	*log
	t     *testing.T
	v     *fakeVenue
	begun market.Time
	feed  *feed.Feed
	stop  func() error
}

func newRig(t *testing.T, n int, symbols ...market.Symbol) *rig {
	t.Helper()
	r := &rig{log: &log{}, t: t, begun: nextMinute() - perMinute}
	r.v = &fakeVenue{history: map[market.Symbol][]market.Candle{}, events: make(chan exchange.CandleEvent)}
	for i, s := range symbols {
		r.v.history[s] = makeCandles(rand.New(rand.NewPCG(7, uint64(i))), r.begun, n)
	}
	var err error
	if r.feed, err = feed.New(r.config(false, symbols...)); err != nil {
		t.Fatal(err)
	}
	r.run()
	return r
}

// run begins a Run; stop ends it and gives its error.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.feed.Run(ctx, r.v) }()
	synctest.Wait()
	r.stop = func() error {
		synctest.Wait()
		cancel()
		return <-ended
	}
}

// at sleeps until some seconds after close n (from 1).
func (r *rig) at(n int, seconds float64) {
	r.looked()
	sleepUntil(r.begun + market.Time(n)*perMinute + market.Time(seconds*1000))
	synctest.Wait()
}

// looked orders what the test has read so far before what the feed writes next, for the
// race detector: a timer that fires does not.
func (r *rig) looked() {
	r.log.mu.Lock()
	r.v.mu.Lock()
	defer r.log.mu.Unlock()
	defer r.v.mu.Unlock()
}

// send streams candle n (from 1), changed if asked to.
func (r *rig) send(s market.Symbol, n int, change ...func(*market.Candle)) {
	c := r.v.history[s][n-1]
	for _, f := range change {
		f(&c)
	}
	r.v.events <- exchange.CandleEvent{Symbol: s, Candle: c}
	synctest.Wait()
}

// lose takes candle n out of history.
func (r *rig) lose(s market.Symbol, n int) {
	open := r.begun + market.Time(n-1)*perMinute
	r.v.mu.Lock()
	r.v.history[s] = slices.DeleteFunc(slices.Clone(r.v.history[s]), func(c market.Candle) bool {
		return c.OpenTime == open
	})
	r.v.mu.Unlock()
}

func (r *rig) want(steps, questions int) {
	r.t.Helper()
	if len(r.steps) != steps || len(r.v.asked) != questions {
		r.t.Errorf("%d steps, want %d; history was asked %d times, want %d", len(r.steps), steps,
			len(r.v.asked), questions)
	}
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestRules(t *testing.T) {
	bubble(t, "equal, older identical, older different", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.at(1, 0)
		r.send("A/USD", 1)
		r.send("A/USD", 1)
		r.want(1, 0)
		if len(r.alarms) != 0 {
			t.Error(r.alarms)
		}
		first := r.v.history["A/USD"][0]
		r.send("A/USD", 1, func(c *market.Candle) { c.High += 3 })
		r.want(1, 0)
		if len(r.alarms) != 1 || r.alarms[0].Code != feed.CandleCorrected || r.steps[0].Candles[0] != first ||
			r.steps[0].Sources[0] != feed.Stream {
			t.Error(r.alarms, r.steps[0])
		}
		r.at(2, 0)
		r.send("A/USD", 2)
		if len(r.steps[1].Alarms) != 1 {
			t.Error("the step does not carry the alarm")
		}
		_ = r.stop()
	})
	bubble(t, "a hole is filled before the newer candle", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.v.mu.Lock()
		r.v.edit = func(exchange.CandleQuery, []market.Candle) []market.Candle { return nil }
		r.v.mu.Unlock()
		r.at(3, 0)
		r.want(0, 2) // polls in vain
		r.v.mu.Lock()
		r.v.edit = nil
		r.v.mu.Unlock()
		r.send("A/USD", 3)
		got, from := r.candles(0)
		if !slices.Equal(got, r.v.history["A/USD"][:3]) ||
			!slices.Equal(from, []feed.Source{feed.Backfill, feed.Backfill, feed.Stream}) ||
			len(r.alarms) != 0 {
			t.Error(from, r.alarms)
		}
		r.want(3, 3)
		_ = r.stop()
	})
	bubble(t, "a request that fails says nothing about the candles", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.v.mu.Lock()
		r.v.fail = func(exchange.CandleQuery) error { return errNetwork }
		r.v.mu.Unlock()
		r.at(5, 30)
		r.v.mu.Lock()
		r.v.fail = nil
		r.v.mu.Unlock()
		r.at(6, 0)
		if got, _ := r.candles(0); !slices.Equal(got[:5], r.v.history["A/USD"][:5]) ||
			r.codes()[feed.CandleUnreachable] != 1 || r.codes()[feed.CandleMissing] != 0 {
			t.Error(r.codes(), len(got))
		}
		_ = r.stop()
	})
	bubble(t, "what history lacks after three answers is missing", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.at(1, 0)
		r.lose("A/USD", 2)
		r.send("A/USD", 1)
		r.at(3, 0)
		polls := len(r.v.asked)
		begun := time.Now()
		r.v.events <- exchange.CandleEvent{Symbol: "A/USD", Candle: r.v.history["A/USD"][1]} // candle 3
		// taken when the first is done with
		r.v.events <- exchange.CandleEvent{State: exchange.Gap}
		if d := time.Since(begun); d != 2*time.Second {
			t.Errorf("it took %s", d)
		}
		synctest.Wait()
		if n := len(r.v.asked) - polls; n != 3 {
			t.Errorf("asked %d times", n)
		}
		if a := r.alarms; len(a) != 1 || a[0].Code != feed.CandleMissing || a[0].Candles != 1 ||
			a[0].From != r.begun+perMinute || a[0].To != r.begun+2*perMinute {
			t.Errorf("%+v", a)
		}
		// It comes after all: the strategy has gone on without it, and it stays so.
		late := r.v.history["A/USD"][0]
		late.OpenTime, late.CloseTime = r.begun+perMinute, r.begun+2*perMinute
		r.v.events <- exchange.CandleEvent{Symbol: "A/USD", Candle: late}
		synctest.Wait()
		if a := r.alarms; len(a) != 2 || a[1].Code != feed.CandleMissing || a[1].From != late.OpenTime ||
			a[1].Candles != 0 {
			t.Errorf("%+v", a)
		}
		if got, _ := r.candles(0); !slices.Equal(got, r.v.history["A/USD"][:2]) {
			t.Error(got)
		}
		_ = r.stop()
	})
	bubble(t, "what one answer had the next need not repeat", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		answers := 0
		r.v.mu.Lock()
		r.v.edit = func(_ exchange.CandleQuery, page []market.Candle) []market.Candle {
			if answers++; len(page) == 2 {
				// the first answer had one
				return [][]market.Candle{nil, page[1:], nil, page[:1]}[min(answers-2, 3)]
			}
			return nil
		}
		r.v.mu.Unlock()
		r.at(3, 0)
		r.send("A/USD", 3)
		r.at(3, 5)
		if got, _ := r.candles(0); !slices.Equal(got, r.v.history["A/USD"][:3]) || len(r.alarms) != 0 {
			t.Error(len(got), r.alarms)
		}
		_ = r.stop()
	})
	bubble(t, "an answer may come late", func(t *testing.T) {
		r := newRig(t, 9, "A/USD", "B/USD")
		answers := 0
		r.v.mu.Lock()
		r.v.edit = func(_ exchange.CandleQuery, page []market.Candle) []market.Candle {
			if answers++; answers < 3 {
				return nil
			}
			return page
		}
		r.v.mu.Unlock()
		r.at(1, 0)
		r.send("A/USD", 1)
		r.at(1, 6.9)
		r.want(0, 2)
		r.at(1, 7)
		r.want(1, 3)
		if !r.steps[0].Closed[1] || r.steps[0].Sources[1] != feed.Backfill || len(r.alarms) != 0 {
			t.Error(r.steps[0], r.alarms)
		}
		_ = r.stop()
	})
}

func TestWaiting(t *testing.T) {
	bubble(t, "a step waits 5 s for all symbols", func(t *testing.T) {
		r := newRig(t, 9, "A/USD", "B/USD")
		r.at(1, 0.1)
		r.send("A/USD", 1)
		r.at(1, 4.9)
		r.want(0, 0)
		r.at(1, 5)
		r.want(1, 1)
		if s := r.steps[0]; !s.Closed[0] || !s.Closed[1] || s.Sources[0] != feed.Stream ||
			s.Sources[1] != feed.Backfill {
			t.Error(s)
		}
		r.at(2, 0)
		r.send("B/USD", 2)
		r.at(2, 4)
		r.send("A/USD", 2)
		r.want(2, 1)
		_ = r.stop()
	})
	bubble(t, "a symbol without a candle does not hold the others for good", func(t *testing.T) {
		r := newRig(t, 9, "A/USD", "B/USD")
		r.lose("B/USD", 1)
		r.at(1, 0)
		r.send("A/USD", 1)
		r.at(1, 6.9)
		r.want(0, 2)
		r.at(1, 7)
		r.want(1, 3)
		if s := r.steps[0]; s.Closed[1] || s.Sources[1] != "" {
			t.Error(s)
		}
		late := makeCandles(rand.New(rand.NewPCG(7, 1)), r.begun, 1)[0]
		r.v.events <- exchange.CandleEvent{Symbol: "B/USD", Candle: late} // too late: the step has gone
		r.at(2, 0)
		r.send("A/USD", 2)
		r.v.events <- exchange.CandleEvent{Symbol: "B/USD", Candle: r.v.history["B/USD"][0]}
		synctest.Wait()
		r.want(2, 3)
		if r.codes()[feed.CandleMissing] != 1 || len(r.alarms) != 1 {
			t.Error(r.alarms)
		}
		_ = r.stop()
	})
	bubble(t, "silence is asked about 10 s after the close", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.at(1, 9.9)
		r.want(0, 0)
		r.at(1, 10)
		r.want(1, 1)
		r.at(2, 10)
		r.want(2, 2)
		r.lose("A/USD", 3)
		r.at(3, 59)
		r.want(2, 3)
		if len(r.alarms) != 0 {
			t.Error("a candle that may still come is called missing")
		}
		r.at(4, 12)
		r.want(3, 6)
		_ = r.stop()
	})
	bubble(t, "a reconnect is asked about at once", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.at(1, 0)
		r.v.events <- exchange.CandleEvent{State: exchange.Reconnecting}
		r.v.events <- exchange.CandleEvent{State: exchange.Connected}
		synctest.Wait()
		r.want(1, 1)
		if !slices.Equal(r.states,
			[]exchange.LinkState{exchange.Connected, exchange.Reconnecting, exchange.Connected}) {
			t.Error(r.states)
		}
		_ = r.stop()
	})
}

func TestInvalid(t *testing.T) {
	for name, spoil := range map[string]func(*market.Candle){
		"off the grid":   func(c *market.Candle) { c.OpenTime += 500 },
		"NaN":            func(c *market.Candle) { c.Open = math.NaN() },
		"infinite":       func(c *market.Candle) { c.Volume = math.Inf(1) },
		"high below low": func(c *market.Candle) { c.High, c.Low = c.Low, c.High },
		"negative":       func(c *market.Candle) { c.Low = -1 },
		"zero":           func(c *market.Candle) { c.Low = 0 },
		"volume":         func(c *market.Candle) { c.Volume = -1 },
		"forming":        func(c *market.Candle) { c.OpenTime += perMinute; c.CloseTime += perMinute },
		"too long":       func(c *market.Candle) { c.CloseTime += perMinute },
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, 9, "A/USD")
			r.at(1, 0)
			r.send("A/USD", 1, spoil)
			r.want(1, 1) // fetched anew
			if r.codes()[feed.CandleInvalid] != 1 || r.steps[0].Candles[0] != r.v.history["A/USD"][0] {
				t.Error(r.alarms)
			}
			r.v.mu.Lock()
			r.v.edit = func(exchange.CandleQuery, []market.Candle) []market.Candle { return nil }
			r.v.mu.Unlock()
			r.at(2, 0)
			r.send("A/USD", 2, spoil)
			r.send("A/USD", 2, spoil)
			r.send("A/USD", 2, spoil)
			bad := new(feed.DataError)
			if err := r.stop(); !errors.As(err, &bad) || bad.Symbol != "A/USD" {
				t.Error(err)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	bubble(t, "the step's error", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		full := errors.New("full")
		r.answer = func(*feed.Step) error { return full }
		r.at(1, 0)
		r.send("A/USD", 1)
		if err := r.stop(); err != full {
			t.Error(err)
		}
	})
	bubble(t, "a stream that gave up goes on with the next", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.at(1, 0)
		r.send("A/USD", 1)
		r.v.err = errNetwork
		close(r.v.events)
		if err := r.stop(); err != errNetwork {
			t.Error(err)
		}
		r.at(4, 30)
		r.v.events = make(chan exchange.CandleEvent)
		r.run()
		if got, _ := r.candles(0); !slices.Equal(got, r.v.history["A/USD"][:4]) {
			t.Errorf("%d candles", len(got))
		}
		if err := r.stop(); err != context.Canceled {
			t.Error(err)
		}
	})
	bubble(t, "a replay ends behind its last step", func(t *testing.T) {
		r := newRig(t, 9, "A/USD", "B/USD")
		r.at(1, 0)
		r.send("A/USD", 1)
		r.v.err = exchange.ErrEnded
		close(r.v.events)
		if err := r.stop(); err != exchange.ErrEnded || len(r.steps) != 1 {
			t.Error(err, len(r.steps))
		}
	})
	bubble(t, "a definite refusal", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.v.mu.Lock()
		r.v.fail = func(exchange.CandleQuery) error {
			return &exchange.Error{Result: exchange.Result{Outcome: exchange.Rejected}}
		}
		r.v.mu.Unlock()
		r.at(1, 11)
		if refused := new(exchange.Error); !errors.As(r.stop(), &refused) {
			t.Error("it goes on")
		}
	})
	bubble(t, "an unknown symbol", func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.at(1, 0)
		r.v.events <- exchange.CandleEvent{Symbol: "X/USD", Candle: r.v.history["A/USD"][0]}
		if err := r.stop(); err == nil || err == context.Canceled {
			t.Error(err)
		}
	})
}

// While a step is answered the venue is held up; nothing is lost.
func TestBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 9, "A/USD")
		r.answer = func(*feed.Step) error {
			time.Sleep(90 * time.Second)
			return nil
		}
		for n := 1; n <= 4; n++ {
			r.at(n, 0)
			r.v.events <- exchange.CandleEvent{Symbol: "A/USD", Candle: r.v.history["A/USD"][n-1]}
		}
		time.Sleep(20 * time.Minute)
		_ = r.stop()
		if got, _ := r.candles(0); !slices.Equal(got, r.v.history["A/USD"]) {
			t.Errorf("%d candles", len(got))
		}
	})
}

func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := nextMinute() - perMinute
		v := &fakeVenue{
			history: map[market.Symbol][]market.Candle{"A/USD": makeCandles(rand.New(rand.NewPCG(1, 1)),
				begun-2500*perMinute, 2500)}}
		for want, asked := range map[int]int{0: 0, 1: 1, 1000: 1, 1001: 2, 2500: 3, 4000: 4} {
			l := &log{}
			v.asked = nil
			f, err := feed.New(l.config(false, "A/USD"))
			if err != nil {
				t.Fatal(err)
			}
			n, err := f.Warm(t.Context(), v, market.Warmup{Candles: want})
			got, from := l.candles(0)
			if err != nil || n != min(want, 2500) || !slices.Equal(got, v.history["A/USD"][2500-n:]) ||
				len(v.asked) > asked {
				t.Errorf("%d wanted: %d, asked %d times, %v", want, n, len(v.asked), err)
			}
			if slices.ContainsFunc(from, func(s feed.Source) bool {
				return s != feed.Warmup
			}) || len(l.alarms) != 0 {
				t.Error(from, l.alarms)
			}
		}
	})
}

// TestInvalidInARow: only candles that follow each other make three in a row, also in an answer of history.
func TestInvalidInARow(t *testing.T) {
	// spoilt makes some candles of a venue's history impossible, of each symbol, from 1.
	spoilt := func(v *fakeVenue, from market.Time, numbers ...int) {
		v.edit = func(_ exchange.CandleQuery, page []market.Candle) []market.Candle {
			page = slices.Clone(page)
			for i := range page {
				if slices.Contains(numbers, int((page[i].OpenTime-from)/perMinute)+1) {
					page[i].Low = -1
				}
			}
			return page
		}
	}
	for name, c := range map[string]struct {
		bad  []int
		fail bool
	}{
		"scattered": {bad: []int{2, 4, 6, 8}}, "two and two": {bad: []int{2, 3, 5, 6}},
		"three": {bad: []int{4, 5, 6}, fail: true},
	} {
		bubble(t, "in a hole, "+name, func(t *testing.T) {
			r := newRig(t, 12, "A/USD")
			r.v.mu.Lock()
			spoilt(r.v, r.begun, c.bad...)
			fails := r.v.fail
			r.v.fail = func(exchange.CandleQuery) error { return errNetwork }
			r.v.mu.Unlock()
			r.at(10, 0)
			r.v.mu.Lock()
			r.v.fail = fails
			r.v.mu.Unlock()
			r.at(10, 30) // every request for the hole is answered by now
			err := r.stop()
			if bad := new(feed.DataError); errors.As(err, &bad) != c.fail {
				t.Fatal(err)
			}
			if got, _ := r.candles(0); !c.fail && len(got) < 9-len(c.bad) {
				t.Errorf("%d candles, %v", len(got), r.codes())
			}
		})
		bubble(t, "in the warm-up, "+name, func(t *testing.T) {
			begun := nextMinute() - perMinute
			v := &fakeVenue{
				history: map[market.Symbol][]market.Candle{"A/USD": makeCandles(rand.New(rand.NewPCG(1, 1)),
					begun-10*perMinute, 10)}}
			spoilt(v, begun-10*perMinute, c.bad...)
			l := &log{}
			f, err := feed.New(l.config(false, "A/USD"))
			if err != nil {
				t.Fatal(err)
			}
			n, err := f.Warm(t.Context(), v, market.Warmup{Candles: 10})
			if bad := new(feed.DataError); errors.As(err, &bad) != c.fail || !c.fail && n != 10-len(c.bad) {
				t.Errorf("%d candles, %v", n, err)
			}
		})
	}
}

// TestStepNotTaken: a step that nobody took when the feed was stopped comes with the next Run, once, with
// its alarms.
func TestStepNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 9, "A/USD", "B/USD")
		full := errors.New("nobody takes it")
		refused := 0
		r.answer = func(*feed.Step) error {
			if refused++; refused == 1 {
				r.log.steps = r.log.steps[:len(r.log.steps)-1]
				return full
			}
			return nil
		}
		r.at(1, 0)
		r.send("A/USD", 1)
		r.send("A/USD", 1, func(c *market.Candle) { c.High += 3 })
		r.send("B/USD", 1)
		if err := r.stop(); err != full || len(r.steps) != 0 {
			t.Fatal(err, len(r.steps))
		}
		r.run()
		r.at(3, 0)
		if err := r.stop(); err != context.Canceled {
			t.Error(err)
		}
		for i, symbol := range []market.Symbol{"A/USD", "B/USD"} {
			if got, _ := r.candles(i); len(got) < 2 || !slices.Equal(got, r.v.history[symbol][:len(got)]) {
				t.Errorf("%s: %d candles", symbol, len(got))
			}
		}
		if refused != len(r.steps)+1 || len(r.steps[0].Alarms) != 1 {
			t.Errorf("%d steps of %d, %v", len(r.steps), refused, r.steps[0].Alarms)
		}
	})
}

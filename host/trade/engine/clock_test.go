package engine

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestClock: a venue whose clock is off by up to 2.5 seconds is traded with corrected times, beyond
// half a second with a warning; beyond that no run begins.
func TestClock(t *testing.T) {
	t.Parallel()
	book := shared(t)
	var wg sync.WaitGroup
	for _, off := range []time.Duration{150 * time.Millisecond, time.Second, 1800 * time.Millisecond,
		4 * time.Second, time.Minute, time.Hour} {
		for _, offset := range []time.Duration{off, -off} {
			r := newRig(t, "clock "+offset.String(), book)
			wg.Go(func() {
				defer r.close()
				clockOff(r, offset)
			})
		}
	}
	wg.Wait()
}

func clockOff(r *rig, offset time.Duration) {
	r.do(testvenue.Script{Action: "clock_offset", Args: []string{fmt.Sprint(offset.Milliseconds())}})
	r.decide = func(v *View) []market.Intent {
		if v.Step == 0 {
			return []market.Intent{buy(size), limit(market.Buy, size, 25000)}
		}
		return nil
	}
	r.start()
	if offset.Abs() > maxSkew {
		err := r.wait()
		if f, ok := errors.AsType[*Fault](err); !ok || f.Reason != "clock_skew" ||
			f.Data["reason"] != "clock_skew" || r.venue.Count("submit") > 0 {
			r.errorf("%v", err)
		}
		return
	}
	if !r.trades() || !r.step() || !r.moving("the fill", func(list []market.Order) bool {
		return len(list) == 2 && list[0].Status == market.StatusFilled && list[1].Status == market.StatusOpen
	}) {
		return
	}
	if err := r.stop(); !errors.Is(err, errStop) {
		r.errorf("%v", err)
	}
	n := r.notes()
	if warned := n.warned(CodeClockSkew); warned != (offset.Abs() > warnSkew) {
		r.errorf("warnings %v", n.warnings)
	}
	if n := r.venue.Count("submit"); n != 2 {
		r.errorf("%d submits: the first times were wrong", n)
	}
	r.check(dec{})
}

// TestClockJumps: a clock that is set while a run trades costs a refusal that is known for what it is;
// the same order goes again with the right time, once.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	book := shared(t)
	var wg sync.WaitGroup
	for _, jump := range []time.Duration{-2 * time.Second, 8 * time.Second, -time.Hour, time.Hour} {
		r := newRig(t, "jump "+jump.String(), book)
		wg.Go(func() {
			defer r.close()
			clockJumps(r, jump)
		})
	}
	wg.Wait()
}

func clockJumps(r *rig, jump time.Duration) {
	var answers []exchange.Outcome
	r.around = func(call string, _ int) func(exchange.Result) {
		return func(a exchange.Result) {
			if call == "submit" {
				r.mu.Lock()
				defer r.mu.Unlock()
				answers = append(answers, a.Outcome)
			}
		}
	}
	r.decide = func(v *View) []market.Intent {
		if v.Step == 1 {
			return []market.Intent{buy(size)}
		}
		return nil
	}
	r.start()
	if !r.trades() || !r.step() {
		return
	}
	r.do(testvenue.Script{Action: "clock_offset", Args: []string{fmt.Sprint(jump.Milliseconds())}})
	if !r.step() || !r.until(time.Minute, "order at the venue", func() bool {
		return len(r.venue.Orders()) == 1
	}) || !r.settled() {
		return
	}
	if err := r.stop(); !errors.Is(err, errStop) {
		r.errorf("%v", err)
	}
	r.mu.Lock()
	if n := len(answers); n < 2 || answers[0] != exchange.Clock || answers[n-1] != exchange.Accepted {
		r.errorf("answers %v", answers)
	}
	r.mu.Unlock()
	if n := r.notes(); n.orders[0].Status != market.StatusFilled || len(n.orders) != 1 {
		r.errorf("%+v", n.orders)
	}
	r.check(dec{})
}

// TestBackoffSilenceOnTheWire: in the time that a 429 or a 418 asks for the venue hears nothing at all,
// whatever the strategy wants and although the streams break; then the run goes on.
func TestBackoffSilenceOnTheWire(t *testing.T) {
	t.Parallel()
	book := shared(t)
	var wg sync.WaitGroup
	for action, outcome := range map[string]exchange.Outcome{"429": exchange.Throttled,
		"418": exchange.Banned} {
		for call := range calledBy {
			if call == "query" {
				continue // of what nobody knows: TestAmbiguousOnTheWire
			}
			r := newRig(t, "silence "+action+" "+call, book)
			wg.Go(func() {
				defer r.close()
				silence(r, call, action, outcome)
			})
		}
	}
	wg.Wait()
}

// asked is what the test venue's Retry-After says.
const asked = 2 * time.Second

func silence(r *rig, call, action string, want exchange.Outcome) {
	var began time.Time
	before, streams := 0, 0
	r.around = func(c string, _ int) func(exchange.Result) {
		sent := time.Now() // the window begins after it
		return func(a exchange.Result) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if c == call && a.Outcome == want && began.IsZero() {
				began, before, streams = sent, r.venue.Count("all"), r.venue.Count("streams")
			}
		}
	}
	since := func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return began
	}
	r.decide = func(v *View) []market.Intent {
		low := limit(market.Buy, size, 25000)
		low.ClientRef = fmt.Sprint("low", v.Step)
		cancel := market.Intent{Action: market.CancelAll, Symbol: btc}
		switch {
		case v.Step == 0 && call == "cancel":
			return []market.Intent{low}
		case v.Step == 1 && call == "cancel":
			return []market.Intent{cancel}
		case v.Step == 1:
			return []market.Intent{low}
		case v.Step > 1 && v.Step < 6:
			return []market.Intent{low, buy(0.001), cancel}
		case v.Step == 6:
			return []market.Intent{buy(size)}
		}
		return nil
	}
	r.do(testvenue.Script{Match: calledBy[call], Action: action})
	r.start()
	if !r.trades() || !r.step() || call == "cancel" &&
		!r.until(time.Minute, "the order to cancel", func() bool {
			n := r.notes()
			return len(n.orders) == 1 && n.orders[0].Status == market.StatusOpen
		}) {
		return
	}
	if !r.step() || !r.until(time.Minute, action, func() bool { return !since().IsZero() }) {
		return
	}
	heard := func() {
		n, connected := r.venue.Count("all")-before, r.venue.Count("streams")-streams
		if time.Since(since()) < asked && (n != 0 || connected != 0) {
			r.errorf("%d requests and %d new streams in the window", n, connected)
		}
	}
	for range 4 {
		if !r.step() {
			return
		}
		heard()
	}
	r.do(testvenue.Script{Action: "stream_cut", Args: []string{"user"}})
	for time.Since(since()) < asked {
		time.Sleep(10 * time.Millisecond)
		heard()
	}
	if !r.until(time.Minute, "the account again", func() bool {
		return r.phase() == Trading && r.synced()
	}) || !r.step() || !r.moving("the last order", func(list []market.Order) bool {
		last := list[len(list)-1]
		return last.Type == market.Market && last.Quantity.Cmp(d("0.03")) == 0 &&
			last.Status == market.StatusFilled
	}) {
		return
	}
	if err := r.stop(); !errors.Is(err, errStop) {
		r.errorf("%v", err)
	}
	r.check(dec{})
}

// TestClockIsHeard: each beat brings the venue's time. A run whose clock lost it, as a machine does that
// slept, has it again two seconds later, and where this machine's time of day is another the user is warned.
func TestClockIsHeard(t *testing.T) {
	for _, c := range []struct {
		offset, slept time.Duration
	}{{slept: time.Hour}, {offset: 2 * time.Second}, {offset: -2 * time.Second},
		{offset: 300 * time.Millisecond}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.decide = func(v *View) ([]market.Intent, error) {
					if v.Step == 6 {
						return []market.Intent{buy(0.1)}, nil
					}
					return nil, nil
				}
				b.venue.events = func(ev exchange.AccountEvent) []exchange.AccountEvent {
					if ev.Fill != nil {
						return nil // only a list tells of it, and only who asks by the venue's time
					}
					return []exchange.AccountEvent{ev}
				}
				b.start()
				b.sleep(3*minute + 30*time.Second)
				if len(b.warnings) > 0 {
					t.Fatal(b.warnings)
				}
				b.venue.mu.Lock()
				b.venue.offset = c.offset
				b.venue.mu.Unlock()
				b.engine.session.venue.SetOffset(-c.slept)
				b.sleep(exchange.BeatEvery + time.Millisecond)
				if now := market.FromTime(time.Now().Add(c.offset)); b.engine.session.venue.Now() != now {
					t.Errorf("it is %s, the run goes by %s", now, b.engine.session.venue.Now())
				}
				b.sleep(6 * minute)
				if b.warned(CodeClockSkew) != (c.offset.Abs() > warnSkew) || len(b.warnings) > 1 {
					t.Error(b.warnings)
				}
				if len(b.fills) != 1 {
					t.Errorf("%d fills", len(b.fills))
				}
				b.check(b.stop())
			})
		})
	}
}

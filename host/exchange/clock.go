package exchange

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// ErrEnded is what StreamCandles returns when the market has no more candles: the end of
// a replay. It is no fault.
var ErrEnded = errors.New("the candles of the replay have ended")

// VenueClock is the time of a venue. Limits in candles, hours and days go by it; time-outs
// and leases do not.
type VenueClock interface {
	// Now is the venue's time.
	Now() market.Time
	// Wall is how long a stretch of the venue's time lasts on this machine, at the
	// present pace.
	Wall(d time.Duration) time.Duration
}

// WallClock is this machine's time of day, for where the venue's is not known.
type WallClock struct{}

// Now is this machine's time.
func (WallClock) Now() market.Time { return market.FromTime(time.Now()) }

// Wall is d itself.
func (WallClock) Wall(d time.Duration) time.Duration { return d }

// SteadyClock is the clock of a venue whose time passes as ours does. It goes on from where the venue's
// clock was last known to be by the time that has passed since: who sets this machine's clock does not move
// it. While a machine is suspended it stands still. It has to be set before it is read.
type SteadyClock struct {
	mu    sync.Mutex
	then  market.Time
	since time.Time // with its monotonic reading
}

// Set sets what the venue's time was at a moment that time.Now gave.
func (c *SteadyClock) Set(then market.Time, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.then, c.since = then, at
}

// SetOffset sets the venue's clock to ours and the offset.
func (c *SteadyClock) SetOffset(offset time.Duration) {
	now := time.Now()
	c.Set(market.FromTime(now.Add(offset)), now)
}

// clockGrain is what two measures of one clock may differ by besides the way of the answer.
const clockGrain = 20 * time.Millisecond

// Observe takes the venue's time as it came between asked and now. Told is the offset that was known last;
// it returns the one that is known now. What lies within the way of the answer is nothing new.
func (c *SteadyClock) Observe(venue market.Time, asked time.Time, told time.Duration) time.Duration {
	way := time.Since(asked) / 2
	at, within := asked.Add(way), way+clockGrain
	if off := time.Duration(venue-c.At(at)) * time.Millisecond; off.Abs() > within {
		c.Set(venue, at)
	}
	offset := time.Duration(int64(venue)-at.UnixMilli()) * time.Millisecond
	if (offset - told).Abs() <= within {
		return told
	}
	return offset
}

// Now returns the venue's time.
func (c *SteadyClock) Now() market.Time { return c.At(time.Now()) }

// At returns the venue's time at a moment that time.Now gave.
func (c *SteadyClock) At(t time.Time) market.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.then.Add(t.Sub(c.since))
}

// When returns the moment of ours at which it was t at the venue.
func (c *SteadyClock) When(t market.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since.Add(time.Duration(t-c.then) * time.Millisecond)
}

// Wall is d itself.
func (*SteadyClock) Wall(d time.Duration) time.Duration { return d }

// PacedClock is the clock of a venue whose time passes so many times as fast as ours, such as
// an accelerated test venue.
type PacedClock struct {
	// Then is the venue's time at our Since.
	Then  market.Time
	Since time.Time
	// Pace is above 0: seconds of the venue in one of ours.
	Pace float64
}

// The bounds of a Pace.
const (
	LeastPace = 0.001
	MostPace  = 1_000_000
)

// Now returns the venue's time.
func (c PacedClock) Now() market.Time {
	return c.Then.Add(time.Duration(float64(time.Since(c.Since)) * c.Pace))
}

// Wall is d at the pace.
func (c PacedClock) Wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.Pace)
}

// The bounds of a Backoff that has none of its own.
const (
	LeastBackoff = 500 * time.Millisecond
	MostBackoff  = 30 * time.Second
)

// leastSilence is how long nothing is asked after a request that was refused unexecuted, at the least.
const leastSilence = time.Second

// Pause waits; false: the context ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Backoff is the time between attempts: about twice as long after each, give or take a fifth, so that not
// everybody comes at once. Its zero value is ready.
type Backoff struct {
	// Least and Most bound it; LeastBackoff and MostBackoff if zero.
	Least, Most time.Duration

	last time.Duration
}

// Next returns how long to wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, cmp.Or(b.Least, LeastBackoff)), cmp.Or(b.Most, MostBackoff))
	return time.Duration(float64(b.last) * (0.8 + 0.4*rand.Float64()))
}

// Reset begins anew, after an attempt that was not in vain.
func (b *Backoff) Reset() { b.last = 0 }

// HoldOff returns how long to ask nothing after a request that was refused unexecuted; zero: it was answered
// otherwise.
func (r Result) HoldOff() time.Duration {
	switch r.Outcome {
	case Throttled, Banned, Clock:
	case NotSent:
		if r.RetryAfterMS <= 0 {
			return 0
		}
	default:
		return 0
	}
	return max(time.Duration(r.RetryAfterMS)*time.Millisecond, leastSilence)
}

package exchange

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

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
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Backoff is the time between attempts: about twice as long after each, give or take a fifth, so that not everybody
// comes at once. Its zero value is ready.
type Backoff struct {
	// Least and Most bound it; LeastBackoff and MostBackoff if zero.
	Least, Most time.Duration

	last time.Duration
}

// Next is how long to wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, cmp.Or(b.Least, LeastBackoff)), cmp.Or(b.Most, MostBackoff))
	return time.Duration(float64(b.last) * (0.8 + 0.4*rand.Float64()))
}

// Reset begins anew, after an attempt that was not in vain.
func (b *Backoff) Reset() { b.last = 0 }

// ResultOf is the outcome of a read.
func ResultOf(err error) Result {
	if err == nil {
		return Result{Outcome: Accepted}
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Result
	}
	return Result{Outcome: Unknown, Message: err.Error()}
}

// HoldOff is how long to ask nothing after a request that was refused unexecuted; zero: it was answered otherwise.
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

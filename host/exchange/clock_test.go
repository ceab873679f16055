package exchange_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestSteadyClock: the venue's time goes on by what has passed, whatever this machine's clock is set to
// meanwhile.
func TestSteadyClock(t *testing.T) {
	for _, jump := range []time.Duration{0, time.Second, time.Hour, -time.Hour} {
		const open = market.Time(1_700_000_000_000)
		began := time.Now()
		var c exchange.SteadyClock
		c.Set(open, hosttest.SetClock(t, began, -jump)) // it has been set by jump since
		if now, passed := c.Now(), time.Since(began); now < open || now > open.Add(passed) {
			t.Errorf("set by %s it is %s after %s", jump, now, passed)
		}
		if at := c.At(began.Add(time.Minute)); at != open.Add(time.Minute) {
			t.Errorf("set by %s it is %s a minute later", jump, at)
		}
		if at := c.When(open.Add(-time.Minute)); at.Sub(began) != -time.Minute {
			t.Errorf("set by %s a minute before is %s", jump, at)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var c exchange.SteadyClock
		c.SetOffset(-2 * time.Second)
		time.Sleep(time.Minute)
		if want := market.FromTime(time.Now().Add(-2 * time.Second)); c.Now() != want {
			t.Errorf("%s, want %s", c.Now(), want)
		}
		if c.Wall(time.Hour) != time.Hour {
			t.Error("its time passes as ours does")
		}
	})
}

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		backoff     exchange.Backoff
		least, most time.Duration
	}{
		{exchange.Backoff{}, exchange.LeastBackoff, exchange.MostBackoff},
		{exchange.Backoff{Least: time.Minute, Most: 3 * time.Minute}, time.Minute, 3 * time.Minute},
	} {
		for range 3 {
			for want := c.least; want < 4*c.most; want *= 2 {
				about := min(want, c.most)
				if got := c.backoff.Next(); got < about*8/10 || got > about*12/10 {
					t.Errorf("%s, want about %s", got, about)
				}
			}
			c.backoff.Reset()
		}
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if !exchange.Pause(ctx, -time.Second) || !exchange.Pause(ctx, 40*time.Second) ||
			exchange.Pause(ctx, 40*time.Second) || exchange.Pause(ctx, 0) {
			t.Error("it ends otherwise than with its context")
		}
		if took := time.Since(began); took != time.Minute {
			t.Error(took)
		}
	})
}

func TestHoldOff(t *testing.T) {
	for want, list := range map[time.Duration][]exchange.Result{
		0: {
			{}, {Outcome: exchange.Unknown, RetryAfterMS: 5000},
			{Outcome: exchange.Rejected, RetryAfterMS: 5000}, {Outcome: exchange.NotSent},
			exchange.ResultOf(nil), exchange.ResultOf(errors.New("no route to host")),
		},
		time.Second: {{Outcome: exchange.Clock}, {Outcome: exchange.Banned, RetryAfterMS: 5},
			{Outcome: exchange.NotSent, RetryAfterMS: 5}},
		5 * time.Second: {{Outcome: exchange.Throttled, RetryAfterMS: 5000},
			exchange.ResultOf(
				&exchange.Error{Result: exchange.Result{Outcome: exchange.NotSent, RetryAfterMS: 5000}})},
	} {
		for _, r := range list {
			if got := r.HoldOff(); got != want {
				t.Errorf("%+v: %s, want %s", r, got, want)
			}
		}
	}
}

// TestWhile: what goes on over a connector ends with its process, and with nothing else but its context.
func TestWhile(t *testing.T) {
	gone, stopped := make(chan struct{}), errors.New("somebody stopped it")
	waits := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	c := exchange.Connection{Gone: gone}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := c.While(ctx, func(context.Context) error { return nil }); err != nil || c.IsGone() {
		t.Error(err)
	}
	cancel(stopped)
	if err := c.While(ctx, waits); !errors.Is(err, stopped) {
		t.Error(err)
	}
	close(gone)
	if err := c.While(t.Context(), waits); !errors.Is(err, exchange.ErrGone) || !c.IsGone() {
		t.Error(err)
	}
	if none := (&exchange.Connection{}); none.IsGone() {
		t.Error("a connector without a process is gone")
	}
}

package exchange_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/clocktest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestSteadyClock: the venue's time goes on by what has passed, whatever this machine's clock is set to meanwhile.
func TestSteadyClock(t *testing.T) {
	for _, jump := range []time.Duration{0, time.Second, time.Hour, -time.Hour} {
		const open = market.Time(1_700_000_000_000)
		began := time.Now()
		var c exchange.SteadyClock
		c.Set(open, clocktest.Set(t, began, -jump)) // it has been set by jump since
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

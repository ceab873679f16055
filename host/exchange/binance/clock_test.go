package binance

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestSetClock: a beat returns the exchange's time although this machine's clock was set, and has it
// measured again.
func TestSetClock(t *testing.T) {
	for _, jump := range []time.Duration{0, time.Hour, -time.Hour} {
		s := &session{state: opened, rest: rest{resync: make(chan struct{}, 1)}}
		now := time.Now()
		measured := hosttest.SetClock(t, now, -jump) // by the clock as it was before it was set
		look := sample{venue: market.FromTime(measured.Add(time.Second)), ours: measured}
		s.rest.offset.Store(look.offset())
		s.rest.clock.Set(look.venue, look.ours)
		ack, err := s.Beat(t.Context(), 1)
		if passed := time.Since(now); err != nil || ack.VenueTime < look.venue ||
			ack.VenueTime > look.venue.Add(passed) {
			t.Errorf("set by %s: %+v %v, measured %s %s ago", jump, ack, err, look.venue, passed)
		}
		if asked := len(s.rest.resync) == 1; asked != (jump != 0) {
			t.Errorf("set by %s: measured again %t", jump, asked)
		}
	}
}

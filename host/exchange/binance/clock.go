package binance

import (
	"context"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// clockSlip is how far this machine's clock may move against the time that passes before the venue's
// is measured again.
const clockSlip = 500 * time.Millisecond

// sample is one look at the venue's clock.
type sample struct {
	venue market.Time
	ours  time.Time
}

// offset is the venue's clock minus ours, in milliseconds.
func (x sample) offset() int64 { return int64(x.venue) - x.ours.UnixMilli() }

// Beat implements exchange.Connector: the guard around the connector keeps the lease and counts the
// orders. A clock that was set, or a machine that slept, shows here before a request is refused for it.
func (s *session) Beat(context.Context, int64) (exchange.Ack, error) {
	if why := s.ready(false); why != "" {
		return exchange.Ack{}, failed(exchange.NotSent, why)
	}
	now := time.Now()
	ack := exchange.Ack{VenueTime: s.clock.At(now)}
	if slip := time.Duration(sample{ack.VenueTime, now}.offset()-s.offset.Load()) * time.Millisecond; slip.Abs() > clockSlip {
		s.askTime()
	}
	return ack, nil
}

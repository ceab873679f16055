package feed

import (
	"context"
	"fmt"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Source says where a candle came from.
type Source string

// The sources.
const (
	Warmup   Source = "warmup"
	Stream   Source = "stream"
	Backfill Source = "backfill"
)

// Step is the candles that closed at one moment, as the simulator takes them. Its slices
// belong to the receiver.
type Step struct {
	sim.Batch
	// Sources of the candles; empty where none closed.
	Sources []Source
	// Alarms raised since the step before.
	Alarms []Alarm
}

// Offer is a step on its way to whoever decides it.
type Offer struct {
	Step *Step
	done chan struct{} // closed when it was answered; nil: nobody waits for that
}

// Answered lets the feed go on, once.
func (o *Offer) Answered() {
	if o.done != nil {
		close(o.done)
		o.done = nil
	}
}

// Offers hands the steps of a feed over to another goroutine, one at a time.
type Offers chan Offer

// Step implements Config.Step: it waits until the step was taken and answered.
func (c Offers) Step(ctx context.Context, s *Step) error {
	o := Offer{s, make(chan struct{})}
	select {
	case c <- o:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-o.done:
	case <-ctx.Done(): // it was taken, so it must not come again
	}
	return nil
}

// The codes of alarms.
const (
	// CandleCorrected: the venue sent another version of a candle; the first is kept.
	CandleCorrected = "CANDLE_CORRECTED"
	// CandleMissing: the venue's history lacks candles.
	CandleMissing = "CANDLE_MISSING"
	// CandleInvalid: a candle that cannot be one was dropped.
	CandleInvalid = "CANDLE_INVALID"
	// CandleUnreachable: history does not answer; it is asked until it does.
	CandleUnreachable = "CANDLE_UNREACHABLE"
)

// Alarm is something that the user of a run should know about its candles.
type Alarm struct {
	Code   string
	Symbol market.Symbol
	// From and To bound the open times concerned; To is exclusive. Candles counts them.
	From, To market.Time
	Candles  int
	Message  string
}

// DataError ends a run: three candles in a row were none (DATA_ERROR).
type DataError struct {
	Symbol   market.Symbol
	OpenTime market.Time
	Reason   string
}

// Error names the last of them.
func (e *DataError) Error() string {
	return fmt.Sprintf("three candles of %s in a row are invalid, the last at %s: %s", e.Symbol, e.OpenTime, e.Reason)
}

package live

import (
	"context"
	"errors"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/feed"
)

// source turns the candle feed, which pushes steps, into one that is asked for them: a
// step counts as answered when the next one is asked for.
type source struct {
	feed     *feed.Feed
	conn     *exchange.Connection
	warming  bool
	warm     []*feed.Step
	steps    chan *feed.Step
	answered chan struct{}
	pending  bool
	cancel   context.CancelCauseFunc
	ended    chan error
}

// errEnded says that a replay has come to its end.
var errEnded = errors.New("the candles have ended")

// errClosed stops a feed that nobody listens to any more.
var errClosed = errors.New("the run is over")

// listen makes the feed of the run.
func (x *Execution) listen(conn *exchange.Connection) (*source, error) {
	s := &source{conn: conn, steps: make(chan *feed.Step), answered: make(chan struct{}), ended: make(chan error, 1)}
	kind := x.venue.Description.Kind
	var err error
	s.feed, err = feed.New(feed.Config{
		Symbols: x.plan.Symbols, Timeframe: x.plan.Timeframe, Clock: conn.Clock, Stored: kind == "sim" || kind == "store",
		Step: s.take, Alarm: x.candleAlarm,
		State: func(state exchange.LinkState, reason string) {
			x.linkUp(state == exchange.Connected)
			x.log.Debug("candle stream", "state", string(state), "reason", reason)
		},
	})
	return s, err
}

// take implements the feed's Step.
func (s *source) take(ctx context.Context, step *feed.Step) error {
	if s.warming {
		s.warm = append(s.warm, step)
		return nil
	}
	select {
	case s.steps <- step:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-s.answered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Warmup are the steps before the run: up to so many candles of each symbol. Call it once, before Next.
func (s *source) Warmup(ctx context.Context, candles int) ([]*feed.Step, error) {
	s.warming = true
	_, err := s.feed.Warm(ctx, s.conn.Data, candles)
	s.warming = false
	return s.warm, err
}

// Next waits for the next step. errEnded: there are no more.
func (s *source) Next(ctx context.Context) (*feed.Step, error) {
	if s.cancel == nil {
		running, cancel := context.WithCancelCause(ctx)
		s.cancel = cancel
		go func() { s.ended <- s.feed.Run(running, s.conn.Data) }()
	}
	if s.pending {
		s.pending = false
		select {
		case s.answered <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	select {
	case step := <-s.steps:
		s.pending = true
		return step, nil
	case err := <-s.ended:
		s.ended <- err // for Close
		if errors.Is(err, exchange.ErrEnded) {
			err = errEnded
		}
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends the feed and waits for it.
func (s *source) Close() {
	if s.cancel != nil {
		s.cancel(errClosed)
		<-s.ended
	}
}

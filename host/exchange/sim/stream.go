package sim

import (
	"context"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// StreamCandles implements exchange.Connector and is what makes time pass: each step waits for
// its moment, then for the fills to be taken by those who stream the account, then for the
// callback to have answered all candles of the step. A stream that ended may be begun
// again; it goes on where the other stopped.
func (v *venue) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	if err := v.beginStream(); err != nil {
		return err
	}
	defer v.endStream()
	on(exchange.CandleEvent{State: exchange.Connected})
	for {
		if !v.handOver(ctx, on) {
			return nil
		}
		wait, more := v.release()
		if !more {
			return exchange.ErrEnded
		}
		if !exchange.Pause(ctx, wait) {
			return nil
		}
		barriers, err := v.step()
		if err != nil {
			return err
		}
		for _, b := range barriers {
			select {
			case <-b:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (v *venue) beginStream() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return err
	}
	if v.stream {
		return refused("STREAMING", "the candles are streamed already")
	}
	v.stream = true
	v.pace.start()
	return nil
}

func (v *venue) endStream() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stream = false
}

// handOver gives the candles of the step to the callback, one by one. An event counts as
// given when the callback has returned with the stream still wanted.
func (v *venue) handOver(ctx context.Context, on func(exchange.CandleEvent)) bool {
	for {
		v.mu.Lock()
		if len(v.pending) == 0 {
			v.mu.Unlock()
			return ctx.Err() == nil
		}
		event := v.pending[0]
		v.mu.Unlock()
		if ctx.Err() != nil {
			return false
		}
		on(event)
		if ctx.Err() != nil {
			return false
		}
		v.mu.Lock()
		v.pending = v.pending[1:]
		v.mu.Unlock()
	}
}

// release lets time go on and returns how long until the next step.
func (v *venue) release() (time.Duration, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pace.held = false
	return v.pace.due(), v.pace.next != 0
}

// nextClose returns the close of the step to come; 0 if there is none.
func (v *venue) nextClose() market.Time {
	var first market.Time
	for i, t := range v.tapes {
		if t == nil {
			continue
		}
		if c, ok := t.at(v.next[i]); ok && (first == 0 || c.CloseTime < first) {
			first = c.CloseTime
		}
	}
	return first
}

// step closes the candles of the next moment: orders match, then the candles stand ready.
// It returns what to wait for before they are handed over.
func (v *venue) step() ([]<-chan struct{}, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return nil, err
	}
	b := sim.Batch{CloseTime: v.pace.next, Candles: make([]market.Candle, len(v.tapes)),
		Closed: make([]bool, len(v.tapes))}
	for i, t := range v.tapes {
		if t == nil {
			continue
		}
		if c, ok := t.at(v.next[i]); ok && c.CloseTime == b.CloseTime {
			b.Candles[i], b.Closed[i] = c, true
			v.next[i]++
			v.pending = append(v.pending, exchange.CandleEvent{Symbol: v.req.Symbols[i], Candle: c})
		}
	}
	v.pace.take(v.nextClose())
	if v.account == nil {
		return nil, nil
	}
	if err := v.account.match(&b); err != nil {
		return nil, refused("LEDGER", err.Error())
	}
	return v.account.barriers(), nil
}

// pace is the clock of the venue. Between two steps it goes evenly from the one close to
// the next, so that a weekend without candles lasts no longer than an hour with one, and
// it never reaches the next close before that step is taken.
type pace struct {
	last, next market.Time   // closes of the step taken and of the one to come; next 0: there is none
	period     time.Duration // wall time between two steps
	since      time.Time     // when the last step was due; zero: the clock has not started
	held       bool          // the step is being answered: time stands at its close
}

// now returns the venue's time.
func (p *pace) now() market.Time {
	if p.since.IsZero() || p.held || p.next == 0 {
		return p.last
	}
	share := float64(time.Since(p.since)) / float64(p.period)
	t := p.last + market.Time(share*float64(p.next-p.last))
	return min(max(t, p.last), p.next-1)
}

// wall returns how long a stretch of venue time lasts.
func (p *pace) wall(d time.Duration) time.Duration {
	if p.next <= p.last {
		return 0
	}
	return time.Duration(
		float64(d) / float64(time.Duration(p.next-p.last)*time.Millisecond) * float64(p.period))
}

// due returns how long to wait for the next close.
func (p *pace) due() time.Duration { return p.period - time.Since(p.since) }

// start sets the clock going.
func (p *pace) start() {
	if p.since.IsZero() {
		p.since = time.Now()
	}
}

// take makes the next close the present moment and holds it. Time that an answer took too
// long is not made up for.
func (p *pace) take(next market.Time) {
	p.since = p.since.Add(p.period)
	if now := time.Now(); now.Sub(p.since) > p.period {
		p.since = now
	}
	p.last, p.next, p.held = p.next, next, true
}

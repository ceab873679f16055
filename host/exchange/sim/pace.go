package sim

import (
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// pace is the clock of the venue. Between two steps it goes evenly from the one close to
// the next, so that a weekend without candles lasts no longer than an hour with one, and
// it never reaches the next close before that step is taken.
type pace struct {
	last, next market.Time   // closes of the step taken and of the one to come; next 0: there is none
	period     time.Duration // wall time between two steps
	since      time.Time     // when the last step was due; zero: the clock has not started
	held       bool          // the step is being answered: time stands at its close
}

// now is the venue's time.
func (p *pace) now() market.Time {
	if p.since.IsZero() || p.held || p.next == 0 {
		return p.last
	}
	share := float64(time.Since(p.since)) / float64(p.period)
	t := p.last + market.Time(share*float64(p.next-p.last))
	return min(max(t, p.last), p.next-1)
}

// wall is how long a stretch of venue time lasts.
func (p *pace) wall(d time.Duration) time.Duration {
	if p.next <= p.last {
		return 0
	}
	return time.Duration(float64(d) / float64(time.Duration(p.next-p.last)*time.Millisecond) * float64(p.period))
}

// due is how long to wait for the next close.
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

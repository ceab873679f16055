package binance

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// priority of a request: the lower goes first.
type priority int

const (
	cancels priority = iota
	queries
	submits
	data
	priorities
)

const (
	weightLimit = 6000                // of a minute, until the exchange says another one
	weightShare = weightLimit * 4 / 5 // for everything but cancels
)

// queue lets requests go one by one: spaced, by priority, and within the weight of the
// minute, of which a fifth is kept for cancels. Submits also keep to the exchange's limits of orders. A time
// in which the exchange wants silence is not waited for: who comes then is turned away.
type queue struct {
	spacing time.Duration

	mu      sync.Mutex
	waiting [priorities][]*ticket
	free    time.Time // the next may go
	minute  int64
	used    int
	most    int      // of the minute; weightLimit if zero
	windows []window // of orders
	timer   *time.Timer
	silent  time.Time // nobody goes before
	orders  time.Time // no submit goes before
}

type ticket struct {
	weight  int
	orders  int
	granted chan struct{}
}

// silence says that the exchange wants none until then.
type silence struct{ left time.Duration }

// Error is the message.
func (s *silence) Error() string {
	return fmt.Sprintf("the exchange wants no requests for another %s", s.left.Round(time.Millisecond))
}

// enter waits for the turn of a request.
func (q *queue) enter(ctx context.Context, p priority, weight int, orders ...int) error {
	q.mu.Lock()
	if err := q.quiet(p); err != nil {
		q.mu.Unlock()
		return err
	}
	t := &ticket{weight: weight, granted: make(chan struct{})}
	for _, n := range orders {
		t.orders += n
	}
	if wait := q.full(t.orders, time.Now()); wait > longestWait {
		q.mu.Unlock()
		return &silence{wait} // of a day, say: nobody waits for that
	}
	q.waiting[p] = append(q.waiting[p], t)
	q.pump()
	q.mu.Unlock()
	select {
	case <-t.granted:
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.quiet(p) // it may have been announced meanwhile
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		for i, other := range q.waiting[p] {
			if other == t {
				q.waiting[p] = append(q.waiting[p][:i], q.waiting[p][i+1:]...)
				break
			}
		}
		return context.Cause(ctx)
	}
}

func (q *queue) quiet(p priority) error {
	until := q.silent
	if p == submits && q.orders.After(until) {
		until = q.orders
	}
	if left := time.Until(until); left > 0 {
		return &silence{left}
	}
	return nil
}

// pump lets go who may, and comes back for the others.
func (q *queue) pump() {
	for {
		now := time.Now()
		if m := now.Unix() / 60; m != q.minute {
			q.minute, q.used = m, 0
		}
		p, t, later := q.first(now)
		if t == nil && later == 0 {
			return
		}
		wait := later
		if t != nil {
			if wait = q.free.Sub(now); q.used+t.weight > q.share(p) {
				wait = max(wait, now.Truncate(time.Minute).Add(time.Minute).Sub(now))
			}
		}
		if wait > 0 {
			if q.timer == nil {
				q.timer = time.AfterFunc(wait, q.wake)
			} else {
				q.timer.Reset(wait)
			}
			return
		}
		q.waiting[p] = q.waiting[p][1:]
		q.used, q.free = q.used+t.weight, now.Add(q.spacing)
		for i := range q.windows {
			q.windows[i].used += t.orders
		}
		close(t.granted)
	}
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pump()
}

// first is who goes next. Submits that the limits of orders hold back let others pass; without any others it
// says when they may go.
func (q *queue) first(now time.Time) (p priority, t *ticket, later time.Duration) {
	for p, list := range q.waiting {
		if len(list) == 0 {
			continue
		}
		if wait := q.full(list[0].orders, now); wait > 0 {
			later = wait
			continue
		}
		return priority(p), list[0], 0
	}
	return 0, nil, later
}

// hush begins a silence, of submits only or of everything.
func (q *queue) hush(d time.Duration, submitsOnly bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	until := time.Now().Add(d)
	if submitsOnly && until.After(q.orders) {
		q.orders = until
	}
	if !submitsOnly && until.After(q.silent) {
		q.silent = until
	}
}

// silence is how long everything has to wait.
func (q *queue) silence() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, time.Until(q.silent))
}

// space is the least time between requests, from now on.
func (q *queue) space(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spacing, q.free = d, time.Now().Add(d)
}

// interval is the least time between requests.
func (q *queue) interval() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.spacing
}

// close forgets the timer.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}

package binance

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	gb "github.com/adshao/go-binance/v2"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
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
	weightLimit = 6000                // of a minute, until the exchange names another one
	weightShare = weightLimit * 4 / 5 // for everything but cancels
)

// queue lets requests go one by one: spaced, by priority, and within the weight of the
// minute, of which a fifth is kept for cancels. Submits also keep to the exchange's limits of orders. A time
// in which the exchange asks for silence is not waited for: who comes then is turned away.
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
	silent  time.Time // no request goes before
	orders  time.Time // no submit goes before
}

type ticket struct {
	weight  int
	orders  int
	granted chan struct{}
}

// silence refuses a request until the exchange takes requests again.
type silence struct{ left time.Duration }

// Error returns the message.
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
		return &silence{wait} // of a day, for example: too long to wait
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
// returns when they may go.
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

// silence returns how long everything has to wait.
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

// interval returns the least time between requests.
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

// longestWait is how long a submit waits for the limits of orders before it is turned away.
const longestWait = time.Minute

// window is a limit of orders: so many within each span of time. An order that fills counts no longer, which
// only the exchange knows: its headers say how many it counts.
type window struct {
	span        time.Duration
	limit, used int
	began       time.Time
}

// roll begins a new span where the last one is over.
func (w *window) roll(now time.Time) {
	if at := now.Truncate(w.span); at.After(w.began) {
		w.began, w.used = at, 0
	}
}

// full returns how long so many orders have to wait for the limits; 0: they may go.
func (q *queue) full(orders int, now time.Time) (wait time.Duration) {
	if orders == 0 {
		return 0
	}
	for i := range q.windows {
		w := &q.windows[i]
		if w.roll(now); w.used+orders > w.limit && w.used > 0 {
			wait = max(wait, w.began.Add(w.span).Sub(now))
		}
	}
	return wait
}

// share returns the weight of the minute for a priority: a fifth is kept for cancels.
func (q *queue) share(p priority) int {
	most := q.most
	if most == 0 {
		most = weightLimit
	}
	if p == cancels {
		return most
	}
	return most * 4 / 5
}

// limit takes the exchange's own limits: the weight of a minute, and how many orders there may be.
func (q *queue) limit(list []gb.RateLimit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var windows []window
	for _, l := range list {
		span := map[string]time.Duration{"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour,
			"DAY": 24 * time.Hour}[l.Interval] *
			time.Duration(min(max(l.IntervalNum, 0), 1000))
		switch {
		case span <= 0 || l.Limit <= 0 || l.Limit > 1<<30:
		case l.RateLimitType == "REQUEST_WEIGHT" && span == time.Minute:
			q.most = int(l.Limit)
		case l.RateLimitType == "ORDERS":
			w := window{span: span, limit: int(l.Limit)}
			for _, before := range q.windows {
				if before.span == span {
					w.used, w.began = before.used, before.began
				}
			}
			windows = append(windows, w)
		}
	}
	q.windows = windows
}

// counted is what the exchange has counted, according to an answer: the weight of the minute, and orders by
// span;
// -1 where it does not say.
type counted struct {
	weight int
	orders map[time.Duration]int
}

// countedBy reads the headers of an answer.
func countedBy(h http.Header) counted {
	c := counted{weight: -1}
	for name, values := range h {
		name = strings.ToLower(name)
		n, err := strconv.Atoi(strings.Join(values, ""))
		if err != nil || n < 0 || n > 1<<30 {
			continue
		}
		if name == "x-mbx-used-weight-1m" {
			c.weight = n
		}
		span, ok := strings.CutPrefix(name, "x-mbx-order-count-")
		if !ok || len(span) < 2 {
			continue
		}
		unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour,
			'd': 24 * time.Hour}[span[len(span)-1]]
		if k, err := strconv.Atoi(span[:len(span)-1]); err == nil && k > 0 && k <= 1000 && unit > 0 {
			if c.orders == nil {
				c.orders = map[time.Duration]int{}
			}
			c.orders[time.Duration(k)*unit] = n
		}
	}
	return c
}

// heard takes what the exchange has counted: others may use the same address and the same account. Of a long
// span its word replaces ours, of a short one the higher number counts: requests may be on their way.
func (q *queue) heard(c counted) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if m := now.Unix() / 60; m != q.minute {
		q.minute, q.used = m, 0
	}
	q.used = max(q.used, c.weight)
	for i := range q.windows {
		w := &q.windows[i]
		n, listed := c.orders[w.span]
		if !listed {
			continue
		}
		if w.roll(now); w.span < time.Hour {
			n = max(n, w.used)
		}
		w.used = n
	}
}

// clockSlip is how far this machine's clock may move against the time that passes before the venue's
// is measured again.
const clockSlip = 500 * time.Millisecond

// sample is one look at the venue's clock.
type sample struct {
	venue market.Time
	ours  time.Time
}

// offset returns the venue's clock minus ours, in milliseconds.
func (x sample) offset() int64 { return int64(x.venue) - x.ours.UnixMilli() }

// Beat implements exchange.Connector: the guard around the connector keeps the lease and counts the
// orders. A clock that was set, or a machine that slept, shows here before a request is refused for it.
func (s *session) Beat(context.Context, int64) (exchange.Ack, error) {
	if err := s.ready(false); err != nil {
		return exchange.Ack{}, err
	}
	now := time.Now()
	ack := exchange.Ack{VenueTime: s.rest.clock.At(now)}
	if slip := time.Duration(sample{ack.VenueTime,
		now}.offset()-s.rest.offset.Load()) * time.Millisecond; slip.Abs() > clockSlip {
		s.rest.askTime()
	}
	return ack, nil
}

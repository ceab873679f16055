package binance

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	gb "github.com/adshao/go-binance/v2"
)

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

// full is how long so many orders have to wait for the limits; 0: they may go.
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

// share is the weight of the minute for a priority: a fifth is kept for cancels.
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
		span := map[string]time.Duration{"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour}[l.Interval] *
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

// counted is what the exchange has counted, as an answer says: the weight of the minute, and orders by span;
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
		unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[span[len(span)-1]]
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
		n, said := c.orders[w.span]
		if !said {
			continue
		}
		if w.roll(now); w.span < time.Hour {
			n = max(n, w.used)
		}
		w.used = n
	}
}

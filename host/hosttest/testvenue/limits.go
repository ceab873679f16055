package testvenue

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The limits of the exchange.
const (
	weightPerMinute = 6000
	ordersPerSpan   = 100
	ordersPerDay    = 200_000
	orderSpan       = 10 * time.Second
	day             = 24 * time.Hour
	patience        = 10 // requests that are refused before the address is banned
	banTime         = 2 * time.Minute
)

// limits count what was asked for: the weight of a minute, and the orders of ten seconds and of a day
// that have not traded.
type limits struct {
	weight, orders int // the most
	minute         int64
	used, refused  int
	banned         time.Time // until then
	spans          [2]struct {
		index int64
		count int
	}
}

// moment is in which ten seconds and which day an order was placed.
type moment [2]int64

func momentOf(now time.Time) moment {
	return moment{now.UnixNano() / int64(orderSpan), now.UnixNano() / int64(day)}
}

// charge counts the weight of a request and explains why it is refused, if it is.
func (l *limits) charge(now time.Time, weight int) *apiError {
	if m := now.Unix() / 60; m != l.minute {
		l.minute, l.used, l.refused = m, 0, 0
	}
	l.used += weight
	if left := l.banned.Sub(now); left > 0 {
		return &apiError{status: http.StatusTeapot, code: -1003, retry: int(left.Seconds()) + 1,
			text: fmt.Sprintf("Way too much request weight used; IP banned until %d. "+
				"Please use WebSocket Streams for live updates to avoid bans.", l.banned.UnixMilli())}
	}
	if l.used <= l.weight {
		return nil
	}
	if l.refused++; l.refused > patience {
		l.banned = now.Add(banTime)
	}
	return &apiError{status: http.StatusTooManyRequests, code: -1003, retry: 60 - int(now.Unix()%60),
		text: fmt.Sprintf("Too much request weight used; current limit is %d request weight per 1 MINUTE. "+
			"Please use WebSocket Streams for live updates to avoid polling the API.", l.weight)}
}

// roll forgets the orders of spans that are over.
func (l *limits) roll(now time.Time) moment {
	at := momentOf(now)
	for i := range l.spans {
		if l.spans[i].index != at[i] {
			l.spans[i].index, l.spans[i].count = at[i], 0
		}
	}
	return at
}

// full explains why so many more orders are too many.
func (l *limits) full(now time.Time, more int) *apiError {
	l.roll(now)
	for i, most := range [2]int{l.orders, ordersPerDay} {
		if l.spans[i].count+more > most {
			text := fmt.Sprintf("Too many new orders; current limit is %d orders per %s.", most,
				[2]string{"10 SECOND", "1 DAY"}[i])
			span := [2]time.Duration{orderSpan, day}[i]
			return &apiError{status: http.StatusTooManyRequests, code: -1015, text: text,
				retry: int((span - time.Duration(now.UnixNano()%int64(span))).Seconds()) + 1}
		}
	}
	return nil
}

// place counts an order.
func (l *limits) place(now time.Time) moment {
	at := l.roll(now)
	for i := range l.spans {
		l.spans[i].count++
	}
	return at
}

// filled uncounts an order that has traded for the first time.
func (l *limits) filled(at moment) {
	for i := range l.spans {
		if l.spans[i].index == at[i] && l.spans[i].count > 0 {
			l.spans[i].count--
		}
	}
}

// rules are the limits as exchangeInfo lists them; those of orders with what is used.
func (l *limits) rules(now time.Time) (all, orders []map[string]any) {
	l.roll(now)
	rule := func(kind, interval string, n, limit int) map[string]any {
		return map[string]any{"rateLimitType": kind, "interval": interval, "intervalNum": n, "limit": limit}
	}
	all = []map[string]any{rule("REQUEST_WEIGHT", "MINUTE", 1, l.weight),
		rule("ORDERS", "SECOND", 10, l.orders), rule("ORDERS", "DAY", 1, ordersPerDay)}
	orders = []map[string]any{rule("ORDERS", "SECOND", 10, l.orders), rule("ORDERS", "DAY", 1, ordersPerDay)}
	for i := range orders {
		orders[i]["count"] = l.spans[i].count
	}
	return all, orders
}

// tell puts what is used into the headers of an answer.
func (l *limits) tell(h http.Header, now time.Time, orders bool) {
	h.Set("X-Mbx-Used-Weight", strconv.Itoa(l.used))
	h.Set("X-Mbx-Used-Weight-1m", strconv.Itoa(l.used))
	if orders {
		l.roll(now)
		h.Set("X-Mbx-Order-Count-10s", strconv.Itoa(l.spans[0].count))
		h.Set("X-Mbx-Order-Count-1d", strconv.Itoa(l.spans[1].count))
	}
}

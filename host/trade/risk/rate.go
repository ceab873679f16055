package risk

import (
	"fmt"
	"math/big"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	minute = 60_000
	hour   = 60 * minute
	// rejectWindow is how long a reject counts.
	rejectWindow = 10 * minute
)

// rate counts the orders of one symbol. Times are milliseconds of the run's clock, so that
// a replay counts as the run did.
type rate struct {
	last market.Time
	// used of the burst when the last one was counted.
	used   *big.Rat
	minute []market.Time
	candle market.Time
	same   map[string]int
}

// drained is what of the burst is still used at a time: it runs out at so many orders a second.
func (r *rate) drained(now market.Time, perSecond dec) *big.Rat {
	if r.used == nil {
		return new(big.Rat)
	}
	gone := times(exact(perSecond), big.NewRat(max(int64(now-r.last), 0), 1000))
	left := minus(r.used, gone)
	if left.Sign() < 0 {
		return new(big.Rat)
	}
	return left
}

// full says why no order fits now; "" when one does.
func (r *rate) full(now market.Time, l Limits) string {
	if plus(r.drained(now, l.OrdersPerSecond), one).Cmp(new(big.Rat).SetInt64(int64(l.Burst))) > 0 {
		return fmt.Sprintf("%s a second with a burst of %d", l.OrdersPerSecond, l.Burst)
	}
	if n := len(since(r.minute, now-minute)); n >= l.OrdersPerMinute {
		return fmt.Sprintf("%d a minute", l.OrdersPerMinute)
	}
	return ""
}

var one = big.NewRat(1, 1)

// since is the times after one.
func since(list []market.Time, t market.Time) []market.Time {
	for i := range list {
		if list[i] > t {
			return list[i:]
		}
	}
	return nil
}

func key(o Order) string {
	return fmt.Sprintf("%s|%s|%s|%s|%s", o.Side, o.Quantity.Trim(0), o.QuoteAmount.Trim(0), o.LimitPrice.Trim(0), o.StopPrice.Trim(0))
}

// equal counts the orders like o that the candle caused already.
func (r *rate) equal(o Order, candle market.Time) int {
	if candle != r.candle {
		return 0
	}
	return r.same[key(o)]
}

// count takes an order that leaves.
func (r *rate) count(o Order, now, candle market.Time, perSecond dec) {
	r.used = plus(r.drained(now, perSecond), one)
	r.last = max(now, r.last)
	r.minute = append(since(r.minute, now-minute), now)
	if candle != r.candle || r.same == nil {
		r.candle, r.same = candle, map[string]int{}
	}
	r.same[key(o)]++
}

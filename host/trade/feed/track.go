package feed

import (
	"slices"
	"sort"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// recentCandles is how many candles a late version is compared with.
const recentCandles = 1024

// track is what is known of one symbol.
type track struct {
	index  int
	symbol market.Symbol
	// next is the open time wanted next; settled the close time up to which all candles
	// are known, those that do not exist included.
	next, settled market.Time
	queue         []queued        // taken, not in a step yet
	recent        []market.Candle // taken, ascending
	bad           int             // invalid candles in a row
}

type queued struct {
	market.Candle
	source Source
}

// take appends a candle that opens at or after next.
func (t *track) take(c market.Candle, source Source) {
	t.bad = 0
	t.queue = append(t.queue, queued{c, source})
	t.next, t.settled = c.CloseTime, max(t.settled, c.CloseTime)
	if len(t.recent) >= 2*recentCandles {
		t.recent = append(t.recent[:0], t.recent[len(t.recent)-recentCandles:]...)
	}
	t.recent = append(t.recent, c)
}

// old says that a candle is none to wait for any more.
func (t *track) old(c *market.Candle) bool { return c.OpenTime < t.next || c.CloseTime <= t.settled }

// differs says that another version of a candle has been taken.
func (t *track) differs(c *market.Candle) bool {
	i := sort.Search(len(t.recent), func(i int) bool { return t.recent[i].OpenTime >= c.OpenTime })
	return i < len(t.recent) && t.recent[i].OpenTime == c.OpenTime && t.recent[i] != *c
}

// settle declares that no more candles that close up to a moment will come.
func (t *track) settle(to market.Time, grid bool) {
	t.settled = max(t.settled, to)
	if grid {
		t.next = max(t.next, to)
	}
}

// join merges two ascending lists; of two versions the one in a is kept.
func join(a, b []market.Candle) []market.Candle {
	all := append(slices.Clone(a), b...)
	slices.SortStableFunc(all, func(x, y market.Candle) int { return int(x.OpenTime - y.OpenTime) })
	return slices.CompactFunc(all, func(x, y market.Candle) bool { return x.OpenTime == y.OpenTime })
}

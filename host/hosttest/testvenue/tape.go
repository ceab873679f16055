package testvenue

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	minute   = market.Time(60_000)
	moves    = 30 // of the price in a minute
	moveTime = minute / moves
	leastFar = 100 // units below which no price falls
)

// tape is the market of one symbol: one-minute candles without holes, all prices whole units of 10^-scale.
// The same seed gives the same tape; what the account trades leaves no mark on it.
type tape struct {
	random  *rand.Rand
	start   market.Time // candle 0 opens
	scale   int
	bulk    float64 // what a hundredth of volume is worth
	candles []market.Candle
	price   uint64 // units, of the last trade
	// The minute that forms: the corners of its way, its volume in hundredths, and how far it has got.
	corners   [5]uint64
	volume    uint64
	moved     int
	high, low uint64
	leapt     bool // it stays where it jumped to
	script    func(open market.Time, price float64) (to, volume float64)
}

func newTape(seed, symbol string, start market.Time, units uint64, scale int, bulk float64) *tape {
	pcg := rand.NewPCG(seeds("assay/testvenue\x00" + seed + "\x00" + symbol))
	t := &tape{random: rand.New(pcg), start: start, price: units, scale: scale, bulk: bulk}
	t.begin()
	return t
}

func seeds(text string) (uint64, uint64) {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])
}

// begin draws the way of the next minute: four stretches of at most a thousandth from the last close.
func (t *tape) begin() {
	t.moved, t.high, t.low, t.leapt = 0, t.price, t.price, false
	t.corners[0] = t.price
	if t.script != nil {
		to, volume := t.script(t.next(), t.last())
		step := (to - t.last()) / float64(len(t.corners)-1)
		for i := range t.corners[1:] {
			t.corners[i+1] = max(leastFar, t.units(t.last()+step*float64(i+1)))
		}
		t.volume = max(1, uint64(volume*100/t.bulk))
		return
	}
	at := t.price
	for i := 1; i < len(t.corners); i++ {
		m := max(1, at/1000)
		at = max(leastFar, at-m+t.random.Uint64N(2*m+1))
		t.corners[i] = at
	}
	t.volume = 1 + t.random.Uint64N(1000)
}

// way returns the price after so many moves of the minute, 0 to 30.
func (t *tape) way(k int) uint64 {
	ends := [5]int{0, 8, 15, 23, moves}
	i := 1
	for ends[i] < k {
		i++
	}
	from, to := float64(t.corners[i-1]), float64(t.corners[i])
	share := float64(k-ends[i-1]) / float64(ends[i]-ends[i-1])
	return uint64(math.Round(from + float64((to-from)*share)))
}

// touch trades once at a price.
func (t *tape) touch(units uint64) {
	t.price, t.high, t.low = units, max(t.high, units), min(t.low, units)
}

// jump trades somewhere else from now on, to the end of the minute.
func (t *tape) jump(units uint64) {
	t.touch(units)
	for i := range t.corners[1:] {
		t.corners[i+1] = units
	}
	t.leapt = true
}

// move goes on by one stretch of time and reports whether that closed the minute.
func (t *tape) move() bool {
	t.moved++
	if !t.leapt {
		t.touch(t.way(t.moved))
	}
	if t.moved < moves {
		return false
	}
	t.candles = append(t.candles, t.forming())
	t.begin()
	return true
}

// draw makes the next minute at once, as all its moves would.
func (t *tape) draw() {
	for _, units := range t.corners[1:] {
		t.touch(units)
	}
	t.moved = moves
	t.candles = append(t.candles, t.forming())
	t.begin()
}

// next returns where the next candle opens: everything before is closed.
func (t *tape) next() market.Time { return t.start + market.Time(len(t.candles))*minute }

// at returns the time of the last move.
func (t *tape) at() market.Time { return t.next() + market.Time(t.moved)*moveTime }

// count returns how many moves there were.
func (t *tape) count() int64 { return int64(len(t.candles))*moves + int64(t.moved) }

func (t *tape) float(units uint64) float64 { return float64(units) / math.Pow10(t.scale) }

func (t *tape) decimal(units uint64) decimal.Decimal {
	d, _ := decimal.New(int64(units), t.scale) // a price has few digits
	return d.Trim(0)
}

// units are the nearest ones to a price.
func (t *tape) units(price float64) uint64 { return uint64(math.Round(price * math.Pow10(t.scale))) }

func (t *tape) last() float64 { return t.float(t.price) }

// forming returns the minute that has begun.
func (t *tape) forming() market.Candle {
	return market.Candle{
		OpenTime: t.next(), CloseTime: t.next() +
			minute, Open: t.float(t.corners[0]), High: t.float(t.high), Low: t.float(t.low), Close: t.last(),
		Volume: float64(t.volume*uint64(t.moved)/moves) / 100 * t.bulk,
	}
}

// between are the candles of an interval that open in [from, to], the forming one
// included, at most limit.
func (t *tape) between(span, from, to market.Time, limit int) []market.Candle {
	var list []market.Candle
	for at := max(ceiling(from, span), ceiling(t.start, span)); at <= min(to, t.next()) &&
		len(list) < limit; at += span {
		list = append(list, t.whole(at, span))
	}
	return list
}

// whole returns the candle of an interval that opens at a time, as far as it has got. The
// interval that the tape begins in has what there is of it.
func (t *tape) whole(at, span market.Time) market.Candle {
	first := int((max(at, t.start) - t.start) / minute)
	end := min(max(0, int((at+span-t.start)/minute)), len(t.candles)+1)
	c := t.minute(first)
	for i := first + 1; i < end; i++ {
		m := t.minute(i)
		c.High, c.Low, c.Close, c.Volume = max(c.High, m.High), min(c.Low, m.Low), m.Close, c.Volume+m.Volume
	}
	c.OpenTime, c.CloseTime = at, at+span
	return c
}

// minute returns a minute by its number, the forming one after all that are closed.
func (t *tape) minute(i int) market.Candle {
	if i < len(t.candles) {
		return t.candles[i]
	}
	return t.forming()
}

func ceiling(t, span market.Time) market.Time {
	if rest := t % span; rest > 0 {
		return t - rest + span
	}
	return t
}

// spans are the intervals by name.
func spans() map[string]market.Time {
	list := map[string]market.Time{}
	for _, name := range []string{"1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d"} {
		list[name] = market.Time(market.MustTimeframe(name).Duration() / time.Millisecond)
	}
	return list
}

package testvenue

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const minute = market.Time(60_000)

// tape is the market of one symbol: closed one-minute candles without holes, all prices
// whole hundredths. The same seed gives the same tape.
type tape struct {
	random  *rand.Rand
	start   market.Time // candle 0 opens
	candles []market.Candle
	price   uint64  // hundredths
	through float64 // the next candle trades there; 0: nowhere
}

func newTape(seed, symbol string, start market.Time, hundredths uint64) *tape {
	sum := sha256.Sum256([]byte("assay/testvenue\x00" + seed + "\x00" + symbol))
	pcg := rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))
	return &tape{random: rand.New(pcg), start: start, price: hundredths}
}

// draw makes the next candle: four moves of at most a thousandth from the last close.
func (t *tape) draw() market.Candle {
	open := t.price
	high, low := open, open
	for range 4 {
		m := max(1, t.price/1000)
		t.price = max(100, t.price-m+t.random.Uint64N(2*m+1))
		high, low = max(high, t.price), min(low, t.price)
	}
	at := t.next()
	c := market.Candle{
		OpenTime: at, CloseTime: at + minute, Open: cents(open), High: cents(high), Low: cents(low), Close: cents(t.price),
		Volume: cents(1 + t.random.Uint64N(1000)),
	}
	if t.through > 0 {
		c.High, c.Low, t.through = max(c.High, t.through), min(c.Low, t.through), 0
	}
	t.candles = append(t.candles, c)
	return c
}

func cents(n uint64) float64 { return float64(n) / 100 }

// next is where the next candle opens: everything before is closed.
func (t *tape) next() market.Time { return t.start + market.Time(len(t.candles))*minute }

func (t *tape) last() float64 { return cents(t.price) }

// forming is the minute that has begun, before its first trade.
func (t *tape) forming() market.Candle {
	p := t.last()
	return market.Candle{OpenTime: t.next(), CloseTime: t.next() + minute, Open: p, High: p, Low: p, Close: p}
}

// between are the candles of an interval that open in [from, to], the forming one
// included, at most limit.
func (t *tape) between(span, from, to market.Time, limit int) []market.Candle {
	var list []market.Candle
	for at := max(ceiling(from, span), ceiling(t.start, span)); at <= min(to, t.next()) && len(list) < limit; at += span {
		list = append(list, t.whole(at, span))
	}
	return list
}

// whole is the candle of an interval that opens at a time, as far as it has got. The
// interval that the tape begins in has what there is of it.
func (t *tape) whole(at, span market.Time) market.Candle {
	have := len(t.candles)
	first := int((max(at, t.start) - t.start) / minute)
	end := max(0, int((at+span-t.start)/minute))
	c := t.forming()
	if first < have {
		c = t.candles[first]
	}
	for _, m := range t.candles[min(first+1, have, end):min(end, have)] {
		c.High, c.Low, c.Close, c.Volume = max(c.High, m.High), min(c.Low, m.Low), m.Close, c.Volume+m.Volume
	}
	c.OpenTime, c.CloseTime = at, at+span
	return c
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

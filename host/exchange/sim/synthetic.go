package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The synthetic market, in ticks of 0.01 and hundredths of a unit.
const (
	historyCandles = 5000 // before start
	gapOdds        = 16   // one candle in so many opens off the last close
	moveFraction   = 500  // a move is at most this part of the price
	floorTicks     = 100
	firstTicks     = 100_00
	firstTicksBTC  = 30000_00
	firstTicksETH  = 2000_00
	maxVolume      = 1000
	perUnit        = 100
	checkpointGap  = 512 // candles between two kept states
)

// walk is the state of the market before a candle.
type walk struct {
	random rand.PCG
	price  uint64 // the last close in ticks
}

// synthetic is the market of one symbol. Its methods may be called from any goroutine.
type synthetic struct {
	origin market.Time // candle 0 opens
	span   market.Time

	mu     sync.Mutex
	kept   []walk // before candles 0, 512, 1024 ...
	cursor walk   // before candle next
	next   int
}

func newSynthetic(seed string, symbol market.Symbol, tf market.Timeframe, start market.Time) *synthetic {
	digest := sha256.Sum256([]byte("assay/rng/v1\x00" + seed + "\x00sim/candle\x00" + string(symbol) + "\x00" + tf.String()))
	w := walk{random: *rand.NewPCG(binary.BigEndian.Uint64(digest[:8]), binary.BigEndian.Uint64(digest[8:16])), price: firstTicks}
	switch symbol.Base() {
	case "BTC":
		w.price = firstTicksBTC
	case "ETH":
		w.price = firstTicksETH
	}
	span := market.Time(tf.Duration() / time.Millisecond)
	return &synthetic{origin: floorTo(start, span) - historyCandles*span, span: span, cursor: w}
}

// floorTo is the last point of the grid that is not after t.
func floorTo(t, span market.Time) market.Time {
	rest := t % span
	if rest < 0 {
		rest += span
	}
	return t - rest
}

// index is the first candle that opens at or after t.
func (s *synthetic) index(t market.Time) int {
	if t <= s.origin {
		return 0
	}
	return int((t - s.origin + s.span - 1) / s.span)
}

// at is candle i; there is no last one.
func (s *synthetic) at(i int) (market.Candle, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < s.next {
		s.next = i - i%checkpointGap
		s.cursor = s.kept[s.next/checkpointGap]
	}
	if last := len(s.kept) - 1; last*checkpointGap > s.next && last*checkpointGap <= i {
		s.next, s.cursor = last*checkpointGap, s.kept[last]
	}
	for s.next < i {
		s.draw()
	}
	return s.draw(), true
}

// draw makes the candle at the cursor and moves on.
func (s *synthetic) draw() market.Candle {
	if s.next == len(s.kept)*checkpointGap {
		s.kept = append(s.kept, s.cursor)
	}
	w, random := &s.cursor, rand.New(&s.cursor.random)
	if random.Uint64N(gapOdds) == 0 {
		w.move(random)
	}
	open := w.price
	high, low := open, open
	for range 4 {
		w.move(random)
		high, low = max(high, w.price), min(low, w.price)
	}
	volume := 1 + random.Uint64N(maxVolume)
	at := s.origin + market.Time(s.next)*s.span
	s.next++
	return market.Candle{
		OpenTime: at, CloseTime: at + s.span, Open: hundredths(open), High: hundredths(high), Low: hundredths(low),
		Close: hundredths(w.price), Volume: hundredths(volume),
	}
}

func (w *walk) move(random *rand.Rand) {
	m := max(1, w.price/moveFraction)
	w.price = max(floorTicks, w.price-m+random.Uint64N(2*m+1))
}

func hundredths(n uint64) float64 { return float64(n) / perUnit }

func (*synthetic) tick() decimal.Decimal { return decimal.MustNew(1, 2) }

package indicator

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// HeikinAshi smooths candles: the close is (open+high+low+close)/4, the open the middle of
// the smoothed candle before (of this one at first), high and low reach to both. Value is
// Close. Ready with the first candle.
type HeikinAshi struct {
	line
	open, high, low line
	candle          market.Candle
}

// NewHeikinAshi begins with the next candle.
func NewHeikinAshi() HeikinAshi { return HeikinAshi{} }

// Add takes the next candle.
func (h *HeikinAshi) Add(c market.Candle) {
	open := (c.Open + c.Close) / 2
	if h.count > 0 {
		open = (h.open.value + h.value) / 2
	}
	price := orNaN((c.Open + c.High + c.Low + c.Close) / 4)
	if price != price || open != open {
		open, price = math.NaN(), math.NaN()
	}
	h.set(price)
	h.open.set(open)
	h.high.set(max(c.High, open, price))
	h.low.set(min(c.Low, open, price))
	c.Open, c.High, c.Low, c.Close = open, h.high.value, h.low.value, price
	h.candle = c
}

// Open is the open of the smoothed candle.
func (h *HeikinAshi) Open() float64 { return h.open.value }

// High is its high.
func (h *HeikinAshi) High() float64 { return h.high.value }

// Low is its low.
func (h *HeikinAshi) Low() float64 { return h.low.value }

// Close is its close.
func (h *HeikinAshi) Close() float64 { return h.value }

// OpenLine is Open as a line, for h.CrossedAbove(h.OpenLine()).
func (h *HeikinAshi) OpenLine() Line { return &h.open }

// HighLine is High as a line.
func (h *HeikinAshi) HighLine() Line { return &h.high }

// LowLine is Low as a line.
func (h *HeikinAshi) LowLine() Line { return &h.low }

// Candle is the smoothed candle, to be fed to another indicator: its times and volume are
// those of the real one.
func (h *HeikinAshi) Candle() market.Candle { return h.candle }

// Pivots are the classic pivot points of the session before: with its high h, low l and
// close c, Value is p = (h+l+c)/3; resistances are 2p-l, p+(h-l), h+2(p-l), supports
// 2p-h, p-(h-l), l-2(h-p). Ready with the first candle of the second session.
type Pivots struct {
	line
	length, session  market.Time
	high, low, close float64
	begun, known     bool
	levels           [7]float64 // of the session before: p, r1 to r3, s1 to s3
	others           [6]line
}

// NewPivots has sessions of the given length, at least a millisecond, that follow each other
// from 1970-01-01T00:00:00Z: 24 * time.Hour gives UTC days.
func NewPivots(length time.Duration) Pivots {
	return Pivots{length: checkSession("NewPivots", length)}
}

// Add takes the next candle.
func (p *Pivots) Add(c market.Candle) {
	if p.length == 0 {
		panic(notMade)
	}
	high, low, price := orNaN(c.High), orNaN(c.Low), orNaN(c.Close)
	if session := sessionOf(c.OpenTime, p.length); !p.begun || session != p.session {
		if p.begun {
			p.known = true
			p.levels = levels(p.high, p.low, p.close)
		}
		p.begun, p.session, p.high, p.low = true, session, high, low
	}
	p.high, p.low, p.close = max(p.high, high), min(p.low, low), price
	if !p.known {
		return
	}
	p.set(p.levels[0])
	for i := range p.others {
		p.others[i].set(p.levels[i+1])
	}
}

func levels(high, low, price float64) [7]float64 {
	middle, reach := (high+low+price)/3, high-low
	return [7]float64{middle,
		float64(2*middle) - low, middle + reach, high + float64(2*(middle-low)),
		float64(2*middle) - high, middle - reach, low - float64(2*(high-middle))}
}

// Resistance is the i-th level above Value, i from 1 to 3.
func (p *Pivots) Resistance(i int) Line { return p.level("Resistance", i, 0) }

// Support is the i-th level below Value, i from 1 to 3.
func (p *Pivots) Support(i int) Line { return p.level("Support", i, 3) }

func (p *Pivots) level(method string, i, first int) Line {
	if i < 1 || i > 3 {
		panic(fmt.Sprintf("indicator.Pivots.%s: the level is %d, must be 1 to 3", method, i))
	}
	return &p.others[first+i-1]
}

// Shape names what Pattern looks for.
type Shape string

// The shapes of TA-Lib, with its default settings. A body is the distance of open and
// close; long and short compare with the mean of the ten candles before, tiny means a
// tenth of their mean range. The open is beside the close before in markets that never
// close, so shapes that need a gap are rare there.
const (
	Doji           Shape = "doji"             // a tiny body
	Hammer         Shape = "hammer"           // short body near the low before, long lower shadow, no upper
	HangingMan     Shape = "hanging_man"      // the same near the high before
	ShootingStar   Shape = "shooting_star"    // short body above the one before, long upper shadow, no lower
	Engulfing      Shape = "engulfing"        // the body covers that of the candle before, of the other color
	Harami         Shape = "harami"           // a short body within the long one before
	Piercing       Shape = "piercing"         // opens below a long black candle and closes in its upper half
	DarkCloudCover Shape = "dark_cloud_cover" // opens above a long white candle and closes in its lower half
	MorningStar    Shape = "morning_star"     // long black, short below it, white into the first
	EveningStar    Shape = "evening_star"     // long white, short above it, black into the first
)

// shapes is how each is told from the newest candles, the newest first.
func shapes() map[Shape]func(c, b, a *figure) float64 {
	return map[Shape]func(c, b, a *figure) float64{
		Doji: doji, Hammer: hammer, HangingMan: hangingMan, ShootingStar: shootingStar, Engulfing: engulfing,
		Harami: harami, Piercing: piercing, DarkCloudCover: darkCloudCover, MorningStar: morningStar,
		EveningStar: eveningStar,
	}
}

// Pattern tells a shape of one to three candles: Value is 1 at a candle that completes a
// bullish one, -1 at a bearish one (Doji: 1), else 0. Ready with candle 13, whatever the
// shape; TA-Lib begins with some earlier, and has 100 or 80 for 1.
type Pattern struct {
	line
	found        func(c, b, a *figure) float64
	bodies       rolling   // of the last ten
	ranges, near rolling   // of the last ten and five
	newest       [3]figure // this candle, the one before, the one before that
	seen, spoilt int
}

// figure is a candle with the means of those before it: a long body, a tiny shadow or body,
// and prices that are near each other.
type figure struct {
	market.Candle
	body, top, bottom float64
	long, tiny, near  float64
}

// patternCandles is what Pattern knows of: three candles and the ten before the first.
const patternCandles = 13

// NewPattern looks for a shape, one of the constants.
func NewPattern(s Shape) Pattern {
	found, ok := shapes()[s]
	if !ok {
		panic(fmt.Sprintf("indicator.NewPattern: there is no shape %q, only %q", s,
			slices.Sorted(maps.Keys(shapes()))))
	}
	return Pattern{found: found, bodies: newRolling(10), ranges: newRolling(10), near: newRolling(5)}
}

// Add takes the next candle.
func (p *Pattern) Add(c market.Candle) {
	if p.found == nil {
		panic(notMade)
	}
	s := figure{Candle: c, body: math.Abs(c.Close - c.Open), top: max(c.Open, c.Close),
		bottom: min(c.Open, c.Close)}
	s.long, s.tiny, s.near = p.bodies.mean(), 0.1*p.ranges.mean(), 0.2*p.near.mean()
	p.newest[2], p.newest[1], p.newest[0] = p.newest[1], p.newest[0], s
	p.bodies.add(s.body)
	p.ranges.add(c.High - c.Low)
	p.near.add(c.High - c.Low)
	if p.spoilt > 0 {
		p.spoilt--
	}
	if !usable(c.Open) || !usable(c.High) || !usable(c.Low) || !usable(c.Close) {
		p.spoilt = patternCandles
	}
	if p.seen++; p.seen < patternCandles {
		return
	}
	value := p.found(&p.newest[0], &p.newest[1], &p.newest[2])
	if p.spoilt > 0 {
		value = math.NaN()
	}
	p.set(value)
}

func (f *figure) white() bool    { return f.Close >= f.Open }
func (f *figure) upper() float64 { return f.High - f.top }
func (f *figure) lower() float64 { return f.bottom - f.Low }

// The shapes: c is the newest candle, b the one before it, a the one before that.

func when(found bool, value float64) float64 {
	if found {
		return value
	}
	return 0
}

func doji(c, _, _ *figure) float64 { return when(c.body <= c.tiny, 1) }

// dropped reports a short body with a long lower shadow and hardly an upper one.
func (f *figure) dropped() bool {
	return f.body < f.long && f.lower() > f.body && f.upper() < f.tiny
}

func hammer(c, b, _ *figure) float64 {
	return when(c.dropped() && c.bottom <= b.Low+b.near, 1)
}

func hangingMan(c, b, _ *figure) float64 {
	return when(c.dropped() && c.bottom >= b.High-b.near, -1)
}

func shootingStar(c, b, _ *figure) float64 {
	return when(c.body < c.long && c.upper() > c.body && c.lower() < c.tiny && c.bottom > b.top, -1)
}

func engulfing(c, b, _ *figure) float64 {
	covers := c.top >= b.top && c.bottom <= b.bottom && (c.top > b.top || c.bottom < b.bottom)
	switch {
	case covers && c.white() && !b.white():
		return 1
	case covers && !c.white() && b.white():
		return -1
	}
	return 0
}

func harami(c, b, _ *figure) float64 {
	within := b.body > b.long && c.body <= c.long && c.top <= b.top && c.bottom >= b.bottom
	switch {
	case within && !b.white():
		return 1
	case within:
		return -1
	}
	return 0
}

func piercing(c, b, _ *figure) float64 {
	return when(b.body > b.long && !b.white() && c.body > c.long && c.white() && c.Open < b.Low &&
		c.Close < b.Open && c.Close > b.Close+float64(b.body*0.5), 1)
}

func darkCloudCover(c, b, _ *figure) float64 {
	return when(b.body > b.long && b.white() && !c.white() && c.Open > b.High && c.Close > b.Open &&
		c.Close < b.Close-float64(b.body*0.5), -1)
}

func morningStar(c, b, a *figure) float64 {
	return when(a.body > a.long && !a.white() && b.body <= b.long && b.top < a.bottom && c.body > c.long &&
		c.white() && c.Close > a.Close+float64(a.body*0.3), 1)
}

func eveningStar(c, b, a *figure) float64 {
	return when(a.body > a.long && a.white() && b.body <= b.long && b.bottom > a.top && c.body > c.long &&
		!c.white() && c.Close < a.Close-float64(a.body*0.3), -1)
}

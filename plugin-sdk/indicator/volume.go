package indicator

import (
	"fmt"
	"math"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// VWAP is the volume-weighted average of the typical price (high+low+close)/3 over the
// last n candles, ready with the n-th. While none of them has volume it is the newest
// typical price.
type VWAP struct {
	line
	turnover, volume rolling
}

// NewVWAP is an average over n candles, 1 to MaxPeriod.
func NewVWAP(n int) VWAP {
	checkPeriod("NewVWAP", "n", n)
	return VWAP{turnover: newRolling(n), volume: newRolling(n)}
}

// Add takes the next candle.
func (v *VWAP) Add(c market.Candle) {
	typical := typicalPrice(c)
	v.turnover.add(float64(typical * c.Volume))
	v.volume.add(c.Volume)
	if !v.volume.full() {
		return
	}
	price := typical
	if v.volume.nonzero > 0 {
		price = v.turnover.sum.hi / v.volume.sum.hi
	}
	v.set(v.turnover.trusted(price))
}

// SessionVWAP is the volume-weighted average of the typical price (high+low+close)/3
// since the session began, ready with the first candle. While the session has no volume
// it is the newest typical price. Previous may belong to the session before.
type SessionVWAP struct {
	line
	length           market.Time // 0: one session without end
	session          market.Time
	turnover, volume sum
}

// NewSessionVWAP starts over with the first candle that opens in a new session. Sessions
// of the given length, at least a millisecond, follow each other from
// 1970-01-01T00:00:00Z: 24 * time.Hour gives UTC days.
func NewSessionVWAP(length time.Duration) SessionVWAP {
	return SessionVWAP{length: checkSession("NewSessionVWAP", length)}
}

func checkSession(constructor string, length time.Duration) market.Time {
	if length < time.Millisecond {
		panic(fmt.Sprintf("indicator.%s: length is %s, must be at least 1ms", constructor, length))
	}
	return market.Time(length / time.Millisecond)
}

// sessionOf is when the session of t began.
func sessionOf(t, length market.Time) market.Time { return t - (t%length+length)%length }

// NewCumulativeVWAP averages over everything since the first candle or the last Reset.
func NewCumulativeVWAP() SessionVWAP { return SessionVWAP{} }

// Reset begins a new session with the next candle.
func (v *SessionVWAP) Reset() { v.turnover, v.volume = sum{}, sum{} }

// Add takes the next candle.
func (v *SessionVWAP) Add(c market.Candle) {
	if v.length > 0 {
		if start := sessionOf(c.OpenTime, v.length); start != v.session {
			v.session = start
			v.Reset()
		}
	}
	price := typicalPrice(c)
	v.turnover.add(orNaN(float64(price * c.Volume)))
	v.volume.add(orNaN(c.Volume))
	if v.volume.hi != 0 || v.turnover.hi != 0 {
		price = v.turnover.hi / v.volume.hi
	}
	v.set(price)
}

// OBV is Granville's on-balance volume: the volume of candles that close above the one
// before is added, that of candles that close below it subtracted. Ready with the first
// candle, whose volume it begins with, as in TA-Lib.
type OBV struct {
	line
	total sum
	close float64
}

// NewOBV begins with the next candle.
func NewOBV() OBV { return OBV{} }

// Add takes the next candle.
func (o *OBV) Add(c market.Candle) {
	volume := orNaN(c.Volume)
	switch price := orNaN(c.Close); {
	case price != price:
		volume = price
	case o.count == 0 || price > o.close:
	case price < o.close:
		volume = -volume
	default:
		volume = float64(volume * 0)
	}
	o.close = c.Close
	o.total.add(volume)
	o.set(o.total.hi)
}

// MFI is the money flow index, 0 to 100: of the turnover (typical price times volume) of
// the last n candles whose typical price moved, the share in percent of those where it
// rose. The first candle only supplies a price, so MFI is ready with candle n+1. It is 0
// where no such candle has volume; TA-Lib has 0 for any turnover below 1.
type MFI struct {
	line
	gained, lost rolling
	price        Track
}

// NewMFI is an index over n candles, 1 to MaxPeriod; usually 14.
func NewMFI(n int) MFI {
	checkPeriod("NewMFI", "n", n)
	return MFI{gained: newRolling(n), lost: newRolling(n)}
}

// Add takes the next candle.
func (m *MFI) Add(c market.Candle) {
	m.price.Add(orNaN(typicalPrice(c)))
	if m.price.count == 1 {
		return
	}
	gained, lost := 0.0, 0.0
	switch flow := float64(m.price.value * c.Volume); {
	case m.price.value > m.price.previous:
		gained = flow
	case m.price.value < m.price.previous:
		lost = flow
	case m.price.value != m.price.previous: // one of them is no number
		gained = math.NaN()
	}
	m.gained.add(gained)
	m.lost.add(lost)
	if m.gained.full() {
		m.set(m.lost.trusted(m.gained.trusted(percent(m.gained.total(), m.gained.total()+m.lost.total()))))
	}
}

// CMF is Chaikin's money flow, -1 to 1: the volumes of the last n candles, each times
// ((close-low) - (high-close)) / (high-low), over their volume. Ready with the n-th
// candle. A candle without a range counts 0, and CMF is 0 where none has volume.
type CMF struct {
	line
	flow, volume rolling
}

// NewCMF looks back over n candles, 1 to MaxPeriod; usually 20.
func NewCMF(n int) CMF {
	checkPeriod("NewCMF", "n", n)
	return CMF{flow: newRolling(n), volume: newRolling(n)}
}

// Add takes the next candle.
func (m *CMF) Add(c market.Candle) {
	high, low, price := orNaN(c.High), orNaN(c.Low), orNaN(c.Close)
	place := 0.0
	if high != low {
		place = ((price - low) - (high - price)) / (high - low)
	}
	m.flow.add(float64(place * c.Volume))
	m.volume.add(c.Volume)
	if !m.flow.full() {
		return
	}
	share := 0.0
	if m.volume.nonzero > 0 {
		share = m.flow.total() / m.volume.sum.hi
	}
	m.set(m.flow.trusted(share))
}

func typicalPrice(c market.Candle) float64 { return (c.High + c.Low + c.Close) / 3 }

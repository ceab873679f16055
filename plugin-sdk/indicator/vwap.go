package indicator

import (
	"fmt"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// VWAP is the volume-weighted average of the typical price (high+low+close)/3 over the
// last n candles, ready with the n-th. While none of them has volume it is the newest
// typical price.
type VWAP struct {
	line
	turnovers, volumes window
	turnover, volume   sum
	traded             int // candles in the window that have volume
}

// NewVWAP is an average over n candles, 1 to MaxPeriod.
func NewVWAP(n int) VWAP {
	checkPeriod("NewVWAP", "n", n)
	return VWAP{turnovers: newWindow(n), volumes: newWindow(n)}
}

// Add takes the next candle.
func (v *VWAP) Add(c market.Candle) {
	typical := typicalPrice(c)
	in, out := v.turnovers.push(float64(typical * c.Volume))
	v.turnover.add(-out)
	v.turnover.add(in)
	in, out = v.volumes.push(c.Volume)
	v.volume.add(-out)
	v.volume.add(in)
	if out != 0 {
		v.traded--
	}
	if in != 0 {
		v.traded++
	}
	if !v.volumes.full() {
		return
	}
	price := typical
	if v.traded > 0 {
		price = v.turnover.hi / v.volume.hi
	}
	v.set(v.turnovers.trusted(price))
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
	if length < time.Millisecond {
		panic(fmt.Sprintf("indicator.NewSessionVWAP: length is %s, must be at least 1ms", length))
	}
	return SessionVWAP{length: market.Time(length / time.Millisecond)}
}

// NewCumulativeVWAP averages over everything since the first candle or the last Reset.
func NewCumulativeVWAP() SessionVWAP { return SessionVWAP{} }

// Reset begins a new session with the next candle.
func (v *SessionVWAP) Reset() { v.turnover, v.volume = sum{}, sum{} }

// Add takes the next candle.
func (v *SessionVWAP) Add(c market.Candle) {
	if v.length > 0 {
		start := c.OpenTime - (c.OpenTime%v.length+v.length)%v.length
		if start != v.session {
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

func typicalPrice(c market.Candle) float64 { return (c.High + c.Low + c.Close) / 3 }

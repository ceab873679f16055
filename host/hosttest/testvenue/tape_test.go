package testvenue

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestTapeThatBeginsInsideAnInterval: wherever the clock stands when the tape begins, each
// interval is what its minutes are.
func TestTapeThatBeginsInsideAnInterval(t *testing.T) {
	for begins := market.Time(0); begins < 24*60; begins += 7 {
		tp := newTape("1", "BTCUSDT", begins*minute, 30000_00, 2, 1)
		for range 3 * 60 {
			tp.draw()
			for name, span := range spans() {
				at := tp.next() - tp.next()%span
				c := tp.whole(at, span)
				if c.OpenTime != at || c.CloseTime != at+span || c.High < c.Low || c.Open <= 0 {
					t.Fatalf("begun at minute %d, %s: %+v", begins, name, c)
				}
				if at >= tp.start || at+span <= tp.start {
					continue
				}
				if first := tp.candles[0]; c.Open != first.Open || c.Close != tp.last() {
					t.Fatalf("begun at minute %d, %s: %+v, the tape begins with %+v", begins, name, c, first)
				}
			}
		}
	}
}

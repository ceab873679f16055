package python_test

import (
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// peeking asks for later candles as an adapter does, and buys where there is none.
const peeking = `from assay import Buy, CashFraction, Param, Strategy


class Peeking(Strategy):
    """Buys where it has no later candle."""

    seed: int = Param(1)
    _later = None

    def on_candle(self, v):
        return None if self._later(1) else Buy(CashFraction(0.01))
`

// TestHolds: a play that holds at some steps has no candle after them there, and is else what it is without.
func TestHolds(t *testing.T) {
	ring.Slow(t, "it copies an interpreter and plays some months")
	from := time.Date(2020, 2, 1, 0, 0, 0, 0, time.UTC)
	var holds []market.Time
	for _, hour := range []int{1, 2, 3, 50, 51, 400, 600} {
		holds = append(holds, market.Time(from.Add(time.Duration(hour)*time.Hour).UnixMilli()))
	}
	l := played(t, "peeking", "strategy:Peeking", peeking)
	p := playing{name: "peeking", to: "2020-02-20T00:00:00Z", split: run.Split{Drive: run.Drive{Holds: holds}}}
	x, o := p.play(t, l)
	if o.Failure != nil {
		t.Fatalf("%+v", o.Failure)
	}
	var bought []market.Time
	for _, f := range x.Results().Orders {
		bought = append(bought, f.CreatedAt)
	}
	if want := holds[:6]; !slices.Equal(bought[:min(6, len(bought))], want) || len(bought) > 7 {
		t.Errorf("no later candle at %v, held at %v", bought, want)
	}

	l = played(t, "drawn", "strategy:Drawn", drawn)
	storeInput(t, l, "mood")
	for i := range ring.Size(2, 20, 100) {
		seed := 2*i + 7 // of one symbol
		p := playing{name: "drawn", seed: seed, to: "2020-03-01T00:00:00Z",
			split: run.Split{LogFile: run.MaxLogFile, Series: true}}
		x, o := p.play(t, l)
		p.split.Drive.Holds = holds
		y, u := p.play(t, l)
		if what := differing(x, y); what != "" || (o.Failure == nil) != (u.Failure == nil) {
			t.Errorf("seed %d: %s, %+v, held %+v", seed, what, o.Failure, u.Failure)
		}
	}
}

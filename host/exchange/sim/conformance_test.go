package sim_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/hosttest/conformance"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// simVenue lets its own time pass. It never misbehaves, so that the cards about faults
// are skipped.
type simVenue struct {
	t    testing.TB
	wrap func(testing.TB, exchange.Connection) exchange.Connection
	exchange.VenueClock
}

func (v *simVenue) Connect() exchange.Connection {
	c := sim.New(nil)
	v.VenueClock = c.Clock
	return v.wrap(v.t, c)
}

func (*simVenue) Request() exchange.OpenRequest {
	return exchange.OpenRequest{
		Symbols: []market.Symbol{"BTC/USDT", "X/USDT"}, Timeframe: market.MustTimeframe("1m"),
		Config: exchange.Config{Settings: json.RawMessage(`{"candles_per_second":200}`)},
	}
}

func (*simVenue) Fault(name string, _ ...string) error {
	if name == conformance.FaultStep {
		return nil
	}
	return conformance.ErrCannot
}

func (*simVenue) Count(string) int { return -1 }

func simHarness(wrap func(testing.TB, exchange.Connection) exchange.Connection) conformance.Harness {
	return conformance.Harness{
		Patience: 20 * time.Second,
		Start:    func(t testing.TB) conformance.Venue { return &simVenue{t: t, wrap: wrap} },
		Skip:     map[int]string{12: "the synthetic market has every symbol"},
	}
}

// cardsOfSim are those that a venue without faults, credentials and an account that
// outlives its session can have.
const cardsOfSim = 32

// play plays all cards and counts those that the market can have; the others are skipped,
// each with its reason.
func play(t *testing.T, figure string, h conformance.Harness) {
	t.Helper()
	passed, rounds := 0, ring.Size(1, 1, 20)
	for range rounds {
		r := conformance.Run(t, h)
		if passed += r.Passed; r.Passed != cardsOfSim || r.Passed+len(r.Skipped) != conformance.Cards {
			t.Fatalf("%s: %v", r, r.Skipped)
		}
	}
	ring.Count(t, figure, passed, rounds*cardsOfSim)
}

func TestConformance(t *testing.T) {
	play(t, "conformance cards, sim",
		simHarness(func(_ testing.TB, c exchange.Connection) exchange.Connection { return c }))
}

func TestConformanceOverTheWire(t *testing.T) {
	play(t, "conformance cards, sim over the wire", simHarness(exchangetest.Over))
}

package binance

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/conformance"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// brisk are the times of streams in tests.
var brisk = tuning{deadline: time.Second, age: time.Hour, overlap: 250 * time.Millisecond,
	shortest: 20 * time.Millisecond, longest: 200 * time.Millisecond,
	steady: 100 * time.Millisecond, first: 10 * time.Second}

// bench is the test venue as the cards want it.
type bench struct {
	*testvenue.Venue
	t    testing.TB
	wrap func(testing.TB, exchange.Connection) exchange.Connection
}

func newBench(t testing.TB, wrap func(testing.TB, exchange.Connection) exchange.Connection) *bench {
	t.Helper()
	// In the far future no candle has closed by this machine's clock: a later one shows it.
	v, err := testvenue.Start(testvenue.Options{Start: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		History: 500, Ping: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{v, t, wrap}
}

func (b *bench) Connect() exchange.Connection {
	return b.wrap(b.t,
		exchange.Connection{Connector: &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())},
			tuning: brisk}})
}

func (*bench) Request() exchange.OpenRequest {
	return exchange.OpenRequest{
		Symbols: []market.Symbol{"BTC/USDT", "ETH/USDT"}, Timeframe: market.MustTimeframe("1m"),
		Config: exchange.Config{APIKey: exchange.NewSecret(testvenue.DefaultKey),
			Secret: exchange.NewSecret(testvenue.DefaultSecret), RateLimitMS: 1},
	}
}

// Fault translates the names of the cards.
func (b *bench) Fault(name string, args ...string) error {
	do := func(match, action string, args ...string) error {
		return b.Do(testvenue.Script{Match: match, Action: action, Args: args})
	}
	match := map[string]string{
		conformance.FaultSubmit: "POST /api/v3/order", conformance.FaultCancel: "DELETE /api/v3/order",
		conformance.FaultQuery: "GET /api/v3/order",
	}[name]
	switch name {
	case conformance.FaultSubmit, conformance.FaultCancel, conformance.FaultQuery:
		if args[0] == conformance.LateAnswer {
			return do(match, "late_answer", "500")
		}
		return do(match, args[0])
	case conformance.FaultThin:
		return do("", "liquidity", args[0], "0.004")
	case conformance.FaultEcho:
		return do("POST /api/v3/order", "echo")
	case conformance.FaultClock:
		return do("", "clock_offset", args...)
	case conformance.FaultPrice:
		if err := do("", "price", args...); err != nil {
			return err
		}
		return b.Step()
	case conformance.FaultData:
		switch args[0] {
		case "cut", "silence":
			return do("", "stream_"+args[0], "market")
		case "drop":
			return do("", "candle_skip")
		}
		return do("", "candle_duplicate")
	case conformance.FaultAccount:
		if args[0] == "refuse" {
			return do("", "refuse_user_stream")
		}
		return do("", "stream_cut", "user")
	case conformance.FaultRestart:
		return nil
	}
	return do("", name, args...)
}

func harness(wrap func(testing.TB, exchange.Connection) exchange.Connection) conformance.Harness {
	return conformance.Harness{Patience: 10 * time.Second, Start: func(t testing.TB) conformance.Venue {
		return newBench(t, wrap)
	}}
}

// TestConformance is what lets this version of the connector trade real money.
func TestConformance(t *testing.T) {
	passed, rounds := 0, ring.Size(1, 1, 20)
	for range rounds {
		r := conformance.Run(t,
			harness(func(_ testing.TB, c exchange.Connection) exchange.Connection {
				return wire.Guard(c, nil)
			}))
		conformance.Certify(t, New(), r)
		passed += r.Passed
	}
	ring.Count(t, "conformance cards, binance", passed, rounds*conformance.Cards)
}

// TestConformanceOverTheWire plays the same cards through gRPC, in make prove.
func TestConformanceOverTheWire(t *testing.T) {
	ring.Proof(t, "the same cards once more")
	r := conformance.Run(t, harness(exchangetest.Over))
	if r.Passed != conformance.Cards {
		t.Errorf("%s: skipped %v, failed %v", r, r.Skipped, r.Failed)
	}
	ring.Count(t, "conformance cards, binance over the wire", r.Passed, conformance.Cards)
}

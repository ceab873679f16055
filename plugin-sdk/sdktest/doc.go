// Package sdktest is for the tests of a strategy's author.
//
// Conformance checks in one line what a host relies on: a valid description and
// schema, refusal of bad parameters, determinism, the same decisions in every way
// of driving, no leaked goroutine. Backtest runs a strategy through the real
// simulator, in the test's own process; Run does the same without a testing.TB.
// Synth makes candles, Sample are real ones.
//
//	func TestConformance(t *testing.T) { sdktest.Conformance(t, spec, newSMACross) }
//
//	func TestBuysTheCross(t *testing.T) {
//		candles := sdktest.Synth(42, 2000, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour)
//		strategy := sdktest.New(t, newSMACross, func(p *params) { p.Fast = 5 })
//		r := sdktest.Backtest(t, strategy, candles, sdktest.Cash(5_000))
//		if len(r.Trades) == 0 {
//			t.Error("no trades")
//		}
//	}
//
// The package imports sdk, market, sim, wire, serve, candlefile, internal/drive and internal/params.
package sdktest

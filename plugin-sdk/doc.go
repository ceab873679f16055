// Package sdk is what the author of a strategy sees: the Strategy interface, the
// Spec that describes it, tagged parameters, the View of one step and builders
// for Intents. A strategy is a separate program; its main is one call:
//
//	func main() {
//		serve.Strategy(sdk.Spec{Name: "sma_cross", Version: "1.0.0"}, newSMACross)
//	}
//
// A strategy says what it wants and nothing else: matching, cash, positions and
// every reported number belong to the host. It must be deterministic: the same
// candles and parameters must lead to the same intents, so it uses View.Time and
// View.Rand instead of the wall clock and the global random source.
//
// The package imports market only. The simulator, the wire and the test helpers
// live beside it in sim, wire, serve and sdktest.
package sdk

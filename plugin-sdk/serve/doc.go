// Package serve runs a strategy as a plugin: serve.Strategy(spec, construct) is the
// one call in an author's main.
//
// The process serves one gRPC service and one run. In co-simulation it maps the
// candles that the host names (or takes them in chunks), runs sim.Run over them
// with the author's strategy as the decider, and streams back what the strategy
// wants together with digests of its ledger; the host repeats the run from these
// intents and compares. In lockstep it answers one step at a time and holds no
// candle that has not closed.
//
// The simulation runs in one goroutine and reads no clock. Besides it there is one
// goroutine that receives, and a ticker that asks for an early flush when a chunk
// takes long: it changes where messages are cut, never what they say. A plugin that
// is ahead of its host is held back by gRPC's flow control, so its memory does not
// grow with the length of the run.
//
// It imports sdk, sim, wire, candlefile and internal/drive.
package serve

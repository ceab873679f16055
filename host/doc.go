// Package host holds no code. This comment tells the pipeline of the packages below
// it, in the order in which a run goes through them.
//
// # Before a run
//
// Candles come in through candle.Store.Import (package candle/importer reads the
// files), Put, or the bundled sample. Each series becomes an immutable column file
// named by its hash and a row in a small catalogue. Strategies come in through
// catalog.Open, which looks once at a folder, copies every program under its hash,
// starts the unknown ones to hear what they are, and lists them all, usable or not.
//
// # The start
//
// The API, or the lab, has a request. runner.Runner.Start asks its table whether a
// run may begin and calls the launch function that came with the request:
// run.Launcher.Launch. That one resolves every name of the request (strategy,
// parameters, exchange, symbols, window, rules), opens the candles, starts the
// strategy's process through catalog.Launch and waits until it has accepted its
// parameters. What can be refused is refused by now, as a run.RequestError, and
// nothing counts as active. Then the runner's Recorder, which is runner.Archive in
// the service, makes the row in the registry; the run exists.
//
// # The run
//
// runner drives the run.Execution on a goroutine. The execution feeds candles
// into sim.Engine of the SDK, which matches orders and keeps the books, and at each
// step asks a sim.Decider what the strategy wants. There are two, in package run:
// CoSimulation reads the stream of intents of a plugin that runs the same simulator
// over the same files, and compares the books of both sides; Lockstep sends each
// step and waits for the answer. Either way the books are the host's own.
//
// The engine reports every intent, order, fill, trade and equity mark to the
// run.Record. That one appends them to columns and lists, and to the
// decision lines (run/decision), whose hash names what was decided. Readers are
// let in by run.Gate every few thousand steps; what was appended never changes.
//
// # Paper and live
//
// trade.Launcher.Launch takes the place of the backtest's: trade.Exchanges finds the venue,
// host/deploy decides whether real money may be traded, and the network comes only after
// the start was answered. Candles arrive through trade/feed from a connector of package
// exchange and are asked about in lockstep. Paper fills orders in the same sim.Engine, so that the
// same candles give the same run; live hands them to trade/engine, which writes each into
// trade/journal before it is sent. Both write the journal, and a run that a crash cut
// short is read back from it at the next start.
//
// # The end
//
// The outcome is an end of data, a stop, or an artifact.Failure with a code. The
// execution hands over artifact.Results, with the metric.Report that metric.Compute
// makes of curve, trades and totals. runner.Archive has artifact.Store write the
// folder of the run, hashed, synced and renamed into place, and registry complete
// the row. Only then the runner shows the run as completed or failed.
//
// # Afterwards
//
// registry.ListMetadata enumerates runs, artifact.Verify proves that the files of
// one have not changed. When a process was killed in between, the next
// registry.Open settles what it left.
//
// job runs the program lab beside the service, for what executes but is no run of the runner:
// falsifications and searches.
//
// # Who may import whom
//
// digest and sqlite are leaves. metric knows the SDK's nouns, result adds the plain
// data of a run. candle stands on digest and sqlite; catalog on the SDK; artifact on
// digest, metric and result; registry on artifact and sqlite. runner joins artifact,
// registry and result and knows neither plugins nor the simulator. play joins catalog,
// metric and runner for every kind of run; backtest adds candle and artifact, live adds
// exchange, deploy and its own parts. Nothing here imports api, lab, governance or
// cmd; cmd/tools/tree holds that.
package host

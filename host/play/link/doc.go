// Package link drives a strategy plugin through one run: the stream of messages, and
// the two Deciders that turn it into what the simulator asks for at each step.
// CoSimulation reads a stream of intents and compares ledger digests; Lockstep sends
// each step and waits for the answer; Candles feeds a co-simulation whose plugin cannot
// read the host's files. The Gate lets others look at a run while it
// computes.
//
// It speaks the protocol of plugin-sdk/wire and knows neither processes nor data.
package link

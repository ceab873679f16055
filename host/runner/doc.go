// Package runner owns the one run that the service can have at a time: it starts,
// stops, ends and resets it, and says at any moment where it stands.
//
// The API validates a request and hands it over with a function that launches the
// strategy; what comes back is an Execution, the run itself, which lives in another
// package. The runner decides what is allowed in which state by one table
// (transitions), runs the Execution on a goroutine of its own, cancels it with a
// cause that tells a stop from a shutdown, has its results kept by a Recorder, and
// only then shows that the run has ended. Archive is the Recorder of the service:
// files by package artifact, rows by package registry.
//
// Starts, stops and resets are serialised: of any number of concurrent starts one
// wins. Status, Detail and Results never wait for them. Every change of status goes
// to every subscriber in order; publishing never blocks and merges nothing.
//
// The package may import artifact, registry, result and the market nouns. It knows
// neither HTTP nor plugins nor the simulator.
package runner

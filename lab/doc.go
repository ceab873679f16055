// Package lab is the command line that turns a strategy into evidence. Each command
// is one file, named after it, with its options, its run function and what it prints;
// a new one is added by copying a neighbour and naming it in its parent.
//
// What all commands share is in root.go (common flags), output.go (tables on stdout,
// or one JSON object) and errors.go, the one place that knows exit codes. Results go
// to stdout, progress and logs to stderr. A command returns an outcome or an error;
// it neither prints nor exits by itself.
//
// Work is done by the packages below: the candle store, the registry, the simulator
// behind the host. Nothing imports this package but the main of cmd/lab.
package lab

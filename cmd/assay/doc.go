// Command assay is the run-control service: it reads its configuration, opens what
// the host keeps in the state directory, finds the strategy plugins and serves the
// API until it is told to stop.
//
// The exit code is 0 after SIGINT or SIGTERM, 1 when something failed, 2 when the
// configuration is refused and 130 after a second signal.
package main

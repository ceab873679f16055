// Package health answers GET /health. The runner and the counters are looked at
// when asked; everything that needs the disk or a database is checked in the
// background every ten seconds, so that a request never waits for it.
//
// It imports the runner's data types and api/v1/view. What it watches is handed in
// as functions.
package health

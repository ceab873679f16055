// Package stream is the status stream, GET /api/v1/ws/status.
//
// A client without the subprotocol assay.v1.rich gets one kind of message, the
// status, on connect, on every change and every 15 seconds. A rich client gets
// numbered frames: a hello and a snapshot of everything, then what changes, and
// answers to its requests for series and rows.
//
// The Hub follows the runner. Changes of status go out at once, each of them. All
// the rest is looked at four times a second while somebody listens, coalesced once
// for everybody by the collector, bounded to ten frames a second and marshalled
// once. Every client has an outbox of its own and a goroutine that empties it:
// publishing never waits for a client, and one that cannot keep up is closed.
//
// A run's numbers come from runner.Watched, which shares what a run only appends
// to.
package stream

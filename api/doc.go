// Package api is the edge of the service: what happens to a request before and after
// its handler. Everything that a client can see on every response is decided here.
//
// Requests come in through host/base/listen, which bounds connections and write stalls;
// Refuse puts net/http's own parser-level refusals into the form of this API. Edge then
// checks, in this order and with the first failure answering: HTTP version, host,
// path, method, origin, sunset. The operation's handler checks the rest: media
// type, size, JSON, schema, idempotency key, run state, lookups.
//
// The package imports api/web, api/v1/problem, api/v1/deprecation and host/base/listen. The routes are handed in by
// cmd/assay: api/v1 has the operations, api/docs the documentation, api/ui the
// dashboard.
package api

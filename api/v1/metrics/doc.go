// Package metrics answers GET /metrics in the Prometheus text format 0.0.4.
//
// Requests are counted here: cmd/assay passes Observe to the edge, which calls it
// once per answered request. Everything else is read when a scrape comes: the run
// from host/runner, plugins from host/catalog, stream clients from the stream, all
// handed in as functions.
//
// Every label comes from a closed set that is fixed when the Registry is made. What
// is not in the set is counted as "other", so no client can make the page grow.
package metrics

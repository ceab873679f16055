// Package exposition writes the text format of Prometheus: families and samples (Text), and
// the requests of an HTTP server, counted and timed by route (Requests).
//
// It is a leaf: the metrics pages of the service and of the control plane are made with it.
package exposition

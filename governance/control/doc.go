// Package control is the control plane's HTTP server: the edge, the ingest of candidate
// bundles, and reads of what the log comes to.
//
// A request passes the edge (edge.go: host, path, method, origin), then its handler. An
// ingest is judged outside of the log as far as it can be, and written by one store.Update;
// its answer leaves when that is on disk. Reads are bodies of package promotion, worked out
// from the log and the time. The commands of the binary are in command below.
package control

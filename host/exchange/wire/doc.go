// Package wire carries the contract of package exchange between the host and a connector
// process: the gRPC service of package connectorpb over hashicorp/go-plugin.
//
// On the connector's side Serve is the one call in main. It puts a guard around the
// connection that the connector implements, and serves it:
//
//	gRPC -> server (messages) -> guard (contract, lease, redaction) -> exchange.Connection
//
// The guard opens a session once, refuses what a session may not do, takes credentials
// out of every text, and keeps the lease: when the host is gone or silent it refuses
// submits, cancels the run's open orders, asks until they are confirmed as gone, writes
// lease.json and ends the process. Guard gives the same protection without a process.
//
// On the host's side Client implements the same interfaces over the connection, with the
// deadline of every call. Any gRPC error of a Submit or a Cancel is Unknown. What a
// connector says is checked before anyone sees it: a number that is none, an unknown
// symbol or a negative quantity is a *ProtocolError and counts as a crash.
//
// Package launch finds connectors and starts their processes.
package wire

// Package client talks to a control plane over HTTP: what the lab and the service link.
//
// Nothing that a plane answers is believed as it comes. Ingest checks the receipt's seal
// with package ledger/verify, against the statement key that the caller has pinned or else
// against the keys that the plane publishes under /trust; a bundle that is fetched must be
// the one that its id names. The registry of deployables is read by the host alone, see
// host/deploy.
//
// Errors are of four types: *UnreachableError when nobody answers as a plane does,
// *RefusedError with the code of the plane's error envelope, *UntrustedError when an answer
// does not hold, and those of ctx. It is a typed layer over [deploy.Plane].
package client

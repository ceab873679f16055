// Package ledger is the mathematics of the control plane's log: what a leaf is, the
// Merkle tree over the leaves, the signed checkpoint of its head, and the proof that
// one statement is in it, in the three forms that are handed out (seal, Sigstore
// bundle, tlog-proof).
//
// A statement comes in as a signed DSSE envelope (Entry). Its leaf is the canonical
// JSON of a Rekor v2 hashedrekord, so that stock Sigstore tools can recompute it from
// the envelope and the statement key alone; the tree is that of RFC 6962, the
// checkpoint a C2SP signed note, the proof text a C2SP tlog-proof. Nothing here reads a
// clock, a file or the network, and nothing trusts bytes that it can compute itself:
// the leaf of a bundle is always made again from its envelope.
//
// The log of a running plane is driven by its store: Log.Prepare says which tree nodes
// and which checkpoint a batch of entries makes, the store commits them to disk, then
// Log.Commit adopts them. The offline verifier is the package verify below.
//
// It imports host/base/digest and governance/bundle.
package ledger

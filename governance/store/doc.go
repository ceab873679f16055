// Package store keeps the control plane's log in one SQLite file and derives from it what
// the plane answers with.
//
// The tables ledger, submissions and attestations are the truth; tree_nodes and checkpoints
// prove it. Everything else follows: entries become facts (promotion.FactsOf), facts a
// promotion.World, and the projection tables are a copy of both that can be made again.
// Update is the only way to write: one transaction with one checkpoint, in which the caller
// appends entries and the machine's decisions follow; what it returns is on disk. Open
// derives everything again from the truth and compares; a log that does not hold together is
// served for reading only, and is never continued.
package store

// Package fact turns entries of the log into facts: small, typed statements of what has
// been said and decided, from which promotion derives everything else.
//
// The control plane's own predicates (seal, attestation-recorded, stage-decision, policy,
// trust, log-start) are defined here. An Entry is one statement of the log together with
// the bytes that it only names by digest: the bundle that a seal accepts, the attestation
// that is recorded. Of is a pure function: the same entry gives the same facts with the
// same ids, whenever and wherever it is read. Nothing here does I/O or knows the time.
//
// Facts go to the store, which keeps them as rows that can be made again, and to
// promotion.World, which folds them.
package fact

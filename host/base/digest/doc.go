// Package digest names content: SHA-256 of bytes and files, and of JSON values in
// the one form that RFC 8785 gives them.
//
// A value is hashed as its canonical text: members sorted, no blanks, numbers as
// ECMAScript writes them. Reading is strict, because a hash must not depend on how a
// parser resolves what is ambiguous: duplicate names, bad UTF-8, NaN, numbers beyond
// float64 and integers beyond 2^53 (which float64 rounds) are refused. Larger
// integers travel as strings. Strict reads for the control plane, which names every
// such fault by a code of its own and bounds how deep values nest.
//
// It is a leaf: it imports nothing of this module. Requests, reports, candle
// windows and bundles come here for their hashes.
package digest

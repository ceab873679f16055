// Package bundle is the contract of the control plane: the candidate bundle and its
// strict reading, digests and ids, DSSE envelopes, in-toto statements and the
// predicates that people and programs sign.
//
// Everything that the lab, the service and the control plane exchange is defined here
// and nowhere else. Bytes decide: a value is read strictly first (Decode), and whatever
// is hashed or signed is its canonical form (RFC 8785).
package bundle

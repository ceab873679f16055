// Package verify is the offline verifier behind `governance verify`: it takes the files
// that the lab and the control plane leave behind and the keys that its caller trusts,
// and says step by step what holds.
//
// It trusts nothing that is in the files: ids and digests are computed again from the
// bytes, the leaf from the envelope and the key, the root from the leaf. It goes on to
// the last step whatever fails, and ends with what it has not checked. It has no
// network code and reads no clock; the only files that it opens itself are artifacts,
// below a root that its caller names.
//
// The vectors in ../testdata/vectors are a valid hand-over and its forgeries, each with
// the steps that must fail; index.json lists them, and `go test -update` makes them again.
//
// It imports governance/ledger, governance/bundle and host/base/digest.
package verify

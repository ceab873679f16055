// Package dsse signs and checks DSSE envelopes with ECDSA P-256, and keeps keys in
// files.
//
// What is signed is the pre-authentication encoding (PAE) of payload type and payload,
// so that bytes signed as one thing cannot be shown as another. A signature depends on
// key and message alone (RFC 6979), so that the same statement always makes the same
// envelope. Base64 is read strictly: each payload and signature has one spelling.
// It imports governance/bundle/field only.
package dsse

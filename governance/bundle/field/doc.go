// Package field reads documents of the control plane member by member: strict JSON
// comes in, checked Go values or a refusal with code and JSON pointer go out.
//
// A Reader keeps the first refusal and lets every further read do nothing, so that
// code which reads a document is a straight list of its members, in the order in which
// they are checked. Unknown members are refused before missing ones, and both before
// any value. It imports host/base/digest only; bundles, statements, trust and policies are
// read with it.
package field

// Package command is the command line of the control plane: serve, what people sign
// (approve, reject, suspend, retire, incident), and what works on files (verify, rebuild,
// keys).
//
// A command reads options, asks the plane for what its statement must name, signs it with
// its user's key, and posts it as an attestation: the plane knows no other way to be told
// something. Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable.
package command

// Package policy reads promotion policies: which gates a revision must pass and how many
// people must agree before it enters a stage.
//
// A policy is data, read strictly: an unknown key or kind, a stage for real money with
// fewer than two approvals, an op that nobody knows refuses the whole file. Its digest is
// that of its canonical JSON, as it was written; what a stage inherits is worked out when
// it is read. Default is the policy that is built in.
package policy

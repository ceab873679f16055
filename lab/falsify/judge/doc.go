// Package judge turns the numbers of the battery into verdicts: one pure rule per test,
// exactly those of the table in docs/lab.md, and one for all of them together.
//
// The battery plays the replays and hands over what came out, as small structs here and
// in package null below; a Judge, which knows the base run and the policy, answers with a
// Test, an entry of summary.json. Catalogue lists the tests. Nothing here reads a file, a
// clock or a random stream; equal numbers give equal verdicts.
//
// Three habits: what is too little to say is inconclusive and never a pass; a replay that
// failed or did nothing counts on the safe side; every percentage is in Policy and is
// shown with the verdict as policy, because it is a decision and not a theorem.
//
// Package null has the null models that need no plugin, package evidence writes the files
// that a verdict rests on.
package judge

// Package check is lab validate: every check of a strategy that needs no full run.
//
// A strategy's folder comes in; out comes one Outcome per check, in order. A check that
// needs what an earlier one could not provide is skipped and says so; the rest goes on,
// so that one call shows everything that is wrong.
package check

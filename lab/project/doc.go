// Package project is a strategy's folder as the lab sees it: where it is, what its
// lab.json says, and how its plugin is built.
//
// A slug comes in, from the command line; a Project comes out, with a checked Config,
// and from it a Built plugin with the hashes of its bytes and of its sources. Package
// evaluate runs it, package scaffold makes new ones.
//
// Building runs the Go tool, the only program that the lab starts besides plugins. It
// always uses the same switches, so that two clones of one checkout give the same
// bytes wherever they lie.
package project

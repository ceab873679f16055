// Package design holds the designs of a parameter search as far as they are arithmetic:
// the Sobol sequence, the cartesian grid and the rungs of successive halving. What a
// point means in a space of parameters is not decided here. It imports nothing but the
// standard library and draws nothing: a random shift is handed in.
package design

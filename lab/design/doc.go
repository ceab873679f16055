// Package design is the design of a parameter search: the space of parameters, which
// of its points are allowed, and the points that a method picks, all of them before
// anything is evaluated. Section 7 of lab-stats/1 has the rules.
//
// A Space and its Constraints come in as JSON, from lab.json or a registered plan; every
// fault is a *FieldError with the place. Design.Enumerate gives the points: parameters
// as canonical JSON, in an order that depends on nothing but the design. Rungs says how
// successive halving goes through them, Space.Position where given parameters lie in
// the unit cube. Package neighbour below this one makes small changes to parameters.
//
// It imports the random streams and the canonical JSON, and nothing else of this
// module: what a strategy makes of a point is not decided here.
package design

// Package surface describes how the objective of a search lies over its space: which
// parameters matter, and which trials stand on a plateau rather than on a peak.
//
// Trials come in as positions in the unit cube, one coordinate per parameter, each with
// its objective if it has one. Nothing is random and nothing depends on the order in which
// trials finished. The package imports lab/stat.
package surface

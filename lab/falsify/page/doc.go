// Package page makes falsify/summary.html: a falsification on one page that opens without
// a network, in a light and a dark scheme, and prints. It has no script; its charts are
// inline SVG. Equal input gives equal bytes.
//
// It imports package judge, whose tests it shows.
package page

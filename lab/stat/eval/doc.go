// Package eval is the table of all statistics: their names, their inputs, what they give,
// and the code that does it. `lab stats list` prints the table, `lab stats eval` answers
// from it, and so nothing can be computed that is not listed.
//
// A function takes its inputs from a line and returns the computation; it runs only when
// every input fitted. To add one, copy a neighbour in the file of its group: names,
// inputs, value, one line of documentation and the function. How a line is read and
// answered is package line.
//
// The package may import everything below stat, packages split and design, digest, metric
// and the market nouns. It reads no clock and no file; Run has one goroutine, which reads.
package eval

// Package eval is the table of all statistics: their identifiers, their inputs, what they
// give, and the code that does it. `lab stats list` prints the table, `lab stats eval`
// answers from it, and so nothing can be computed that is not listed.
//
// To add a function, copy a neighbour in the file of its group: define takes the identifier,
// the value, one line of documentation, and a function whose argument is a struct. The
// struct's tags are the inputs and their domains (bind.go); the function runs when all
// inputs fit. A request is one line of strict JSON (request.go), and so is its answer, in
// which nothing is NaN or infinite: what is undefined is null, with the reason beside it
// (answer.go).
//
// The package may import everything below stat, packages split and design, digest, metric
// and the market nouns. It reads no clock and no file; Run has one goroutine, which reads.
package eval

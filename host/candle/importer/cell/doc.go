// Package cell reads the cells of a table: numbers, times, and the line that holds
// them. What is read is exactly what is written, or nothing: a number is the float64
// nearest to its decimals, a time is a moment that nobody had to guess.
//
// It imports market and the codes of package refusal. Package profile says which of
// its readers fits a format; package importer calls them, millions of times an import,
// which is why the plain cases allocate nothing.
package cell

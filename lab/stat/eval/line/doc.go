// Package line is the form of `lab stats eval`: a request is one line of strict JSON, an
// answer is one line, too.
//
// Parse reads a request; Inputs hands its inputs out as numbers, arrays and matrices and
// remembers the first that does not fit, with a JSON pointer; Answer writes a value, in
// which nothing is NaN or infinite: what is undefined is null, with the reason beside it.
// Which functions exist is decided in package eval. It imports package stat for its
// reasons and digest for its numbers.
package line

// Package problem is the one table of error codes of the API: code, status,
// message and what its details hold. Handlers return a *Problem; package reply
// writes it as the error envelope. The OpenAPI enum and the page /docs/errors come
// from the same table.
//
// It imports nothing of this module. Other packages return their own typed errors;
// api/v1 alone turns those into problems.
package problem

// Package view turns what the host knows into the JSON of the API: one struct per
// schema of the OpenAPI document, and functions that fill it in. A test compares
// tags and schemas. Nothing here decides anything.
//
// Numbers are written in their shortest plain form, without exponent; arrays are
// never null; times are UTC with milliseconds. The package imports the host's data
// types and no handler.
package view

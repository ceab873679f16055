// Package schema checks JSON values against the schemas inside the OpenAPI
// document and reports every violation with an RFC 6901 pointer. The document is
// the only description of a body: requests are validated with it at run time,
// answers in the tests.
//
// It builds on santhosh-tekuri/jsonschema and imports plugin-sdk/market for times.
package schema

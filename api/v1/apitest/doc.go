// Package apitest is what the tests of the API share: a service over real TCP with
// the real edge, operations and run machine around scripted runs, and a recorder
// that holds every answer against the OpenAPI document.
//
// Only tests import it.
package apitest

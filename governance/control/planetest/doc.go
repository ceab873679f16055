// Package planetest runs a control plane over a real socket and a real database for tests
// and benchmarks, with people whose keys are always the same, a clock that the test sets,
// and bundles that pass.
package planetest

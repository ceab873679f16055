// Package gate judges the gates of a promotion policy: one kind, one file.
//
// A gate looks at the Evidence of one revision and at a time that it is given. Its
// verdict is pass, fail or pending (nobody knows yet); what once passed may have expired,
// and people may waive a gate for some days. Each file states what makes its kind pass,
// fail or wait. Everything here is a pure function.
package gate

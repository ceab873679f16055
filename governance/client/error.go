package client

import (
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/deploy"
)

// UnreachableError says that no control plane answered: nothing listens, the connection
// broke, time ran out, or what answers is something else.
type UnreachableError struct {
	URL   string // without credentials
	Cause error
}

// Error says where a plane was looked for.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no control plane answers at %s: %v", e.URL, e.Cause)
}

// Unwrap is the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// RefusedError is the plane's error envelope.
type RefusedError struct {
	Status int
	deploy.Problem
}

// Error is code, reason, message and pointer.
func (e *RefusedError) Error() string {
	text := e.Code
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	text += ": " + e.Message
	if e.Pointer != "" {
		text += ", at " + e.Pointer
	}
	return text
}

// UntrustedError says that an answer does not hold: it is not signed by the key that was
// given or published, or is about something else than what was asked.
type UntrustedError struct {
	What     string   // what was checked
	Problems []string // never empty
}

// Error lists the problems.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s cannot be trusted: %s", e.What, strings.Join(e.Problems, "; "))
}

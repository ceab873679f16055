package link

import "fmt"

// Fault is why a run cannot go on, with the code that it is reported under.
type Fault struct {
	Code string // of section 7.2 of the API
	Data map[string]any
	Err  error
}

// Error is the message.
func (e *Fault) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *Fault) Unwrap() error { return e.Err }

// Failf makes a Fault.
func Failf(code string, data map[string]any, format string, args ...any) *Fault {
	return &Fault{Code: code, Data: data, Err: fmt.Errorf(format, args...)}
}

// DeadlineError says that the plugin did not answer in time.
type DeadlineError struct{ What string }

// Error is the message.
func (e *DeadlineError) Error() string { return "the plugin did not answer in time: " + e.What }

package runner

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/assay-run/assay/host/artifact"
)

// pictureTimeout bounds how long a finished execution may take to say what it has
// produced: one that panicked or hangs may hold its own locks.
const pictureTimeout = 2 * time.Second

// panicError is a panic of an execution or a recorder. Only its type and stack are
// kept: the value may hold a secret.
type panicError struct {
	kind  string
	stack []byte
}

func (p *panicError) Error() string { return "internal error (panic: " + p.kind + ")" }

// guard turns a panic of f into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{kind: fmt.Sprintf("%T", p), stack: debug.Stack()}
		}
	}()
	return f()
}

// picture asks a finished execution for its last numbers and results. False means
// that it panicked or did not answer in time; the results are empty then.
func picture(exec Execution) (Progress, *artifact.Results, bool) {
	type answer struct {
		progress Progress
		results  *artifact.Results
	}
	answers := make(chan *answer, 1)
	go func() {
		a, err := guard(func() (*answer, error) { return &answer{exec.Progress(), exec.Results()}, nil })
		if err != nil || a.results == nil {
			a = nil
		}
		answers <- a
	}()
	timer := time.NewTimer(pictureTimeout)
	defer timer.Stop()
	select {
	case a := <-answers:
		if a != nil {
			return a.progress, a.results, true
		}
	case <-timer.C:
	}
	return Progress{}, &artifact.Results{}, false
}

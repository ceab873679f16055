package verify

import (
	"errors"
	"fmt"
	"io"

	"github.com/assay-run/assay/governance/ledger"
)

// Step is one thing that was checked. Expected and Found say why it failed.
type Step struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
}

// String is the step's line.
func (s Step) String() string {
	if s.OK {
		return fmt.Sprintf("%2d ok   %s", s.Number, s.Name)
	}
	return fmt.Sprintf("%2d FAIL %s: expected %s, found %s", s.Number, s.Name, s.Expected, s.Found)
}

// Report is all steps in order and what no step could check.
type Report struct {
	Steps      []Step   `json:"steps"`
	NotChecked []string `json:"not_checked"`
}

// OK says that there was something to check and that all of it holds.
func (r *Report) OK() bool {
	for _, s := range r.Steps {
		if !s.OK {
			return false
		}
	}
	return len(r.Steps) > 0
}

// Failed is the names of the steps that failed.
func (r *Report) Failed() []string {
	var names []string
	for _, s := range r.Steps {
		if !s.OK {
			names = append(names, s.Name)
		}
	}
	return names
}

// Write prints a line for each step, then what was not checked.
func (r *Report) Write(w io.Writer) error {
	for _, s := range r.Steps {
		if _, err := fmt.Fprintln(w, s); err != nil {
			return err
		}
	}
	for _, what := range r.NotChecked {
		if _, err := fmt.Fprintln(w, "not checked:", what); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) step(name string, err error) bool {
	s := Step{Number: len(r.Steps) + 1, Name: name, OK: err == nil}
	var m *ledger.Mismatch
	switch {
	case errors.As(err, &m):
		s.Expected, s.Found = m.Expected, m.Found
		if m.What != "" {
			s.Expected = m.What + " " + m.Expected
		}
	case err != nil:
		s.Expected, s.Found = "no error", err.Error()
	}
	r.Steps = append(r.Steps, s)
	return s.OK
}

// Skip adds to what was not checked.
func (r *Report) Skip(what string) { r.NotChecked = append(r.NotChecked, what) }

func (r *Report) skip(format string, args ...any) {
	r.NotChecked = append(r.NotChecked, fmt.Sprintf(format, args...))
}

func mismatch(what, expected, found string) error {
	return &ledger.Mismatch{What: what, Expected: expected, Found: found}
}

// same is nil when both are equal.
func same(what, expected, found string) error {
	if expected == found {
		return nil
	}
	return mismatch(what, expected, found)
}

// first is the first error of several.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

package split

import (
	"errors"
	"fmt"
)

// The names of schemes.
const (
	Default     = "default"
	Holdout     = "holdout"
	WalkForward = "walk_forward"
	CPCV        = "cpcv"
	None        = "none"
)

// The roles of ranges.
const (
	RoleTrain       = "train"
	RoleValidation  = "validation"
	RoleTest        = "test"
	RoleSearch      = "search"
	RoleWalkForward = "walk_forward"
	RoleFull        = "full"
)

// MinCandles is the fewest candles that can be split.
const MinCandles = 100

// maxSplits bounds what a scheme may make.
const maxSplits = 100_000

// Scheme is how to split, as "splits" in lab.json has it. Lengths are candles.
type Scheme struct {
	Scheme string `json:"scheme"`
	// Train, Test and Step are the windows of walk_forward; Step is Test if 0.
	Train       int  `json:"train,omitempty"`
	Test        int  `json:"test,omitempty"`
	Step        int  `json:"step,omitempty"`
	Anchored    bool `json:"anchored,omitempty"`
	KeepPartial bool `json:"keep_partial,omitempty"`
	// Folds and TestFolds are those of cpcv, 6 and 2 if 0.
	Folds     int `json:"n_folds,omitempty"`
	TestFolds int `json:"n_test_folds,omitempty"`
	// Purge is how many candles lie between training and test; nil: what the strategy
	// holds at most. Embargo follows a test block of cpcv; nil: ceil(n/100).
	Purge   *int `json:"purge,omitempty"`
	Embargo *int `json:"embargo,omitempty"`
	// First is how many of the walk-forward windows are played, the first ones; 0: all.
	// It is no field of lab.json: successive halving sets it for the trials of a rung.
	First int `json:"windows,omitempty"`
}

// TooShortError says that there are too few candles for the scheme.
type TooShortError struct {
	Candles, Needed int
	What            string
}

// Error says how many candles are needed.
func (e *TooShortError) Error() string {
	return fmt.Sprintf("%d candles are too few for %s: at least %d are needed", e.Candles, e.What, e.Needed)
}

// FieldError is a bad value of a Scheme; Pointer is below "splits".
type FieldError struct{ Pointer, Message string }

// Error says what is wrong with which field.
func (e *FieldError) Error() string { return e.Pointer + " " + e.Message }

func bad(pointer, format string, args ...any) error {
	return &FieldError{pointer, fmt.Sprintf(format, args...)}
}

// Validate checks everything that does not depend on the data.
func (s *Scheme) Validate() error {
	var errs []error
	least := func(pointer string, value, least int) {
		if value < least {
			errs = append(errs, bad(pointer, "must be at least %d", least))
		}
	}
	optional := func(pointer string, value *int) {
		if value != nil {
			least(pointer, *value, 0)
		}
	}
	foreign := func(pointer string, set bool) {
		if set {
			errs = append(errs, bad(pointer, "is not a field of scheme %s", s.Scheme))
		}
	}
	walk, cross := s.Scheme == WalkForward, s.Scheme == CPCV
	switch s.Scheme {
	case Default, Holdout, None:
	case WalkForward:
		least("/train", s.Train, 1)
		least("/test", s.Test, 1)
		least("/step", s.Step, 0)
	case CPCV:
		least("/n_folds", s.folds(), 2)
		least("/n_test_folds", s.testFolds(), 1)
		if s.testFolds() >= s.folds() {
			errs = append(errs, bad("/n_test_folds", "must be below n_folds"))
		}
	default:
		return bad("/scheme", "%q is not one of default, holdout, walk_forward, cpcv, none", s.Scheme)
	}
	optional("/purge", s.Purge)
	optional("/embargo", s.Embargo)
	for _, f := range []struct {
		pointer string
		set     bool
	}{{"/train", s.Train != 0}, {"/test", s.Test != 0}, {"/step", s.Step != 0}, {"/anchored", s.Anchored}, {"/keep_partial", s.KeepPartial}} {
		foreign(f.pointer, f.set && !walk)
	}
	foreign("/n_folds", s.Folds != 0 && !cross)
	foreign("/n_test_folds", s.TestFolds != 0 && !cross)
	foreign("/embargo", s.Embargo != nil && !cross)
	return errors.Join(errs...)
}

func (s *Scheme) folds() int {
	if s.Folds == 0 {
		return 6
	}
	return s.Folds
}

func (s *Scheme) testFolds() int {
	if s.TestFolds == 0 {
		return 2
	}
	return s.TestFolds
}

// purge is the scheme's own, else what the strategy may hold.
func (s *Scheme) purge(holding int) int {
	if s.Purge != nil {
		return *s.Purge
	}
	return holding
}

package judge

import (
	"fmt"
	"strings"
)

// Sentence is what a reader should know of a test that did not pass: "Not shown: that it
// earns money at higher costs, because at doubled costs it loses 1.8 %."; "" of one that
// passed, was skipped, or only describes.
func (t *Test) Sentence() string {
	if t.Class == Description {
		return ""
	}
	switch t.Verdict {
	case Fail, Warn:
		return "Not shown: that " + t.claim() + t.because() + "."
	case Inconclusive, Error:
		return "Open: whether " + t.claim() + t.because() + "."
	}
	return ""
}

// Informs is the sentence of a test that never counts, "" of one that says nothing.
func (t *Test) Informs() string {
	if t.Class != Description || t.Detail == "" {
		return ""
	}
	return strings.ToUpper(t.Detail[:1]) + t.Detail[1:] + "."
}

// Shown is the verdict as a reader should take it: a failed test of class W warns.
func (t *Test) Shown() Verdict {
	if t.Class == Warning && t.Verdict == Fail {
		return Warn
	}
	return t.Verdict
}

// claim is that of the catalogue, which a summary of an older version has in other words.
func (t *Test) claim() string {
	if e, ok := Find(t.ID); ok {
		return e.Claim
	}
	return t.Claim
}

// because is the detail, which a summary of an older version does not have.
func (t *Test) because() string {
	s := t.Statistic
	switch {
	case t.Detail != "":
		return ", because " + t.Detail
	case s.Value != nil && s.Threshold != nil && t.Verdict != Inconclusive:
		return fmt.Sprintf(", because %s is %.4g and must be %s %.4g", s.Name, *s.Value, s.Direction,
			*s.Threshold)
	case t.ReasonCode != "":
		return fmt.Sprintf(" (%s)", strings.ReplaceAll(t.ReasonCode, "_", " "))
	}
	return ""
}

// Package soak sizes the proofs of live trading and counts them. A test asks Size how much
// to do, does it, and reports it by Count; make test holds the counts to one column of the table
// of figures, make soak, which sets ASSAY_SOAK, to the other, and writes soak.json.
package soak

import (
	"encoding/json"
	"os"
	"runtime"
	"testing"
)

// The environment: ASSAY_SOAK is the number of minutes of make soak, ASSAY_FIGURES the file
// that counts are added to, a line each.
const (
	minutes = "ASSAY_SOAK"
	figures = "ASSAY_FIGURES"
)

// Long says whether this is make soak.
func Long() bool { return os.Getenv(minutes) != "" }

// Size is how much of something to do: short in make test, long in make soak.
func Size(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Line is one count in the file of figures.
type Line struct {
	Figure string `json:"figure"`
	Test   string `json:"test"`
	Count  int    `json:"count"`
	Wanted int    `json:"wanted"`
	OS     string `json:"os"`
}

// Count says that a test has done so many of a figure and fails it if that is fewer than
// wanted. A figure that several tests add to is the sum of their counts; wanted is this
// test's own part.
func Count(t testing.TB, figure string, count, wanted int) {
	t.Helper()
	if count < wanted {
		t.Errorf("%s: %d of %d", figure, count, wanted)
	}
	t.Logf("%s: %d", figure, count)
	path := os.Getenv(figures)
	if path == "" || t.Failed() {
		return
	}
	text, err := json.Marshal(Line{figure, t.Name(), count, wanted, runtime.GOOS})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	// One write: processes of several packages add to the file at once.
	if _, err := file.Write(append(text, '\n')); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

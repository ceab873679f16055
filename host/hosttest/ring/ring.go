// Package ring sizes tests by the ring that runs them. [Quick] is `make quick`, [Test]
// `make test`, [Prove] `make prove` and [Soak] `make soak`; each holds what the one before
// it holds, at a larger scale.
//
// A test that takes more than a second explains why by [Slow]; one that proves something at
// scale asks [Size] how often, or is left to `make prove` whole by [Proof]; one that a busy
// machine spoils calls [Alone]. It calls them in its own body or in a function of its package
// that it calls: there `make prove` looks for what it has to run. [Count] reports how often
// something was proved, and `make prove` and `make soak` are held to [Table].
package ring

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Ring is how much a run of the tests shows.
type Ring int

// The rings, each within the next.
const (
	Quick Ring = iota
	Test
	Prove
	Soak
)

// The environment of a run: the ring (prove or soak; -short is quick, all else test), the
// minutes of what soaks for a time, and the file that counts are added to, a line each.
const (
	Variable = "ASSAY_RING"
	minutes  = "ASSAY_MINUTES"
	figures  = "ASSAY_FIGURES"
)

// At returns the ring of this run.
func At() Ring {
	switch os.Getenv(Variable) {
	case "prove":
		return Prove
	case "soak":
		return Soak
	}
	if testing.Short() {
		return Quick
	}
	return Test
}

// Slow leaves t out of [Quick]. It takes longer than a second because of why.
func Slow(t testing.TB, why string) {
	t.Helper()
	if At() == Quick {
		t.Skip("make test runs this: " + why)
	}
}

// Proof leaves t to [Prove] and [Soak] because of why.
func Proof(t testing.TB, why string) {
	t.Helper()
	if At() < Prove {
		t.Skip("make prove runs this: " + why)
	}
}

// Alone lets no test of another package run beside t in [Prove] and [Soak] because of why. The
// call itself does nothing: `make prove` finds it in the source.
func Alone(t testing.TB, why string) {}

// Long leaves t to [Soak] because of why.
func Long(t testing.TB, why string) {
	t.Helper()
	if At() < Soak {
		t.Skip("make soak runs this: " + why)
	}
}

// Undetected leaves t to `make test`, which has no race detector, because of why.
func Undetected(t testing.TB, why string) {
	t.Helper()
	if raceEnabled {
		t.Skip("make test runs this, without the race detector: " + why)
	}
}

// Size returns how much of something to do in the ring of this run: test in [Quick] and
// [Test], prove and soak in the others.
func Size(test, prove, soak int) int {
	switch At() {
	case Prove:
		return prove
	case Soak:
		return soak
	}
	return test
}

// Minutes returns for how long [Soak] goes on with what has no other end.
func Minutes() int {
	n, _ := strconv.Atoi(os.Getenv(minutes))
	return max(n, 1)
}

// Line is one count in the file of figures.
type Line struct {
	Figure string `json:"figure"`
	Test   string `json:"test"`
	Count  int    `json:"count"`
	Wanted int    `json:"wanted"`
	OS     string `json:"os"`
}

// Count reports that t has done so many of a figure and fails it if that is fewer than
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

// Figure is one line of the table of figures: how many of something [Prove] and [Soak] do at least.
type Figure struct {
	Name        string
	Prove, Soak int
}

// Table returns the figures that the rings are held to. Tests count more of them than stand here.
func Table() []Figure {
	return []Figure{
		{"model histories", 20_000, 1_000_000},
		{"mutants", 12, 12},
		{"SIGKILLs at labels", 40, 2_000},
		{"SIGKILLs in the journal", 50, 1_000},
		{"network and body faults", 60, 100},
		{"disk faults", 12, 50},
		{"feed scripts", 200, 5_000},
		{"random stops", 200, 10_000},
		{"random markets rounded", 100_000, 10_000_000},
		{"strategies equal on paper", 205, 205},
		{"days of 1m candles", 30, 365},
		{"conformance cards, binance", 66, 1_320},
		// The other half needs faults of the network, credentials and an account that outlives its session.
		{"conformance cards, sim", 32, 640},
		{"conformance cards, sim over the wire", 32, 640},
		{"trials of searches under fire", 16, 10_000},
	}
}

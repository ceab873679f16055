// Package falsify attacks a completed run: lab falsify.
//
// Open finds the base, a completed run with a search split. Run asks a question of its
// own about it, kind falsification: the base's request, the profile's hash, and what the
// registry says about the search that found the base. The same question has one answer,
// and the base is not touched. Where there is none yet, package battery makes the tests,
// and what it finds becomes a run: falsify/summary.json, the evidence, a page to read, the
// report and the metadata. ReadSummary reads an answer back, so that one that was there
// and one that was just made are shown alike.
//
// Packages below: tests (the catalogue, a folder per test with its plan and its rule), battery
// (what makes them), judge (what all rules share), profile (counts and thresholds), replay
// (changed candles). page.go is falsify/summary.html.
//
// It imports lab/request, lab/search, and the host's artifact and
// registry.
package falsify

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// summary is soak.json.
type summary struct {
	Schema  string `json:"schema"`
	Column  string `json:"column"`
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
	Figures []sum  `json:"figures"`
}

// sum is one figure. Count adds up the largest count of each test; Wanted is the table's count,
// or what the tests themselves want of a figure that is not in there.
type sum struct {
	Figure string   `json:"figure"`
	Count  int      `json:"count"`
	Wanted int      `json:"wanted"`
	Tests  []string `json:"tests"`
}

// judgeFigures adds up the counts that tests have written to the file at path and holds
// them to the table, in the column of the ring. It prints the sums to out and, if to is not
// empty, writes them to that file with s. Nothing depends on the order of the tests.
func judgeFigures(path string, at ring.Ring, to string, s summary, out io.Writer) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines, err := read(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.Schema, s.Column = "soak/v1", "soak"
	s.Go, s.OS, s.Arch, s.CPUs = runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()
	if at == ring.Prove {
		s.Column = "prove"
	}
	s.Figures = add(lines, at)
	show(out, s.Figures)
	if to != "" {
		if err := write(to, s); err != nil {
			return err
		}
	}
	if runtime.GOOS != "linux" {
		return nil // some tests need what only Linux has
	}
	return short(s.Figures)
}

// read decodes the file, a line for each count.
func read(text []byte) ([]ring.Line, error) {
	var lines []ring.Line
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		var l ring.Line
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil || l.Figure == "" || l.Test == "" {
			return nil, fmt.Errorf("line %d is no count: %q", len(lines)+1, in.Text())
		}
		lines = append(lines, l)
	}
	return lines, in.Err()
}

// add makes the sums, those of the table first. A test that ran twice counts once.
func add(lines []ring.Line, at ring.Ring) []sum {
	type one struct{ count, wanted int }
	all := map[string]map[string]one{}
	for _, l := range lines {
		if all[l.Figure] == nil {
			all[l.Figure] = map[string]one{}
		}
		had := all[l.Figure][l.Test]
		all[l.Figure][l.Test] = one{max(had.count, l.Count), max(had.wanted, l.Wanted)}
	}
	total := func(name string) sum {
		s := sum{Figure: name, Tests: []string{}}
		for test, n := range all[name] {
			s.Count, s.Wanted, s.Tests = s.Count+n.count, s.Wanted+n.wanted, append(s.Tests, test)
		}
		slices.Sort(s.Tests)
		delete(all, name)
		return s
	}
	var out []sum
	for _, f := range ring.Table() {
		s := total(f.Name)
		s.Wanted = f.Soak
		if at == ring.Prove {
			s.Wanted = f.Prove
		}
		out = append(out, s)
	}
	table := len(out)
	for name := range all {
		out = append(out, total(name))
	}
	slices.SortFunc(out[table:], func(a, b sum) int { return strings.Compare(a.Figure, b.Figure) })
	return out
}

func show(out io.Writer, figures []sum) {
	for _, s := range figures {
		fmt.Fprintf(out, "%-44s %10d  wanted %10d  %s\n", s.Figure, s.Count, s.Wanted,
			strings.Join(s.Tests, " "))
	}
}

func write(path string, s summary) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// short names the figures that were not reached.
func short(figures []sum) error {
	var missing []string
	for _, s := range figures {
		if s.Count < s.Wanted {
			missing = append(missing, fmt.Sprintf("%s: %d of %d", s.Figure, s.Count, s.Wanted))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("figures are missing or too small: %s", strings.Join(missing, "; "))
	}
	return nil
}

// Command report adds up the counts that tests have written to the file of figures
// (ASSAY_FIGURES, see package soak) and holds them to the table: to the column of make test with
// -check, else to that of make soak. It prints them and writes them to a file. Nothing in there
// depends on the order in which the tests ran; date and commit are given.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/hosttest/soak"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

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

// sum is one figure. Count adds up the largest count of each test; Wanted is what the table says,
// or what the tests themselves want of a figure that is not in there.
type sum struct {
	Figure string   `json:"figure"`
	Count  int      `json:"count"`
	Wanted int      `json:"wanted"`
	Tests  []string `json:"tests"`
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	figures := flags.String("figures", os.Getenv("ASSAY_FIGURES"), "the file that the tests have written")
	check := flags.Bool("check", false, "hold the figures to the column of make test, not to that of make soak")
	to := flags.String("o", "", "write the figures as JSON to this file")
	date := flags.String("date", "", "of the run, for the file")
	commit := flags.String("commit", "", "of the tree, for the file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *figures == "" || flags.NArg() > 0 {
		return errors.New("say -figures FILE and nothing else but options")
	}
	text, err := os.ReadFile(*figures)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines, err := read(text)
	if err != nil {
		return fmt.Errorf("%s: %w", *figures, err)
	}
	s := summary{
		Schema: "soak/v1", Column: "soak", Date: *date, Commit: *commit,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
	}
	if *check {
		s.Column = "test"
	}
	s.Figures = add(lines, *check)
	show(out, s.Figures)
	if *to != "" {
		if err := write(*to, s); err != nil {
			return err
		}
	}
	if runtime.GOOS != "linux" {
		return nil // some tests need what only Linux has
	}
	return short(s.Figures)
}

// read decodes the file, a line for each count.
func read(text []byte) ([]soak.Line, error) {
	var lines []soak.Line
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		var l soak.Line
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil || l.Figure == "" || l.Test == "" {
			return nil, fmt.Errorf("line %d is no count: %q", len(lines)+1, in.Text())
		}
		lines = append(lines, l)
	}
	return lines, in.Err()
}

// add makes the sums, those of the table first. A test that ran twice, with the race detector and
// without, counts once.
func add(lines []soak.Line, test bool) []sum {
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
	for _, f := range soak.Table() {
		s := total(f.Name)
		s.Wanted = f.Soak
		if test {
			s.Wanted = f.Test
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
		fmt.Fprintf(out, "%-44s %10d  wanted %10d  %s\n", s.Figure, s.Count, s.Wanted, strings.Join(s.Tests, " "))
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

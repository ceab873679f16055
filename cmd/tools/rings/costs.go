package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// costly is how many packages the end of a ring names.
const costly = 10

// costs are the seconds that packages took, all of their parts together.
type costs map[string]float64

// add reads whole lines of test events: those of packages have the seconds that they took.
func (c costs) add(events []byte) {
	for line := range bytes.Lines(events) {
		var event struct {
			Package, Test string
			Elapsed       float64
		}
		if !bytes.Contains(line, []byte(`"Elapsed"`)) || json.Unmarshal(line, &event) != nil {
			continue
		}
		if event.Test == "" && event.Package != "" {
			c[event.Package] += event.Elapsed
		}
	}
}

// costliest are the packages that took longest, a line each.
func (c costs) costliest() string {
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), strings.Compare(a, b))
	})
	var lines strings.Builder
	for _, name := range names[:min(len(names), costly)] {
		fmt.Fprintf(&lines, "%7.1f s  %s\n", c[name], strings.TrimPrefix(name, module+"/"))
	}
	return lines.String()
}

// summaryLine is the last line of what the runner prints.
var summaryLine = regexp.MustCompile(`^DONE \d+ tests`)

// showSummary copies what the runner prints to out, and the file at path before its summary.
func showSummary(out io.Writer, printed io.Reader, path string) error {
	for in := bufio.NewReader(printed); ; {
		line, err := in.ReadString('\n')
		if summaryLine.MatchString(line) {
			text, _ := os.ReadFile(path) // without it only these lines are missing
			line = string(text) + line
		}
		if _, err := io.WriteString(out, line); err != nil {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

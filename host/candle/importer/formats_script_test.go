package importer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// scripted is one case of testdata/*.txt: files as their source writes them, the
// options, and what has to come of it. A script is made of
//
//	case NAME
//	options KEY=VALUE...      symbol is X/USD and timeframe is found unless given
//	file NAME                 the lines of the file follow, each behind a |
//	profile NAME              which formats were recognised
//	symbol BASE/QUOTE
//	candle TIME OPEN HIGH LOW CLOSE VOLUME
//	skipped N, duplicates N, reordered N
//	unit UNIT                 of the volume, where it is not base
//	warning CODE
//	refused CODE LINE TEXT    line 0: no case; the message has the text
//
// Everything that happens must be said: candles, warnings and counts are complete.
type scripted struct {
	name, script string
	options      importer.Options
	files        []scriptedFile
	want         []string
	refused      []string
}

type scriptedFile struct{ name, content string }

func TestFormatScripts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		for _, c := range parseScript(t, path) {
			t.Run(c.name, c.run)
		}
	}
}

func parseScript(t *testing.T, path string) (cases []*scripted) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c *scripted
	for i, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "|"):
			c.files[len(c.files)-1].content += line[1:] + "\n"
		case word == "case":
			c = &scripted{name: strings.TrimSuffix(filepath.Base(path), ".txt") + " " + rest,
				script: fmt.Sprintf("%s:%d", path, i+1), options: importer.Options{Symbol: "X/USD"}}
			cases = append(cases, c)
		case word == "options":
			for _, o := range strings.Fields(rest) {
				c.option(t, o)
			}
		case word == "file":
			c.files = append(c.files, scriptedFile{name: rest})
		case word == "refused":
			c.refused = strings.SplitN(rest, " ", 3)
		case word == "" || word == "#":
		default:
			c.want = append(c.want, line)
		}
	}
	return cases
}

func (c *scripted) option(t *testing.T, text string) {
	t.Helper()
	key, value, _ := strings.Cut(text, "=")
	var err error
	switch o := &c.options; key {
	case "symbol":
		o.Symbol = market.Symbol(value)
	case "timeframe":
		o.Timeframe, err = market.ParseTimeframe(value)
	case "profile":
		o.Profile = value
	case "columns":
		o.Columns, err = importer.ParseColumns(value)
	case "tz":
		o.Zone, err = time.LoadLocation(value)
	case "stamp":
		o.Stamp = value
	case "date-order":
		o.DateOrder = value
	case "ticker":
		o.Ticker = value
	case "violations":
		o.Violations = value
	default:
		err = errors.New("no such option")
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", c.script, text, err)
	}
}

func (c *scripted) run(t *testing.T) {
	var inputs []importer.Input
	for _, f := range c.files {
		inputs = append(inputs, text(f.name, f.content))
	}
	r, err := readFiles(c.options, inputs...)
	if c.refused != nil {
		c.checkRefusal(t, err)
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", c.script, err)
	}
	if got := strings.Join(outcome(r), "\n"); got != strings.Join(c.want, "\n") {
		t.Errorf("%s: got\n%s", c.script, got)
	}
}

func (c *scripted) checkRefusal(t *testing.T, err error) {
	t.Helper()
	var e *importer.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v", c.script, err)
	}
	line := 0
	if len(e.Cases) > 0 {
		line = e.Cases[0].Line
	}
	if string(e.Code) != c.refused[0] || strconv.Itoa(line) != c.refused[1] ||
		!strings.Contains(e.Message, c.refused[2]) {
		t.Errorf("%s: got\nrefused %s %d %s", c.script, e.Code, line, e.Message)
	}
}

// outcome returns a result in the words of a script.
func outcome(r *importer.Result) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("profile %s", r.Report.Profile)
	if r.Series.Symbol != "X/USD" {
		say("symbol %s", r.Series.Symbol)
	}
	s := r.Series
	for i, at := range s.Time {
		say("candle %s %v %v %v %v %v", strings.Replace(at.String(), ":00.000Z", "Z", 1), s.Open[i],
			s.High[i], s.Low[i], s.Close[i], s.Volume[i])
	}
	for _, n := range []struct {
		what string
		n    int
	}{{"skipped", r.Report.Skipped}, {"duplicates", r.Report.DuplicatesDropped},
		{"reordered", r.Report.Reordered}} {
		if n.n > 0 {
			say("%s %d", n.what, n.n)
		}
	}
	if r.VolumeUnit != "" {
		say("unit %s", r.VolumeUnit)
	}
	for _, w := range r.Report.Warnings {
		say("warning %s", w.Code)
	}
	return lines
}

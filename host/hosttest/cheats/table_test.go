package cheats

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

var update = flag.Bool("update", false, "write the table of docs/cheats.md")

const root = "../../.."

// TestThePage holds docs/cheats.md to the rows: what stands there is what the tests assert.
func TestThePage(t *testing.T) {
	page := filepath.Join(root, "docs", "cheats.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)^\| # \|.*\n(\|.*\n)+`)
	worked := regexp.MustCompile(`(?s)\n\*\*i, .*`)
	fresh := worked.ReplaceAllLiteral(table.ReplaceAllLiteral(text, []byte(Markdown())), []byte(Worked()))
	if bytes.Equal(fresh, text) && table.Match(text) && worked.Match(text) {
		return
	}
	if !*update {
		t.Fatalf("docs/cheats.md is not what the tests assert: go test ./host/hosttest/cheats -update\n%s", fresh)
	}
	if err := os.WriteFile(page, fresh, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRowsNameTests: each row has a test that is there, and an id of its own; what is not stopped is marked.
func TestRowsNameTests(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(Battery(), Plane()) {
		if seen[r.ID] || r.ID == "" || r.Attack == "" || r.Wanted == "" || r.Got == "" {
			t.Errorf("row %q: %+v", r.ID, r)
		}
		seen[r.ID] = true
		if err := findTest(r.Test); err != nil {
			t.Errorf("row %s: %v", r.ID, err)
		}
	}
}

// findTest fails unless a script is there, or a package has a test function of the name.
func findTest(name string) error {
	dir, function, isFunction := strings.Cut(name, " ")
	if !isFunction {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "\nfunc "+function+"(t *testing.T)") {
			return err
		}
	}
	return &os.PathError{Op: "find", Path: name, Err: os.ErrNotExist}
}

func bundled(t *testing.T) *market.Series {
	t.Helper()
	s, err := sample.BTCUSDT()
	if err != nil {
		t.Fatal(err)
	}
	return Between(s, time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC))
}

// TestStrategiesAreInTheTable: each is served, and each is played by a row, but for those that only calibrate
// plays.
func TestStrategiesAreInTheTable(t *testing.T) {
	var names []string
	for _, s := range Strategies(func(string) (*market.Series, error) { return bundled(t), nil }) {
		if _, err := s.Server(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		names = append(names, s.Name)
	}
	var played []string
	for _, r := range Battery() {
		if r.Play != nil {
			played = append(played, r.Play.Strategy)
		}
	}
	slices.Sort(names)
	slices.Sort(played)
	if !slices.Equal(names, slices.Compact(played)) {
		t.Errorf("strategies %v, played %v", names, played)
	}
}

// TestTheSearchesFindWhatTheTablePlays: the numbers that the programs have inside are those of a search on
// the candles that the rows are played on.
func TestTheSearchesFindWhatTheTablePlays(t *testing.T) {
	s := bundled(t)
	if s.Len() != 17498 {
		t.Errorf("%d candles", s.Len())
	}
	if rule := BestRule(s, 40_000); rule != "38803" {
		t.Errorf("the best rule is %s", rule)
	}
	whole, err := sample.BTCUSDT()
	if err != nil {
		t.Fatal(err)
	}
	if pair := BestPair(whole, 100); pair != "21/157" {
		t.Errorf("the best pair is %s", pair)
	}
}

package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/cheats"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/falsify/judge"
)

// TestRowsKnowTheirMarket: what is inside a program is the market that its case is played on, and a search
// has seen no more than the splits before the test.
func TestRowsKnowTheirMarket(t *testing.T) {
	known := marketsOf(5)
	for at, s := range settings(sizes{Rows: 2}) {
		for i := range s.Cases {
			index := caseNumber(s, i)
			params := rowParams(s.Strategy, 5, index)
			var p struct{ Market, Rule, Pair string }
			if err := json.Unmarshal(params, &p); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			if p.Market == "" {
				continue
			}
			got, err := known(p.Market)
			want := series(symbol, 5, index, s.Drift)
			if err != nil || got.Close[days-1] != want.Close[days-1] {
				t.Errorf("setting %d, %s: another market, %v", at, s.Name, err)
			}
		}
	}
	if _, err := known("x"); err == nil {
		t.Error("a market without a number")
	}
}

// playsAgain are the tests in which chance shows: it may stay away from the plays of one of them.
var playsAgain = []string{"determinism", "lookahead_prefix", "data_end_probe"}

// TestRowsAreJudged plays one case of each row: prices inside are refuted, and what stops them stands
// on the page.
func TestRowsAreJudged(t *testing.T) {
	ring.Proof(t, "it attacks every strategy of the table")
	c, err := run(context.Background(), options{sizes: sizes{Rows: 1}, replays: 19, workers: 2, seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	for at, s := range c.Settings {
		row := c.Verdicts[at][0]
		if s.Strategy == "memory_day" && row.of("plausibility").Verdict != judge.Fail ||
			s.Strategy == "dice" && !slices.ContainsFunc(playsAgain, func(id string) bool {
				return row.of(id).Verdict == judge.Fail
			}) {
			t.Errorf("%s: %s", s.Name, row.Overall)
		}
	}
	page := c.page()
	for _, r := range cheats.Battery() {
		if r.Play != nil && !strings.Contains(page, "| "+r.ID+", "+r.Attack+" | ") {
			t.Errorf("row %s is not on the page", r.ID)
		}
	}
	if !strings.Contains(page, " -rows 1 ") {
		t.Error("the command has no -rows")
	}
}

// TestWithRows: the section comes behind that of the verdict, once.
func TestWithRows(t *testing.T) {
	page := "# P\n" + verdictTitle + "\ntable\n\n## Noise\n\nmore\n"
	once, err := withRows(page, rowsTitle+"\none\n")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := withRows(once, rowsTitle+"\ntwo\n")
	if want := "# P\n" + verdictTitle + "\ntable\n" + rowsTitle + "\ntwo\n\n## Noise\n\nmore\n"; err != nil ||
		twice != want {
		t.Errorf("%v\n%s", err, twice)
	}
	if _, err := withRows("# other\n", "x"); err == nil {
		t.Error("a page of something else gets rows")
	}
}

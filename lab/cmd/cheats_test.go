package cmd_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/hosttest/cheats"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/falsify"
)

// TestCheats plays the strategies of docs/cheats.md through lab falsify: the verdict is that of the row, and
// the tests that the row names fail. Walls change no verdict and are most of what a short replay costs: other
// scripts have them.
func TestCheats(t *testing.T) {
	ring.Proof(t, "each strategy is attacked by hundreds of backtests")
	dir := t.TempDir()
	for _, r := range cheats.Battery() {
		if r.Play == nil {
			continue
		}
		name := script(r.ID) + "_" + r.Play.Strategy
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(scriptOf(r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runScripts(t, dir)
}

// exitCodes are those of lab falsify by its verdict.
var exitCodes = map[string]int{"pass": 0, "warn": 0, "fail": 1, "inconclusive": 3}

// scriptOf is the script that plays a row.
func scriptOf(r cheats.Row) string {
	p := r.Play
	candles, data := "",
		fmt.Sprintf(`"exchange":"sample","symbols":["BTC/USDT"],"data":{"start":%q,"end":%q}`, p.From, p.To)
	if p.Tides {
		candles = "candles tides 6000 1h tides.csv\n" +
			"lab data import tides.csv --exchange made --symbol TIDE/USD --timeframe 1h --quiet\n"
		data = strings.Replace(data, `"exchange":"sample","symbols":["BTC/USDT"]`,
			`"exchange":"made","symbols":["TIDE/USD"]`, 1)
	}
	place := "error.details.run_id"
	if exitCodes[p.Overall] == 0 {
		place = "result.run_id"
	}
	return fmt.Sprintf(`# %[1]s: %[2]s
plugin %[3]s p/bin/%[3]s
%[4]sexits %[5]d falsify %[3]s --dir p --profile quick.json --sandbox off --json --quiet
field ATTACK %[6]s
cheat %[1]s .assay/runs/$ATTACK/falsify/summary.json

-- quick.json --
{"schema":"falsify-profile/2","id":"quick","replicas":%[7]d,"noise":4,"gaps":2}
-- p/lab.json --
{"schema":"lab/v1","slug":%[3]q,"plugin":{"path":"bin/%[3]s"},"timeframe":"1h","params":%[8]s,"stress":[],%[9]s}
`, script(r.ID), r.Attack, p.Strategy, candles, exitCodes[p.Overall], place, cmp.Or(p.Replicas, 19),
		cmp.Or(p.Params, "{}"), data)
}

// script is an id as scripts can write it: their quotes are apostrophes.
func script(id string) string { return strings.ReplaceAll(id, "'", "_") }

// judgeCheat compares a summary with the row of an id: cheat ID FILE.
func judgeCheat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cheat ID FILE")
	}
	rows := cheats.Battery()
	i := slices.IndexFunc(rows, func(r cheats.Row) bool { return script(r.ID) == args[0] })
	if i < 0 || rows[i].Play == nil {
		ts.Fatalf("no row %s", args[0])
	}
	var found struct {
		Overall string
		Tests   []struct{ ID, Verdict string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &found))
	verdicts, failed := map[string]string{}, []string{}
	for _, x := range found.Tests {
		if verdicts[x.ID] = x.Verdict; x.Verdict == "fail" {
			failed = append(failed, x.ID)
		}
	}
	want := rows[i].Play
	if found.Overall != want.Overall {
		ts.Fatalf("row %s, %s: %s (%v), want %s: change the row if this is better", rows[i].ID,
			rows[i].Attack, found.Overall, failed, want.Overall)
	}
	for _, id := range want.By {
		if verdicts[id] != "fail" {
			ts.Fatalf("row %s: %s is %q, want fail; failed: %v", rows[i].ID, id, verdicts[id], failed)
		}
	}
	summary, err := falsify.ReadSummary(filepath.Dir(filepath.Dir(ts.MkAbs(args[1]))))
	ts.Check(err)
	said, example := summary.Sentences(), cheats.Examples[rows[i].ID]
	if said = said[:min(len(said), 2)]; len(want.By) > 0 {
		said = nil
		for _, x := range summary.Tests {
			if slices.Contains(want.By, x.ID) {
				said = append(said, x.Sentence())
			}
		}
	}
	if !example.Varies && !slices.Equal(said, example.Says) {
		ts.Fatalf("row %s: its example differs from what is printed:\nSAYS %q", rows[i].ID, said)
	}
	for _, id := range want.Not {
		if verdicts[id] == "fail" {
			ts.Fatalf("row %s: %s fails now, which is better: change the row", rows[i].ID, id)
		}
	}
}

package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// await waits until a file, which a pattern may name, has so many lines: await FILE LINES.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE LINES")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(files) == 1 {
			text, err := os.ReadFile(files[0])
			ts.Check(err)
			if bytes.Count(text, []byte("\n")) >= want {
				return
			}
		}
	}
	ts.Fatalf("%s never had %s lines", args[0], args[1])
}

const searchedJSON = `{"schema": "lab/v1", "slug": "choosy", "exchange": "sample", "symbols": ["BTC/USDT"], "timeframe": "1h",
	"data": {"start": "2020-01-01T00:00:00.000Z", "end": "2020-04-01T00:00:00.000Z"}, "hypothesis": "Crosses tell.",
	"plugin": {"path": "bin/choosy"}, "stress": [],
	"splits": {"scheme": "walk_forward", "train": 800, "test": 400, "step": 800}, "family": `

// makeSearched makes the project of choosy with a family block, and returns its folder.
func makeSearched(t *testing.T, family string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := installPlugin("choosy", filepath.Join(dir, "bin", "choosy")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lab.json"), []byte(searchedJSON+family+"}"),
		0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runs a command with --json on choosy and returns its exit code and object.
func searching(ctx context.Context, t *testing.T, dir, state string, errs io.Writer,
	args ...string) (int, map[string]any) {
	t.Helper()
	args = append(args, "--dir", dir, "--state-dir", state, "--json", "--sandbox", "off")
	code, out := labIn(ctx, t, errs, args...)
	if err := validAnswer([]byte(out)); err != nil {
		t.Error(err)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return code, object
}

// at goes down an object by keys.
func at(object any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, ok := object.(map[string]any)
		if !ok {
			return nil
		}
		object = m[key]
	}
	return object
}

// outputs are the files of the only plan of a state directory that are in no way about
// when or how it was executed.
func outputs(t *testing.T, state string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"trials.csv", "returns.csv", "family_result.json", "report.html"} {
		at := filepath.Join(state, "families", "choosy", "*", name)
		if name == "report.html" {
			at = filepath.Join(state, "reports", "plan_*", name)
		}
		files, err := filepath.Glob(at)
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(text)
	}
	return out
}

// mixed has points that fail, points that the strategy refuses, a choice and a bool.
const mixed = `{"space": {"mode": {"type": "choice", "values": ["fade", "fail", "follow"]}, "calm": {"type": "bool"}, "period": {"type": "int", "low": 12, "high": 17}},
	"method": "grid", "max_trials": 100}`

// TestWorkersChangeNothing: B-16, with failures among the trials, for a family that comes
// to its end, one in rungs, and one that its stop rule ends.
func TestWorkersChangeNothing(t *testing.T) {
	for name, c := range map[string]struct {
		family string
		code   int
	}{
		"grid": {mixed, 0},
		"sha": {`{"space": {"mode": {"type": "choice", "values": ["fade", "follow"]}, "period": {"type": "int", "low": 3, "high": 40}},
			"method": "sha", "max_trials": 9}`, 0},
		"aborted": {
			`{"space": {"mode": {"type": "choice", "values": ["fail"]}, "period": {"type": "int", "low": 3, "high": 40}}, "method": "grid"}`, 1},
	} {
		if ring.At() < ring.Prove && name != "sha" {
			continue // each plays its family twice
		}
		t.Run(name, func(t *testing.T) {
			dir := makeSearched(t, c.family)
			var first map[string]string
			for _, workers := range []string{"1", "8"} {
				state := t.TempDir()
				if code, out := searching(t.Context(), t, dir, state, io.Discard, "family", "plan",
					"choosy"); code != 0 {
					t.Fatal(code, out)
				}
				code, out := searching(t.Context(), t, dir, state, io.Discard, "family", "run", "choosy",
					"--workers", workers)
				if code != c.code {
					t.Fatal(code, out)
				}
				if code == 1 && at(out, "error.code") != "FAMILY_ABORTED" {
					t.Error(out)
				}
				files := outputs(t, state)
				files["registry"] = tried(t, state)
				if first == nil {
					first = files
					checkTrials(t, name, files["trials.csv"])
				}
				for file, text := range files {
					if text != first[file] {
						t.Errorf("%s of 1 and %s workers differ:\n%s\n%s", file, workers, first[file], text)
					}
				}
			}
		})
	}
}

// tried is how many runs and trials the registry has: whoever counts trials later counts
// them.
func tried(t *testing.T, state string) string {
	t.Helper()
	code, out := labIn(t.Context(), t, io.Discard, "runs", "list", "--state-dir", state, "--json")
	var list struct {
		Result struct{ Runs []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list.Result.Runs) == 0 {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	return strconv.Itoa(len(list.Result.Runs))
}

// checkTrials looks at the rows that each of these families must have.
func checkTrials(t *testing.T, name, text string) {
	t.Helper()
	count := func(part string) int { return strings.Count(text, part) }
	rows := strings.Count(text, "\n") - 1
	switch name {
	case "grid":
		// 2 x 3 x 6 points: a third fail, and a sixth is refused.
		if rows != 36 || count(",completed,") != 20 || count(",failed,") != 16 ||
			count(",PARAMS_INVALID\n") != 6 || count(",STRATEGY_ERROR\n") != 10 {
			t.Error(text)
		}
		if !strings.HasPrefix(text,
			"trial_index,run_id,status,rank,objective,windows_done,param:calm,param:mode,param:period,sharpe_ratio,") || count(",false,fade,12,") != 1 {
			t.Error(text)
		}
	case "sha":
		if rows != 9 || count(",completed,") != 3 || count(",pruned,") != 6 {
			t.Error(text)
		}
	case "aborted":
		if rows != 20 || count(",failed,") != 20 {
			t.Error(text)
		}
	}
}

// TestInterruptedFamily: Ctrl-C leaves with the command that goes on, and that one does
// not repeat what is finished.
func TestInterruptedFamily(t *testing.T) {
	ring.Proof(t, "it plays a search twice")
	dir, state, whole := makeSearched(t, mixed), t.TempDir(), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, s := range []string{state, whole} {
		if code, out := searching(t.Context(), t, dir, s, io.Discard, "family", "plan", "choosy"); code != 0 {
			t.Fatal(code, out)
		}
	}
	code, out := searching(ctx, t, dir, state, &watcher{" running", cancel}, "family", "run", "choosy",
		"--workers", "2")
	resume, _ := at(out, "error.details.resume").(string)
	if code != 3 || at(out, "error.code") != "INTERRUPTED" ||
		!strings.HasPrefix(resume, "lab family run choosy --plan plan_") ||
		!strings.Contains(resume, "--state-dir "+state) {
		t.Fatal(code, out)
	}
	done, _ := at(out, "error.details.done").(float64)
	code, out = searching(t.Context(), t, dir, state, io.Discard, "family", "run", "choosy")
	executed, _ := at(out, "result.executed").(float64)
	// Points that the strategy refuses leave nothing behind and are asked again.
	if code != 0 || done < 4 || executed > 36-done+6 {
		t.Errorf("exit %d, %v done, then %v executed", code, done, executed)
	}
	if code, out := searching(t.Context(), t, dir, whole, io.Discard, "family", "run", "choosy"); code != 0 {
		t.Error(code, out)
	}
	a, b := outputs(t, state), outputs(t, whole)
	for file := range a {
		if a[file] != b[file] {
			t.Errorf("%s differs:\n%s\n%s", file, a[file], b[file])
		}
	}
}

package cmd_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestLibrary reads runs of the lab and of the service over the API, with what the lab makes of
// them.
func TestLibrary(t *testing.T) {
	t.Parallel()
	ring.Slow(t, "it runs the lab and the service")
	state, dir := t.TempDir(), project(t, "sma_cross")
	slow := ask(t, state, "run", "sma_cross", "--dir", dir).run(t).RunID
	fast := ask(t, state, "run", "sma_cross", "--dir", dir, "--set", "fast=5").run(t).RunID
	s := serve(t, state)
	defer s.end(syscall.SIGTERM)
	s.backtest(sample("sma_cross"))

	list := s.read(t, "/runs?sort=completed_at")
	rows := list["items"].([]any)
	if list["total"] != 3.0 || rows[0].(object)["run_id"] != slow || rows[1].(object)["run_id"] != fast {
		t.Fatalf("runs %v", list)
	}
	// The service's backtest of the defaults tries what the first run has tried.
	if place := rows[1].(object)["trials"].(object); place["n"] != 2.0 || place["position"] != 2.0 {
		t.Errorf("the second run is trial %v", place)
	}
	run := s.read(t, "/runs/"+fast)
	if test := run["test"].(object); test["state"] != "locked" {
		t.Errorf("the test is %v", test)
	}
	s.problem(t, "/runs/"+fast+"/trades?split=test", 409, "SPLIT_LOCKED")

	if compared := s.read(t, "/compare?ids="+slow+","+fast); compared["baseline"] != slow {
		t.Errorf("the baseline is %v", compared["baseline"])
	} else {
		s.checkShared(t, compared, slow, fast)
	}
	for path, code := range map[string]string{
		"/compare": "VALIDATION_FAILED", "/compare?ids=" + fast: "VALIDATION_FAILED",
		"/compare?ids=" + fast + "," + fast: "VALIDATION_FAILED",
		"/compare?ids=a,b&x=1":              "VALIDATION_FAILED",
	} {
		s.problem(t, path, 400, code)
	}
	s.problem(t, "/compare?ids="+fast+",run_nothing", 404, "RUN_NOT_FOUND")
	s.problem(t, "/runs/run_nothing/report.html", 404, "RUN_NOT_FOUND")
	resp, sheet := s.request("GET", "/api/v1/runs/"+fast+"/report.html", nil)
	if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox; default-src 'none'") ||
		!strings.Contains(string(sheet), "</html>") {
		t.Errorf("the sheet has the policy %q", resp.Header.Get("Content-Security-Policy"))
	}

	checkData(t, s, state, fast)
	t.Run("python", func(t *testing.T) { readInPython(t, s, state, fast) })

	// A file that was changed is not read.
	file := filepath.Join(state, "runs", slow, "splits", "train", "trades.csv")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, file, append(text, 'x'))
	s.problem(t, "/runs/"+slow+"/trades?split=train", 409, "ARTIFACT_MISMATCH")
}

// readInPython has the client of the Python SDK read the same runs from the service and from its folder.
func readInPython(t *testing.T, s *service, state, lockedRun string) {
	program := hosttest.PythonOrSkip(t, "../plugin-sdk/python/requirements.txt")
	read := exec.CommandContext(t.Context(), program, "-B", filepath.Join(clients, "reads.py"), s.url,
		state, lockedRun)
	read.Env = append(os.Environ(), "PYTHONPATH=../plugin-sdk/python/src")
	out, err := read.CombinedOutput()
	if text := string(out); err != nil || !strings.HasSuffix(text, "ok\n") ||
		!strings.Contains(text, "100%") {
		t.Errorf("%v\n%s", err, out)
	}
}

func (s *service) read(t *testing.T, path string) object {
	t.Helper()
	var out object
	if resp := s.call("GET", path, nil, &out); resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, resp.StatusCode, out)
	}
	return out
}

func (s *service) problem(t *testing.T, path string, status int, code string) {
	t.Helper()
	var out object
	resp := s.call("GET", path, nil, &out)
	if got := out["error"].(object)["code"]; resp.StatusCode != status || got != code {
		t.Errorf("GET %s: %d %v, want %d %s", path, resp.StatusCode, got, status, code)
	}
}

// checkData reads the datasets, and those that a run has read.
func checkData(t *testing.T, s *service, state, runID string) {
	t.Helper()
	list := s.read(t, "/datasets?exchange=sample&symbol=BTC%2FUSDT&timeframe=1h")
	if list["total"] != 1.0 {
		t.Fatalf("datasets %v", list)
	}
	d := list["items"].([]any)[0].(object)
	whole, shares := d["rows"].(float64)+d["missing"].(float64), d["coverage"].([]any)
	have := 0.0
	for _, share := range shares {
		have += share.(float64)
	}
	if math.Abs(have/float64(len(shares))-d["rows"].(float64)/whole) > 1e-3 || len(shares) != 200 ||
		d["provenance"].(object)["source"] != "bundled" {
		t.Errorf("covered are %v of %v, %v", have/float64(len(shares)), d["rows"].(float64)/whole, d["provenance"])
	}
	one := s.read(t, "/datasets/"+d["dataset_id"].(string))
	missing := 0.0
	for _, gap := range s.read(t, "/datasets/"+d["dataset_id"].(string)+"/gaps")["items"].([]any) {
		missing += gap.(object)["candles"].(float64)
	}
	if missing != d["missing"] || one["report"].(object)["gaps"].(object)["missing"] != missing {
		t.Errorf("gaps of %v candles, %v are missing", missing, d["missing"])
	}
	rows := filepath.Join(t.TempDir(), "funding.csv")
	text := []byte("time,known,value\n2020-01-01T00:00:00Z,2020-01-02T00:00:00Z,1\n")
	if err := os.WriteFile(rows, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := ask(t, state, "data", "import", rows, "--input", "funding"); !e.OK {
		t.Fatalf("import: %+v", e.Error)
	}
	nowhere := s.read(t, "/datasets?exchange=nowhere")
	if inputs := nowhere["inputs"].([]any); nowhere["total"] != 0.0 || len(inputs) != 1 ||
		inputs[0].(object)["name"] != "funding" || inputs[0].(object)["rows"] != 1.0 ||
		inputs[0].(object)["last_known"] != "2020-01-02T00:00:00.000Z" {
		t.Errorf("nowhere has %v", nowhere)
	}
	resp, body := s.request("GET", "/api/v1/exchanges", nil)
	var exchanges []struct {
		ID        string                       `json:"id"`
		DateRange map[string]map[string]object `json:"date_range"`
	}
	if err := json.Unmarshal(body, &exchanges); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err)
	}
	for _, e := range exchanges {
		if e.ID == "sample" && (d["holdout_start"] == nil ||
			e.DateRange["BTC/USDT"]["1h"]["holdout_start"] != d["holdout_start"]) {
			t.Errorf("held out from %v and %v", e.DateRange["BTC/USDT"]["1h"], d["holdout_start"])
		}
	}

	equity := s.read(t, "/runs/"+runID+"/equity?points=50")
	items, holding := equity["items"].([]any), equity["holding"].([]any)
	if len(holding) != len(items) || holding[0].([]any)[1] != items[0].(object)["equity"] {
		t.Errorf("holding begins with %v, equity with %v", holding[0], items[0])
	}
	c := s.read(t, "/runs/"+runID+"/candles?points=100")
	points := c["points"].([]any)
	if c["symbol"] != "BTC/USDT" || len(points) == 0 || len(points) > 100 || c["of"].(float64) <= 100 {
		t.Errorf("%d candles of %v", len(points), c["of"])
	}
	first := c["points"].([]any)[0].([]any)[0].(float64)
	day := time.UnixMilli(int64(first)).UTC()
	two := s.read(t, fmt.Sprintf("/runs/%s/candles?from=%s&to=%s", runID, day.Format(time.RFC3339),
		day.Add(2*time.Hour).Format(time.RFC3339)))
	if two["of"] != 2.0 || two["points"].([]any)[0].([]any)[0] != first {
		t.Errorf("two hours are %v", two)
	}
	// Candles that are gone are named, not replaced by others.
	file := filepath.Join(state, "data", "candles", d["sha256"].(string)+".candles")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	s.problem(t, "/runs/"+runID+"/candles", 409, "ARTIFACT_MISMATCH")
	if e := s.read(t, "/runs/"+runID+"/equity?points=50"); e["holding"] != nil {
		t.Errorf("holding of candles that are gone: %v", e["holding"])
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
}

// checkShared counts the trades of two compared runs by their own tables.
func (s *service) checkShared(t *testing.T, compared object, ids ...string) {
	t.Helper()
	trades := compared["trades"].(object)
	key := func(trade object) string {
		return fmt.Sprint(trade["symbol"], trade["direction"], trade["entry_time"], trade["exit_time"])
	}
	known, common := map[string]bool{}, 0.0
	for i, id := range ids {
		path := fmt.Sprintf("/runs/%s/trades?limit=500&split=%s", id, compared["split"])
		list := s.read(t, path)
		for more := list; more != nil; {
			for _, item := range more["items"].([]any) {
				if i == 0 {
					known[key(item.(object))] = true
				} else if known[key(item.(object))] {
					common++
				}
			}
			next, _ := more["next_cursor"].(string)
			if more = nil; next != "" {
				more = s.read(t, path+"&cursor="+next)
			}
		}
		only := trades["only"].([]any)[i].(object)
		if only["run_id"] != id || only["of"] != list["total"] {
			t.Errorf("trades of %s: %v, its table has %v", id, only, list["total"])
		}
	}
	only := trades["only"].([]any)
	differing := only[0].(object)["alone"].(float64) + only[1].(object)["alone"].(float64)
	if trades["common"] != common || trades["differing_total"] != differing || differing == 0 ||
		len(trades["differing"].([]any)) != int(min(25, differing)) || len(trades["unread"].([]any)) != 0 {
		t.Errorf("%v are common by the tables and %v differ, but %v and %v do", common, differing,
			trades["common"], trades["differing_total"])
	}
}

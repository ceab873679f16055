package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

func sample(strategy string) object {
	return object{"strategy_name": strategy, "symbols": []string{"BTC/USDT"}, "timeframe": "1h"}
}

func TestOneOfManyStartsWins(t *testing.T) {
	s := serve(t, t.TempDir())
	var mu sync.Mutex
	codes := map[string]int{}
	var wg sync.WaitGroup
	body, _ := json.Marshal(sample("sma_cross"))
	for range 100 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			resp, err := http.Post(s.url+"/api/v1/run/backtest", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var answer struct {
				Status string
				Error  struct{ Code string }
			}
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				t.Error(err)
			}
			mu.Lock()
			codes[answer.Status+answer.Error.Code]++
			mu.Unlock()
		}()
	}
	wg.Wait()
	if codes["running"] != 1 || codes["RUN_ALREADY_ACTIVE"] != 99 {
		t.Errorf("%v", codes)
	}
}

func TestARunLeavesItsArtifacts(t *testing.T) {
	state := t.TempDir()
	s := serve(t, state)
	r := s.backtest(sample("sma_cross"))
	id := r["run_id"].(string)
	if r["artifacts"] != "runs/"+id {
		t.Errorf("artifacts %v", r["artifacts"])
	}
	folder := filepath.Join(state, "runs", id)
	for _, name := range []string{"request.json", "report.json", "metadata.json", "splits.json",
		"splits/full/trades.csv", "splits/full/equity_curve.csv", "splits/full/decisions.columns"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: mode %s, %d bytes", name, info.Mode(), info.Size())
		}
	}
	trades, err := os.ReadFile(filepath.Join(folder, "splits", "full", "trades.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(string(trades), "\n") - 1; rows != len(r["trades"].([]any)) {
		t.Errorf("%d rows in trades.csv, %d trades in the answer", rows, len(r["trades"].([]any)))
	}
	// The archive shows the same rows as the results do.
	for _, table := range []string{"orders", "fills"} {
		want := r[table].([]any)
		for from, cursor := 0, any(""); cursor != nil; {
			path := fmt.Sprintf("/runs/%s/%s?limit=500", id, table)
			if cursor != "" {
				path += "&cursor=" + cursor.(string)
			}
			page := s.read(t, path)
			items := page["items"].([]any)
			if page["total"] != float64(len(want)) || len(items) == 0 ||
				!reflect.DeepEqual(items, want[from:from+len(items)]) {
				t.Fatalf("%s from %d on differ: %v", table, from, page["total"])
			}
			from, cursor = from+len(items), page["next_cursor"]
		}
	}
	fills := s.read(t, "/runs/"+id+"/fills?sort=-fee&limit=2")["items"].([]any)
	if a, b := fills[0].(object)["fee"].(float64), fills[1].(object)["fee"].(float64); a < b {
		t.Errorf("fees %v, %v", a, b)
	}
	var report object
	text, _ := os.ReadFile(filepath.Join(folder, "report.json"))
	if err := json.Unmarshal(text, &report); err != nil || report["result_hash"] != r["result_hash"] ||
		report["request_hash"] != r["request_hash"] {
		t.Errorf("report %v %v %v, answer %v %v", err, report["result_hash"], report["request_hash"],
			r["result_hash"], r["request_hash"])
	}
}

func TestShutdownAndRestart(t *testing.T) {
	state := t.TempDir()
	s := serve(t, state)
	id := s.backtest(sample("sma_cross"))["run_id"].(string)
	if second := exec.Command(filepath.Join(bin(t), "assay"), "--port", "0", "--state-dir",
		state); second.Run() == nil || second.ProcessState.ExitCode() != 1 {
		t.Error("a second service took the same state folder")
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
	s = serve(t, state)
	if got := s.await("idle"); got["run_id"] != "" {
		t.Errorf("status %v", got)
	}
	if _, err := os.Stat(filepath.Join(state, "runs", id, "report.json")); err != nil {
		t.Error(err)
	}
}

// TestOtherInstructionsSameBooks runs a plugin built for newer processors, where Go
// may use fused multiply-add, against a host built for all of them: co-simulation
// compares the books at every event.
func TestOtherInstructionsSameBooks(t *testing.T) {
	ring.Proof(t, "it builds the SDK a second time")
	if runtime.GOARCH != "amd64" {
		t.Skip("needs amd64: it compares values of GOAMD64")
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err != nil || !bytes.Contains(info, []byte(" avx2 ")) ||
		!bytes.Contains(info, []byte(" fma ")) {
		t.Skip("needs a processor that runs programs built with GOAMD64=v3")
	}
	folder := t.TempDir()
	names := []string{"sma_cross", "rsi_bracket", "limit_entry", "breakout", "buy_hold"}
	packages := make([]string, len(names))
	for i, name := range names {
		packages[i] = "strategies/" + name
	}
	if err := hosttest.Build(folder, "v3", packages...); err != nil {
		t.Fatal(err)
	}
	newer, plain := serve(t, t.TempDir(), "--strategies", folder),
		serve(t, t.TempDir(), "--strategies", allStrategies(t))
	for _, name := range names {
		a, b := newer.backtest(sample(name)), plain.backtest(sample(name))
		if a["status"] != "completed" || a["result_hash"] != b["result_hash"] {
			t.Errorf("%s: %v %v %v; %v %v", name, a["status"], a["error"], a["result_hash"], b["status"],
				b["result_hash"])
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	out, err := exec.Command(filepath.Join(bin(t), "assay"), "--help").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("SERVICE_API_PORT")) {
		t.Errorf("%v\n%s", err, out)
	}
	bad := exec.Command(filepath.Join(bin(t), "assay"), "--port", "70000")
	if out, err := bad.CombinedOutput(); err == nil || bad.ProcessState.ExitCode() != 2 {
		t.Errorf("exit %d\n%s", bad.ProcessState.ExitCode(), out)
	}
	open := exec.Command(filepath.Join(bin(t), "assay"), "--host", "0.0.0.0", "--port", "0")
	out, err = open.CombinedOutput()
	want := "refusing to listen on 0.0.0.0: the API has no authentication. Put an authenticating proxy in " +
		"front and set SERVICE_API_BEHIND_PROXY=1 and SERVICE_API_ALLOWED_HOSTS=<its name>"
	if err == nil || open.ProcessState.ExitCode() != 2 || !bytes.Contains(out, []byte(want)) {
		t.Errorf("exit %d\n%s", open.ProcessState.ExitCode(), out)
	}
}

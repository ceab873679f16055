package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// paper starts a paper run on the simulated market and waits until it trades.
func (s *service) paper() string {
	s.t.Helper()
	var answer object
	body := object{"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"}, "timeframe": "1m",
		"exchange": "sim", "exchange_config": object{"candles_per_second": 50}}
	if resp := s.call("POST", "/run/live", body, &answer); resp.StatusCode != 200 {
		s.t.Fatalf("start: %d %v", resp.StatusCode, answer)
	}
	for late := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var now object
		s.call("GET", "/status", nil, &now)
		if now["phase"] == "trading" && now["candles_done"].(float64) > 20 {
			return answer["run_id"].(string)
		}
		if time.Now().After(late) {
			s.t.Fatalf("it does not trade: %v", now)
		}
	}
}

// hostKey is the key of a host, as files.
func hostKey(t *testing.T) (public, private string) {
	t.Helper()
	key, err := dsse.Generate()
	if err != nil {
		t.Fatal(err)
	}
	private = filepath.Join(t.TempDir(), "host.key")
	if err := dsse.WriteKey(private, key); err != nil {
		t.Fatal(err)
	}
	return dsse.PublicPath(private), private
}

// signedRun holds what a service has signed of a run that has ended against the files of the run.
func signedRun(t *testing.T, state, id, public string) {
	t.Helper()
	text, err := os.ReadFile(bundle.HostedPath(state, id))
	if err != nil {
		t.Fatal(err)
	}
	signed, refused := bundle.DecodeEnvelope(text)
	if refused != nil {
		t.Fatal(refused)
	}
	pem, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	key, err := dsse.ParseP256(pem)
	if err != nil {
		t.Fatal(err)
	}
	said, refused := bundle.ReadStatement(signed.Payload)
	if refused != nil || len(signed.Verify(key)) != 1 || said.Statement.PredicateType != bundle.TypeServiceRun {
		t.Fatalf("%v %s", refused, signed.Payload)
	}
	for _, name := range []string{"report.json", "metadata.json"} {
		file, err := os.ReadFile(filepath.Join(state, "runs", id, name))
		if err != nil || !said.Names(digest.SHA256Hex(file)) {
			t.Errorf("%s is not what was signed: %v", name, err)
		}
	}
}

// TestDamagedJournalIsShown: a run whose journal was damaged is shown as failed, JOURNAL_QUARANTINED, through
// restarts until it is reset; the damaged file is kept, and the next run starts and is signed as it ends.
func TestDamagedJournalIsShown(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := serve(t, state)
	id := s.paper()
	s.end(syscall.SIGKILL)
	for _, name := range []string{"journal.sqlite3", "journal.sqlite3-wal"} {
		file := filepath.Join(state, "live", name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		copy(text[len(text)/2:], strings.Repeat("damage", 400))
		copy(text[100:], strings.Repeat("x", 60))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s = serve(t, state)
		var now object
		s.call("GET", "/status", nil, &now)
		details, _ := now["error_details"].(object)
		data, _ := details["data"].(object)
		if now["status"] != "failed" || now["run_id"] != id || now["mode"] != "paper" ||
			details["code"] != "JOURNAL_QUARANTINED" || data["reason"] == "" {
			t.Fatalf("%v\n%s", now, s.stderr)
		}
		name, _ := data["file"].(string)
		if _, err := os.Stat(filepath.Join(state, "live", name)); err != nil ||
			!strings.HasSuffix(name, ".damaged") {
			t.Errorf("%q: %v", name, err)
		}
		var results object
		if resp := s.call("GET", "/results", nil, &results); resp.StatusCode != 200 ||
			results["run_id"] != id {
			t.Errorf("results: %d %v", resp.StatusCode, results)
		}
		if resp := s.call("POST", "/run/backtest", sample("sma_cross"), nil); resp.StatusCode != 409 {
			t.Errorf("a start before the reset: %d", resp.StatusCode)
		}
		s.end(syscall.SIGTERM)
	}
	public, private := hostKey(t)
	s = serve(t, state, "--control-key", public, "--control-sign-key", private)
	if resp := s.call("DELETE", "/run/reset", nil, nil); resp.StatusCode != 200 {
		t.Errorf("reset: %d", resp.StatusCode)
	}
	id = s.paper()
	if resp := s.call("POST", "/run/stop", nil, nil); resp.StatusCode != 200 {
		t.Errorf("stop: %d", resp.StatusCode)
	}
	signedRun(t, state, id, public)
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, s.stderr)
	}
}

// TestNoJournal: where the journal cannot be opened the service runs, says so in its health, and starts
// backtests but no paper and no live run.
func TestNoJournal(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "live"), []byte("no folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, state)
	var health object
	s.call("GET", "/health", nil, &health)
	check := health["checks"].(object)["registry"].(object)
	if health["status"] != "degraded" || check["status"] != "warn" ||
		!strings.Contains(check["message"].(string), "journal") {
		t.Errorf("%v", health)
	}
	for _, mode := range []string{"paper", "live"} {
		var answer object
		body := object{"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"}, "timeframe": "1m",
			"exchange": "sim", "mode": mode}
		resp := s.call("POST", "/run/live", body, &answer)
		problem, _ := answer["error"].(object)
		details, _ := problem["details"].(object)
		if resp.StatusCode != 500 || problem["code"] != "RUN_START_FAILED" || details["reason"] == "" ||
			!strings.Contains(problem["message"].(string), "journal") {
			t.Errorf("%s: %d %v", mode, resp.StatusCode, answer)
		}
	}
	var now object
	s.call("GET", "/status", nil, &now)
	if now["status"] != "idle" {
		t.Errorf("%v", now)
	}
	s.backtest(sample("sma_cross"))
	s.call("DELETE", "/run/reset", nil, nil)
}

// TestInterruptedRunKeepsItsFolder: what a killed run was asked is in its folder from the start; the next
// start of the service puts what the journal knows beside it.
func TestInterruptedRunKeepsItsFolder(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := serve(t, state, "--log-level", "debug", "--strategies", badPlugins(t, "hangs"))
	test := s.slow("hangs")
	s.end(syscall.SIGKILL)
	s = serve(t, state)
	id := s.paper()
	s.end(syscall.SIGKILL)
	for _, id := range []string{test, id} {
		text, err := os.ReadFile(filepath.Join(state, "runs", id, "request.json"))
		if got := digest.SHA256Hex(text); err != nil || got != row(t, state, id).RequestHash {
			t.Errorf("%s: request.json has sha256 %s: %v", id, got, err)
		}
	}
	for range 2 {
		s = serve(t, state)
		var results object
		if resp := s.call("GET", "/results", nil, &results); resp.StatusCode != 200 ||
			results["run_id"] != id || results["artifacts"] != "runs/"+id {
			t.Errorf("results: %d %v", resp.StatusCode, results["artifacts"])
		}
		m, _, err := artifact.Verify(filepath.Join(state, "runs", id))
		if err != nil {
			t.Fatal(err)
		}
		kept := row(t, state, id)
		if m.Status != "failed" || m.Failure.Code != "RUN_INTERRUPTED" || m.Service.Mode != "paper" ||
			m.RequestHash != kept.RequestHash || kept.ResultHash == nil || *kept.ResultHash != *m.ResultHash {
			t.Errorf("%+v %+v", m, m.Failure)
		}
		curve, err := os.ReadFile(filepath.Join(state, "runs", id, "splits", "full", "equity_curve.csv"))
		if err != nil || strings.Count(string(curve), "\n") < 20 {
			t.Errorf("the equity curve has %d lines: %v", strings.Count(string(curve), "\n"), err)
		}
		s.end(syscall.SIGTERM)
	}
	verify := exec.Command(filepath.Join(bin(t), "lab"), "runs", "verify", "--state-dir", state)
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("lab runs verify: %v\n%s", err, out)
	}
}

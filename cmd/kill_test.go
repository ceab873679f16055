package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/registry"
)

// plugins are the processes that a service has started and that are still alive.
func plugins(t testing.TB, service int) []int {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc, to find processes")
	}
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if state, parent := processState(pid); parent == service && state != "Z" && state != "" {
			out = append(out, pid)
		}
	}
	return out
}

// processState returns the letter that the kernel shows and the parent; empty when gone.
func processState(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything but this
	fields := strings.Fields(rest)
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// gone waits at most a second for processes to end.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(time.Second)
	for _, pid := range pids {
		for {
			state, _ := processState(pid)
			if state == "" || state == "Z" || state == "X" {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("process %d is still there (state %s) a second later", pid, state)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// slow starts a run that takes minutes and waits until it trades, or until its plugin hangs: a service that
// logs at debug level shows what the plugin says then.
func (s *service) slow(strategy string) string {
	s.t.Helper()
	var answer object
	if resp := s.call("POST", "/run/backtest", sample(strategy), &answer); resp.StatusCode != 200 {
		s.t.Fatalf("start: %d %v", resp.StatusCode, answer)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var status object
		if s.call("GET", "/status", nil, &status); status["phase"] == "trading" &&
			len(plugins(s.t, s.cmd.Process.Pid)) > 0 &&
			(strategy != "hangs" || strings.Contains(s.stderr.String(), "line=thinking")) {
			return answer["run_id"].(string)
		}
		if time.Now().After(end) {
			s.t.Fatalf("the run does not begin to trade, or to hang\n%s", s.stderr)
		}
	}
}

// row returns what the registry of a service that has ended knows of a run.
func row(t *testing.T, state, id string) *artifact.Metadata {
	t.Helper()
	reg, err := registry.Open(context.Background(), artifact.NewStore(filepath.Join(state, "runs")),
		hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	all, err := reg.ListMetadata(context.Background(), registry.Filter{Kind: "service"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.RunID == id {
			m, err := artifact.DecodeMetadata(r.Payload)
			if err != nil {
				t.Fatal(err)
			}
			if m.Status != r.Status {
				t.Errorf("status %s beside %s", r.Status, m.Status)
			}
			return m
		}
	}
	if id != "" {
		t.Fatalf("run %s is not among the %d of the registry", id, len(all))
	}
	if len(all) > 0 {
		t.Errorf("the registry has %d runs, want none", len(all))
	}
	return nil
}

// moment brings a fresh service into a state and returns the id of its run.
type moment struct {
	name string
	into func(*service) string
	// What the registry says of the run after SIGTERM and after SIGKILL.
	term, kill string
}

func moments() []moment {
	return []moment{
		{"idle", func(*service) string { return "" }, "", ""},
		{"starting", func(s *service) string {
			go s.post("/run/backtest", sample("undecided"))
			for end := time.Now().Add(time.Minute); len(plugins(s.t,
				s.cmd.Process.Pid)) == 0; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					s.t.Fatal("no process is started")
				}
			}
			return ""
		}, "", ""},
		{"trading", func(s *service) string {
			return s.slow("sleeper")
		}, "completed shutdown", "failed RUN_INTERRUPTED"},
		{"hanging", func(s *service) string {
			return s.slow("hangs")
		}, "completed shutdown", "failed RUN_INTERRUPTED"},
		{"stopping", func(s *service) string {
			id := s.slow("hangs")
			go s.post("/run/stop", nil)
			for phase := ""; phase != "stopping"; {
				var status object
				s.call("GET", "/status", nil, &status)
				phase, _ = status["phase"].(string)
			}
			return id
		}, "completed stopped", "failed RUN_INTERRUPTED"},
		{"completed", func(s *service) string {
			var answer object
			s.call("POST", "/run/backtest",
				object{"strategy_name": "sleeper", "strategy_params": object{"sleep_ms": 0},
					"symbols": []string{"BTC/USDT"}, "timeframe": "1h", "end_date": "2020-02-01"}, &answer)
			s.await("completed")
			return answer["run_id"].(string)
		}, "completed finished", "completed finished"},
		{"failed", func(s *service) string {
			var answer object
			s.call("POST", "/run/backtest", sample("exits"), &answer)
			s.await("failed")
			return answer["run_id"].(string)
		}, "failed PLUGIN_CRASHED", "failed PLUGIN_CRASHED"},
	}
}

// TestKill ends the service in every state with each signal and looks at what is
// left: no process, a registry row as section 6 of the API has it, and an idle start.
func TestKill(t *testing.T) {
	ring.Slow(t, "it starts a service for each moment and signal")
	folder := badPlugins(t, "sleeper", "hangs", "exits", "undecided")
	for _, m := range moments() {
		if ring.At() < ring.Prove && m.name != "idle" && m.name != "trading" {
			continue
		}
		for sig, want := range map[syscall.Signal]string{syscall.SIGTERM: m.term, syscall.SIGINT: m.term,
			syscall.SIGKILL: m.kill} {
			if sig == syscall.SIGINT && m.name != "idle" && m.name != "trading" {
				continue // the same way as SIGTERM
			}
			t.Run(m.name+" "+sig.String(), func(t *testing.T) {
				state := t.TempDir()
				s := serve(t, state, "--log-level", "debug", "--strategies", folder)
				id := m.into(s)
				children := plugins(t, s.cmd.Process.Pid)
				code := s.end(sig)
				if sig != syscall.SIGKILL && code != 0 {
					t.Errorf("exit code %d\n%s", code, s.stderr)
				}
				gone(t, children)
				restart(t, state, folder)
				if got := ending(row(t, state, id)); got != want {
					t.Errorf("the registry says %q, want %q", got, want)
				}
			})
		}
	}
}

// restart starts a service again, which must be idle and able to run.
func restart(t *testing.T, state, folder string) {
	t.Helper()
	s := serve(t, state, "--strategies", folder)
	if got := s.await("idle"); got["run_id"] != "" || got["error"] != nil {
		t.Errorf("after the restart: %v", got)
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d of the second service", code)
	}
}

func ending(m *artifact.Metadata) string {
	switch {
	case m == nil:
		return ""
	case m.Failure != nil:
		return m.Status + " " + m.Failure.Code
	case m.Service == nil:
		return m.Status
	}
	return m.Status + " " + m.Service.StopReason
}

// post sends without minding the service's death. It returns the error code, or the
// status of the run, empty when there is no answer.
func (s *service) post(path string, body any) string {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	resp, err := http.Post(s.url+"/api/v1"+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var answer struct {
		Status string
		Error  struct{ Code string }
	}
	_ = json.NewDecoder(resp.Body).Decode(&answer) // what is missing stays empty
	return answer.Status + answer.Error.Code
}

// TestStartsWhileShuttingDown: the API answers until the run has ended, but starts nothing.
func TestStartsWhileShuttingDown(t *testing.T) {
	state := t.TempDir()
	s := serve(t, state, "--log-level", "debug", "--strategies", badPlugins(t, "hangs", "sleeper"))
	id := s.slow("hangs")
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	seen := map[string]int{}
	for code := "x"; code != ""; time.Sleep(20 * time.Millisecond) {
		code = s.post("/run/backtest", sample("sleeper"))
		seen[code]++
	}
	<-s.exited
	if seen["SHUTTING_DOWN"] == 0 || seen["running"] > 0 || s.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("answers %v, exit code %d", seen, s.cmd.ProcessState.ExitCode())
	}
	if got := ending(row(t, state, id)); got != "completed shutdown" {
		t.Errorf("the registry says %q", got)
	}
}

// TestSecondSignal ends the service at once, and its plugins with it.
func TestSecondSignal(t *testing.T) {
	state, folder := t.TempDir(), badPlugins(t, "hangs")
	s := serve(t, state, "--log-level", "debug", "--strategies", folder)
	id := s.slow("hangs")
	children := plugins(t, s.cmd.Process.Pid)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	for code := "x"; code != "SHUTTING_DOWN" && code != ""; code = s.post("/run/backtest", sample("hangs")) {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	if code := s.end(syscall.SIGINT); code != 130 || time.Since(begin) > 500*time.Millisecond {
		t.Errorf("exit code %d after %s", code, time.Since(begin))
	}
	gone(t, children)
	restart(t, state, folder)
	if got := ending(row(t, state, id)); got != "failed RUN_INTERRUPTED" {
		t.Errorf("the registry says %q", got)
	}
}

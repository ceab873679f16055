package cmd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// badPlugin is the program of testdata/misbehave, built once.
var badPlugin struct {
	once sync.Once
	text []byte
	err  error
}

// badPlugins returns a folder of strategies that misbehave as their names say.
func badPlugins(t testing.TB, names ...string) string {
	t.Helper()
	bin(t) // makes the folder that is removed after the tests
	badPlugin.once.Do(func() {
		if badPlugin.err = hosttest.Build(programs.dir, "v1", "cmd/testdata/misbehave"); badPlugin.err == nil {
			badPlugin.text, badPlugin.err = os.ReadFile(filepath.Join(programs.dir, "misbehave"))
		}
	})
	if badPlugin.err != nil {
		t.Fatal(badPlugin.err)
	}
	folder := t.TempDir()
	for _, name := range names {
		// The name at the end gives each a hash of its own.
		if err := os.WriteFile(filepath.Join(folder, name), append(bytes.Clone(badPlugin.text), name...),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

type misdeed struct {
	strategy, code string
	log            string // part of the last lines that the plugin has said
	exit           any    // the exit code, null where the host has ended the process
}

// TestHostilePlugins lets plugins crash, lie and break off under the real service.
// The right code is shown with the plugin's last words, and the service goes on.
func TestHostilePlugins(t *testing.T) {
	t.Parallel()
	cases := []misdeed{
		{"exits", "PLUGIN_CRASHED", "last words", 3.0},
		{"segfaults", "PLUGIN_CRASHED", "about to fall", nil},
		{"panics", "STRATEGY_ERROR", "", nil},
		{"errs", "STRATEGY_ERROR", "", nil},
		{"liesbooks", "PLUGIN_DIVERGED", "here comes a lie", nil},
		{"liesfuture", "PLUGIN_PROTOCOL_ERROR", "here comes a lie", nil},
		{"leaves", "PLUGIN_PROTOCOL_ERROR", "here comes a lie", nil},
		{"giant", "PLUGIN_PROTOCOL_ERROR", "here comes a lie", nil},
		{"floods", "PLUGIN_PROTOCOL_ERROR", "here comes a lie", nil},
	}
	names := []string{"chatters", "prints", "stillborn"}
	for _, c := range cases {
		names = append(names, c.strategy)
	}
	s := serve(t, t.TempDir(), "--strategies", badPlugins(t, names...))
	for _, c := range cases {
		t.Run(c.strategy, func(t *testing.T) { s.suffer(t, c) })
	}
	for _, name := range []string{"chatters", "prints"} { // noise alone is no fault
		if r := s.backtest(sample(name)); r["status"] != "completed" {
			t.Errorf("%s: %v %v", name, r["status"], r["error"])
		}
	}
	var refused object
	resp := s.call("POST", "/run/backtest", sample("stillborn"), &refused)
	e := refused["error"].(object)
	if resp.StatusCode != 500 || e["code"] != "RUN_START_FAILED" ||
		!strings.Contains(lines(e["details"].(object)["log_tail"]), "never alive") {
		t.Errorf("stillborn: %d %v", resp.StatusCode, refused)
	}
	if got := s.await("idle"); got["run_id"] != "" {
		t.Errorf("after a start that failed: %v", got)
	}
	s.is("healthy", "degraded")
}

// TestPatienceEnds is about plugins that hang: the host waits for half a minute.
func TestPatienceEnds(t *testing.T) {
	ring.Slow(t, "the host waits for half a minute")
	for _, c := range []misdeed{
		{"hangs", "PLUGIN_TIMEOUT", "thinking", nil}, {"stops", "PLUGIN_TIMEOUT", "", nil},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			t.Parallel()
			s := serve(t, t.TempDir(), "--strategies", badPlugins(t, c.strategy))
			s.suffer(t, c)
			s.is("healthy", "degraded")
		})
	}
	t.Run("undecided", func(t *testing.T) {
		t.Parallel()
		s := serve(t, t.TempDir(), "--strategies", badPlugins(t, "undecided"))
		begin := time.Now()
		var refused object
		resp := s.call("POST", "/run/backtest", sample("undecided"), &refused)
		if took := time.Since(begin); resp.StatusCode != 500 || took < 9*time.Second ||
			took > 14*time.Second {
			t.Errorf("%d after %s: %v", resp.StatusCode, took, refused)
		}
		s.await("idle")
		if left := plugins(t, s.cmd.Process.Pid); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
}

// suffer runs a bad plugin to its end and looks at what is said of it.
func (s *service) suffer(t *testing.T, c misdeed) {
	t.Helper()
	r := s.backtest(sample(c.strategy))
	d, _ := r["error_details"].(object)
	if r["status"] != "failed" || r["stop_reason"] != "error" || r["error"] == nil || d["code"] != c.code {
		t.Fatalf("%v %v: %v, want %s", r["status"], r["error"], d, c.code)
	}
	if c.exit != nil && d["plugin_exit_code"] != c.exit {
		t.Errorf("exit code %v", d["plugin_exit_code"])
	}
	if !strings.Contains(lines(d["log_tail"]), c.log) {
		t.Errorf("%q is not among the last lines %v", c.log, d["log_tail"])
	}
	if _, ok := d["data"].(object); !ok || r["partial"] != true {
		t.Errorf("data %v, partial %v", d["data"], r["partial"])
	}
	if left := plugins(t, s.cmd.Process.Pid); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func lines(v any) string {
	list, _ := v.([]any)
	var b strings.Builder
	for _, l := range list {
		b.WriteString(l.(string) + "\n")
	}
	return b.String()
}

// is checks the overall health.
func (s *service) is(oneOf ...string) {
	s.t.Helper()
	var health object
	s.call("GET", "/health", nil, &health)
	for _, want := range oneOf {
		if health["status"] == want {
			return
		}
	}
	s.t.Errorf("health is %v: %v", health["status"], health["checks"])
}

// TestStopOfAHangingPlugin: the stop answers within ten seconds, the plugin is killed
// and the message says so.
func TestStopOfAHangingPlugin(t *testing.T) {
	s := serve(t, t.TempDir(), "--log-level", "debug", "--strategies", badPlugins(t, "hangs"))
	id := s.slow("hangs")
	children := plugins(t, s.cmd.Process.Pid)
	begin := time.Now()
	var answer object
	resp := s.call("POST", "/run/stop", object{}, &answer)
	if took := time.Since(begin); resp.StatusCode != 200 || answer["run_id"] != id ||
		answer["status"] != "completed" || took > 10*time.Second {
		t.Errorf("%d after %s: %v", resp.StatusCode, took, answer)
	}
	if text, _ := answer["message"].(string); !strings.Contains(text, "killed") {
		t.Errorf("the message does not tell: %v", answer)
	}
	gone(t, children)
	var results object
	s.call("GET", "/results", nil, &results)
	if results["stop_reason"] != "stopped" || results["partial"] != true ||
		results["artifacts"] != "runs/"+id || len(results["equity_curve"].([]any)) == 0 {
		t.Errorf("%v %v %v", results["stop_reason"], results["partial"], results["artifacts"])
	}
}

// TestNoPlaceForResults: when the files cannot be written the run fails, and what it
// has produced stays readable until the reset.
func TestNoPlaceForResults(t *testing.T) {
	state := t.TempDir()
	s := serve(t, state, "--strategies", badPlugins(t, "sleeper"))
	s.slow("sleeper")
	runs := filepath.Join(state, "runs")
	if err := os.Rename(runs, runs+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runs, nil, 0o600); err != nil { // a file where the folder was
		t.Fatal(err)
	}
	var answer, results object
	s.call("POST", "/run/stop", nil, &answer)
	if resp := s.call("GET", "/results", nil, &results); resp.StatusCode != 200 {
		t.Fatalf("results: %v", results)
	}
	d, _ := results["error_details"].(object)
	if results["status"] != "failed" || d["code"] != "ARTIFACT_WRITE_FAILED" || results["artifacts"] != "" ||
		len(results["equity_curve"].([]any)) == 0 {
		t.Errorf("stop %v; results %v %v %v", answer, results["status"], d, results["artifacts"])
	}
	if err := os.Remove(runs); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(runs+".away", runs); err != nil {
		t.Fatal(err)
	}
	if resp := s.call("DELETE", "/run/reset", nil, nil); resp.StatusCode != 200 {
		t.Errorf("reset: %d", resp.StatusCode)
	}
	short := sample("sleeper")
	short["end_date"], short["strategy_params"] = "2017-09-01", object{"sleep_ms": 0}
	if r := s.backtest(short); r["status"] != "completed" {
		t.Errorf("the next run: %v %v", r["status"], r["error"])
	}
}

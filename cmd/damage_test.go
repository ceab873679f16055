package cmd_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDamagedDatabasesNameTheWayOut: a start that a damaged database ends says which file it is, what is
// wrong and what to do; whoever does so has a service again, with the runs whose folders are whole. It takes
// the starts of real programs.
func TestDamagedDatabasesNameTheWayOut(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := serve(t, state)
	id, programs := s.slow("sma_cross"), bin(t)
	s.end(syscall.SIGTERM)
	for file, says := range map[string]string{
		"runs/registry.sqlite3": "made anew from the folders of the runs",
		"data/catalog.sqlite3":  "lab data import",
	} {
		path := filepath.Join(state, filepath.FromSlash(file))
		for name, damage := range map[string]func([]byte) []byte{
			"no database": func([]byte) []byte {
				return []byte(strings.Repeat("no database", 2000))
			},
			"malformed": func(b []byte) []byte { copy(b[4096:], make([]byte, 8192)); return b },
		} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []string{"-wal", "-shm"} { // of the orderly end there are none
				if _, err := os.Stat(path + side); !os.IsNotExist(err) {
					t.Fatalf("%s%s: %v", path, side, err)
				}
			}
			if err := os.WriteFile(path, damage(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{"assay --port 0", "lab runs list", "lab data list"} {
				program := strings.Fields(line)
				if program[0] == "lab" && (program[1] == "data") != strings.HasPrefix(file, "data") {
					continue // it does not open the file
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				args := append(program[1:], "--state-dir", state)
				out, err := exec.CommandContext(ctx, filepath.Join(programs, program[0]),
					args...).CombinedOutput()
				cancel()
				if err == nil || !strings.Contains(string(out), path+" is damaged") ||
					!strings.Contains(string(out), says) {
					t.Errorf("%s, %s: %v: %v\n%s", file, name, program, err, out)
				}
			}
			if err := os.Rename(path, filepath.Join(t.TempDir(), "aside")); err != nil {
				t.Fatal(err)
			}
			s := serve(t, state)
			if got := row(t, state, id); got.RunID != id {
				t.Errorf("the run is gone: %+v", got)
			}
			if resp := s.call("POST", "/run/backtest", sample("sma_cross"), nil); resp.StatusCode != 200 {
				t.Errorf("a start afterwards: %d", resp.StatusCode)
			}
			s.end(syscall.SIGTERM)
		}
	}
}

// TestDamagedCandlesAreNotTheClientsFault: a start on candles that the service has damaged is a 500 that
// says so, and the health is degraded until they are whole again.
func TestDamagedCandlesAreNotTheClientsFault(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := serve(t, state)
	files, err := filepath.Glob(filepath.Join(state, "data", "candles", "*.candles"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	whole := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole[file] = text
		replace(t, file, text[:len(text)-1])
	}
	var refused struct {
		Error struct {
			Code, Message string
			Details       struct{ Reason string }
		}
	}
	resp := s.call("POST", "/run/backtest", sample("sma_cross"), &refused)
	if e := refused.Error; resp.StatusCode != 500 || e.Code != "RUN_START_FAILED" ||
		e.Details.Reason != "corrupt_dataset" || !strings.Contains(e.Message, "damaged") {
		t.Errorf("%d %+v", resp.StatusCode, refused)
	}
	health := func() string {
		var h struct {
			Status string
			Checks struct {
				Disk struct{ Status, Message string }
			}
		}
		s.call("GET", "/health", nil, &h)
		return h.Status + " " + h.Checks.Disk.Status + " " + h.Checks.Disk.Message
	}
	if got := health(); !strings.HasPrefix(got, "degraded warn the candles sample-btc-usdt-1h-") ||
		!strings.HasSuffix(got, "import them again") {
		t.Errorf("health: %s", got)
	}
	for file, text := range whole {
		replace(t, file, text)
	}
	if resp := s.call("POST", "/run/backtest", sample("sma_cross"), nil); resp.StatusCode != 200 {
		t.Errorf("whole again: %d", resp.StatusCode)
	}
	if got := health(); got != "healthy pass " {
		t.Errorf("health: %s", got)
	}
	s.end(syscall.SIGTERM)
}

// replace puts a file in the place of another one.
func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o444); err != nil {
		t.Fatal(err)
	}
}

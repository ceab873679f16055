package cmd_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// fewReplays is a profile with all tests and few replays.
const fewReplays = `{"schema": "falsify-profile/2", "id": "few", "replicas": 19, "noise": 2, "gaps": 2,
	"orders": 19, "bootstrap": 19, "selections": 19, "full_replicas": 19}`

// TestFalsifyOverQueue: every byte of a falsification whose replays two processes have made, one of which was
// killed, is that of one made in this process.
func TestFalsifyOverQueue(t *testing.T) {
	ring.Slow(t, "it attacks a run twice, once in other processes")
	dir, profile := makeSearched(t, overQueue), filepath.Join(t.TempDir(), "few.json")
	ask, _, _ := strings.Cut(searchedJSON, `"splits"`)
	for path, text := range map[string]string{profile: fewReplays,
		filepath.Join(dir, "lab.json"): ask + `"splits": {"scheme": "default"}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	states := []string{t.TempDir(), t.TempDir()}
	for _, state := range states {
		for _, name := range []string{"families", "reports"} {
			if err := os.MkdirAll(filepath.Join(state, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if code, out := searching(t.Context(), t, dir, state, io.Discard, "run", "choosy"); code != 0 {
			t.Fatal(code, out)
		}
	}
	var told hosttest.Buffer
	attack := func(state string, args ...string) (int, map[string]any) {
		return searching(t.Context(), t, dir, state, &told,
			append([]string{"falsify", "choosy", "--profile", profile}, args...)...)
	}
	codeAlone, alone := attack(states[0])
	key := signKeys(t)
	url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
	workers := startWorkers(t, 2, url, key)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for !workers[0].over() && strings.Count(workers[0].output.String(), "choosy  r") < 5 {
			time.Sleep(time.Millisecond)
		}
		workers[0].kill()
	}()
	code, far := attack(states[1], "--on", url, "--sign-key", key)
	if code != codeAlone || at(far, "error.code") != "FALSIFIED" {
		t.Fatal(code, codeAlone, alone, far, told.String(), workers[0].output, workers[1].output)
	}
	<-killed
	sameBytes(t, states[0], states[1])
	n := strings.Count(workers[0].output.String()+workers[1].output.String(), "choosy  r")
	if t.Logf("%d replays by workers", n); n < 60 {
		t.Errorf("the workers have made %d replays:\n%s\n%s", n, workers[0].output, workers[1].output)
	}
	code, far = attack(states[1], "--skip", "regime", "--on", url)
	if code != 2 || at(far, "error.details.flag") != "--sign-key" {
		t.Errorf("without a key: exit %d, %v", code, far)
	}
	// One that is interrupted takes its replays back.
	had := strings.Count(workers[1].output.String(), "choosy  r")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil && strings.Count(workers[1].output.String(), "choosy  r") < had+3 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	code, far = searching(ctx, t, dir, states[1], io.Discard, "falsify", "choosy", "--profile", profile,
		"--skip", "regime", "--on", url, "--sign-key", key)
	if code == 0 || at(far, "error.code") != "INTERRUPTED" {
		t.Errorf("interrupted: exit %d, %v", code, far)
	}
	code, answer := labIn(t.Context(), t, io.Discard, "workers", "--on", url, "--json")
	if code != 0 || !strings.Contains(answer, `"queue":[]`) {
		t.Errorf("exit %d: %s", code, answer)
	}
}

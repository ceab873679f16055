package cmd_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/queue"
)

// fewReplays is a profile with all tests and few replays.
const fewReplays = `{"schema": "falsify-profile/2", "id": "few", "replicas": 19, "noise": 2, "gaps": 2,
	"orders": 19, "bootstrap": 19, "selections": 19, "full_replicas": 19}`

// attacked makes state directories in which these commands have run choosy, with splits that can be attacked,
// and a profile with few replays.
func attacked(t *testing.T, dir string, n int, commands ...[]string) (states []string, profile string) {
	t.Helper()
	profile = filepath.Join(t.TempDir(), "few.json")
	if err := os.WriteFile(profile, []byte(fewReplays), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(config), `"splits"`)
	_, family, _ := strings.Cut(rest, `, "family"`)
	err = os.WriteFile(filepath.Join(dir, "lab.json"),
		[]byte(before+`"splits": {"scheme": "default"}, "family"`+family), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		state := t.TempDir()
		for _, name := range []string{"families", "reports"} {
			if err := os.MkdirAll(filepath.Join(state, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range commands {
			if code, out := searching(t.Context(), t, dir, state, io.Discard, args...); code != 0 {
				t.Fatal(code, out)
			}
		}
		states = append(states, state)
	}
	return states, profile
}

// TestFalsifyOverQueue: every byte of a falsification whose replays two processes have made, one of which was
// killed, is that of one made in this process.
func TestFalsifyOverQueue(t *testing.T) {
	ring.Slow(t, "it attacks a run twice, once in other processes")
	dir := makeSearched(t, overQueue)
	states, profile := attacked(t, dir, 2, []string{"run", "choosy"})
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
	nothingWaits(t, url)
}

// nothingWaits wants that no task is in a queue.
func nothingWaits(t *testing.T, url string) {
	t.Helper()
	code, answer := labIn(t.Context(), t, io.Discard, "workers", "--on", url, "--json")
	if code != 0 || !strings.Contains(answer, `"queue":[]`) {
		t.Errorf("exit %d: %s", code, answer)
	}
}

// TestFalsifySearchOverQueue: workers repeat the whole search of a run, and attack a strategy in Python,
// which the coordinator takes from the copy that an earlier run has left; every byte is as of one machine.
func TestFalsifySearchOverQueue(t *testing.T) {
	ring.Proof(t, "it attacks two runs twice, once in other processes, with the whole search of one")
	searched := `{"space": {"mode": {"type": "choice", "values": ["fade", "fail", "follow"]},
		"period": {"type": "int", "low": 12, "high": 17}}, "method": "sobol", "max_trials": 4}`
	for _, c := range []struct {
		name     string
		dir      func(t *testing.T) string
		commands [][]string
		args     []string
	}{
		{"full", func(t *testing.T) string { return makeSearched(t, searched) },
			[][]string{{"family", "plan", "choosy"}, {"family", "run", "choosy", "--workers", "1"}},
			[]string{"--full"}},
		{"python", makeInPython, [][]string{{"run", "choosy"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.dir(t)
			states, profile := attacked(t, dir, 2, c.commands...)
			key := signKeys(t)
			url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
			workers := startWorkers(t, 2, url, key)
			var codes []int
			for i, on := range [][]string{nil, {"--on", url, "--sign-key", key}} {
				args := append([]string{"falsify", "choosy", "--profile", profile}, c.args...)
				code, out := searching(t.Context(), t, dir, states[i], io.Discard, append(args, on...)...)
				if code == 2 {
					t.Fatal(out, workers[0].output, workers[1].output)
				}
				codes = append(codes, code)
			}
			if codes[0] != codes[1] {
				t.Errorf("exit codes %v", codes)
			}
			sameBytes(t, states[0], states[1])
			n := strings.Count(workers[0].output.String()+workers[1].output.String(), "choosy  r")
			if t.Logf("%d replays by workers", n); n < 60 {
				t.Errorf("the workers have made %d replays:\n%s\n%s", n, workers[0].output, workers[1].output)
			}
			nothingWaits(t, url)
		})
	}
}

// TestFalsifyWithoutAnEnd: a replay that was given out as often as may be, and never came to an end, ends the
// falsification; nothing of it stays, and the next one asks again.
func TestFalsifyWithoutAnEnd(t *testing.T) {
	ring.Slow(t, "it attacks a run twice")
	dir := makeSearched(t, overQueue)
	states, profile := attacked(t, dir, 1, []string{"run", "choosy"})
	before := everything(t, states[0])
	key := signKeys(t)
	url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
	given := refuseAll(t, url)
	attack := []string{"falsify", "choosy", "--profile", profile, "--only", "cost_stress,delay_stress"}
	code, out := searching(t.Context(), t, dir, states[0], io.Discard,
		append(attack, "--on", url, "--sign-key", key)...)
	if message, _ := at(out, "error.message").(string); code != 3 ||
		at(out, "error.code") != request.CodeTrialLost ||
		!strings.Contains(message, " was given to workers 20 times without an end") {
		t.Errorf("exit %d: %v", code, out)
	}
	if n := given(); n < queue.MaxDeliveries {
		t.Errorf("it was given out %d times", n)
	}
	compareAll(t, before, everything(t, states[0]))
	nothingWaits(t, url)
	if code, out = searching(t.Context(), t, dir, states[0], io.Discard, attack...); at(out,
		"error.details.reused") != false {
		t.Errorf("the next one: exit %d: %v", code, out)
	}
}

// refuseAll takes every task of a queue and gives it back, as a worker does that can play none, until the
// test ends; given counts them.
func refuseAll(t *testing.T, url string) (given func() int64) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	nothingWaits(t, url) // whoever looks makes the streams
	c, err := js.CreateOrUpdateConsumer(t.Context(), "assay-tasks", jetstream.ConsumerConfig{
		Durable: "refuses", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: queue.MaxDeliveries})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	taking, err := c.Consume(func(m jetstream.Msg) {
		n.Add(1)
		_ = m.Nak() // the queue may have ended
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(taking.Stop)
	return n.Load
}

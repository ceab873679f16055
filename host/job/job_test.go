package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestMain is the program that the tests call in the place of the lab: it behaves as its first
// argument says.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "act-") {
		act(os.Args[1], os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(what string, args []string) {
	switch what {
	case "act-answer":
		fmt.Fprint(os.Stderr, "falsify run_x 40 %, 3 replays/s, 2s left\nwarning: nothing\n")
		fmt.Printf(`{"ok":true,"result":%q}`, strings.Join(args, " "))
	case "act-refuse":
		fmt.Print(`{"ok":false,"error":{"code":"NO_LUCK","message":"no luck","details":{"run_id":"r"}}}`)
		os.Exit(1)
	case "act-crash":
		fmt.Fprintln(os.Stderr, "panic: at the disco")
		os.Exit(2)
	case "act-where":
		nice, _ := syscall.Getpriority(syscall.PRIO_PROCESS, 0) // the kernel counts from 20 down
		fmt.Printf(`{"ok":true,"result":{"nice":%d,"processors":%d,"group":%t}}`, 20-nice, runtime.NumCPU(),
			syscall.Getpgrp() == os.Getpid())
	case "act-sleep":
		time.Sleep(time.Hour)
	case "act-stay": // whatever it is asked, with a child that has its output
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command(os.Args[0], "act-sleep")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			os.Exit(3)
		}
		text := fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid)
		if os.WriteFile(args[0]+".tmp", text, 0o600) != nil || os.Rename(args[0]+".tmp", args[0]) != nil {
			os.Exit(3)
		}
		time.Sleep(time.Hour)
	}
}

func open(t testing.TB, dir string, busy func() bool) *Manager {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if busy == nil {
		busy = func() bool { return false }
	}
	m := Open(Options{Program: self, StateDir: dir, Busy: busy, Logger: hclog.NewNullLogger()})
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// calls is work that is one call.
func calls(args ...string) Work {
	return func(ctx context.Context, lab Call) (Links, error) {
		_, err := lab(ctx, args...)
		return Links{}, err
	}
}

func add(t testing.TB, m *Manager, w Work) Job {
	t.Helper()
	j, err := m.Add("falsification", Links{}, w)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// await waits until a job has a status.
func await(t testing.TB, m *Manager, id string, want Status) Job {
	t.Helper()
	var j Job
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var err error
		if j, err = m.Get(id); err != nil {
			t.Fatal(err)
		}
		if j.Status == want {
			return j
		}
	}
	t.Fatalf("job %s is %s, not %s: %+v", id, j.Status, want, j.Error)
	return j
}

func TestJobsRunInTheirOrder(t *testing.T) {
	m := open(t, t.TempDir(), nil)
	made := "run_made"
	first := add(t, m, func(ctx context.Context, lab Call) (Links, error) {
		result, err := lab(ctx, "act-answer", "one")
		if string(result) != `"one --json"` && err == nil {
			err = fmt.Errorf("the answer is %s", result)
		}
		return Links{Falsification: &made, Reports: []json.RawMessage{result}}, err
	})
	second := add(t, m, calls("act-where"))
	if list := m.List(); len(list) != 2 || list[0].ID != second.ID || list[1].ID != first.ID {
		t.Errorf("the newest is not first: %+v", list)
	}
	one, two := await(t, m, first.ID, Completed), await(t, m, second.ID, Completed)
	if one.Links.Falsification == nil || *one.Links.Falsification != made || one.Links.RunID != nil {
		t.Errorf("links %+v", one.Links)
	}
	if len(one.Reports) != 1 || string(one.Reports[0]) != `"one --json"` || len(two.Reports) != 0 {
		t.Errorf("reports %s, %s", one.Reports, two.Reports)
	}
	if p := one.Progress; p == nil || p.Percent != 40 || p.Text != "3 replays/s, 2s left" {
		t.Errorf("progress %+v", p)
	}
	if *two.StartedAt < *one.EndedAt || one.QueuedAt > *one.StartedAt {
		t.Errorf("two at a time: %v to %v, then %v", *one.StartedAt, *one.EndedAt, *two.StartedAt)
	}
}

func TestTheLabIsModest(t *testing.T) {
	result, err := open(t, t.TempDir(), nil).Call(t.Context(), "act-where")
	var got struct {
		Nice, Processors int
		Group            bool
	}
	if err == nil {
		err = json.Unmarshal(result, &got)
	}
	want := max(1, runtime.NumCPU()-1)
	if runtime.GOOS != "linux" {
		got.Processors, got.Nice = want, 10
	}
	if err != nil || got.Processors != want || got.Nice < 10 || !got.Group {
		t.Errorf("%+v, want %d processors: %v", got, want, err)
	}
}

func TestFailures(t *testing.T) {
	m := open(t, t.TempDir(), nil)
	for args, want := range map[string]Failure{
		"act-refuse": {"NO_LUCK", "no luck", json.RawMessage(`{"run_id":"r"}`)},
		"act-crash": {Code: CodeFailed,
			Message: "the lab ended without an answer (exit status 2): panic: at the disco"},
	} {
		j := await(t, m, add(t, m, calls(args)).ID, Failed)
		if j.Error == nil || !reflect.DeepEqual(*j.Error, want) || j.EndedAt == nil {
			t.Errorf("%s: %+v, want %+v", args, j.Error, want)
		}
	}
	if _, err := m.Get("job_none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestNoLab(t *testing.T) {
	dir := t.TempDir()
	text := writeFile(t, dir, "text", "no program")
	for _, program := range []string{filepath.Join(dir, "none"), dir, text} {
		m := Open(Options{Program: program, StateDir: dir, Logger: hclog.NewNullLogger()})
		if _, err := m.Add("family", Links{}, calls("act-answer")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", program, err)
		}
		_ = m.Close()
		if err := m.Check(); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}

func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQueueIsBounded(t *testing.T) {
	m := open(t, t.TempDir(), nil)
	running := add(t, m, calls("act-sleep"))
	await(t, m, running.ID, Running)
	var last Job
	for range MaxQueued {
		last = add(t, m, calls("act-answer"))
	}
	if _, err := m.Add("family", Links{}, calls("act-answer")); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("%v", err)
	}
	if j, err := m.Cancel(t.Context(), last.ID); err != nil || j.Status != Cancelled || j.StartedAt != nil {
		t.Errorf("%+v %v", j, err)
	}
	last = add(t, m, calls("act-answer"))
	if j, err := m.Cancel(t.Context(), running.ID); err != nil || j.Status != Cancelled {
		t.Errorf("%+v %v", j, err)
	}
	await(t, m, last.ID, Completed)
	if j, err := m.Cancel(t.Context(), last.ID); err != nil || j.Status != Completed {
		t.Errorf("a job that has ended: %+v %v", j, err)
	}
}

func TestOldJobsAreForgotten(t *testing.T) {
	dir := t.TempDir()
	var old []Job
	for i := range kept + 3 {
		old = append(old, Job{ID: fmt.Sprintf("job_%03d", i), Kind: "family", Status: Completed})
	}
	if err := writeList(dir, old); err != nil {
		t.Fatal(err)
	}
	m := open(t, dir, nil)
	added := add(t, m, calls("act-answer"))
	await(t, m, added.ID, Completed)
	list := m.List()
	if len(list) != kept+1 || list[0].ID != added.ID || list[kept].ID != "job_003" {
		t.Errorf("%d are kept, up to %s", len(list), list[len(list)-1].ID)
	}
}

// stubborn begins a job that ignores SIGTERM and has a child, and returns both processes.
func stubborn(t *testing.T, m *Manager) (Job, []int) {
	t.Helper()
	ring.Slow(t, "the lab has three seconds to end its plugins")
	file := filepath.Join(t.TempDir(), "pids")
	j := add(t, m, calls("act-stay", file))
	var text []byte
	for end := time.Now().Add(2 * time.Minute); len(text) == 0; time.Sleep(5 * time.Millisecond) {
		if text, _ = os.ReadFile(file); time.Now().After(end) {
			t.Fatal("the job has not begun")
		}
	}
	var pids []int
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return j, pids
}

// gone checks that processes have ended; a zombie of another parent counts as such.
func gone(t *testing.T, pids []int) {
	t.Helper()
	isGone := func(pid int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return syscall.Kill(pid, 0) != nil || err == nil && bytes.Contains(stat, []byte(") Z "))
	}
	for _, pid := range pids {
		for end := time.Now().Add(time.Minute); !isGone(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("process %d is still there", pid)
				break
			}
		}
	}
}

func TestCancelLeavesNoProcess(t *testing.T) {
	m := open(t, t.TempDir(), nil)
	j, pids := stubborn(t, m)
	if got, err := m.Cancel(t.Context(), j.ID); err != nil || got.Status != Cancelled || got.EndedAt == nil {
		t.Errorf("%+v %v", got, err)
	}
	gone(t, pids)
}

func TestCloseInterrupts(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, nil)
	j, pids := stubborn(t, m)
	waits := add(t, m, calls("act-answer"))
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pids)
	later := open(t, dir, nil)
	for _, id := range []string{j.ID, waits.ID} {
		if got, err := later.Get(id); err != nil || got.Status != Interrupted || got.EndedAt == nil {
			t.Errorf("%+v %v", got, err)
		}
	}
}

// TestKilledServiceInterrupts opens the list as it was when its process was killed.
func TestKilledServiceInterrupts(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	m := open(t, dir, nil)
	j := add(t, m, calls("act-sleep"))
	await(t, m, j.ID, Running)
	text, err := os.ReadFile(filepath.Join(dir, listFile))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, copied, listFile, string(text))
	if got, err := open(t, copied, nil).Get(j.ID); err != nil || got.Status != Interrupted {
		t.Errorf("%+v %v", got, err)
	}
}

func TestRealMoneyComesFirst(t *testing.T) {
	var busy atomic.Bool
	m := open(t, t.TempDir(), busy.Load)
	var begun atomic.Int32
	j := add(t, m, func(ctx context.Context, lab Call) (Links, error) {
		what := "act-answer"
		if begun.Add(1) == 1 {
			what = "act-sleep"
		}
		_, err := lab(ctx, what)
		return Links{}, err
	})
	await(t, m, j.ID, Running)
	busy.Store(true)
	if got := await(t, m, j.ID, Queued); got.StartedAt != nil || got.Error != nil {
		t.Errorf("%+v", got)
	}
	time.Sleep(2 * lookEvery)
	if got, _ := m.Get(j.ID); got.Status != Queued || begun.Load() != 1 {
		t.Errorf("it does not wait: %+v", got)
	}
	busy.Store(false)
	await(t, m, j.ID, Completed)
}

func TestDamagedListIsSetAside(t *testing.T) {
	for _, text := range []string{"{", `{"schema":"jobs/v9"}`,
		`{"schema":"jobs/v1","jobs":[{"job_id":"x"}]}`} {
		dir := t.TempDir()
		writeFile(t, dir, listFile, text)
		m := open(t, dir, nil)
		await(t, m, add(t, m, calls("act-answer")).ID, Completed)
		kept, err := os.ReadFile(filepath.Join(dir, listFile+".damaged"))
		if err != nil || string(kept) != text || len(m.List()) != 1 {
			t.Errorf("%s: %s %v", text, kept, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":{}}`))
	f.Add([]byte(`{"ok":false,"error":{"code":"A","message":"b","details":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		result, err := decodeAnswer(text)
		var refused *LabError
		if err != nil && !errors.As(err, &refused) || err == nil && len(result) > 0 && !json.Valid(result) {
			t.Errorf("%s: %s %v", text, result, err)
		}
	})
}

func TestTimeLeft(t *testing.T) {
	for line, want := range map[string]int64{
		"falsify run_x 40 %, 3 replays/s, 24 replays left, 1m2s left": 62, "x 1 %, 2h46m30s left": 9990,
		"x 40 %, 24 replays left": -1, "x 40 %, -2s left": -1, "x 40 %": -1,
	} {
		p, ok := decodeProgress([]byte(line))
		if got := p.ETASeconds; !ok || (got == nil) != (want < 0) || got != nil && *got != want {
			t.Errorf("%q: %v %v", line, got, ok)
		}
	}
}

func FuzzProgress(f *testing.F) {
	f.Add([]byte("falsify run_x 40 %, 3 replays/s, 2s left\n"))
	f.Add([]byte("run run_x 100 %\nwarning: A 7 %\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole, parts []Progress
		one := &lines{tell: func(p Progress) { whole = append(whole, p) }}
		_, _ = one.Write(text)
		other := &lines{tell: func(p Progress) { parts = append(parts, p) }}
		for _, b := range text {
			_, _ = other.Write([]byte{b})
		}
		if !reflect.DeepEqual(whole, parts) || one.last != other.last {
			t.Errorf("%v at once, %v byte by byte", whole, parts)
		}
		for _, p := range whole {
			if p.Percent < 0 || p.Percent > 100 || p.ETASeconds != nil && *p.ETASeconds < 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add([]byte(`{"schema":"jobs/v1","jobs":[{"job_id":"j","status":"running","queued_at":"2024-01-01"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		jobs, err := decodeList(text)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if err := writeList(dir, jobs); err != nil {
			t.Fatal(err)
		}
		if again, err := readList(dir); err != nil || len(again) != len(jobs) {
			t.Errorf("%v does not come back: %v", jobs, err)
		}
	})
}

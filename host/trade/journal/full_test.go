//go:build linux || darwin

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// fullChild writes until a limit on the size of files, set after some operations, makes a
// write fail; then it tries what must and must not work.
func fullChild(ctx context.Context, args []string) error {
	dir, run, before, room := args[0], number(args[1]), number(args[2]), number(args[3])
	o, err := Open(ctx, dir, Options{Now: fixedNow})
	if err != nil {
		return err
	}
	r, err := o.Begin(ctx, sampleInfo(run))
	if err != nil {
		return err
	}
	op := 0
	for ; op < before; op++ {
		if err := operate(ctx, r, run, op/operations, op%operations); err != nil {
			return err
		}
		fmt.Println("done", op)
	}
	release, err := limitFiles(dir, room)
	if err != nil {
		return err
	}
	for ; err == nil; op++ {
		if err = operate(ctx, r, run, op/operations, op%operations); err == nil {
			fmt.Println("done", op)
		}
	}
	var first *WriteError
	if !errors.As(err, &first) || !errors.Is(r.Failed(), first) {
		return fmt.Errorf("no WriteError: %v, failed %v", err, r.Failed())
	}
	fmt.Println("failed", op-1)
	if err := r.Intent(ctx, sampleIntent(run, 5000)); !errors.Is(err, first) {
		return fmt.Errorf("an intent after the failure: %v", err)
	}
	if err := release(); err != nil {
		return err
	}
	if err := r.Intent(ctx, sampleIntent(run, 5000)); !errors.Is(err, first) {
		return fmt.Errorf("an intent after the disk has room again: %v", err)
	}
	if err := r.Log(ctx, "cancel", "goes on"); err != nil {
		return fmt.Errorf("a record after the disk has room again: %w", err)
	}
	return r.End(ctx,
		End{Status: Failed, Error: []byte(`{"code":"ARTIFACT_WRITE_FAILED"}`), At: start.Add(time.Hour)})
}

// limitFiles lets no file grow by more than room beyond the largest in the folder.
func limitFiles(dir string, room int) (release func() error, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var largest int64
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		largest = max(largest, info.Size())
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return nil, err
	}
	limit := old
	limit.Cur = uint64(largest) + uint64(room)
	return func() error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	}, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// TestDiskFull: writers whose disk is full at some place. What was acknowledged is
// there, what failed is not, nothing is damaged.
func TestDiskFull(t *testing.T) {
	faults := ring.Size(12, 12, 50)
	random := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for k := range faults {
		before, room := random.IntN(12), random.IntN(30000)
		if k%4 == 0 {
			room = random.IntN(4096) // not even one frame
		}
		cmd := child(t, "full", dir, fmt.Sprint(k), fmt.Sprint(before), fmt.Sprint(room))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("fault %d (%d, %d): %v %s\n%s", k, before, room, err, stderr.String(), out)
		}
		acked, failed := 0, 0
		for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
			acked += strings.Count(lines.Text(), "done ")
			failed += strings.Count(lines.Text(), "failed ")
		}
		if failed != 1 {
			t.Fatalf("fault %d: no failure in %q", k, out)
		}
		afterFull(t, dir, k, acked)
	}
	ring.Count(t, "disk faults", faults, faults)
}

func afterFull(t *testing.T, dir string, run, acked int) {
	t.Helper()
	o, err := Open(t.Context(), dir, Options{Now: fixedNow})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Quarantined != nil {
		t.Fatalf("fault %d: %+v", run, o.Quarantined)
	}
	info, err := o.Run(t.Context(), sampleInfo(run).RunID)
	if err != nil || info.Status != Failed || string(info.Error) != `{"code":"ARTIFACT_WRITE_FAILED"}` {
		t.Errorf("fault %d: %+v %v", run, info, err)
	}
	got, want := mustDump(t, o.Journal, info.RunID), expected(t, run, acked)
	_, gotRows, _ := strings.Cut(got, "\n")
	_, wantRows, _ := strings.Cut(want, "\n")
	rest, ok := strings.CutPrefix(gotRows, wantRows)
	if !ok || strings.Count(rest, "\n") != 1 || !strings.Contains(rest, "goes on") {
		t.Errorf("fault %d: after %d acknowledged commits\n%s", run, acked, rest)
	}
}

// TestFullAtOpen: no room for a journal is an error and no damage.
func TestFullAtOpen(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir)
	fill(t, begin(t, o.Journal, 1), 1, 3)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := child(t, "fullopen", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if taken, _ := filepath.Glob(filepath.Join(dir, "*.damaged*")); len(taken) > 0 {
		t.Errorf("set aside: %v", taken)
	}
	if o := openAt(t, dir); o.Quarantined != nil {
		t.Errorf("%+v", o.Quarantined)
	}
}

// fullOpenChild opens a journal where no file may be written to.
func fullOpenChild(ctx context.Context, args []string) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	o, err := Open(ctx, args[0], Options{Now: fixedNow})
	if err == nil {
		return fmt.Errorf("opened, quarantined %+v", o.Quarantined)
	}
	return nil
}

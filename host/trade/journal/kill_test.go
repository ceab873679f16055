//go:build linux || darwin

package journal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// writeChild writes a run, and says after each commit that it is done, until it is killed.
func writeChild(ctx context.Context, args []string) error {
	o, err := Open(ctx, args[0], Options{Now: fixedNow})
	if err != nil {
		return err
	}
	if o.Quarantined != nil {
		return fmt.Errorf("quarantined: %s", o.Quarantined.Reason)
	}
	run := number(args[1])
	r, err := o.Begin(ctx, sampleInfo(run))
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for op := 0; ; op++ {
		if err := operate(ctx, r, run, op/operations, op%operations); err != nil {
			return err
		}
		fmt.Println("done", op)
	}
}

// TestKill: processes are killed in the middle of writes. Whatever was acknowledged is
// there, at most one commit more is, and the chain verifies each time.
func TestKill(t *testing.T) {
	kills := ring.Size(10, 50, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	const perJournal = 6
	dir := ""
	total, extra := 0, 0
	for k := range kills {
		if k%perJournal == 0 {
			dir = t.TempDir()
		}
		acked := killOne(t, dir, k, 1+random.IntN(20), time.Duration(random.IntN(700))*time.Microsecond)
		more, ok := afterKill(t, dir, k, acked)
		if !ok {
			t.Fatalf("kill %d: lost or changed after %d acknowledged commits", k, acked)
		}
		total, extra = total+acked, extra+more
	}
	t.Logf("%d kills, %d acknowledged commits, 0 lost, %d committed and not acknowledged", kills, total,
		extra)
	ring.Count(t, "SIGKILLs in the journal", kills, kills)
}

// killOne starts a writer and kills it a moment after it acknowledged some operations. It
// returns how many it acknowledged in all.
func killOne(t *testing.T, dir string, run, after int, moment time.Duration) int {
	t.Helper()
	cmd := child(t, "write", dir, fmt.Sprint(run))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	acked := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "done ") {
			acked++
		}
		if acked == after {
			time.Sleep(moment)
			_ = cmd.Process.Signal(syscall.SIGKILL)
		}
	}
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || acked < after {
		t.Fatalf("the writer ended by itself: %v %s", err, stderr.String())
	}
	return acked
}

// afterKill opens what the killed writer left.
func afterKill(t *testing.T, dir string, run, acked int) (more int, ok bool) {
	t.Helper()
	o, err := Open(t.Context(), dir, Options{Now: fixedNow})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	if o.Quarantined != nil {
		t.Fatalf("run %d: %+v", run, o.Quarantined)
	}
	interrupted, err := o.Interrupted(t.Context())
	if err != nil || len(interrupted) != 1 || interrupted[0].RunID != sampleInfo(run).RunID {
		t.Fatalf("interrupted: %v %v", interrupted, err)
	}
	got := mustDump(t, o.Journal, interrupted[0].RunID)
	r, err := o.Resume(t.Context(), interrupted[0].RunID)
	if err != nil {
		t.Fatal(err)
	}
	err = r.End(t.Context(),
		End{Status: Failed, Error: []byte(`{"code":"RUN_INTERRUPTED"}`), At: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for more := range 2 {
		if got == expected(t, run, acked+more) {
			return more, true
		}
	}
	return 0, false
}

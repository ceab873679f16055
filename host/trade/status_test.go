package trade

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/journal"
)

// prompt asks a run for all that is shown of it. It must not wait for anybody.
func prompt(t *testing.T, x *Execution, while string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = x.Progress(), x.Look(), x.Link()
		_ = x.Results()
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Fatalf("the status hangs while %s", while)
	}
}

// TestStatusWaitsForNobody: what is shown of a run is there while the journal cannot be written, while the
// strategy hangs and while the files of the run are copied to a disk that takes its time.
func TestStatusWaitsForNobody(t *testing.T) {
	d := newTestHost(t, 10, "good", "hangs")
	d.launcher.opts.StepLimit = 5 * time.Second
	for _, mode := range []string{runner.ModeLive, runner.ModePaper} {
		t.Run(mode, func(t *testing.T) {
			x := d.launch(onSim(mode, "good", map[string]any{"every": 4}, ""))
			ctx, cancel := context.WithCancelCause(context.Background())
			ended := make(chan runner.Outcome, 1)
			go func() { ended <- x.Run(ctx) }()
			wait(t, "fills", func() bool { return x.Progress().Fills > 2 })
			unlock := d.lockJournal(t)
			time.Sleep(50 * time.Millisecond) // the run comes to its next commit
			at := x.Progress().CandlesDone
			for range 20 {
				prompt(t, x, "the journal cannot be written")
				time.Sleep(10 * time.Millisecond)
			}
			if now := x.Progress().CandlesDone; now > at+1 {
				t.Errorf("%d candles were decided although nothing could be written down", now-at)
			}
			unlock()
			wait(t, "more candles", func() bool { return x.Progress().CandlesDone > at+3 })
			cancel(runner.ErrStopRequested)
			if o := <-ended; o.Failure != nil {
				t.Fatalf("%+v", o.Failure)
			}
			slow := &slowDisk{asked: make(chan struct{}), on: make(chan struct{})}
			written := make(chan error, 1)
			go func() { written <- x.WriteDecisions(slow) }()
			<-slow.asked
			prompt(t, x, "its decisions are copied")
			close(slow.on)
			if err := <-written; err != nil || slow.bytes == 0 {
				t.Error(slow.bytes, err)
			}
		})
	}
	d.launcher.opts.Venues = unpaced{d.launcher.opts.Venues}
	x := d.launch(onSim(runner.ModeLive, "hangs", nil, ""))
	ended := make(chan runner.Outcome, 1)
	go func() { ended <- x.Run(context.Background()) }()
	for {
		select {
		case o := <-ended:
			if o.Failure == nil || o.Failure.Code != "PLUGIN_TIMEOUT" {
				t.Errorf("%+v", o.Failure)
			}
			return
		case <-time.After(50 * time.Millisecond):
			prompt(t, x, "the strategy hangs")
		}
	}
}

// lockJournal keeps everybody else from writing until the returned function is called.
func (d *testHost) lockJournal(t *testing.T) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(d.launcher.opts.SpoolDir, "live", journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for late := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err = db.Exec("BEGIN IMMEDIATE"); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// slowDisk is a writer that waits.
type slowDisk struct {
	asked, on chan struct{}
	bytes     int
}

func (s *slowDisk) Write(b []byte) (int, error) {
	if s.bytes == 0 {
		close(s.asked)
		<-s.on
	}
	s.bytes += len(b)
	return len(b), nil
}

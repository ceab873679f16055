package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
)

// sessionPlay plays a window and returns its results with the number of the process; before it, the
// process can read a file of exactly the window, after it nothing.
func (l *lab) sessionPlay(s *Session, strategy, start, end string) (*artifact.Results, int, runner.Outcome) {
	l.t.Helper()
	req := request(strategy, map[string]any{})
	req.StartDate, req.EndDate = &start, &end
	l.runs++
	x, err := l.launcher.LaunchSplit(context.Background(), fmt.Sprintf("svc_test%d", l.runs), req,
		Split{Session: s})
	if err != nil {
		l.t.Fatal(err)
	}
	if s != nil {
		l.checkFiles(s, int(x.data.layout.total))
	}
	outcome, pid := x.Run(context.Background()), x.PID()
	if s != nil {
		l.checkFiles(s)
	}
	results := x.Results()
	if err := x.Close(); err != nil {
		l.t.Error(err)
	}
	return results, pid, outcome
}

// checkFiles checks that a session shows files of so many rows and no others.
func (l *lab) checkFiles(s *Session, rows ...int) {
	l.t.Helper()
	entries, err := os.ReadDir(s.folder.Path())
	if err != nil || len(entries) != len(rows) {
		l.t.Fatalf("%d files, not %d: %v", len(entries), len(rows), err)
	}
	for i, want := range rows {
		f, err := candlefile.Open(filepath.Join(s.folder.Path(), entries[i].Name()))
		if err != nil {
			l.t.Fatal(err)
		}
		if got := f.Series().Len(); got != want {
			l.t.Errorf("a file of %d rows, not %d", got, want)
		}
		if err := f.Close(); err != nil {
			l.t.Error(err)
		}
	}
}

// TestSession: one process plays window after window with the results that each has in a process of
// its own; it has the file of its window only.
func TestSession(t *testing.T) {
	l := newLab(t, 1500, "good")
	s := &Session{}
	first := 0
	for _, w := range [][2]string{{"2020-01-05", "2020-01-20"}, {"2020-01-20", "2020-02-10"},
		{"2020-01-05", "2020-01-20"}} {
		together, pid, o := l.sessionPlay(s, "good", w[0], w[1])
		if o.Failure != nil {
			t.Fatal(o.Failure)
		}
		if first == 0 {
			first = pid
		}
		apart, other, _ := l.sessionPlay(nil, "good", w[0], w[1])
		if pid != first || other == first || len(together.Trades) == 0 ||
			together.DecisionHash != apart.DecisionHash {
			t.Errorf("%v: processes %d and %d, %d trades, decisions %s and %s", w, pid, other,
				len(together.Trades), together.DecisionHash, apart.DecisionHash)
		}
	}
	folder := s.folder.Path()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Error("the folder of the session is left", err)
	}
}

// TestSessionEndsWithAFailure: what fails ends the process, and the next play gets another.
func TestSessionEndsWithAFailure(t *testing.T) {
	l := newLab(t, 1500, "exits", "panics", "good")
	s := &Session{}
	seen := map[int]bool{}
	for _, c := range []struct{ strategy, code string }{
		{"exits", CodePluginCrashed}, {"exits", CodePluginCrashed}, {"panics", "STRATEGY_ERROR"},
		{"good", ""},
	} {
		_, pid, o := l.sessionPlay(s, c.strategy, "2020-01-05", "2020-02-20")
		if code := codeOfFailure(o); code != c.code || seen[pid] {
			t.Errorf("%s: %q, process %d of %v", c.strategy, code, pid, seen)
		}
		seen[pid] = true
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func codeOfFailure(o runner.Outcome) string {
	if o.Failure == nil {
		return ""
	}
	return o.Failure.Code
}

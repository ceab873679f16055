package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
)

// TestSettle sets up what a crash can leave behind, opens the registry and looks at
// the row, at the folder's place and at the orphans.
func TestSettle(t *testing.T) {
	write := func(s *artifact.Store, run *artifact.Run) error {
		_, err := s.Write(run)
		return err
	}
	unplaced := func(root string) error {
		return os.Rename(filepath.Join(root, "svc_a"), filepath.Join(root, ".tmp-svc_a-1"))
	}
	cases := map[string]struct {
		noRow, noFolder bool
		spoil           func(root string, r *Registry) error
		status          string // of the row afterwards; empty: there is none
		placed          bool
		orphan          string
	}{
		"between folder and row": {status: "completed", placed: true},
		"before the folder":      {noFolder: true, status: "running"},
		"the row is lost":        {noRow: true, status: "completed", placed: true},
		"before the folder is placed": {spoil: func(root string, _ *Registry) error {
			return unplaced(root)
		}, status: "completed", placed: true},
		"unplaced and its row lost": {noRow: true, spoil: func(root string, _ *Registry) error {
			return unplaced(root)
		}, orphan: "tmp-svc_a-1"},
		"half written": {noFolder: true, spoil: func(root string, _ *Registry) error {
			return os.Mkdir(filepath.Join(root, ".tmp-svc_a-1"), 0o700)
		}, status: "running", orphan: "tmp-svc_a-1"},
		"changed": {spoil: func(root string, _ *Registry) error {
			return os.Truncate(filepath.Join(root, "svc_a", "report.json"), 5)
		}, status: "running", orphan: "svc_a"},
		"something else": {noRow: true, noFolder: true, spoil: func(root string, _ *Registry) error {
			return os.Mkdir(filepath.Join(root, "svc_a"), 0o700)
		}, orphan: "svc_a"},
		"capsules of an earlier attempt": {noFolder: true, spoil: func(root string, _ *Registry) error {
			return os.MkdirAll(filepath.Join(root, "svc_a", "capsules"), 0o700)
		}, status: "running", placed: true},
		"under another name": {noRow: true, spoil: func(root string, _ *Registry) error {
			return os.Rename(filepath.Join(root, "svc_a"), filepath.Join(root, "svc_b"))
		}, orphan: "svc_b"},
		"somebody is at it again": {spoil: func(_ string, r *Registry) error {
			return lease(r, "2999-01-01T00:00:00.000Z")
		}, status: "running", placed: true},
		"the lease has run out": {spoil: func(_ string, r *Registry) error {
			return lease(r, "2020-01-01T00:00:00.000Z")
		}, status: "completed", placed: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			store := artifact.NewStore(root)
			run := newRun("svc_a", 1)
			r, err := OpenAt(t.Context(), databaseOf(t, root), store, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !c.noRow {
				err = begin(t.Context(), r, run)
			}
			if !c.noFolder {
				err = errors.Join(err, write(store, run))
			}
			if c.spoil != nil {
				err = errors.Join(err, c.spoil(root, r))
			}
			if err := errors.Join(err, r.Close()); err != nil {
				t.Fatal(err)
			}

			for range 2 { // the second time there is nothing left to do
				r = open(t, root)
				row, err := r.Get(t.Context(), "svc_a")
				if err != nil && !errors.Is(err, ErrNotFound) || row.Status != c.status {
					t.Errorf("row %q, want %q, %v", row.Status, c.status, err)
				}
				if c.status == "completed" {
					if q, err := r.GetRequest(t.Context(), row.RequestHash); err != nil ||
						q.Status != "completed" {
						t.Errorf("%+v, %v", q, err)
					}
				}
				_, err = os.Stat(store.Dir("svc_a"))
				if (err == nil) != c.placed {
					t.Errorf("in place: %v", err)
				}
				orphans, err := filepath.Glob(filepath.Join(root, ".orphan", "*"))
				if want := filepath.Join(root, ".orphan", c.orphan); err != nil ||
					(c.orphan == "") != (len(orphans) == 0) || len(orphans) > 0 && orphans[0] != want {
					t.Errorf("orphans %v, want %v, %v", orphans, want, err)
				}
			}
		})
	}
}

func lease(r *Registry, until string) error {
	return r.db.Tx(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE request_runs SET owner = 'somebody', lease_until = ?`, until)
		return err
	})
}

// evaluated returns a run of the lab, which has a lease.
func evaluated(t *testing.T, r *Registry, attempt int) *artifact.Run {
	t.Helper()
	run := newRun("run_a", 1)
	m, err := artifact.Begun(run)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Claim(t.Context(), m, "first")
	if err != nil || c.Standing != Execute || c.Attempt != attempt {
		t.Fatalf("%+v, %v", c, err)
	}
	run.Attempt = attempt
	return run
}

// TestSettleAfterRenewal: a crash between the new times in metadata.json and those in the
// row is mended by the next open once the lease has run out; what does not verify or has
// another result is left for a person to see.
func TestSettleAfterRenewal(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(dir string) error
		lease   string
		follows bool
		owner   string // afterwards
	}{
		"cut short":   {nil, "2020-01-01T00:00:00.000Z", true, ""},
		"still at it": {nil, "2999-01-01T00:00:00.000Z", false, "somebody"},
		"files changed": {func(dir string) error {
			return os.Remove(filepath.Join(dir, "report.json"))
		}, "2020-01-01T00:00:00.000Z", false, ""},
		"another result": {otherResult, "2020-01-01T00:00:00.000Z", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			r := open(t, root)
			run := evaluated(t, r, 1)
			if err := finish(t.Context(), r, run); err != nil {
				t.Fatal(err)
			}
			before, _, err := artifact.Verify(r.store.Dir("run_a"))
			if err != nil {
				t.Fatal(err)
			}
			run.CompletedAt = run.CompletedAt.Add(time.Hour)
			w, err := r.store.Renew(run, before)
			if err == nil && c.spoil != nil {
				err = c.spoil(r.store.Dir("run_a"))
			}
			if err := errors.Join(err, lease(r, c.lease)); err != nil {
				t.Fatal(err)
			}
			r = open(t, root)
			row, err := r.Get(t.Context(), "run_a")
			if err != nil || (string(row.Payload) == string(w.Payload)) != c.follows ||
				row.Status != "completed" {
				t.Errorf("the row is %s, %v", row.Payload, err)
			}
			if q, err := r.GetRequest(t.Context(), row.RequestHash); err != nil || q.Owner != c.owner ||
				q.Status != "completed" {
				t.Errorf("%+v, %v", q, err)
			}
		})
	}
}

// TestSettleFillsThePlace of an answered run whose folder was cleared for the same one in
// full, and of no other.
func TestSettleFillsThePlace(t *testing.T) {
	for name, c := range map[string]struct {
		until string
		spoil func(dir string) error
		there bool
		left  int // beside it
	}{
		"cut short":      {"2020-01-01T00:00:00.000Z", nil, true, 0},
		"still at it":    {"2999-01-01T00:00:00.000Z", nil, false, 1},
		"another result": {"2020-01-01T00:00:00.000Z", otherResult, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			r := open(t, root)
			err := finish(t.Context(), r, evaluated(t, r, 1))
			place := r.store.Dir("run_a")
			if err == nil && c.spoil != nil {
				err = c.spoil(place)
			}
			if err := errors.Join(err, os.Rename(place, filepath.Join(root, ".tmp-run_a-1")),
				lease(r, c.until)); err != nil {
				t.Fatal(err)
			}
			open(t, root)
			if _, _, err := artifact.Verify(place); (err == nil) != c.there {
				t.Errorf("in place: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(root, ".tmp-*")); len(left) != c.left {
				t.Errorf("left %v", left)
			}
		})
	}
}

func otherResult(dir string) error {
	path := filepath.Join(dir, "metadata.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	m["result_hash"] = strings.Repeat("0", 64)
	if text, err = json.Marshal(m); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// TestSettleAfterReplace: a crash between the old folder and the new one, and a new one
// beside an old one that it was to replace.
func TestSettleAfterReplace(t *testing.T) {
	for name, cleared := range map[string]bool{"cleared": true, "before that": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			r := open(t, root)
			run := evaluated(t, r, 1)
			run.Status = artifact.StatusFailed
			if err := finish(t.Context(), r, run); err != nil {
				t.Fatal(err)
			}
			if err := r.store.AddCapsule("run_a", "fc_a.json", []byte("a")); err != nil {
				t.Fatal(err)
			}
			run = evaluated(t, r, 2)
			place, hidden := r.store.Dir("run_a"), filepath.Join(root, "hidden")
			err := os.CopyFS(hidden, os.DirFS(place))
			if err == nil {
				_, err = r.store.Replace(run)
			}
			err = errors.Join(err, os.Rename(place, filepath.Join(root, ".tmp-run_a-1")))
			if !cleared {
				err = errors.Join(err, os.RemoveAll(filepath.Join(root, ".orphan")),
					os.CopyFS(place, os.DirFS(hidden)))
			}
			if err := errors.Join(err, os.RemoveAll(hidden),
				lease(r, "2020-01-01T00:00:00.000Z")); err != nil {
				t.Fatal(err)
			}
			r = open(t, root)
			m, payload, err := artifact.Verify(place)
			if err != nil || m.Attempt != 2 {
				t.Fatalf("%+v, %v", m, err)
			}
			if row, err := r.Get(t.Context(), "run_a"); err != nil || row.Status != "completed" ||
				string(row.Payload) != string(payload) {
				t.Errorf("%s, %v", row.Status, err)
			}
			if list, err := r.store.Capsules("run_a"); err != nil || string(list["fc_a.json"]) != "a" {
				t.Errorf("%q, %v", list, err)
			}
			if left, _ := filepath.Glob(filepath.Join(root, ".orphan", "*")); len(left) != 1 {
				t.Errorf("orphans %v", left)
			}
		})
	}
}

// TestSettleForgetsOldAttempts: a folder that a killed attempt never put in its place goes
// when a later attempt has ended.
func TestSettleForgetsOldAttempts(t *testing.T) {
	root := t.TempDir()
	r := open(t, root)
	run := evaluated(t, r, 1)
	w, err := r.store.Write(run)
	if err == nil {
		err = errors.Join(os.Rename(r.store.Dir("run_a"), filepath.Join(root, ".tmp-run_a-1")),
			lease(r, "2020-01-01T00:00:00.000Z"))
	}
	if err != nil || w == nil {
		t.Fatal(err)
	}
	if err := finish(t.Context(), r, evaluated(t, r, 2)); err != nil {
		t.Fatal(err)
	}
	open(t, root)
	if left, _ := filepath.Glob(filepath.Join(root, ".tmp-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

package registry

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

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
		"between folder and row":      {status: "completed", placed: true},
		"before the folder":           {noFolder: true, status: "running"},
		"the row is lost":             {noRow: true, status: "completed", placed: true},
		"before the folder is placed": {spoil: func(root string, _ *Registry) error { return unplaced(root) }, status: "completed", placed: true},
		"unplaced and its row lost":   {noRow: true, spoil: func(root string, _ *Registry) error { return unplaced(root) }, orphan: "tmp-svc_a-1"},
		"half written":                {noFolder: true, spoil: func(root string, _ *Registry) error { return os.Mkdir(filepath.Join(root, ".tmp-svc_a-1"), 0o700) }, status: "running", orphan: "tmp-svc_a-1"},
		"changed": {spoil: func(root string, _ *Registry) error {
			return os.Truncate(filepath.Join(root, "svc_a", "report.json"), 5)
		}, status: "running", orphan: "svc_a"},
		"something else": {noRow: true, noFolder: true, spoil: func(root string, _ *Registry) error { return os.Mkdir(filepath.Join(root, "svc_a"), 0o700) }, orphan: "svc_a"},
		"capsules of an earlier attempt": {noFolder: true, spoil: func(root string, _ *Registry) error {
			return os.MkdirAll(filepath.Join(root, "svc_a", "capsules"), 0o700)
		}, status: "running", placed: true},
		"under another name": {noRow: true, spoil: func(root string, _ *Registry) error {
			return os.Rename(filepath.Join(root, "svc_a"), filepath.Join(root, "svc_b"))
		}, orphan: "svc_b"},
		"somebody is at it again": {spoil: func(_ string, r *Registry) error {
			return lease(r, "2999-01-01T00:00:00.000Z")
		}, status: "running", placed: true},
		"the lease has run out": {spoil: func(_ string, r *Registry) error { return lease(r, "2020-01-01T00:00:00.000Z") }, status: "completed", placed: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			store := artifact.NewStore(root)
			run := newRun("svc_a", 1)
			r, err := Open(t.Context(), store, nil)
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
					if q, err := r.GetRequest(t.Context(), row.RequestHash); err != nil || q.Status != "completed" {
						t.Errorf("%+v, %v", q, err)
					}
				}
				_, err = os.Stat(store.Dir("svc_a"))
				if (err == nil) != c.placed {
					t.Errorf("in place: %v", err)
				}
				orphans, err := filepath.Glob(filepath.Join(root, ".orphan", "*"))
				if want := filepath.Join(root, ".orphan", c.orphan); err != nil || (c.orphan == "") != (len(orphans) == 0) || len(orphans) > 0 && orphans[0] != want {
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

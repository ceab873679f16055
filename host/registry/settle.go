package registry

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// standing is what the rows say about a run that may have a folder.
type standing struct {
	known, running, leased bool
	attempt                int
}

// settle goes through the folders whose rows do not say that they are done.
//
// Another process may be at work meanwhile. Adopting a folder in its place does what
// its writer is about to do itself, so doing it twice does no harm.
func (r *Registry) settle(ctx context.Context) (err error) {
	folders, err := r.store.Sweep()
	defer func() {
		for _, f := range folders {
			err = errors.Join(err, f.Release())
		}
	}()
	if err != nil {
		return err
	}
	done, err := r.finished(ctx)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if !f.Temporary && done[f.Name] {
			continue
		}
		if err := r.settleOne(ctx, f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (r *Registry) settleOne(ctx context.Context, f *artifact.Folder) error {
	m, payload, err := f.Verify()
	if err != nil {
		return r.discard(ctx, f, err)
	}
	row, err := r.standing(ctx, m.RunID)
	switch {
	case err != nil:
		return err
	case row.leased || row.attempt > m.Attempt:
		return nil // somebody is at it again
	case f.Temporary && !row.running:
		return r.orphan(f, errors.New("its run has ended without it"))
	case f.Temporary:
		if err := f.Place(m.RunID); errors.Is(err, fs.ErrExist) {
			return r.orphan(f, err)
		} else if err != nil {
			return err
		}
	}
	r.log.Info("adopted the artifacts of a run that was cut short", "run_id", m.RunID, "status", m.Status)
	return r.Complete(ctx, m, payload)
}

// discard moves a folder that does not verify out of the way. One that was never
// finished but has rows holds the capsules of an earlier attempt: it stays.
func (r *Registry) discard(ctx context.Context, f *artifact.Folder, why error) error {
	if !f.Temporary {
		row, err := r.standing(ctx, f.Name)
		if err != nil {
			return err
		}
		if row.leased || row.known && !f.HasMetadata() {
			return nil
		}
	}
	return r.orphan(f, why)
}

func (r *Registry) orphan(f *artifact.Folder, why error) error {
	to, err := f.Orphan()
	if err == nil {
		r.log.Warn("moved a folder out of the way that a crash left behind", "folder", f.Name, "to", to, "reason", why)
	}
	return err
}

// finished is the runs whose rows say that they have ended.
func (r *Registry) finished(ctx context.Context) (done map[string]bool, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT run_id FROM run_metadata WHERE status <> 'running'`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	done = map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		done[id] = true
	}
	return done, rows.Err()
}

func (r *Registry) standing(ctx context.Context, runID string) (standing, error) {
	s := standing{known: true}
	var status, lease string
	err := r.db.Read().QueryRowContext(ctx, `SELECT m.status, COALESCE(q.attempt, 1), COALESCE(q.lease_until, '')
		FROM run_metadata m LEFT JOIN request_runs q ON q.request_hash = m.request_hash AND q.run_id = m.run_id
		WHERE m.run_id = ?`, runID).Scan(&status, &s.attempt, &lease)
	if errors.Is(err, sql.ErrNoRows) {
		return standing{}, nil
	}
	s.running = status == artifact.StatusRunning
	s.leased = s.running && lease > market.FromTime(r.now()).String()
	return s, err
}

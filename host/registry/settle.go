package registry

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// standing is what the rows say about a run that may have a folder.
type standing struct {
	known, running, leased bool
	attempt                int
	owner                  string // of the lease, even of one that has expired
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
		held, ended := done[f.Name]
		switch {
		case f.Temporary || !ended:
			err = r.settleOne(ctx, f)
		case held:
			err = r.settleHeld(ctx, f)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	case f.Temporary && !row.running && row.leased:
		return nil // somebody holds the run
	case f.Temporary && !row.running && !r.fills(ctx, m):
		return r.orphan(f, errors.New("its run has ended without it"))
	case row.leased || row.attempt > m.Attempt:
		return nil // somebody is at it again
	case f.Temporary:
		if err := r.place(f, m); err != nil {
			return err
		}
	}
	r.log.Info("adopted the artifacts of a run that was cut short", "run_id", m.RunID, "status", m.Status)
	return r.Complete(ctx, m, payload)
}

// fills says that a folder is the answer of a run that has ended and whose place is
// empty: the crash came while it was replaced by the same in full.
func (r *Registry) fills(ctx context.Context, m *artifact.Metadata) bool {
	if _, err := os.Lstat(r.store.Dir(m.RunID)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	run, err := r.Get(ctx, m.RunID)
	return err == nil && sameResult(run.Payload, m)
}

// place puts a folder in its place, which one of an earlier attempt may still have: its
// capsules are in the new one already.
func (r *Registry) place(f *artifact.Folder, m *artifact.Metadata) error {
	earlier, _, err := artifact.Verify(r.store.Dir(m.RunID))
	if err == nil && earlier.Attempt >= m.Attempt {
		return r.orphan(f, errors.New("its run has another folder"))
	}
	if err := r.store.Discard(m.RunID); err != nil {
		return err
	}
	return f.Place(m.RunID)
}

// settleHeld looks at a run that somebody has held after it had ended. A crash between
// its new metadata.json and the row leaves the row behind: if the files are sound and
// the result is the same, the row follows.
func (r *Registry) settleHeld(ctx context.Context, f *artifact.Folder) error {
	row, err := r.standing(ctx, f.Name)
	if err != nil || row.leased {
		return err
	}
	run, err := r.Get(ctx, f.Name)
	if err != nil {
		return err
	}
	m, payload, err := f.Verify()
	if err == nil && sameResult(run.Payload, m) {
		if !bytes.Equal(payload, run.Payload) {
			r.log.Info("the row of a run follows its metadata.json", "run_id", m.RunID)
		}
		return r.Complete(ctx, m, payload) // which ends the lease, too
	}
	return r.Release(ctx, run.RequestHash, row.owner)
}

// sameResult says that metadata is about the answer that a row has.
func sameResult(row []byte, m *artifact.Metadata) bool {
	known, err := artifact.DecodeMetadata(row)
	return err == nil && known.RequestHash == m.RequestHash && known.Status == m.Status &&
		known.ResultHash != nil && m.ResultHash != nil && *known.ResultHash == *m.ResultHash
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

// finished is the runs whose rows say that they have ended, and whether somebody has
// or had the lease of one since.
func (r *Registry) finished(ctx context.Context) (held map[string]bool, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT m.run_id, q.owner IS NOT NULL FROM run_metadata m
		LEFT JOIN request_runs q ON q.request_hash = m.request_hash AND q.run_id = m.run_id WHERE m.status <> 'running'`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	held = map[string]bool{}
	for rows.Next() {
		var id string
		var owned bool
		if err := rows.Scan(&id, &owned); err != nil {
			return nil, err
		}
		held[id] = owned
	}
	return held, rows.Err()
}

func (r *Registry) standing(ctx context.Context, runID string) (standing, error) {
	s := standing{known: true}
	var status, lease string
	err := r.db.Read().QueryRowContext(ctx, `SELECT m.status, COALESCE(q.attempt, 1), COALESCE(q.lease_until, ''), COALESCE(q.owner, '')
		FROM run_metadata m LEFT JOIN request_runs q ON q.request_hash = m.request_hash AND q.run_id = m.run_id
		WHERE m.run_id = ?`, runID).Scan(&status, &s.attempt, &lease, &s.owner)
	if errors.Is(err, sql.ErrNoRows) {
		return standing{}, nil
	}
	s.running = status == artifact.StatusRunning
	s.leased = lease > market.FromTime(r.now()).String() && !gone(s.owner)
	return s, err
}

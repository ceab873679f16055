package registry

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// settler brings a registry up to what a crash left on the disk.
type settler struct{ r *Registry }

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
func (w settler) settle(ctx context.Context) (err error) {
	folders, err := w.r.store.Sweep()
	defer func() {
		for _, f := range folders {
			err = errors.Join(err, f.Release())
		}
	}()
	if err != nil {
		return err
	}
	done, err := w.finished(ctx)
	if err != nil {
		return err
	}
	for _, f := range folders {
		held, ended := done[f.Name]
		switch {
		case f.Temporary || !ended:
			err = w.settleOne(ctx, f)
		case held:
			err = w.settleHeld(ctx, f)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (w settler) settleOne(ctx context.Context, f *artifact.Folder) error {
	m, payload, err := f.Verify()
	if err != nil {
		return w.discard(ctx, f, err)
	}
	row, err := w.standing(ctx, m.RunID)
	switch {
	case err != nil:
		return err
	case f.Temporary && !row.running && row.leased:
		return nil // another process holds the run
	case f.Temporary && !row.running && !w.fills(ctx, m):
		return orphan(w.r.log, f, errors.New("its run has ended without it"))
	case row.leased || row.attempt > m.Attempt:
		return nil // another process is at it again
	case f.Temporary:
		if err := w.place(f, m); err != nil {
			return err
		}
	}
	w.r.log.Info("adopted the artifacts of a run that was cut short", "run_id", m.RunID, "status", m.Status)
	return w.r.Complete(ctx, m, payload)
}

// fills reports whether a folder is the answer of a run that has ended and whose place is
// empty: the crash came while it was replaced by the same in full.
func (w settler) fills(ctx context.Context, m *artifact.Metadata) bool {
	if _, err := os.Lstat(w.r.store.Dir(m.RunID)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	run, err := w.r.Get(ctx, m.RunID)
	return err == nil && SameResult(run.Payload, m)
}

// place puts a folder in its place, which one of an earlier attempt may still have: its
// capsules are in the new one already.
func (w settler) place(f *artifact.Folder, m *artifact.Metadata) error {
	earlier, _, err := artifact.Verify(w.r.store.Dir(m.RunID))
	if err == nil && earlier.Attempt >= m.Attempt {
		return orphan(w.r.log, f, errors.New("its run has another folder"))
	}
	if err := w.r.store.Discard(m.RunID); err != nil {
		return err
	}
	return f.Place(m.RunID)
}

// settleHeld looks at a run that was held after it had ended. A crash between
// its new metadata.json and the row leaves the row behind: if the files are sound and
// the result is the same, the row follows.
func (w settler) settleHeld(ctx context.Context, f *artifact.Folder) error {
	row, err := w.standing(ctx, f.Name)
	if err != nil || row.leased {
		return err
	}
	run, err := w.r.Get(ctx, f.Name)
	if err != nil {
		return err
	}
	m, payload, err := f.Verify()
	if err == nil && SameResult(run.Payload, m) {
		if !bytes.Equal(payload, run.Payload) {
			w.r.log.Info("the row of a run follows its metadata.json", "run_id", m.RunID)
		}
		return w.r.Complete(ctx, m, payload) // which ends the lease, too
	}
	return w.r.Release(ctx, run.RequestHash, row.owner)
}

// SameResult reports whether metadata is about the answer that the payload of a row has.
func SameResult(row []byte, m *artifact.Metadata) bool {
	known, err := artifact.DecodeMetadata(row)
	return err == nil && known.RequestHash == m.RequestHash && known.Status == m.Status &&
		known.ResultHash != nil && m.ResultHash != nil && *known.ResultHash == *m.ResultHash
}

// discard moves a folder that does not verify out of the way. One that was never
// finished but has rows holds the capsules of an earlier attempt: it stays.
func (w settler) discard(ctx context.Context, f *artifact.Folder, why error) error {
	if !f.Temporary {
		row, err := w.standing(ctx, f.Name)
		if err != nil {
			return err
		}
		if row.leased || row.known && !f.HasMetadata() {
			return nil
		}
	}
	return orphan(w.r.log, f, why)
}

func orphan(log hclog.Logger, f *artifact.Folder, why error) error {
	to, err := f.Orphan()
	if err == nil {
		log.Warn("moved a folder out of the way that a crash left behind", "folder", f.Name, "to", to,
			"reason", why)
	}
	return err
}

// finished returns the runs whose rows say that they have ended, and whether a process has
// or had the lease of one since.
func (w settler) finished(ctx context.Context) (map[string]bool, error) {
	type ended struct {
		id   string
		held bool
	}
	fields := func(e *ended) []any { return []any{&e.id, &e.held} }
	list, err := collect(ctx, w.r.db.Read(), fields, `SELECT m.run_id, q.owner IS NOT NULL FROM run_metadata m
		LEFT JOIN request_runs q ON q.request_hash = m.request_hash
		AND q.run_id = m.run_id WHERE m.status <> 'running'`)
	held := map[string]bool{}
	for _, e := range list {
		held[e.id] = e.held
	}
	return held, err
}

func (w settler) standing(ctx context.Context, runID string) (standing, error) {
	s := standing{known: true}
	var status, lease string
	err := w.r.db.Read().QueryRowContext(ctx,
		`SELECT m.status, COALESCE(q.attempt, 1), COALESCE(q.lease_until, ''), COALESCE(q.owner, '')
		FROM run_metadata m LEFT JOIN request_runs q ON q.request_hash = m.request_hash
		AND q.run_id = m.run_id
		WHERE m.run_id = ?`, runID).Scan(&status, &s.attempt, &lease, &s.owner)
	if errors.Is(err, sql.ErrNoRows) {
		return standing{}, nil
	}
	s.running = status == artifact.StatusRunning
	s.leased = lease > market.FromTime(w.r.now()).String() && !gone(s.owner)
	return s, err
}

package registry

import (
	"context"
	"database/sql"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Begin makes the rows of a run that begins, from artifact.Begun. The error is an
// *ExistsError when the run id is taken. The first run of a request stays the one
// that answers it.
func (r *Registry) Begin(ctx context.Context, m *artifact.Metadata) error {
	payload, err := m.Encode()
	if err != nil {
		return err
	}
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		added, err := affected(insertMetadata(ctx, tx, m, payload, `ON CONFLICT (run_id) DO NOTHING`))
		if err != nil {
			return err
		}
		if added == 0 {
			return &ExistsError{RunID: m.RunID}
		}
		return insertRequest(ctx, tx, m, `ON CONFLICT (request_hash) DO NOTHING`)
	})
}

// Complete ends both rows of a run whose files are in place; payload is the bytes of
// its metadata.json. Rows that are missing are made.
func (r *Registry) Complete(ctx context.Context, m *artifact.Metadata, payload []byte) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error { return end(ctx, tx, m, payload) })
}

// Fail ends both rows of a run that has no files.
func (r *Registry) Fail(ctx context.Context, m *artifact.Metadata, why *artifact.Failure) error {
	failed := *m
	failed.Fail(why, r.now())
	payload, err := failed.Encode()
	if err != nil {
		return err
	}
	return r.db.Tx(ctx, func(tx *sql.Tx) error { return end(ctx, tx, &failed, payload) })
}

func end(ctx context.Context, tx *sql.Tx, m *artifact.Metadata, payload []byte) error {
	_, err := insertMetadata(ctx, tx, m, payload, `ON CONFLICT (run_id) DO UPDATE
		SET status = excluded.status, completed_at = excluded.completed_at, payload = excluded.payload,
		plan_id = excluded.plan_id, trial_index = excluded.trial_index`)
	if err != nil {
		return err
	}
	// Rows of the same request that belong to another run keep their state.
	return insertRequest(ctx, tx, m, `ON CONFLICT (request_hash) DO UPDATE
		SET status = excluded.status, owner = NULL, lease_until = NULL, updated_at = excluded.updated_at
		WHERE run_id = excluded.run_id`)
}

func insertMetadata(ctx context.Context, tx *sql.Tx, m *artifact.Metadata, payload []byte, conflict string) (sql.Result, error) {
	return tx.ExecContext(ctx, `INSERT INTO run_metadata
		(run_id, request_hash, slug, family_id, kind, status, trial_key, plan_id, trial_index, completed_at, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) `+conflict,
		m.RunID, m.RequestHash, m.Slug, m.FamilyID, m.Kind, m.Status, orNull(m.TrialKey), m.PlanID, m.TrialIndex,
		timeOrNull(m.Volatile.CompletedAt), payload)
}

func insertRequest(ctx context.Context, tx *sql.Tx, m *artifact.Metadata, conflict string) error {
	updated := m.Volatile.CompletedAt
	if updated == 0 {
		updated = m.Volatile.StartedAt
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO request_runs
		(request_hash, run_id, kind, status, attempt, owner, lease_until, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, NULL, NULL, ?, ?) `+conflict,
		m.RequestHash, m.RunID, m.Kind, m.Status, m.Attempt, m.Volatile.StartedAt.String(), updated.String())
	return err
}

// InterruptService marks the runs of the service that are still running as failed,
// RUN_INTERRUPTED, and returns them. Call it when the service starts, before its
// first run: whoever had them is gone.
func (r *Registry) InterruptService(ctx context.Context) ([]*artifact.Metadata, error) {
	var marked []*artifact.Metadata
	now := r.now()
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		rows, err := unfinished(ctx, tx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			m, err := artifact.DecodeMetadata(row.Payload)
			if err != nil {
				return err
			}
			m.Fail(interruption(), now)
			payload, err := m.Encode()
			if err != nil {
				return err
			}
			if err := end(ctx, tx, m, payload); err != nil {
				return err
			}
			marked = append(marked, m)
		}
		return nil
	})
	if err != nil {
		return nil, explain(err, r.store)
	}
	for _, m := range marked {
		r.log.Warn("a run was cut short when the service ended", "run_id", m.RunID, "slug", m.Slug)
	}
	return marked, nil
}

func interruption() *artifact.Failure {
	return &artifact.Failure{
		Code: "RUN_INTERRUPTED", Message: "The service ended without warning while the run was on.",
		LogTail: []string{}, Data: map[string]any{},
	}
}

func unfinished(ctx context.Context, tx *sql.Tx) ([]Run, error) {
	rows, err := tx.QueryContext(ctx, selectRun+`WHERE status = 'running' AND kind = 'service' ORDER BY run_id`)
	if err != nil {
		return nil, err
	}
	return collect(rows)
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNull(t market.Time) any {
	if t == 0 {
		return nil
	}
	return t.String()
}

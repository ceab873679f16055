package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Run is a row of run_metadata.
type Run struct {
	RunID, RequestHash, Slug, FamilyID, Kind, Status string
	// TrialKey, PlanID and CompletedAt are empty where there is none.
	TrialKey, PlanID string
	TrialIndex       sql.NullInt64
	CompletedAt      string
	// Payload is the bytes of metadata.json; artifact.DecodeMetadata reads them.
	Payload []byte
}

// Request is a row of request_runs.
type Request struct {
	RequestHash, RunID, Kind, Status string
	Attempt                          int
	Owner, LeaseUntil                string // empty where there is none
	CreatedAt, UpdatedAt             string
}

// Filter narrows ListMetadata; empty fields mean everything.
type Filter struct {
	Slug, FamilyID, Kind, Status string
}

const selectRun = `SELECT run_id, request_hash, slug, family_id, kind, status, COALESCE(trial_key, ''),
	COALESCE(plan_id, ''), trial_index, COALESCE(completed_at, ''), payload FROM run_metadata `

// ListMetadata lists runs by completed_at, then run_id; running ones come last.
func (r *Registry) ListMetadata(ctx context.Context, f Filter) ([]Run, error) {
	rows, err := r.db.Read().QueryContext(ctx, selectRun+`
		WHERE ?1 IN ('', slug) AND ?2 IN ('', family_id) AND ?3 IN ('', kind) AND ?4 IN ('', status)
		ORDER BY completed_at IS NULL, completed_at, run_id`, f.Slug, f.FamilyID, f.Kind, f.Status)
	if err != nil {
		return nil, err
	}
	return collect(rows)
}

// Get is one run. The error is ErrNotFound if there is none.
func (r *Registry) Get(ctx context.Context, runID string) (Run, error) {
	rows, err := r.db.Read().QueryContext(ctx, selectRun+`WHERE run_id = ?`, runID)
	if err != nil {
		return Run{}, err
	}
	runs, err := collect(rows)
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 {
		return Run{}, fmt.Errorf("run %s: %w", runID, ErrNotFound)
	}
	return runs[0], nil
}

// GetRequest is the row of a request. The error is ErrNotFound if nobody asked it.
func (r *Registry) GetRequest(ctx context.Context, requestHash string) (Request, error) {
	q := Request{}
	err := r.db.Read().QueryRowContext(ctx, `SELECT request_hash, run_id, kind, status, attempt, COALESCE(owner, ''),
		COALESCE(lease_until, ''), created_at, updated_at FROM request_runs WHERE request_hash = ?`, requestHash).
		Scan(&q.RequestHash, &q.RunID, &q.Kind, &q.Status, &q.Attempt, &q.Owner, &q.LeaseUntil, &q.CreatedAt, &q.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("request %s: %w", requestHash, ErrNotFound)
	}
	return q, err
}

// collect reads rows of selectRun and closes them.
func collect(rows *sql.Rows) (runs []Run, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		m := Run{}
		err := rows.Scan(&m.RunID, &m.RequestHash, &m.Slug, &m.FamilyID, &m.Kind, &m.Status, &m.TrialKey,
			&m.PlanID, &m.TrialIndex, &m.CompletedAt, &m.Payload)
		if err != nil {
			return nil, err
		}
		runs = append(runs, m)
	}
	return runs, rows.Err()
}

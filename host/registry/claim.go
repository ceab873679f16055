package registry

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Lease is how long the executor of a request may be silent, and how often a
// lease is renewed.
const (
	Lease      = 30 * time.Second
	LeaseRenew = 10 * time.Second
)

// Standing is how it stands with a request.
type Standing int

// The standings of a request.
const (
	// Execute: it has no answer; the caller holds the lease now.
	Execute Standing = iota
	// Answered: a completed run is there.
	Answered
	// Busy: another process holds the lease.
	Busy
)

// Claim is the answer to a wish to execute a request.
type Claim struct {
	Standing Standing
	RunID    string
	// Attempt counts from 1; it is the caller's if it may execute.
	Attempt int
	// Owner and Until are those of the lease that makes the request Busy. Of an answered
	// request that the caller has come to hold, Owner is who was cut short holding it.
	Owner string
	Until time.Time
}

// CollisionError means that a run id belongs to another request already.
type CollisionError struct{ RunID, Want, Have string }

// Error names both requests.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("run id %s stands for request %s already, it cannot stand for %s too", e.RunID, e.Have,
		e.Want)
}

// Claim gives the caller the right to execute a request, from artifact.Begun, unless it is
// answered or another process is at it. A lease that has expired or whose holder has
// ended, a failed run and a row that was imported without its files are taken over as the
// next attempt. The holder renews the lease every LeaseRenew and ends it through Complete,
// Fail or Abandon.
func (r *Registry) Claim(ctx context.Context, m *artifact.Metadata, owner string) (Claim, error) {
	var c Claim
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		now := r.now()
		row, err := requestRow(ctx, tx, m.RequestHash)
		if err != nil {
			return err
		}
		if c = standingOf(row, m.RunID, now); c.Standing != Execute {
			return nil
		}
		if err := noCollision(ctx, tx, m); err != nil {
			return err
		}
		m.Attempt = c.Attempt
		payload, err := m.Encode()
		if err != nil {
			return err
		}
		_, err = insertMetadata(ctx, tx, m, payload, `ON CONFLICT (run_id) DO UPDATE
			SET status = excluded.status, completed_at = NULL, payload = excluded.payload,
			kind = excluded.kind, trial_key = excluded.trial_key,
			request_hash = excluded.request_hash, slug = excluded.slug, family_id = excluded.family_id,
			plan_id = excluded.plan_id,
			trial_index = excluded.trial_index`)
		if err != nil {
			return err
		}
		q := requestOf(m)
		q.Status, q.Owner = artifact.StatusRunning, owner
		q.LeaseUntil, q.CreatedAt = market.FromTime(now.Add(Lease)).String(), market.FromTime(now).String()
		q.UpdatedAt = q.CreatedAt
		_, err = insertRequest(ctx, tx, q, `ON CONFLICT (request_hash) DO UPDATE
			SET run_id = excluded.run_id, kind = excluded.kind, status = excluded.status,
			attempt = excluded.attempt, owner = excluded.owner, lease_until = excluded.lease_until,
			updated_at = excluded.updated_at`)
		return err
	})
	return c, because(err, r.store.Root())
}

// Foresee returns what Claim would find now, and changes nothing.
func Foresee(ctx context.Context, r *Registry, requestHash string) (Claim, error) {
	row, err := r.GetRequest(ctx, requestHash)
	if errors.Is(err, ErrNotFound) {
		return Claim{Standing: Execute, Attempt: 1}, nil
	}
	return standingOf(&row, row.RunID, r.now()), err
}

// requestRow returns the row of a request, nil if there is none.
func requestRow(ctx context.Context, tx *sql.Tx, hash string) (*Request, error) {
	q := &Request{}
	err := tx.QueryRowContext(ctx, selectRequest, hash).Scan(requestFields(q)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return q, err
}

// KindLegacy is the kind of rows from the time before the registry.
const KindLegacy = "legacy"

func standingOf(row *Request, runID string, now time.Time) Claim {
	c := Claim{Standing: Execute, RunID: runID, Attempt: 1}
	if row == nil {
		return c
	}
	until, err := market.ParseTime(row.LeaseUntil)
	switch {
	case row.Kind == KindLegacy:
		return c
	case row.Status == artifact.StatusCompleted:
		return Claim{Standing: Answered, RunID: row.RunID, Attempt: row.Attempt}
	case row.Status == artifact.StatusRunning && err == nil && until.Time().After(now) && !gone(row.Owner):
		return Claim{Standing: Busy, RunID: row.RunID, Attempt: row.Attempt, Owner: row.Owner,
			Until: until.Time()}
	}
	c.Attempt = row.Attempt + 1
	return c
}

func noCollision(ctx context.Context, tx *sql.Tx, m *artifact.Metadata) error {
	var have, kind string
	err := tx.QueryRowContext(ctx, `SELECT request_hash, kind FROM run_metadata WHERE run_id = ?`,
		m.RunID).Scan(&have, &kind)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case have != m.RequestHash && kind != KindLegacy:
		return &CollisionError{RunID: m.RunID, Want: m.RequestHash, Have: have}
	}
	return nil
}

// ErrLeaseLost means that another process executes the request by now.
var ErrLeaseLost = errors.New("the lease of the request was lost: another process has taken it over")

// Renew prolongs the owner's lease. The error is ErrLeaseLost if it is not the
// owner's any more.
func (r *Registry) Renew(ctx context.Context, requestHash, owner string) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, `UPDATE request_runs SET lease_until = ?
			WHERE request_hash = ? AND owner = ?`, market.FromTime(r.now().Add(Lease)).String(), requestHash,
			owner))
		if err == nil && n == 0 {
			err = ErrLeaseLost
		}
		return err
	})
}

// Hold gives the caller the lease of a request that is answered, so that no other process
// writes to its run meanwhile; those who only read it are not kept waiting. The standing
// is Answered when the caller has it, Busy when another process does, and Execute when
// there is no answer, which is for Claim. The holder renews the lease every LeaseRenew
// and ends it through Complete, Reopen or Release.
func (r *Registry) Hold(ctx context.Context, requestHash, owner string) (Claim, error) {
	var c Claim
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		row, err := requestRow(ctx, tx, requestHash)
		if err != nil {
			return err
		}
		if row == nil || row.Kind == KindLegacy || row.Status != artifact.StatusCompleted {
			c = Claim{Standing: Execute}
			return nil
		}
		now := r.now()
		c = Claim{Standing: Answered, RunID: row.RunID, Attempt: row.Attempt, Owner: row.Owner}
		if until, err := market.ParseTime(row.LeaseUntil); err == nil && row.Owner != owner &&
			until.Time().After(now) && !gone(row.Owner) {
			c.Standing, c.Until = Busy, until.Time()
			return nil
		}
		_, err = tx.ExecContext(ctx,
			`UPDATE request_runs SET owner = ?, lease_until = ? WHERE request_hash = ?`,
			owner, market.FromTime(now.Add(Lease)).String(), requestHash)
		return err
	})
	return c, err
}

// Release ends the owner's lease of an answered request. It does nothing when
// the lease is not the owner's any more.
func (r *Registry) Release(ctx context.Context, requestHash, owner string) error {
	return r.exec(ctx, `UPDATE request_runs SET owner = NULL, lease_until = NULL
		WHERE request_hash = ? AND owner = ? AND status = 'completed'`, requestHash, owner)
}

// Abandon takes back a claim of a run that leaves nothing behind, as when it was
// interrupted: its rows go.
func (r *Registry) Abandon(ctx context.Context, m *artifact.Metadata, owner string) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx,
			`DELETE FROM request_runs WHERE request_hash = ? AND owner = ? AND status = 'running'`,
			m.RequestHash, owner))
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM run_metadata WHERE run_id = ? AND status = 'running'`,
			m.RunID)
		return err
	})
}

// Reopen lets a completed run be executed again, because its files are not what they
// were. The next Claim gets it.
func (r *Registry) Reopen(ctx context.Context, runID string) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, query := range []string{
			`UPDATE request_runs SET status = 'failed', owner = NULL, lease_until = NULL WHERE run_id = ?`,
			`UPDATE run_metadata SET status = 'failed' WHERE run_id = ?`,
		} {
			if _, err := tx.ExecContext(ctx, query, runID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Plan is a registered search: a row of plans.
type Plan struct {
	// Hash is the SHA-256 of Payload in lower-case hex, ID the plan's name.
	Hash, ID       string
	Slug, FamilyID string
	// Author is who registered it, RegisteredAt when, like 2024-01-01T00:00:00.000Z;
	// RegisterPlan sets the time.
	Author, RegisteredAt string
	// Amends is the hash of the plan that this one changes, empty for a first one.
	Amends string
	// Payload is the bytes of plan.json.
	Payload []byte
}

const selectPlan = `SELECT plan_hash, plan_id, slug, family_id, author, registered_at, COALESCE(amends,
	''), payload FROM plans `

// RegisterPlan writes a plan down before anything of it is executed. One that is there
// already stays as it is, with its author and time; added reports whether it is new.
func (r *Registry) RegisterPlan(ctx context.Context, p Plan) (added bool, err error) {
	err = r.db.Tx(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx,
			`INSERT INTO plans (plan_hash, plan_id, slug, family_id, author, registered_at, amends, payload)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (plan_hash) DO NOTHING`,
			p.Hash, p.ID, p.Slug, p.FamilyID, p.Author, market.FromTime(r.now()).String(), orNull(p.Amends),
			p.Payload))
		added = n == 1
		if err != nil || added {
			return err
		}
		var known []byte
		if err := tx.QueryRowContext(ctx, `SELECT payload FROM plans WHERE plan_hash = ?`,
			p.Hash).Scan(&known); err != nil {
			return err
		}
		if !bytes.Equal(known, p.Payload) {
			return fmt.Errorf("plan %s is registered with other bytes", p.ID)
		}
		return nil
	})
	return added, err
}

// Plans lists the plans of a strategy, oldest first.
func (r *Registry) Plans(ctx context.Context, slug string) ([]Plan, error) {
	return collect(ctx, r.db.Read(), planFields, selectPlan+`WHERE slug = ? ORDER BY registered_at, plan_id`,
		slug)
}

func planFields(p *Plan) []any {
	return []any{&p.Hash, &p.ID, &p.Slug, &p.FamilyID, &p.Author, &p.RegisteredAt, &p.Amends, &p.Payload}
}

// AmbiguousError means that several plans begin alike.
type AmbiguousError struct {
	Name string
	IDs  []string
}

// Error lists them.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q stands for %d plans: %s", e.Name, len(e.IDs), strings.Join(e.IDs, ", "))
}

// FindPlan returns the plan of a strategy that a name stands for: its id, its hash, or the
// beginning of one of them that no other plan of the strategy has. The error is
// ErrNotFound or an *AmbiguousError.
func (r *Registry) FindPlan(ctx context.Context, slug, name string) (Plan, error) {
	list, err := collect(ctx, r.db.Read(), planFields, selectPlan+`WHERE slug = ?1 AND ?2 <> '' AND (
		substr(plan_id, 1, length(?2)) = ?2 OR substr(plan_hash, 1,
		length(?2)) = ?2) ORDER BY registered_at, plan_id`, slug, name)
	switch {
	case err != nil:
		return Plan{}, err
	case len(list) == 0:
		return Plan{}, fmt.Errorf("plan %s: %w", name, ErrNotFound)
	case len(list) == 1:
		return list[0], nil
	}
	found := &AmbiguousError{Name: name}
	for _, p := range list {
		if p.ID == name {
			return p, nil
		}
		found.IDs = append(found.IDs, p.ID)
	}
	return Plan{}, found
}

package registry

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

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

const selectPlan = `SELECT plan_hash, plan_id, slug, family_id, author, registered_at, COALESCE(amends, ''), payload FROM plans `

// RegisterPlan writes a plan down before anything of it is executed. One that is there
// already stays as it is, with its author and time; added says whether it is new.
func (r *Registry) RegisterPlan(ctx context.Context, p Plan) (added bool, err error) {
	err = r.db.Tx(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, `INSERT INTO plans (plan_hash, plan_id, slug, family_id, author, registered_at, amends, payload)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (plan_hash) DO NOTHING`,
			p.Hash, p.ID, p.Slug, p.FamilyID, p.Author, market.FromTime(r.now()).String(), orNull(p.Amends), p.Payload))
		added = n == 1
		if err != nil || added {
			return err
		}
		var known []byte
		if err := tx.QueryRowContext(ctx, `SELECT payload FROM plans WHERE plan_hash = ?`, p.Hash).Scan(&known); err != nil {
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
	rows, err := r.db.Read().QueryContext(ctx, selectPlan+`WHERE slug = ? ORDER BY registered_at, plan_id`, slug)
	if err != nil {
		return nil, err
	}
	return collectPlans(rows)
}

// AmbiguousError says that several plans begin alike.
type AmbiguousError struct {
	Name string
	IDs  []string
}

// Error lists them.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q stands for %d plans: %s", e.Name, len(e.IDs), strings.Join(e.IDs, ", "))
}

// FindPlan is the plan of a strategy that a name stands for: its id, its hash, or the
// beginning of one of them that no other plan of the strategy has. The error is
// ErrNotFound or an *AmbiguousError.
func (r *Registry) FindPlan(ctx context.Context, slug, name string) (Plan, error) {
	rows, err := r.db.Read().QueryContext(ctx, selectPlan+`WHERE slug = ?1 AND ?2 <> '' AND (
		substr(plan_id, 1, length(?2)) = ?2 OR substr(plan_hash, 1, length(?2)) = ?2) ORDER BY registered_at, plan_id`, slug, name)
	if err != nil {
		return Plan{}, err
	}
	list, err := collectPlans(rows)
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

func collectPlans(rows *sql.Rows) (list []Plan, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p Plan
		if err := rows.Scan(&p.Hash, &p.ID, &p.Slug, &p.FamilyID, &p.Author, &p.RegisteredAt, &p.Amends, &p.Payload); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

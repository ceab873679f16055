package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Peek is one look at the locked test metrics of a run: a row of test_peeks.
type Peek struct {
	// At is when the registry was told, like 2024-01-01T00:00:00.000Z; Peek sets it.
	At string
	// FamilyID is that of the test that was looked at, RunID the run through which.
	RunID, FamilyID string
	// Command is what was called, Author who called it.
	Command, Author string
}

// Peek notes a look at test metrics. It is told before they are shown, so that a
// crash between the two counts one look too many and never one too few.
func (r *Registry) Peek(ctx context.Context, p Peek) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO test_peeks (at, run_id, family_id, command, author) VALUES (?, ?, ?, ?, ?)`,
			market.FromTime(r.now()).String(), p.RunID, p.FamilyID, p.Command, p.Author)
		return err
	})
}

// Peeks lists the looks at the test metrics of a family, oldest first.
func (r *Registry) Peeks(ctx context.Context, familyID string) (peeks []Peek, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT at, run_id, family_id, command, author FROM test_peeks
		WHERE family_id = ? ORDER BY id`, familyID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p Peek
		if err := rows.Scan(&p.At, &p.RunID, &p.FamilyID, &p.Command, &p.Author); err != nil {
			return nil, err
		}
		peeks = append(peeks, p)
	}
	return peeks, rows.Err()
}

// PostPeek says whether a trial would be new to a family whose test metrics somebody
// has seen: no request with its trial key was made before the first look. A request
// keeps the time at which it was first made however often it is executed again, so the
// answer for a run does not change. Looks through own, the run itself or its plan, do not
// count: nobody has seen them before it.
func (r *Registry) PostPeek(ctx context.Context, familyID, trialKey string, own ...string) (post bool, err error) {
	names, err := json.Marshal(append([]string{}, own...))
	if err != nil {
		return false, err
	}
	err = r.db.Read().QueryRowContext(ctx, `WITH looks AS (SELECT at FROM test_peeks WHERE family_id = ?1 AND run_id NOT IN (SELECT value FROM json_each(?3)))
		SELECT EXISTS (SELECT 1 FROM looks) AND NOT EXISTS (
			SELECT 1 FROM run_metadata m JOIN request_runs q ON q.request_hash = m.request_hash
			WHERE m.family_id = ?1 AND m.trial_key = ?2 AND m.kind IN ('run', 'trial')
			AND q.created_at < (SELECT MIN(at) FROM looks)
		)`, familyID, trialKey, string(names)).Scan(&post)
	return post, err
}

package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Note is what people have written on a run: a row of run_notes. Version counts its changes and
// is 0 for a run without one.
type Note struct {
	RunID   string
	Version int
	Tags    []string
	Text    string
}

// Overview is the part of a registry that reads whole tables at once, each by one query, and
// writes the notes of people.
type Overview struct{ r *Registry }

// Overview is the registry's whole tables.
func (r *Registry) Overview() Overview { return Overview{r} }

// ErrStale means that a note was changed since it was read.
var ErrStale = errors.New("the note was changed since it was read")

// Notes returns every note, by run.
func (o Overview) Notes(ctx context.Context) (map[string]Note, error) {
	type row struct {
		Note
		tags string
	}
	fields := func(n *row) []any { return []any{&n.RunID, &n.Version, &n.tags, &n.Text} }
	rows, err := collect(ctx, o.r.db.Read(), fields, `SELECT run_id, version, tags, note FROM run_notes`)
	all := make(map[string]Note, len(rows))
	for _, n := range rows {
		if bad := json.Unmarshal([]byte(n.tags), &n.Tags); bad != nil {
			return nil, fmt.Errorf("tags of run %s: %w", n.RunID, bad)
		}
		all[n.RunID] = n.Note
	}
	return all, err
}

// SetNote replaces the note of a run if its version is still that of n, and returns the new one.
// The error is ErrStale if it is not, ErrNotFound if there is no such run.
func (o Overview) SetNote(ctx context.Context, n Note) (Note, error) {
	tags, err := json.Marshal(append([]string{}, n.Tags...))
	if err != nil {
		return Note{}, err
	}
	err = o.r.db.Tx(ctx, func(tx *sql.Tx) error {
		var known bool
		var version int
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM run_metadata WHERE run_id = ?1),
			COALESCE((SELECT version FROM run_notes WHERE run_id = ?1), 0)`,
			n.RunID).Scan(&known, &version); err != nil {
			return err
		}
		switch {
		case !known:
			return fmt.Errorf("run %s: %w", n.RunID, ErrNotFound)
		case version != n.Version:
			return ErrStale
		}
		n.Version++
		_, err := tx.ExecContext(ctx, `INSERT INTO run_notes (run_id, version, tags, note, changed_at)
			VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE SET version = excluded.version,
			tags = excluded.tags, note = excluded.note, changed_at = excluded.changed_at`,
			n.RunID, n.Version, string(tags), n.Text, market.FromTime(o.r.now()).String())
		return err
	})
	return n, err
}

// Mark shows whether a row of run_metadata has changed: equal marks mean equal rows.
type Mark struct {
	RunID, Status, CompletedAt string
	Size                       int
}

// Marks lists the marks of all runs, in the order of ListMetadata.
func (o Overview) Marks(ctx context.Context) ([]Mark, error) {
	fields := func(m *Mark) []any { return []any{&m.RunID, &m.Status, &m.CompletedAt, &m.Size} }
	return collect(ctx, o.r.db.Read(), fields, `SELECT run_id, status, COALESCE(completed_at, ''),
		length(payload) FROM run_metadata ORDER BY completed_at IS NULL, completed_at, run_id`)
}

// Runs returns those of the runs that there are, by one query.
func (o Overview) Runs(ctx context.Context, runIDs []string) ([]Run, error) {
	ids, err := json.Marshal(append([]string{}, runIDs...))
	if err != nil {
		return nil, err
	}
	return collect(ctx, o.r.db.Read(), runFields,
		selectRun+`WHERE run_id IN `+o.r.each("?")+` ORDER BY run_id`, string(ids))
}

// Plans lists the plans of every strategy, oldest first.
func (o Overview) Plans(ctx context.Context) ([]Plan, error) {
	return collect(ctx, o.r.db.Read(), planFields, selectPlan+`ORDER BY registered_at, plan_id`)
}

// Reveals counts the looks at the test metrics of each run, by run.
func (o Overview) Reveals(ctx context.Context) (map[string]int, error) {
	type row struct {
		id string
		n  int
	}
	rows, err := collect(ctx, o.r.db.Read(), func(c *row) []any { return []any{&c.id, &c.n} },
		`SELECT run_id, COUNT(*) FROM test_peeks WHERE command NOT IN ('`+LookRun+`', '`+LookFamily+`', '`+
			LookBacktest+`') GROUP BY run_id`)
	looks := make(map[string]int, len(rows))
	for _, c := range rows {
		looks[c.id] = c.n
	}
	return looks, err
}

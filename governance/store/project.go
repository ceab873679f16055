package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/promotion"
)

// revision is a row of the table revisions.
type revision struct {
	id, candidate, family, strategy, deployable string
	first, newest                               int64
}

// projections are the projection tables as they should be; each row is its columns in the
// order of the table, in the order of its primary key.
type projections map[string][][]any

// tables are the projection tables with their columns.
var tables = []struct {
	name, key string
	columns   []string
}{
	{"facts", "seq, ord", []string{"seq", "ord", "fact_id", "type", "candidate_revision_id", "run_id", "body"}},
	{"revisions", "candidate_revision_id", []string{"candidate_revision_id", "candidate_id", "family_id", "strategy_name", "deployable_id", "first_seq", "newest_seq"}},
	{"promotion_state", "candidate_revision_id", []string{"candidate_revision_id", "stage", "stage_status"}},
	{"projection", "name", []string{"name", "value"}},
}

func factRow(ord int, f *promotion.Fact) ([]any, error) {
	body, err := f.Encode()
	if err != nil {
		return nil, err
	}
	return []any{f.Seq, int64(ord), f.ID, string(f.Type), f.Revision, f.Run, string(body)}, nil
}

func (r *revision) row() []any {
	return []any{r.id, r.candidate, r.family, r.strategy, r.deployable, r.first, r.newest}
}

func stateRow(w *promotion.World, id string) []any {
	p, _ := w.Place(id)
	return []any{id, string(p.Stage), string(p.Status)}
}

// heads are the rows of the table projection.
func (d *derived) heads() [][]any {
	return [][]any{{"log_size", fmt.Sprint(d.size)}, {"policy_digest", d.world.Policy().Digest}, {"trust_digest", d.trustDigest()}}
}

// standing are the rows of all tables but facts.
func (d *derived) standing() projections {
	p := projections{"projection": d.heads()}
	for _, id := range slices.Sorted(maps.Keys(d.revisions)) {
		p["revisions"] = append(p["revisions"], d.revisions[id].row())
		p["promotion_state"] = append(p["promotion_state"], stateRow(d.world, id))
	}
	return p
}

// put writes rows; those of projections replace the ones with the same key.
func put(ctx context.Context, tx *sql.Tx, table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	const most = 100 // rows in one statement
	for part := range slices.Chunk(rows, most) {
		one := "(" + strings.TrimSuffix(strings.Repeat("?,", len(part[0])), ",") + ")"
		verb := "INSERT INTO "
		if isProjection(table) {
			verb = "INSERT OR REPLACE INTO "
		}
		query := verb + table + " VALUES " + one + strings.Repeat(","+one, len(part)-1)
		if _, err := tx.ExecContext(ctx, query, slices.Concat(part...)...); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return nil
}

// factReader compares the table facts with facts as they come.
type factReader struct {
	rows *sql.Rows
	diff []string
}

// maxDifferences is how many differences are told one by one.
const maxDifferences = 10

func (f *factReader) observe(facts [][]any) error {
	for _, want := range facts {
		if !f.rows.Next() {
			if err := f.rows.Err(); err != nil {
				return err
			}
			f.tell(fmt.Sprintf("facts: %d/%d is missing", want[0], want[1]))
			continue
		}
		got, err := scanRow(f.rows, len(want))
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			f.tell(fmt.Sprintf("facts: %d/%d differs", want[0], want[1]))
		}
	}
	return nil
}

func (f *factReader) tell(s string) {
	if len(f.diff) < maxDifferences {
		f.diff = append(f.diff, s)
	}
}

func scanRow(rows *sql.Rows, n int) ([]any, error) {
	got := make([]any, n)
	into := make([]any, n)
	for i := range got {
		into[i] = &got[i]
	}
	err := rows.Scan(into...)
	return got, err
}

// compare derives everything and says in which rows the projections differ from it.
func compare(ctx context.Context, db *sql.DB, origin string, keys *Keys) (*derived, []string, error) {
	rows, err := db.QueryContext(ctx, `SELECT seq, ord, fact_id, type, candidate_revision_id, run_id, body FROM facts ORDER BY seq, ord`)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	reader := &factReader{rows: rows}
	d, err := derive(ctx, db, origin, keys, reader.observe)
	if err != nil {
		return d, nil, err
	}
	if rows.Next() {
		reader.tell("facts: rows that no entry makes")
	}
	if err := rows.Err(); err != nil {
		return d, nil, err
	}
	want := d.standing()
	for _, t := range tables[1:] {
		if err := compareTable(ctx, db, t.name, t.key, t.columns, want[t.name], reader.tell); err != nil {
			return d, nil, err
		}
	}
	return d, reader.diff, nil
}

func compareTable(ctx context.Context, db *sql.DB, name, key string, columns []string, want [][]any, tell func(string)) error {
	rows, err := db.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+name+" ORDER BY "+key)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		got, err := scanRow(rows, len(columns))
		if err != nil {
			return err
		}
		if n >= len(want) || !slices.Equal(got, want[n]) {
			tell(fmt.Sprintf("%s: %v differs", name, got[0]))
		}
	}
	if n < len(want) {
		tell(fmt.Sprintf("%s: %d of %d rows are missing", name, len(want)-n, len(want)))
	}
	return rows.Err()
}

func isProjection(table string) bool {
	for _, t := range tables {
		if t.name == table {
			return true
		}
	}
	return false
}

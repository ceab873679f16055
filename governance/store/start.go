package store

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/host/base/translog"
)

// The keys of the table meta.
const (
	metaOrigin    = "origin"
	metaStatement = "statement_key"
	metaLog       = "log_key"
)

func publicOf(key crypto.Signer) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// identify reads or makes the keys and compares them and the origin with what the log was
// begun with.
func (s *Store) identify(ctx context.Context) error {
	meta, err := readMeta(ctx, s.db.Read())
	if err != nil {
		return err
	}
	var entries int64
	if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM ledger`).Scan(&entries); err != nil {
		return err
	}
	begun := len(meta) > 0 || entries > 0
	var ring ledger.Ring
	if begun {
		if ring, err = s.readRing(ctx, meta); err != nil {
			return err
		}
		if err := s.finishRotation(ring); err != nil {
			return err
		}
	}
	if s.keys, err = openKeys(&s.opts, begun); err != nil {
		return err
	}
	s.keys.Ring = ring
	s.origin = s.opts.Origin
	if s.origin == "" {
		s.origin = DefaultOrigin
		if begun {
			s.origin = meta[metaOrigin]
		}
	}
	key, err := translog.NewLogKey(s.origin, publicOf(s.keys.Log))
	if err != nil {
		return &ConfigError{err.Error()}
	}
	if !begun {
		want := map[string]string{metaOrigin: s.origin, metaStatement: string(s.keys.Public.PEM()),
			metaLog: key.VKey()}
		s.keys.Ring = ledger.Ring{{Statement: s.keys.Public, Log: key}}
		return s.db.Tx(ctx, func(tx *sql.Tx) error {
			for _, k := range []string{metaOrigin, metaStatement, metaLog} {
				if _, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?, ?)`, k,
					want[k]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if meta[metaOrigin] != s.origin {
		return &ConfigError{fmt.Sprintf("this log is %s, not %s: its name is fixed at its first start",
			meta[metaOrigin], s.origin)}
	}
	last := s.keys.Ring.Last()
	for k, same := range map[string]bool{metaStatement: last.Statement.ID() == s.keys.Public.ID(),
		metaLog: last.Log.VKey() == key.VKey()} {
		if !same {
			return &ConfigError{fmt.Sprintf("the keys in %s are not those that this log has (%s)", KeyDir, k)}
		}
	}
	return nil
}

func readMeta(ctx context.Context, db *sql.DB) (map[string]string, error) {
	meta := map[string]string{}
	return meta, sqlite.Query(ctx, db, func(scan sqlite.Scanner) error {
		var k, v string
		err := scan(&k, &v)
		meta[k] = v
		return err
	}, `SELECT key, value FROM meta`)
}

// load derives everything from the truth and compares what else is on disk with it. What
// does not hold together becomes the store's damage.
func (s *Store) load(ctx context.Context) error {
	d, known, err := s.examine(ctx)
	var damage *DamageError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.shared != nil && postgres.IsPostgres(err):
		return err // nothing was learnt about the log
	case errors.As(err, &damage):
	case err != nil:
		damage = &DamageError{Corrupt, err.Error()}
	}
	if d == nil {
		d = newDerived()
	}
	s.d, s.damage = d, damage
	if damage != nil && damage.Code == Corrupt {
		return nil
	}
	if s.log, err = ledger.NewLog(s.origin, s.keys.Ring, s.keys.Log, d.tree, d.note); err != nil {
		s.damage = &DamageError{Corrupt, err.Error()}
		return nil
	}
	if damage != nil || s.heads != nil {
		return nil
	}
	if s.heads, err = openCheckpointLog(s.opts.Dir, known); err != nil {
		return err
	}
	if known.size < d.size { // the process ended between the two
		return s.heads.write(s.log.View().Head, s.opts.Now())
	}
	return nil
}

// examine is everything that a start checks. Where the log has another fault than being
// behind its witness, what was derived is not whole.
func (s *Store) examine(ctx context.Context) (d *derived, known witness, err error) {
	db, end, err := s.db.Snapshot(ctx)
	if err != nil {
		return nil, known, err
	}
	defer end()
	// Beside the rest: it reads all pages once more, which takes as long as all else.
	quick := make(chan error, 1)
	go func() { quick <- s.quickCheck(ctx) }()
	defer func() {
		if broken := <-quick; broken != nil {
			d, err = nil, broken
		}
	}()
	lines, known, err := readCheckpointLog(s.opts.Dir)
	if err != nil {
		return nil, known, err
	}
	d, different, err := compare(ctx, db, s.origin, s.keys)
	if err != nil {
		return d, known, err
	}
	if err := checkCheckpointLog(lines, d.size, d.roots); err != nil {
		return d, known, err
	}
	if d.size > 0 && len(different) > 0 {
		return d, known,
			fmt.Errorf("the projections differ from the log (governance rebuild makes them again): %v",
				different)
	}
	return d, known, nil
}

// quickCheck has SQLite look through its file. PostgreSQL has nothing like it: all rows are read anyway.
func (s *Store) quickCheck(ctx context.Context) error {
	if s.shared != nil {
		return nil
	}
	var verdict string
	if err := s.db.Read().QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("quick_check: %s", verdict)
	}
	return nil
}

// Rebuild makes the projections of a log again from its truth, or with check only
// reports where they differ. No plane may be running. The error is a *DamageError when the
// log itself does not hold together.
func Rebuild(
	ctx context.Context, at Place, check bool, unlock ...dsse.Unlock,
) (different []string, err error) {
	s := existing(at, unlock)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.openExisting(ctx, !check); err != nil {
		return nil, err
	}
	d, different, err := s.compareAll(ctx)
	if err != nil || check {
		return different, err
	}
	return different, s.rewrite(ctx, d)
}

func firstOf(list []dsse.Unlock) dsse.Unlock {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// compareAll derives everything and compares all that is kept of it. The error is a
// *DamageError.
func (s *Store) compareAll(ctx context.Context) (d *derived, different []string, err error) {
	db, end, err := s.db.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	if d, different, err = compare(ctx, db, s.origin, s.keys); err != nil {
		if s.shared != nil && postgres.IsPostgres(err) {
			return d, different, err
		}
		return d, different, &DamageError{Corrupt, err.Error()}
	}
	lines, _, err := readCheckpointLog(s.opts.Dir)
	if err != nil {
		return d, different, err
	}
	return d, different, checkCheckpointLog(lines, d.size, d.roots)
}

// revision is a row of the table revisions.
type revision struct {
	id, candidate, family, strategy, deployable string
	first, newest                               int64
}

// projections are the projection tables as they should be; each row is its columns in the
// order of the table, in the order of its primary key.
type projections map[string][][]any

// table is a projection table with its columns.
type table struct {
	name, key string
	columns   []string
}

// selection is the query of all rows, in the order of the key.
func (t table) selection() string {
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " ORDER BY " + t.key
}

// replace is the end of an insertion whose rows take the place of those with the same key.
func (t table) replace() string {
	var set []string
	for _, c := range t.columns {
		set = append(set, c+" = excluded."+c)
	}
	return " ON CONFLICT (" + t.key + ") DO UPDATE SET " + strings.Join(set, ", ")
}

var tables = []table{
	{"facts", "seq, ord",
		[]string{"seq", "ord", "fact_id", "type", "candidate_revision_id", "run_id", "body"}},
	{"revisions", "candidate_revision_id",
		[]string{"candidate_revision_id", "candidate_id", "family_id", "strategy_name", "deployable_id",
			"first_seq", "newest_seq"}},
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
	return [][]any{{"log_size", fmt.Sprint(d.size)}, {"policy_digest", d.world.Policy().Digest},
		{"trust_digest", d.world.Trust().Digest()}}
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
func put(ctx context.Context, tx *sql.Tx, name string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	const most = 100 // rows in one statement
	for part := range slices.Chunk(rows, most) {
		one := "(" + strings.TrimSuffix(strings.Repeat("?,", len(part[0])), ",") + ")"
		text := "INSERT INTO " + name + " VALUES " + one + strings.Repeat(","+one, len(part)-1)
		if i := slices.IndexFunc(tables, func(t table) bool { return t.name == name }); i >= 0 {
			text += tables[i].replace()
		}
		if _, err := tx.ExecContext(ctx, text, slices.Concat(part...)...); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

// factReader compares the table facts with facts as they come.
type factReader struct {
	rows *sql.Rows
	diff []string
}

// maxDifferences is how many differences are listed one by one.
const maxDifferences = 10

func (f *factReader) observe(facts [][]any) error {
	for _, want := range facts {
		if !f.rows.Next() {
			if err := f.rows.Err(); err != nil {
				return err
			}
			f.add(fmt.Sprintf("facts: %d/%d is missing", want[0], want[1]))
			continue
		}
		got, err := sqlite.ScanRow(f.rows.Scan, len(want))
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			f.add(fmt.Sprintf("facts: %d/%d differs", want[0], want[1]))
		}
	}
	return nil
}

func (f *factReader) add(s string) {
	if len(f.diff) < maxDifferences {
		f.diff = append(f.diff, s)
	}
}

// compare derives everything and reports in which rows the projections differ from it.
func compare(ctx context.Context, db *sql.DB, origin string, keys *Keys) (*derived, []string, error) {
	rows, err := db.QueryContext(ctx, tables[0].selection())
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
		reader.add("facts: rows that no entry makes")
	}
	if err := rows.Err(); err != nil {
		return d, nil, err
	}
	want := d.standing()
	for _, t := range tables[1:] {
		if err := compareTable(ctx, db, t, want[t.name], reader.add); err != nil {
			return d, nil, err
		}
	}
	return d, reader.diff, nil
}

func compareTable(ctx context.Context, db *sql.DB, t table, want [][]any, add func(string)) error {
	n := 0
	err := sqlite.Query(ctx, db, func(scan sqlite.Scanner) error {
		got, err := sqlite.ScanRow(scan, len(t.columns))
		if err == nil && (n >= len(want) || !slices.Equal(got, want[n])) {
			add(fmt.Sprintf("%s: %v differs", t.name, got[0]))
		}
		n++
		return err
	}, t.selection())
	if err == nil && n < len(want) {
		add(fmt.Sprintf("%s: %d of %d rows are missing", t.name, len(want)-n, len(want)))
	}
	return err
}

package registry

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/base/sqlite"
)

// table is one of the registry's tables: in which order its rows stand, and what they have.
type table struct {
	name, order string
	columns     []string
	numbered    bool // by the database, in the column id
}

var tables = []table{
	{"request_runs", "request_hash", []string{"request_hash", "run_id", "kind", "status", "attempt", "owner",
		"lease_until", "created_at", "updated_at"}, false},
	{"run_metadata", "run_id", []string{"run_id", "request_hash", "slug", "family_id", "kind", "status",
		"trial_key", "plan_id", "trial_index", "completed_at", "payload"}, false},
	{"plans", "plan_hash", []string{"plan_hash", "plan_id", "slug", "family_id", "author", "registered_at",
		"amends", "payload"}, false},
	{"test_peeks", "id", []string{"id", "at", "run_id", "family_id", "command", "author", "reason"}, true},
	{"daily_returns", "run_id", []string{"run_id", "source_sha256", "content"}, false},
	{"windows", "source_id, symbol, locked, from_at, to_at", []string{"source_id", "family_id", "symbol",
		"locked", "from_at", "to_at", "command", "author", "dataset"}, false},
	{"market_candles", "rowid", []string{"sha256", "market", "exchange", "symbol", "timeframe", "step_ms",
		"rows", "from_at", "to_at", "added_at"}, false},
	{"holdouts", "id", []string{"id", "market", "from_at", "at", "author"}, true},
	{"looks", "id", []string{"id", "at", "market", "source_id", "from_at", "to_at", "command", "author"},
		true},
	{"run_notes", "run_id", []string{"run_id", "version", "tags", "note", "changed_at"}, false},
}

// bytesColumns are the columns of bytes: a driver may return none for no bytes.
var bytesColumns = []string{"payload", "content"}

// NotEmptyError reports that a registry which is to become a copy has rows already.
type NotEmptyError struct{ Place, Table string }

// Error implements error.
func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s has a registry with rows in it (%s): a copy needs an empty one", e.Place, e.Table)
}

// Migrated is what a migration has copied.
type Migrated struct {
	Runs, Rows int
	// SHA256 is of all rows in their order, equal at the source and in the copy.
	SHA256 string
}

// Migrate copies the rows of a registry to another place: each is the address of a database of PostgreSQL
// or the folder of a state directory's runs. The target has no rows yet, and the source is left as it is.
// Nothing can write to the source meanwhile. The files of the runs stay where they are.
func Migrate(ctx context.Context, from, to string) (_ *Migrated, err error) {
	if from == to {
		return nil, errors.New("the registry is there already")
	}
	if !postgres.IsAddress(from) {
		if _, err := os.Stat(filepath.Join(from, FileName)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s has no %s", from, FileName)
		}
	}
	source, err := openPlace(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openPlace(ctx, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	done := &Migrated{}
	err = source.Tx(ctx, func(out *sql.Tx) error {
		return target.Tx(ctx, func(in *sql.Tx) error {
			for _, t := range tables {
				if err := t.copy(ctx, out, in, to); err != nil {
					return fmt.Errorf("table %s: %w", t.name, err)
				}
			}
			if err := copyInfo(ctx, out, in); err != nil {
				return err
			}
			return done.compare(ctx, out, in)
		})
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// openPlace opens the tables at an address or below a folder of runs.
func openPlace(ctx context.Context, place string) (database, error) {
	if postgres.IsAddress(place) {
		return openDatabase(ctx, place, "")
	}
	return openDatabase(ctx, "", place)
}

// rows calls use with each row of the table, one at a time: payloads are large.
func (t table) rows(ctx context.Context, tx *sql.Tx, use func(row []any) error) error {
	return sqlite.Query(ctx, tx, func(scan sqlite.Scanner) error {
		row, err := sqlite.ScanRow(scan, len(t.columns))
		if err != nil {
			return err
		}
		for i, value := range row {
			if slices.Contains(bytesColumns, t.columns[i]) {
				b, _ := value.([]byte)
				row[i] = append([]byte{}, b...)
			}
		}
		return use(row)
	}, t.selection())
}

func (t table) selection() string {
	return `SELECT ` + strings.Join(t.columns, ", ") + ` FROM ` + t.name + ` ORDER BY ` + t.order
}

// copy writes all rows of the table to a place that has none.
func (t table) copy(ctx context.Context, from, to *sql.Tx, place string) error {
	var known bool
	err := to.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+t.name+`)`).Scan(&known)
	switch {
	case err != nil:
		return err
	case known:
		return &NotEmptyError{shown(place), t.name}
	}
	insert := `INSERT INTO ` + t.name + ` (` + strings.Join(t.columns, ", ") + `) VALUES (?` +
		strings.Repeat(", ?", len(t.columns)-1) + `)`
	err = t.rows(ctx, from, func(row []any) error {
		_, err := to.ExecContext(ctx, insert, row...)
		return err
	})
	if err == nil && t.numbered && postgres.IsAddress(place) {
		_, err = to.ExecContext(ctx, `SELECT setval(pg_get_serial_sequence('`+t.name+`', 'id'),
			COALESCE((SELECT MAX(id) FROM `+t.name+`), 0) + 1, false)`)
	}
	return err
}

// shown is a place without a password.
func shown(place string) string {
	if at, err := postgres.ParseConfig(place); err == nil {
		return at.String()
	}
	return place
}

// copyInfo copies what the registry knows of itself but the version of its tables.
func copyInfo(ctx context.Context, from, to *sql.Tx) error {
	type pair struct{ key, value string }
	list, err := collect(ctx, from, func(p *pair) []any { return []any{&p.key, &p.value} },
		`SELECT key, value FROM registry_info WHERE key <> 'schema_version' ORDER BY key`)
	for _, p := range list {
		if err != nil {
			break
		}
		_, err = to.ExecContext(ctx, `INSERT INTO registry_info (key, value) VALUES (?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value`, p.key, p.value)
	}
	return err
}

// compare reads both places again and counts what they have.
func (m *Migrated) compare(ctx context.Context, from, to *sql.Tx) error {
	want, err := m.sum(ctx, from)
	if err != nil {
		return err
	}
	*m = Migrated{}
	if m.SHA256, err = m.sum(ctx, to); err == nil && m.SHA256 != want {
		err = errors.New("the copy has other rows than the source: nothing was stored")
	}
	return err
}

// sum hashes the rows of all tables.
func (m *Migrated) sum(ctx context.Context, tx *sql.Tx) (string, error) {
	h := sha256.New()
	for _, t := range tables {
		fmt.Fprintf(h, "%s\n", t.name)
		err := t.rows(ctx, tx, func(row []any) error {
			if m.Rows++; t.name == "run_metadata" {
				m.Runs++
			}
			for _, value := range row {
				fmt.Fprintf(h, "%T %q\n", value, fmt.Append(nil, value))
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

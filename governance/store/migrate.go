package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/sqlite"
)

// truth are the tables that are the truth or prove it, in an order in which they can be filled.
var truth = []table{
	{"meta", "key", []string{"key", "value"}},
	{"ledger", "seq", []string{"seq", "statement_type", "subject_type", "subject_id", "payload", "signature",
		"leaf_hash", "recorded_at"}},
	{"tree_nodes", "idx", []string{"idx", "hash"}},
	{"checkpoints", "size", []string{"size", "root", "note", "created_at"}},
	{"submissions", "file_sha256", []string{"file_sha256", "candidate_revision_id", "seq", "body"}},
	{"attestations", "pae_sha256, key_id", []string{"pae_sha256", "key_id", "seq", "envelope"}},
}

// Migrated is what a migration has copied.
type Migrated struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Migrate copies a log from the file of a state directory to a database, from there to the file, or between
// two databases, and checks all of it before and behind. Keys and checkpoints.log stay in the one state
// directory. Nothing else may use either place; the target has no log yet, and the source is left as it is.
func Migrate(ctx context.Context, dir, from, to string, unlock ...dsse.Unlock) (_ *Migrated, err error) {
	if from == to {
		return nil, &ConfigError{"the log is there already"}
	}
	source := existing(Place{dir, from}, unlock)
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := source.openExisting(ctx, true); err != nil {
		return nil, err
	}
	before, err := wholeOf(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	db, err := openEmpty(ctx, Place{dir, to})
	if err != nil {
		return nil, err
	}
	target := &Store{opts: Options{Dir: dir, Database: to}, db: db, keys: source.keys, origin: source.origin}
	target.shared, _ = db.(*shared)
	defer func() {
		err = errors.Join(err, target.Close())
		if err != nil && to == "" { // it was made here
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(filepath.Join(dir, DatabaseFile) + suffix)
			}
		}
	}()
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		for _, t := range slices.Concat(truth, tables) {
			if err := copyTable(ctx, source.db.Read(), tx, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	after, err := wholeOf(ctx, target)
	if err == nil && (after.size != before.size || after.note != before.note) {
		err = errors.New("its last checkpoint differs")
	}
	if err != nil {
		return nil, fmt.Errorf("the copy is inconsistent, do not use it: %w", err)
	}
	return &Migrated{source.origin, after.size, after.roots[after.size]}, nil
}

// wholeOf is what a log comes to in which everything is as it should be.
func wholeOf(ctx context.Context, s *Store) (*derived, error) {
	d, different, err := s.compareAll(ctx)
	if err == nil && len(different) > 0 {
		err = fmt.Errorf("the projections differ from the log (governance rebuild makes them again): %v",
			different)
	}
	return d, err
}

// openEmpty opens a place that has no log.
func openEmpty(ctx context.Context, at Place) (database, error) {
	if at.Database == "" {
		if _, err := os.Lstat(filepath.Join(at.Dir, DatabaseFile)); err == nil {
			return nil, &ConfigError{fmt.Sprintf("%s is there: move it away first",
				filepath.Join(at.Dir, DatabaseFile))}
		}
		return openEmbedded(ctx, at.Dir)
	}
	db, err := openShared(ctx, at.Database)
	if err != nil {
		return nil, err
	}
	if err = db.elect(ctx, false, func() string { return "governance migrate" }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	for _, t := range slices.Concat(truth, tables) {
		var n int64
		err := db.Read().QueryRowContext(ctx, `SELECT count(*) FROM `+t.name).Scan(&n)
		if err == nil && n > 0 {
			err = &ConfigError{fmt.Sprintf("%s has a log already: the table %s is not empty", db.config,
				t.name)}
		}
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// copyTable writes all rows of a table.
func copyTable(ctx context.Context, from *sql.DB, to *sql.Tx, t table) error {
	const most = 100 // rows in memory
	var rows [][]any
	err := sqlite.Query(ctx, from, func(scan sqlite.Scanner) error {
		row, err := sqlite.ScanRow(scan, len(t.columns))
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) < most {
			return nil
		}
		err = put(ctx, to, t.name, rows)
		rows = rows[:0]
		return err
	}, t.selection())
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	return put(ctx, to, t.name, rows)
}

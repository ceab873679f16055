package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/sqlite"
)

// openExisting opens a log that has been begun, for what needs no running plane.
func (s *Store) openExisting(ctx context.Context) (err error) {
	path := filepath.Join(s.opts.Dir, DatabaseFile)
	if _, err := os.Stat(path); err != nil {
		return &ConfigError{fmt.Sprintf("there is no log in %s: name the state folder of a plane with --state-dir", s.opts.Dir)}
	}
	if s.lock, err = file.LockState(s.opts.Dir, lockFile); err != nil {
		return err
	}
	if s.db, err = sqlite.Open(ctx, path, migrations(), sqlite.Full); err != nil {
		return err
	}
	return s.identify(ctx)
}

// rewrite replaces all projections.
func (s *Store) rewrite(ctx context.Context, d *derived) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, t := range tables {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+t.name); err != nil {
				return err
			}
		}
		want := d.standing()
		for _, t := range tables[1:] {
			if err := put(ctx, tx, t.name, want[t.name]); err != nil {
				return err
			}
		}
		// The facts come from the log once more, because they need not fit into memory; the
		// reading connection sees the log as it is, which this transaction does not touch.
		_, err := derive(ctx, s.db.Read(), s.origin, s.keys, func(facts [][]any) error { return put(ctx, tx, "facts", facts) })
		return err
	})
}

func factRows(facts []promotion.Fact) ([][]any, error) {
	rows := make([][]any, len(facts))
	for i := range facts {
		var err error
		if rows[i], err = factRow(i, &facts[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

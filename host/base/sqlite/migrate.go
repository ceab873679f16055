package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
)

// NewerSchemaError says that a newer program has written the file.
type NewerSchemaError struct {
	Found, Known int
}

// Error names both versions.
func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("schema version %d is newer than %d, the newest that this program knows: use the newer program", e.Found, e.Known)
}

// step is one migration.
type step struct {
	name, sql string
}

// readSteps reads the migrations, which must be numbered 1, 2, 3 without holes.
func readSteps(migrations fs.FS) ([]step, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	form := regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)
	var steps []step
	for _, name := range names { // fs.Glob sorts
		m := form.FindStringSubmatch(name)
		if m == nil {
			return nil, fmt.Errorf("migration %s: name it like 0001_what.sql", name)
		}
		if n, err := strconv.Atoi(m[1]); err != nil || n != len(steps)+1 {
			return nil, fmt.Errorf("migration %s: number %d is expected here", name, len(steps)+1)
		}
		b, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{name: name, sql: string(b)})
	}
	return steps, nil
}

// migrate applies the steps that the file lacks.
func (d *DB) migrate(ctx context.Context, steps []step) error {
	// Looked at first without the write lock: nearly always there is nothing to do.
	if n, err := schemaVersion(ctx, d.writer); err != nil || n == len(steps) {
		return err
	}
	for {
		done, err := d.migrateOne(ctx, steps)
		if done || err != nil {
			return err
		}
	}
}

// migrateOne applies the next step, if there is one; the version is read again
// inside the transaction, for another process may have applied it meanwhile.
func (d *DB) migrateOne(ctx context.Context, steps []step) (done bool, err error) {
	err = d.Tx(ctx, func(tx *sql.Tx) error {
		n, err := schemaVersion(ctx, tx)
		switch {
		case err != nil:
			return err
		case n > len(steps):
			return &NewerSchemaError{Found: n, Known: len(steps)}
		case n == len(steps):
			done = true
			return nil
		}
		if _, err := tx.ExecContext(ctx, steps[n].sql); err != nil {
			return fmt.Errorf("migration %s: %w", steps[n].name, err)
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", n+1))
		return err
	})
	return done, err
}

// querier is what a database and a transaction have in common here.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func schemaVersion(ctx context.Context, q querier) (n int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return n, err
}

// Package sqlite opens the project's SQLite files the one way that lets several
// processes share them: write-ahead log, five seconds of patience with a busy
// neighbour, foreign keys on, every write transaction immediate.
//
// A DB has one writing connection and a few reading ones. Tx runs a function in a
// write transaction; deferred ones are not offered, for they fail with SQLITE_BUSY
// despite the patience. Read gives the reading pool, which refuses to write.
//
// Schemas are files of SQL named 0001_what.sql, 0002_what.sql and so on. They are
// applied in order, each in its transaction, and counted in user_version. A file
// that counts more than the program knows belongs to a newer one and is refused.
//
// It is a leaf: it imports nothing of this module. Catalogue, registry, journal and
// ledger keep their tables through it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Synchronous is when SQLite waits for the disk.
type Synchronous string

// The levels in use: Normal survives a crash of the process and may lose the newest
// transactions in a power cut; Full loses none; Durable is Full where the disk's own
// cache must be flushed as well (fullfsync, macOS).
const (
	Normal  Synchronous = "NORMAL"
	Full    Synchronous = "FULL"
	Durable Synchronous = "DURABLE"
)

// query returns the level as parameters of a connection.
func (s Synchronous) query() string {
	if s == Durable {
		return "_synchronous=FULL&_pragma=fullfsync(1)"
	}
	return "_synchronous=" + string(s)
}

const (
	busyTimeout = 5 * time.Second
	readers     = 4
)

// DB is one open database file.
type DB struct {
	writer *sql.DB
	reader *sql.DB
}

// Open opens or creates the file at path, with its folder, for this user only, and
// brings its schema up to date. Processes that open the same new file at once wait
// for each other. migrations holds the .sql files at its root.
func Open(ctx context.Context, path string, migrations fs.FS, level Synchronous) (*DB, error) {
	steps, err := ReadSteps(migrations)
	if err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	d := &DB{}
	if d.writer, err = connect(path, level, "_txlock=immediate", 1); err != nil {
		return nil, err
	}
	if d.reader, err = connect(path, level, "_query_only=1", readers); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.prepare(ctx, steps); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), d.Close())
	}
	return d, nil
}

// create makes the folder and an empty file, readable by this user only. SQLite
// gives its side files the mode of the main one.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func connect(path string, level Synchronous, extra string, conns int) (*sql.DB, error) {
	name := url.URL{Path: filepath.ToSlash(path)}
	dsn := fmt.Sprintf("file:%s?_busy_timeout=%d&_foreign_keys=1&_dqs=0&%s&%s",
		name.EscapedPath(), busyTimeout.Milliseconds(), level.query(), extra)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// prepare switches to the write-ahead log and migrates. The switch takes the whole
// file for itself and answers SQLITE_BUSY at once when another process is at it, so
// it is tried again for as long as any other lock would be waited for.
func (d *DB) prepare(ctx context.Context, steps []Step) error {
	deadline := time.Now().Add(2 * busyTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		_, err := d.writer.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if err == nil {
			err = d.migrate(ctx, steps)
		}
		if err == nil || !IsBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// IsBusy reports whether err is SQLite's answer to a lock that another connection holds.
func IsBusy(err error) bool {
	code := codeOf(err) & 0xff
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}

// codeOf returns the extended code of an error of SQLite, whose low byte is the kind; 0 of any other.
func codeOf(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

// Tx runs f in a write transaction, which holds the write lock from its start. It
// commits when f returns nil and rolls back otherwise, also when f panics. Inside f
// only the transaction may be used: Read does not see what it has not committed.
func (d *DB) Tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Read returns the pool of reading connections. Writing through it fails.
func (d *DB) Read() *sql.DB { return d.reader }

// Close waits for what runs and closes every connection.
func (d *DB) Close() error {
	var err error
	for _, db := range []*sql.DB{d.reader, d.writer} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// NewerSchemaError reports that a newer program has written the file.
type NewerSchemaError struct {
	Found, Known int
}

// Error names both versions.
func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf(
		"schema version %d is newer than %d, the newest that this program knows: use the newer program",
		e.Found, e.Known)
}

// Step is one migration.
type Step struct {
	Name, SQL string
}

// ReadSteps reads the migrations, which must be numbered 1, 2, 3 without holes.
func ReadSteps(migrations fs.FS) ([]Step, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	form := regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)
	var steps []Step
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
		steps = append(steps, Step{Name: name, SQL: string(b)})
	}
	return steps, nil
}

// migrate applies the steps that the file lacks.
func (d *DB) migrate(ctx context.Context, steps []Step) error {
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
func (d *DB) migrateOne(ctx context.Context, steps []Step) (done bool, err error) {
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
		if _, err := tx.ExecContext(ctx, steps[n].SQL); err != nil {
			return fmt.Errorf("migration %s: %w", steps[n].Name, err)
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

// OpenReadOnly opens a file that exists without changing it: what its write-ahead log
// holds is read from there and stays there. It is for looking at a file that may be
// damaged before anything is written to it. One connection serves all queries.
func OpenReadOnly(ctx context.Context, path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := connect(path, Normal, "_query_only=1&mode=ro", 1)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return db, nil
}

// IsSurroundings reports whether err is SQLite's and that the file is not to blame: it is
// locked, the disk is full, the system refuses. What is left speaks of the file itself
// or of the query.
func IsSurroundings(err error) bool {
	code := codeOf(err)
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM,
		lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT, lib.SQLITE_NOLFS, lib.SQLITE_PROTOCOL:
		return true
	case lib.SQLITE_IOERR:
		return !slices.Contains([]int{
			lib.SQLITE_IOERR_READ, lib.SQLITE_IOERR_SHORT_READ, lib.SQLITE_IOERR_DATA,
			lib.SQLITE_IOERR_CORRUPTFS,
		}, code)
	}
	return false
}

// IsDuplicate reports whether err is a key that is taken already.
func IsDuplicate(err error) bool {
	code := codeOf(err)
	return code == lib.SQLITE_CONSTRAINT_UNIQUE || code == lib.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsConstraint reports whether err is any rule of the schema that a statement would break.
func IsConstraint(err error) bool { return codeOf(err)&0xff == lib.SQLITE_CONSTRAINT }

// IsSQLite reports whether err comes from SQLite.
func IsSQLite(err error) bool { return codeOf(err) != 0 }

// IsDamage reports whether err is SQLite finding the file malformed or not its own.
func IsDamage(err error) bool {
	code := codeOf(err) & 0xff
	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}

// DamageError reports that a database file is damaged, and how to go on without it.
type DamageError struct {
	Path string
	// Recovery is what comes back by itself once the file is gone, and what is lost.
	Recovery string
	Err      error
}

// Error names the file, what is wrong with it and the way out.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged (%v): "+
		"end every program that uses it, move it into another folder together with "+
		"the files %[3]s-wal and %[3]s-shm if they are there, and start again. %s", e.Path, e.Err,
		filepath.Base(e.Path), e.Recovery)
}

// Unwrap returns the error of SQLite.
func (e *DamageError) Unwrap() error { return e.Err }

// ExplainDamage is err, as a *DamageError where it reports that the file at path is damaged.
func ExplainDamage(err error, path, recovery string) error {
	if _, known := errors.AsType[*DamageError](err); known || !IsDamage(err) {
		return err
	}
	return &DamageError{Path: path, Recovery: recovery, Err: err}
}

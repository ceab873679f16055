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
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Synchronous is when SQLite waits for the disk.
type Synchronous string

// The levels in use: Normal survives a crash of the process and may lose the newest
// transactions in a power cut; Full loses none; Durable is Full where the disk's own
// cache must be told as well (fullfsync, macOS).
const (
	Normal  Synchronous = "NORMAL"
	Full    Synchronous = "FULL"
	Durable Synchronous = "DURABLE"
)

// query is the level as parameters of a connection.
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
	steps, err := readSteps(migrations)
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
func (d *DB) prepare(ctx context.Context, steps []step) error {
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

// IsBusy says that err is SQLite's answer to a lock that another connection holds.
func IsBusy(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
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

// Read is the pool of reading connections. Writing through it fails.
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

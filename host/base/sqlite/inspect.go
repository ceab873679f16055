package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

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

// IsSurroundings says that err is SQLite's and that the file is not to blame: it is
// locked, the disk is full, the system refuses. What is left speaks of the file itself
// or of the query.
func IsSurroundings(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM,
		lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT, lib.SQLITE_NOLFS, lib.SQLITE_PROTOCOL:
		return true
	case lib.SQLITE_IOERR:
		switch e.Code() {
		case lib.SQLITE_IOERR_READ, lib.SQLITE_IOERR_SHORT_READ, lib.SQLITE_IOERR_DATA, lib.SQLITE_IOERR_CORRUPTFS:
			return false
		}
		return true
	}
	return false
}

// IsDuplicate says that err is a key that is taken already.
func IsDuplicate(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// IsConstraint says that err is any rule of the schema that a statement would break.
func IsConstraint(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_CONSTRAINT
}

// IsSQLite says that err comes from SQLite.
func IsSQLite(err error) bool {
	var e *driver.Error
	return errors.As(err, &e)
}

// IsDamage says that err is SQLite finding the file malformed or not its own.
func IsDamage(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}

// DamageError says that a database file is damaged, and how to go on without it.
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

// Unwrap is what SQLite said.
func (e *DamageError) Unwrap() error { return e.Err }

// ExplainDamage is err, as a *DamageError where it says that the file at path is damaged.
func ExplainDamage(err error, path, recovery string) error {
	var known *DamageError
	if !IsDamage(err) || errors.As(err, &known) {
		return err
	}
	return &DamageError{Path: path, Recovery: recovery, Err: err}
}

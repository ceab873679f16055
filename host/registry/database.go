package registry

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/base/sqlite"
)

// database is where the tables are: a file of SQLite, or a schema of PostgreSQL.
type database interface {
	// Tx runs a write transaction while no other program is in one.
	Tx(ctx context.Context, f func(*sql.Tx) error) error
	Read() *sql.DB
	Close() error
}

// openDatabase opens the tables at an address, or in the file below root where that is empty.
func openDatabase(ctx context.Context, address, root string) (database, error) {
	if address == "" {
		migrations, err := fs.Sub(schema, "schema")
		if err != nil {
			return nil, err
		}
		db, err := sqlite.Open(ctx, filepath.Join(root, FileName), migrations, sqlite.Full)
		if err != nil {
			return nil, err
		}
		return db, nil
	}
	migrations, err := fs.Sub(schema, "schema/postgres")
	if err != nil {
		return nil, err
	}
	at, err := postgres.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, at, migrations)
	if err != nil {
		return nil, unavailable(err)
	}
	return server{db}, nil
}

// UnavailableError reports that the database of a team's registry does not answer as it should.
type UnavailableError struct{ Err error }

// Error implements error.
func (e *UnavailableError) Error() string { return "the database: " + e.Err.Error() }

// Unwrap returns what has happened.
func (e *UnavailableError) Unwrap() error { return e.Err }

func unavailable(err error) error {
	if err == nil || !postgres.IsPostgres(err) {
		return err
	}
	return &UnavailableError{err}
}

// server is a database that a team shares.
type server struct{ *postgres.DB }

// Tx implements database.
func (s server) Tx(ctx context.Context, f func(*sql.Tx) error) error {
	return unavailable(s.DB.Tx(ctx, f))
}

// Shared reports whether other state directories may have the registry, too. The files of a run are then in
// the one where it was made.
func (r *Registry) Shared() bool { return r.place != "" }

// each is the texts of a JSON list that is a parameter, as a query of one column.
func (r *Registry) each(parameter string) string {
	if _, embedded := r.db.(*sqlite.DB); embedded {
		return `(SELECT value FROM json_each(` + parameter + `))`
	}
	return `(SELECT json_array_elements_text(CAST(CAST(` + parameter + ` AS TEXT) AS JSON)))`
}

// placeFile has the name of a state directory among those that share a registry.
const placeFile = "place"

// placeOf returns the name of the state directory whose runs are below root, and makes one the first time.
func placeOf(root string) (string, error) {
	path := filepath.Join(root, placeFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var unique [8]byte
		_, _ = rand.Read(unique[:]) // never fails
		if err = os.MkdirAll(root, 0o700); err != nil {
			return "", err
		}
		err = file.WriteNew(path, []byte(hex.EncodeToString(unique[:])+"\n"), 0o600)
		if err == nil || errors.Is(err, fs.ErrExist) {
			text, err = os.ReadFile(path)
		}
	}
	name := strings.TrimSpace(string(text))
	if err == nil && name == "" {
		err = fmt.Errorf("%s is empty: remove it while nothing uses the state directory", path)
	}
	return name, err
}

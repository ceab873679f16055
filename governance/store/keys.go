package store

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/sqlite"
)

// KeyDir is the folder of a plane's keys in its state directory; StatementKeyFile and
// LogKeyFile are the files in it.
const (
	KeyDir           = "keys"
	StatementKeyFile = "statement.key"
	LogKeyFile       = "log.key"
)

// Keys are the two keys of a plane: one signs statements, one checkpoints.
type Keys struct {
	Statement *ecdsa.PrivateKey
	Log       ed25519.PrivateKey
	Public    *ledger.Key // of Statement
}

// openKeys reads the keys below a state directory. Only where the log has not begun are
// missing ones made: a log cannot go on with others.
func openKeys(stateDir string, begun bool) (*Keys, error) {
	dir := filepath.Join(stateDir, KeyDir)
	if !begun {
		if err := makeKeys(dir); err != nil {
			return nil, err
		}
	}
	k := &Keys{}
	statement, err := dsse.ReadP256(filepath.Join(dir, StatementKeyFile))
	if err != nil {
		return nil, &ConfigError{fmt.Sprintf("statement key: %v", err)}
	}
	k.Statement = statement
	log, err := dsse.ReadKey(filepath.Join(dir, LogKeyFile))
	if err != nil {
		return nil, &ConfigError{fmt.Sprintf("log key: %v", err)}
	}
	var ok bool
	if k.Log, ok = log.(ed25519.PrivateKey); !ok {
		return nil, &ConfigError{fmt.Sprintf("log key: %s is not an Ed25519 key", filepath.Join(KeyDir, LogKeyFile))}
	}
	k.Public, err = ledger.NewKey(&statement.PublicKey)
	return k, err
}

func makeKeys(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	statement, err := dsse.Generate()
	if err != nil {
		return err
	}
	_, log, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	err = dsse.WriteKey(filepath.Join(dir, StatementKeyFile), statement)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err = dsse.WriteKey(filepath.Join(dir, LogKeyFile), log)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// LastTrust is the newest trust.json that a log has, nil where it has none. The log is not
// checked: the plane that reads the text again is what checks both.
func LastTrust(ctx context.Context, dir string) (text []byte, err error) {
	db, err := openForReading(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var seq int64
	var payload []byte
	err = db.Read().QueryRowContext(ctx, `SELECT seq, payload FROM ledger WHERE statement_type = ? ORDER BY seq DESC LIMIT 1`, bundle.TypeTrust).Scan(&seq, &payload)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := promotion.ReadEntry(seq, payload)
	if err != nil {
		return nil, err
	}
	return []byte(e.Predicate.(*promotion.Text).Text), nil // by its type
}

func openForReading(ctx context.Context, dir string) (*sqlite.DB, error) {
	path := filepath.Join(dir, DatabaseFile)
	if _, err := os.Stat(path); err != nil {
		return nil, &ConfigError{fmt.Sprintf("there is no log in %s: name the state folder of a plane with --state-dir", dir)}
	}
	return sqlite.Open(ctx, path, migrations(), sqlite.Full)
}

// Identity is what a log was begun with: its name and public keys.
type Identity struct {
	Origin       string
	StatementKey string // PEM
	LogKey       string // verifier key
}

// ReadIdentity reads it from the log of a state directory, also while a plane is running.
func ReadIdentity(ctx context.Context, dir string) (id *Identity, err error) {
	db, err := openForReading(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	meta, err := readMeta(ctx, db.Read())
	return &Identity{meta[metaOrigin], meta[metaStatement], meta[metaLog]}, err
}

// Package store keeps the control plane's log in one SQLite file, or in a database of PostgreSQL that several
// planes share (shared.go), and derives from it what the plane answers with.
//
// The tables ledger, submissions and attestations are the truth; tree_nodes and checkpoints
// prove it. Everything else follows: entries become facts (promotion.FactsOf), facts a
// promotion.World, and the projection tables are a copy of both that can be made again.
// Update is the only way to write: one transaction with one checkpoint, in which the caller
// appends entries and the machine's decisions follow; what it returns is on disk. Open
// derives everything again from the truth and compares; a log that does not hold together is
// served for reading only, and is never continued.
package store

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/host/base/translog"
)

// ConfigError is a configuration that does not fit the log: keys, origin, policy or trust.
// A plane does not start with it.
type ConfigError struct{ Message string }

// Error implements error.
func (e *ConfigError) Error() string { return e.Message }

// The codes of a DamageError.
const (
	Corrupt  = "LEDGER_CORRUPT"
	Rollback = "LEDGER_ROLLBACK"
)

// DamageError reports that the log on disk does not hold together: Corrupt when something in it
// was changed, Rollback when it is an older copy of itself. Nothing is written then.
type DamageError struct {
	Code   string
	Detail string // for the operator; never sent to clients
}

// Error implements error.
func (e *DamageError) Error() string { return e.Code + ": " + e.Detail }

// DatabaseFile is the name of the database in the state directory.
const DatabaseFile = "governance.sqlite3"

// DefaultOrigin names a log that was given no name.
const DefaultOrigin = "governance.local"

const lockFile = "governance.lock"

//go:embed schema/*.sql schema/postgres/*.sql
var schema embed.FS

func migrations(folder string) fs.FS {
	dir, err := fs.Sub(schema, folder)
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return dir
}

// Place is where a plane keeps its log.
type Place struct {
	Dir string // the state directory
	// Database is the address of a database of PostgreSQL; "" is the file in the state directory.
	Database string
}

// Options are what a store is opened with.
type Options struct {
	Dir string // the state directory
	// Database is the address of a database of PostgreSQL that has the log; "" is the file in Dir. Report
	// is called where this plane becomes its writer or is it no longer; it may be nil.
	Database string
	Report   func(Standing)
	// Origin is the log's name, fixed at its first start: "" takes what it has, or
	// DefaultOrigin.
	Origin string
	// Policy is the policy to be in force, nil for the one that is built in. Trust is
	// trust.json, nil for open mode.
	Policy *policy.Policy
	Trust  *bundle.Trust
	// Engines are the SHA-256 of programs whose runs count besides those that the log has.
	Engines []string
	Now     func() time.Time
	// Unlock is asked for the passphrase of encrypted keys; it may be nil. Signers take the place of
	// the key files.
	Unlock  dsse.Unlock
	Signers *Signers
	// At is called where a write has come to; tests end the process there. It may be nil.
	At failpoint.Hook
}

// Store is an open log. Any number of readers and one writer at a time may use it.
type Store struct {
	opts   Options
	lock   *file.Lock
	db     database
	shared *shared // db, where other planes may use it as well
	keys   *Keys
	origin string
	heads  *checkpointLog

	mu     sync.RWMutex
	d      *derived
	log    *ledger.Log
	damage *DamageError
	away   *UnavailableError // d is not what the database has
	// announced is where this plane answers.
	announced string
	closed    bool
}

// database is where the tables are.
type database interface {
	Tx(ctx context.Context, f func(*sql.Tx) error) error
	Read() *sql.DB
	// Snapshot reads what is there now, whatever others write meanwhile, until end is called.
	Snapshot(ctx context.Context) (db *sql.DB, end func(), err error)
	Close() error
}

// embedded is the file of SQLite, which the lock of the state directory keeps for this process.
type embedded struct{ *sqlite.DB }

// Snapshot implements database.
func (e embedded) Snapshot(context.Context) (*sql.DB, func(), error) { return e.Read(), func() {}, nil }

func openEmbedded(ctx context.Context, dir string) (database, error) {
	db, err := sqlite.Open(ctx, filepath.Join(dir, DatabaseFile), migrations("schema"), sqlite.Full)
	if err != nil {
		return nil, err
	}
	return embedded{db}, nil
}

// Open opens or begins the log of a state directory, derives everything from the truth,
// and logs policy and trust where they have changed. The error is a *ConfigError where
// the configuration is at fault. A damaged log opens for reading: see Damage.
func Open(ctx context.Context, opts Options) (_ *Store, err error) {
	s := &Store{opts: opts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.lock, err = file.LockState(opts.Dir, lockFile); err != nil {
		return nil, err
	}
	if opts.Database != "" {
		return s, member{s}.join(ctx)
	}
	if s.db, err = openEmbedded(ctx, opts.Dir); err != nil {
		return nil, err
	}
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if s.damage != nil {
		return s, nil
	}
	if err := s.Reconfigure(ctx, opts.Policy, opts.Trust); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the store after what is under way; once more does nothing.
func (s *Store) Close() error {
	if s.shared != nil {
		s.shared.resign()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.heads != nil {
		err = s.heads.close()
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	if s.lock != nil {
		s.lock.Release()
	}
	return err
}

// Keys are the plane's keys.
func (s *Store) Keys() *Keys { return s.keys }

// Origin is the log's name.
func (s *Store) Origin() string { return s.origin }

// LogKey is the key of its checkpoints.
func (s *Store) LogKey() ledger.LogKey {
	key, _ := translog.NewLogKey(s.origin, publicOf(s.keys.Log)) // was made before
	return key
}

// Damage is what does not hold together about the log, nil if all does.
func (s *Store) Damage() *DamageError {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.damage
}

// Size is the number of entries.
func (s *Store) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.d.size
}

// Look lets f read what the log comes to; no write happens meanwhile. The error is a
// *DamageError when the log is so damaged that it comes to nothing.
func (s *Store) Look(f func(w *promotion.World, log ledger.View) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.log == nil:
		return s.damage
	case s.away != nil:
		return s.away
	}
	return f(s.d.world, s.log.View())
}

// Submission reports at which entry a bundle was taken, by the SHA-256 of its file.
func (s *Store) Submission(fileSHA256 string) (seq int64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	seq, ok = s.d.files[fileSHA256]
	return seq, ok
}

// Attested reports whether an attestation is in the log, by the SHA-256 of what was signed and
// the key.
func (s *Store) Attested(paeSHA256, keyID string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.d.attested[attestationKey{paeSHA256, keyID}]
	return ok
}

// Known reports whether a candidate_revision_id is in the log.
func (s *Store) Known(revision string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.d.revisions[revision] != nil
}

// Reconfigure puts another policy and trust in force, logged and judged at once: the start of the
// log, policy and trust as far as they are not in the log yet. The error is a *ConfigError when they
// may not follow those in force; then nothing changes.
func (s *Store) Reconfigure(ctx context.Context, p *policy.Policy, t *bundle.Trust) error {
	if p == nil {
		p = policy.Default()
	}
	if s.shared != nil {
		if err := (member{s}).propose(ctx, p, t); err != nil {
			return err
		}
	}
	return enforce(ctx, s, func() (*policy.Policy, *bundle.Trust) { return p, t })
}

// enforce logs a policy and trust where others are in force. wanted is called with the store locked.
func enforce(ctx context.Context, s *Store, wanted func() (*policy.Policy, *bundle.Trust)) error {
	_, err := s.update(ctx, true, func(tx *Tx) error {
		p, t := wanted()
		first := s.d.size == 0
		if first {
			if err := tx.start(); err != nil {
				return err
			}
		} else if err := follows(tx.World(), p, t); err != nil {
			return err
		}
		if first || tx.World().Policy().Digest != p.Digest || s.learns(tx.World()) {
			if err := tx.text(bundle.TypePolicy, p.Digest, p.Version, p.Text); err != nil {
				return err
			}
		}
		if t == nil || t.Digest() == tx.World().Trust().Digest() {
			return nil
		}
		text, err := t.Encode()
		if err != nil {
			return err
		}
		return tx.text(bundle.TypeTrust, t.Digest(), t.Version, text)
	})
	return err
}

// learns reports whether this program judges by newer rules than the log, or was given programs
// that the log does not list.
func (s *Store) learns(w *promotion.World) bool {
	known := promotion.Engines(w)
	return w.Rules() < promotion.RulesNewest ||
		slices.ContainsFunc(s.opts.Engines, func(sum string) bool {
			return !slices.Contains(known, sum)
		})
}

// follows reports why policy and trust may not follow those in force: whoever can write the
// files could else go back to weaker ones.
func follows(w *promotion.World, p *policy.Policy, t *bundle.Trust) error {
	if old := w.Policy(); old.Digest != p.Digest && p.Version <= old.Version {
		return &ConfigError{
			fmt.Sprintf("the policy has changed, but its version %d is not above %d, which is in the log",
				p.Version, old.Version)}
	}
	old := w.Trust()
	switch {
	case old == nil:
		return nil
	case t == nil:
		return &ConfigError{
			fmt.Sprintf(
				"there is no trust.json, but version %d is in the log: put it back, or a higher version "+
					"in its place (governance keys trust --restore writes the one that is in the log)",
				old.Version)}
	}
	if err := t.Follows(old.Version, old.Digest()); err != nil {
		return &ConfigError{err.Error()}
	}
	return nil
}

// start begins the log.
func (t *Tx) start() error {
	_, err := t.Append(&promotion.Entry{Type: bundle.TypeLogStart, Predicate: &promotion.LogStart{
		Origin: t.s.origin, RecordedAt: t.Stamp(),
		PublicKeys: promotion.PublicKeys{Statement: string(t.s.keys.Public.PEM()), Log: t.s.LogKey().VKey()},
	}})
	return err
}

func (t *Tx) text(kind, digest string, version int64, text []byte) error {
	loaded := &promotion.LoadedText{Digest: digest, Version: version, Text: string(text),
		RecordedAt: t.Stamp()}
	if kind == bundle.TypePolicy {
		loaded.Rules, loaded.Engines = promotion.RulesNewest, t.s.opts.Engines
	}
	_, err := t.Append(&promotion.Entry{Type: kind, Predicate: loaded})
	return err
}

// KeyDir is the folder of a plane's keys in its state directory; StatementKeyFile and
// LogKeyFile are the files in it.
const (
	KeyDir           = "keys"
	StatementKeyFile = "statement.key"
	LogKeyFile       = "log.key"
)

// Keys are the two keys of a plane: one signs statements, one checkpoints.
type Keys struct {
	Statement crypto.Signer // P-256
	Log       crypto.Signer // Ed25519
	Public    *ledger.Key   // of Statement
	Ring      ledger.Ring   // the public keys that the log has had
}

// Signers are keys that are not files: held by a token or a key service. Both are given, or none.
type Signers struct{ Statement, Log crypto.Signer }

// openKeys reads the keys below a state directory. Only where the log has not begun are
// missing ones made: a log cannot go on with others.
func openKeys(o *Options, begun bool) (*Keys, error) {
	k := &Keys{}
	if o.Signers != nil {
		k.Statement, k.Log = o.Signers.Statement, o.Signers.Log
	} else if err := k.read(o, begun); err != nil {
		return nil, err
	}
	if _, ok := k.Log.Public().(ed25519.PublicKey); !ok {
		return nil, &ConfigError{"the log key is not an Ed25519 key"}
	}
	public, ok := k.Statement.Public().(*ecdsa.PublicKey)
	if !ok {
		return nil, &ConfigError{"the statement key is not a P-256 key"}
	}
	var err error
	k.Public, err = ledger.NewKey(public)
	return k, err
}

// read reads the key files.
func (k *Keys) read(o *Options, begun bool) error {
	dir := filepath.Join(o.Dir, KeyDir)
	if !begun {
		if err := makeKeys(dir); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		what, name string
		into       *crypto.Signer
	}{{"statement key", StatementKeyFile, &k.Statement}, {"log key", LogKeyFile, &k.Log}} {
		key, err := dsse.ReadKey(filepath.Join(dir, f.name), o.Unlock)
		if err != nil {
			return &ConfigError{fmt.Sprintf("%s: %v", f.what, err)}
		}
		*f.into = key
	}
	return nil
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
	for name, key := range map[string]crypto.Signer{StatementKeyFile: statement, LogKeyFile: log} {
		if err := dsse.WriteKey(filepath.Join(dir, name), key); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// LastTrust is the newest trust.json that a log has, nil where it has none. The log is not
// checked: the plane that reads the text again is what checks both.
func LastTrust(ctx context.Context, at Place) (text []byte, err error) {
	db, err := openBegun(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var seq int64
	var payload []byte
	const newest = `SELECT seq, payload FROM ledger WHERE statement_type IN (?, ?) ORDER BY seq DESC LIMIT 1`
	err = db.Read().QueryRowContext(ctx, newest, bundle.TypeTrust,
		dsse.EarlierType(bundle.TypeTrust)).Scan(&seq, &payload)
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
	return []byte(e.Predicate.(*promotion.LoadedText).Text), nil // by its type
}

// checkBegun reports that there is no log in a state directory.
func (at Place) checkBegun() error {
	if at.Database != "" {
		return nil // it is asked once it is open
	}
	if _, err := os.Stat(filepath.Join(at.Dir, DatabaseFile)); err != nil {
		return &ConfigError{
			fmt.Sprintf("there is no log in %s: name the state folder of a plane with --state-dir", at.Dir)}
	}
	return nil
}

// openBegun opens the database of a log that has been begun, also while a plane is running.
func openBegun(ctx context.Context, at Place) (database, error) {
	if at.Database != "" {
		return openSharedBegun(ctx, at.Database)
	}
	if err := at.checkBegun(); err != nil {
		return nil, err
	}
	return openEmbedded(ctx, at.Dir)
}

// Identity is what a log was begun with: its name and public keys.
type Identity struct {
	Origin       string
	StatementKey string // PEM
	LogKey       string // verifier key
}

// ReadIdentity reads it from a log, also while a plane is running.
func ReadIdentity(ctx context.Context, at Place) (id *Identity, err error) {
	db, err := openBegun(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	meta, err := readMeta(ctx, db.Read())
	return &Identity{meta[metaOrigin], meta[metaStatement], meta[metaLog]}, err
}

package store

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"database/sql"

	"github.com/assay-run/assay/governance/ledger"
)

// The keys of the table meta.
const (
	metaOrigin    = "origin"
	metaStatement = "statement_key"
	metaLog       = "log_key"
)

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// identify reads or makes the keys and compares them and the origin with what the log was
// begun with.
func (s *Store) identify(ctx context.Context) error {
	meta, err := readMeta(ctx, s.db.Read())
	if err != nil {
		return err
	}
	var entries int64
	if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM ledger`).Scan(&entries); err != nil {
		return err
	}
	begun := len(meta) > 0 || entries > 0
	if s.keys, err = openKeys(s.opts.Dir, begun); err != nil {
		return err
	}
	s.origin = s.opts.Origin
	if s.origin == "" {
		s.origin = DefaultOrigin
		if begun {
			s.origin = meta[metaOrigin]
		}
	}
	key, err := ledger.NewLogKey(s.origin, publicOf(s.keys.Log))
	if err != nil {
		return &ConfigError{err.Error()}
	}
	want := map[string]string{metaOrigin: s.origin, metaStatement: string(s.keys.Public.PEM()), metaLog: key.VKey()}
	if !begun {
		return s.db.Tx(ctx, func(tx *sql.Tx) error {
			for _, k := range []string{metaOrigin, metaStatement, metaLog} {
				if _, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES (?, ?)`, k, want[k]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if meta[metaOrigin] != s.origin {
		return &ConfigError{fmt.Sprintf("this log is %s, not %s: its name is fixed at its first start", meta[metaOrigin], s.origin)}
	}
	for k, v := range want {
		if meta[k] != v || len(meta) != len(want) {
			return &ConfigError{fmt.Sprintf("the keys in %s are not those that this log was begun with (%s)", KeyDir, k)}
		}
	}
	return nil
}

func readMeta(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT key, value FROM meta`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	meta := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		meta[k] = v
	}
	return meta, rows.Err()
}

// load derives everything from the truth and compares what else is on disk with it. What
// does not hold together becomes the store's damage.
func (s *Store) load(ctx context.Context) error {
	d, known, err := s.examine(ctx)
	var damage *DamageError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &damage):
	case err != nil:
		damage = &DamageError{Corrupt, err.Error()}
	}
	if d == nil {
		d = newDerived()
	}
	s.d, s.damage = d, damage
	if damage != nil && damage.Code == Corrupt {
		return nil
	}
	if s.log, err = ledger.NewLog(s.origin, s.keys.Public, s.keys.Log, d.tree, d.note); err != nil {
		s.damage = &DamageError{Corrupt, err.Error()}
		return nil
	}
	if damage != nil || s.heads != nil {
		return nil
	}
	if s.heads, err = openCheckpointLog(s.opts.Dir, known.end); err != nil {
		return err
	}
	if known.size < d.size { // the process ended between the two
		return s.heads.write(s.log.View().Head, s.opts.Now())
	}
	return nil
}

// examine is everything that a start checks. Where the log has another fault than being
// behind its witness, what was derived is not whole.
func (s *Store) examine(ctx context.Context) (d *derived, known witness, err error) {
	// Beside the rest: it reads all pages once more, which takes as long as all else.
	quick := make(chan error, 1)
	go func() { quick <- s.quickCheck(ctx) }()
	defer func() {
		if broken := <-quick; broken != nil {
			d, err = nil, broken
		}
	}()
	lines, known, err := readCheckpointLog(s.opts.Dir)
	if err != nil {
		return nil, known, err
	}
	d, different, err := compare(ctx, s.db.Read(), s.origin, s.keys)
	if err != nil {
		return d, known, err
	}
	if err := checkCheckpointLog(lines, d.size, d.roots); err != nil {
		return d, known, err
	}
	if d.size > 0 && len(different) > 0 {
		return d, known, fmt.Errorf("the projections differ from the log (governance rebuild makes them again): %v", different)
	}
	return d, known, nil
}

// quickCheck has SQLite look through its file.
func (s *Store) quickCheck(ctx context.Context) error {
	var verdict string
	if err := s.db.Read().QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("quick_check: %s", verdict)
	}
	return nil
}

// Rebuild makes the projections of a state directory again from its log, or with check only
// says where they differ. No plane may be running. The error is a *DamageError when the
// log itself does not hold together.
func Rebuild(ctx context.Context, dir string, check bool) (different []string, err error) {
	s := &Store{opts: Options{Dir: dir}}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.openExisting(ctx); err != nil {
		return nil, err
	}
	d, different, err := s.compareAll(ctx)
	if err != nil || check {
		return different, err
	}
	return different, s.rewrite(ctx, d)
}

// compareAll derives everything and compares all that is kept of it. The error is a
// *DamageError.
func (s *Store) compareAll(ctx context.Context) (d *derived, different []string, err error) {
	if d, different, err = compare(ctx, s.db.Read(), s.origin, s.keys); err != nil {
		return d, different, &DamageError{Corrupt, err.Error()}
	}
	lines, _, err := readCheckpointLog(s.opts.Dir)
	if err != nil {
		return d, different, err
	}
	return d, different, checkCheckpointLog(lines, d.size, d.roots)
}

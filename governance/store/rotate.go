package store

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/host/base/translog"
)

// nextPrefix begins the names of keys that the log is changing to, oldPrefix of those that it had.
const (
	nextPrefix = "next-"
	oldPrefix  = "old-"
)

// readRing reads the keys that the log was begun with and each change of them.
func (s *Store) readRing(ctx context.Context, meta map[string]string) (ledger.Ring, error) {
	bad := func(err error) error {
		return &ConfigError{fmt.Sprintf("the keys that the log was begun with cannot be read: %v", err)}
	}
	key, err := ledger.ParseKey([]byte(meta[metaStatement]))
	if err != nil {
		return nil, bad(err)
	}
	log, err := translog.ParseLogKey(meta[metaLog])
	if err != nil {
		return nil, bad(err)
	}
	ring := ledger.Ring{{Statement: key, Log: log}}
	err = sqlite.Query(ctx, s.db.Read(), func(scan sqlite.Scanner) error {
		var seq int64
		var payload []byte
		if err := scan(&seq, &payload); err != nil {
			return err
		}
		e, err := promotion.ReadEntry(seq, payload)
		if err != nil {
			return err
		}
		change, ok := e.Predicate.(*translog.Rotation)
		if !ok {
			return fmt.Errorf("entry %d is not a change of keys", seq)
		}
		ring, err = ring.Rotate(seq, change)
		return err
	}, `SELECT seq, payload FROM ledger WHERE statement_type = ? ORDER BY seq`, translog.TypeRotation)
	if err != nil {
		return nil, &ConfigError{fmt.Sprintf("the changes of keys in the log: %v", err)}
	}
	return ring, nil
}

// keyPath is the path of a key file in the state directory.
func (s *Store) keyPath(prefix, name string) string {
	return filepath.Join(s.opts.Dir, KeyDir, prefix+name)
}

// finishRotation puts the new key files in their place once the log has changed to them; a process that
// ended between the two left it undone.
func (s *Store) finishRotation(ring ledger.Ring) error {
	if s.opts.Signers != nil || len(ring) < 2 {
		return nil
	}
	for _, f := range []struct{ name, want string }{
		{StatementKeyFile, ring.Last().Statement.ID()}, {LogKeyFile, logKeyID(ring.Last().Log)},
	} {
		next := s.keyPath(nextPrefix, f.name)
		public, err := dsse.ReadPublic(dsse.PublicPath(next))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if id, err := dsse.KeyID(public); err != nil || id != f.want {
			continue
		}
		old := fmt.Sprintf("%s%d-", oldPrefix, ring.Last().From)
		now, was := s.keyPath("", f.name), s.keyPath(old, f.name)
		// The public half last: it tells that the move is not finished.
		private := func(path string) string { return path }
		for _, half := range []func(string) string{private, dsse.PublicPath} {
			if err := replace(s.opts.At, half(next), half(now), half(was)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace puts a file in the place of another one, which gets a new name; what was done before an
// interruption is not done again. It is on the disk when it returns.
func replace(at failpoint.Hook, next, now, was string) error {
	if _, err := os.Stat(next); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(now, was); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at.Reach("rotate.aside")
	if err := os.Rename(next, now); err != nil {
		return err
	}
	if err := file.SyncDir(filepath.Dir(now)); err != nil {
		return err
	}
	at.Reach("rotate.placed")
	return nil
}

func logKeyID(key ledger.LogKey) string {
	id, _ := dsse.KeyID(key.Public) // it is an Ed25519 key
	return id
}

// nextKeys reads the keys that the log is to change to, or makes them: encrypted where those are that it
// has. Those of an agent are made there, and named before.
func (s *Store) nextKeys() (*Signers, error) {
	statement, err := dsse.Generate()
	if err != nil {
		return nil, err
	}
	_, log, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	out := &Signers{Statement: statement, Log: log}
	for _, f := range []struct {
		name string
		into *crypto.Signer
	}{{StatementKeyFile, &out.Statement}, {LogKeyFile, &out.Log}} {
		path := s.keyPath(nextPrefix, f.name)
		if _, err := os.Stat(path); err == nil { // of a change that was not logged
			if *f.into, err = dsse.ReadKey(path, s.opts.Unlock); err != nil {
				return nil, &ConfigError{err.Error()}
			}
			if err := dsse.WritePublic(path, *f.into); err != nil { // an interruption left one half
				return nil, err
			}
			continue
		}
		text, err := os.ReadFile(s.keyPath("", f.name))
		if err != nil {
			return nil, err
		}
		if place, held := dsse.AgentPlace(string(text)); held {
			return nil, &ConfigError{fmt.Sprintf("the key %s is held by an agent (%s): make the new one "+
				"there, and name it first (governance keys new %s --agent agent:SHA256:...)", f.name, place,
				strings.TrimSuffix(path, ".key"))}
		}
		if !dsse.Encrypted(text) {
			if err := dsse.WriteKey(path, *f.into); err != nil {
				return nil, err
			}
			s.opts.At.Reach("rotate.made")
			continue
		}
		passphrase, err := s.opts.Unlock(path)
		if err != nil {
			return nil, err
		}
		if err := dsse.WriteEncrypted(path, *f.into, passphrase); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Rotate changes the keys of the log in a state directory; no plane may be running. The new keys are made
// here, or are next. Before and after the change ask may have witnesses cosign the log: where it fails
// before, nothing has changed, and after it the change stands. It returns the keys that the log has then.
func Rotate(
	ctx context.Context, o Options, next *Signers, ask func(*Store) error,
) (_ *ledger.Epoch, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{opts: o}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.openExisting(ctx, true); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if s.damage != nil {
		return nil, s.damage
	}
	made := next == nil
	if made {
		if o.Signers != nil {
			return nil, &ConfigError{"the keys are held elsewhere: make the new ones there"}
		}
		if next, err = s.nextKeys(); err != nil {
			return nil, err
		}
	}
	s.opts.At.Reach("rotate.keys")
	if err := ask(s); err != nil {
		return nil, err
	}
	s.opts.At.Reach("rotate.asked")
	last := s.keys.Ring.Last()
	var ring ledger.Ring
	_, err = s.Update(ctx, func(tx *Tx) error {
		if err := tx.Settle(); err != nil { // behind this entry the old keys sign nothing
			return err
		}
		change, err := translog.NewRotation(s.origin,
			translog.PublicKeys{Statement: string(last.Statement.PEM()), Log: last.Log.VKey()},
			next.Statement, next.Log, tx.Stamp())
		if err != nil {
			return &ConfigError{err.Error()}
		}
		if ring, err = s.keys.Ring.Rotate(tx.Next(), change); err != nil {
			return err
		}
		_, err = tx.Append(&promotion.Entry{Type: translog.TypeRotation, Predicate: change})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.opts.At.Reach("rotate.logged")
	if err := ask(s); err != nil {
		return nil, fmt.Errorf("the keys have changed, the next start of the plane puts the new ones in "+
			"place and asks again: %w", err)
	}
	if made {
		err = s.finishRotation(ring)
	}
	return ring.Last(), err
}

// Rotations are the entries that have changed the keys, with their places.
func (s *Store) Rotations(ctx context.Context) (seqs []int64, entries []ledger.Entry, err error) {
	for _, epoch := range s.keys.Ring[1:] {
		e, err := s.Signed(ctx, epoch.From-1)
		if err != nil {
			return nil, nil, err
		}
		seqs, entries = append(seqs, epoch.From-1), append(entries, e)
	}
	return seqs, entries, nil
}

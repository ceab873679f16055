package store

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/sqlite"
)

// ErrNotFound reports that the log has no such thing.
var ErrNotFound = errors.New("not in the log")

// EntryAt is one entry as it was signed, with its facts.
type EntryAt struct {
	Entry ledger.Entry
	Facts []promotion.Fact
}

// Entry reads an entry by its place. The error is ErrNotFound where there is none.
func (s *Store) Entry(ctx context.Context, seq int64) (*EntryAt, error) {
	rows, err := s.db.Read().QueryContext(ctx, rowsQuery, seq, seq+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, errors.Join(rows.Err(), ErrNotFound)
	}
	r := &row{}
	if err := r.scan(rows.Scan); err != nil {
		return nil, err
	}
	if err := r.check(s.origin, s.keys.Ring.At(seq).Statement); err != nil {
		return nil, &DamageError{Corrupt, err.Error()}
	}
	facts, err := promotion.FactsOf(r.entry)
	return &EntryAt{Entry: r.ledgerEntry(), Facts: facts}, err
}

// one reads the only row of a query. The error is ErrNotFound where there is none.
func (s *Store) one(ctx context.Context, into []any, text string, args ...any) error {
	err := s.db.Read().QueryRowContext(ctx, text, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Signed reads only what was signed of an entry.
func (s *Store) Signed(ctx context.Context, seq int64) (ledger.Entry, error) {
	e := ledger.Entry{PayloadType: bundle.PayloadInToto}
	into := []any{&e.Payload, &e.Signature}
	err := s.one(ctx, into, `SELECT payload, signature FROM ledger WHERE seq = ?`, seq)
	return e, err
}

// FactName names a fact, without its fields.
type FactName struct {
	Seq  int64              `json:"seq"`
	Type promotion.FactType `json:"type"`
	ID   string             `json:"fact_id"`
	Run  string             `json:"run_id,omitempty"`
}

// FactNames are the facts of an entry.
func (s *Store) FactNames(ctx context.Context, seq int64) (list []FactName, err error) {
	err = sqlite.Query(ctx, s.db.Read(), func(scan sqlite.Scanner) error {
		var f FactName
		err := scan(&f.Seq, &f.Type, &f.ID, &f.Run)
		list = append(list, f)
		return err
	}, `SELECT seq, type, fact_id, run_id FROM facts WHERE seq = ? ORDER BY ord`, seq)
	return list, err
}

// Bundle is the newest submission of a revision, as candidate_bundle.json has it.
func (s *Store) Bundle(ctx context.Context, revision string) (body []byte, err error) {
	const newest = `SELECT body FROM submissions WHERE candidate_revision_id = ? ORDER BY seq DESC LIMIT 1`
	err = s.one(ctx, []any{&body}, newest, revision)
	return body, err
}

// Note is the signed checkpoint of a size. The error is ErrNotFound where none was made.
func (s *Store) Note(ctx context.Context, size int64) (note string, err error) {
	err = s.one(ctx, []any{&note}, `SELECT note FROM checkpoints WHERE size = ?`, size)
	return note, err
}

// Started is when the log began, RFC 3339.
func (s *Store) Started(ctx context.Context) (at string, err error) {
	err = s.one(ctx, []any{&at}, `SELECT recorded_at FROM ledger WHERE seq = 0`)
	return at, err
}

// Audit is a log on disk for verification: nothing about it has been checked.
type Audit struct {
	s *Store
	// Statement and Log are the public keys that the log was begun with.
	Statement *ledger.Key
	Log       ledger.LogKey
}

// OpenAudit opens a log; no plane may be running on the state directory.
func OpenAudit(ctx context.Context, at Place, unlock ...dsse.Unlock) (*Audit, error) {
	s := existing(at, unlock)
	if err := s.openExisting(ctx, false); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Audit{s: s, Statement: s.keys.Ring[0].Statement, Log: s.keys.Ring[0].Log}, nil
}

// Close gives the log back.
func (a *Audit) Close() error { return a.s.Close() }

// Compare reports where the projections differ from what the log makes. The error is a
// *DamageError when the log itself does not hold together.
func (a *Audit) Compare(ctx context.Context) (different []string, err error) {
	_, different, err = a.s.compareAll(ctx)
	return different, err
}

// Entries are all entries in their order.
func (a *Audit) Entries(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return sequence(ctx, a.s.db.Read(), func(scan sqlite.Scanner) (ledger.Entry, error) {
		e := ledger.Entry{PayloadType: bundle.PayloadInToto}
		err := scan(&e.Payload, &e.Signature)
		return e, err
	}, `SELECT payload, signature FROM ledger ORDER BY seq`)
}

// Notes are all checkpoints in their order.
func (a *Audit) Notes(ctx context.Context) iter.Seq2[string, error] {
	return sequence(ctx, a.s.db.Read(), func(scan sqlite.Scanner) (note string, err error) {
		err = scan(&note)
		return note, err
	}, `SELECT note FROM checkpoints ORDER BY size`)
}

// errEnough ends a query whose reader has stopped.
var errEnough = errors.New("enough")

// sequence is what the rows of a query hold. An error is the last pair.
func sequence[T any](ctx context.Context, db *sql.DB, read func(sqlite.Scanner) (T, error),
	text string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := sqlite.Query(ctx, db, func(scan sqlite.Scanner) error {
			v, err := read(scan)
			if err == nil && !yield(v, nil) {
				err = errEnough
			}
			return err
		}, text)
		if err != nil && !errors.Is(err, errEnough) {
			var none T
			yield(none, err)
		}
	}
}

// checkpointFile remembers outside of the database how far the log had come: a database
// that is behind it is a restored copy.
const checkpointFile = "checkpoints.log"

// syncEvery is how often the file is brought to disk.
const syncEvery = time.Second

type checkpointLog struct {
	file checkpointWriter

	mu    sync.Mutex
	known witness
	dirty bool
	stop  chan struct{}
	done  chan struct{}
}

// checkpointWriter is what is asked of the file.
type checkpointWriter interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// checkpointLine is "<size> <root> <unix>": entries, hex, seconds.
type checkpointLine struct {
	size int64
	root string
}

// witness is how far the file has come: the size that its last whole line names, and where
// that line ends.
type witness struct{ size, end int64 }

// readCheckpointLog reads the lines; what a crash left of the one behind them is no line.
func readCheckpointLog(dir string) (lines []checkpointLine, known witness, err error) {
	text, err := os.ReadFile(filepath.Join(dir, checkpointFile))
	if os.IsNotExist(err) {
		return nil, known, nil
	}
	if err != nil {
		return nil, known, err
	}
	known.end = int64(bytes.LastIndexByte(text, '\n') + 1)
	scan := bufio.NewScanner(bytes.NewReader(text[:known.end]))
	for n := 1; scan.Scan(); n++ {
		var l checkpointLine
		var unix int64
		if got, err := fmt.Sscanf(scan.Text(), "%d %64s %d", &l.size, &l.root, &unix); err != nil ||
			got != 3 || scan.Text() != l.text(unix) {
			return nil, known,
				&DamageError{Corrupt, fmt.Sprintf("%s: line %d is no checkpoint", checkpointFile, n)}
		}
		lines, known.size = append(lines, l), l.size
	}
	return lines, known, scan.Err()
}

func (l checkpointLine) text(unix int64) string { return fmt.Sprintf("%d %s %d", l.size, l.root, unix) }

// checkCheckpointLog compares the lines with the roots that the entries make at the sizes
// of their checkpoints. The first line is on disk before a second checkpoint is made, so
// only a log with one checkpoint may be without: anything older is without its witness.
func checkCheckpointLog(lines []checkpointLine, size int64, roots map[int64]tlog.Hash) error {
	if len(lines) == 0 && len(roots) > 1 {
		return &DamageError{Rollback,
			fmt.Sprintf(
				"%s is missing or empty, and the log has %d checkpoints: nothing shows that this is its "+
					"newest copy. "+
					"Put the file back; where it is lost for good, governance rebuild "+
					"--accept-checkpoints makes it anew", checkpointFile, len(roots))}
	}
	last := int64(0)
	for _, l := range lines {
		root, ok := roots[l.size]
		switch {
		case l.size > size:
			return &DamageError{Rollback,
				fmt.Sprintf("%s knows %d entries, the database has %d", checkpointFile, l.size, size)}
		case !ok || ledger.Hex(root) != l.root:
			return &DamageError{Corrupt,
				fmt.Sprintf("%s has another root at %d entries", checkpointFile, l.size)}
		case l.size <= last:
			return &DamageError{Corrupt, fmt.Sprintf("%s goes back to %d entries", checkpointFile, l.size)}
		}
		last = l.size
	}
	return nil
}

// openCheckpointLog opens the file for writing behind its last whole line.
func openCheckpointLog(dir string, known witness) (*checkpointLog, error) {
	f, err := os.OpenFile(filepath.Join(dir, checkpointFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(known.end); err != nil {
		_ = f.Close()
		return nil, err
	}
	c := &checkpointLog{file: f, known: known, stop: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c, nil
}

// write appends a line, unless the file has come that far. It is not on disk yet: a database that is ahead
// of the file is fine, but for the first line, without which the file could as well have been taken away.
func (c *checkpointLog) write(head ledger.Checkpoint, now time.Time) error {
	line := checkpointLine{head.Size, ledger.Hex(head.Root)}
	text := line.text(now.Unix()) + "\n"
	c.mu.Lock()
	defer c.mu.Unlock()
	if head.Size <= c.known.size {
		return nil
	}
	if _, err := c.file.WriteAt([]byte(text), c.known.end); err != nil {
		// Half a line must not become the beginning of the next one.
		return errors.Join(err, c.file.Truncate(c.known.end))
	}
	first := c.known.end == 0
	c.known = witness{head.Size, c.known.end + int64(len(text))}
	if first {
		return c.file.Sync()
	}
	c.dirty = true
	return nil
}

func (c *checkpointLog) run() {
	defer close(c.done)
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.sync()
		case <-c.stop:
			c.sync()
			return
		}
	}
}

func (c *checkpointLog) sync() {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = false
	c.mu.Unlock()
	if dirty {
		_ = c.file.Sync() // the database is the record; this is a second witness of it
	}
}

func (c *checkpointLog) close() error {
	close(c.stop)
	<-c.done
	return c.file.Close()
}

// AcceptCheckpoints makes the file anew where it is missing or empty, from the log as it is:
// whoever asks for it answers for the log being the newest copy. No plane may be running. It
// reports how many entries the log has. A file with anything in it is left alone, since it would
// show a rollback: the error then is a *ConfigError.
func AcceptCheckpoints(ctx context.Context, at Place, unlock ...dsse.Unlock) (size int64, err error) {
	s := existing(at, unlock)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.openExisting(ctx, false); err != nil {
		return 0, err
	}
	switch lines, _, err := readCheckpointLog(at.Dir); {
	case err != nil:
		return 0, err
	case len(lines) > 0:
		return 0, &ConfigError{
			checkpointFile + " is there and has lines: it is the witness of this log, and is not made anew"}
	}
	db, end, err := s.db.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	d, _, err := compare(ctx, db, s.origin, s.keys)
	if err != nil {
		return 0, &DamageError{Corrupt, err.Error()}
	}
	root, ok := d.roots[d.size]
	if !ok {
		return 0, &DamageError{Corrupt, "the last entry has no checkpoint"}
	}
	c, err := openCheckpointLog(at.Dir, witness{})
	if err != nil {
		return 0, err
	}
	return d.size, errors.Join(c.write(ledger.Checkpoint{Size: d.size, Root: root}, s.opts.Now()), c.close())
}

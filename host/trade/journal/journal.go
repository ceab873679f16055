// Package journal is the write-ahead journal of live and paper runs: what was decided,
// before it is done, and what became of it. After a crash it is the only memory of which
// orders may stand at a venue; /results of a run that was interrupted come from it.
//
// It is one SQLite file, journal.sqlite3 in <state_dir>/live, with one writer: a second
// Open of the same folder is refused while the first lives. Every method that writes is
// one transaction, on disk when the method returns: the write-ahead log is synced at each
// commit. A Run writes; a Journal reads.
//
// # Damage
//
// Each transaction ends with an entry of log that holds a digest of its other rows. The
// entries are chained by hash through the whole file, and journal.head beside it has how
// far the chain had come. Open reads everything and compares, so that an edited, lost or
// added row anywhere is found, also a write-ahead log of which SQLite silently dropped the
// end. A damaged journal is set aside as journal-<utc>.damaged with its side files and a
// new one is begun; see Opened.Quarantined. Nothing but a full disk, missing rights or a
// second process keeps Open from succeeding.
//
// # Failed writes
//
// The first write of a run that fails makes the run failed for good: intents are refused
// from then on without a try, so that no order leaves that is not written down. All other
// writes are still tried, for cancels go on and their outcome is worth having.
//
// The package imports digest, sqlite, file, failpoint and the market nouns.
// The engine (package trade) writes it and reads it.
package journal

import (
	"context"
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

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// FileName is the journal's name in <state_dir>/live.
const FileName = "journal.sqlite3"

const lockName = "journal.lock"

//go:embed schema/*.sql
var schema embed.FS

// Options of Open.
type Options struct {
	// Now is the clock of entries without a time and of the name of a damaged journal; nil:
	// this machine's.
	Now func() time.Time
}

// Journal is the open journal.
type Journal struct {
	clock   func() time.Time
	lock    *file.Lock
	witness *os.File

	// mu makes the writes one after the other and guards what follows.
	mu     sync.Mutex
	db     *sqlite.DB // nil after Close
	head   head       // of the chain; no hash: read it
	n      map[string]int64
	sum    *rowDigest
	damage error // SQLite found the file damaged while it was in use
}

// Opened is a journal with what was found when it was opened.
type Opened struct {
	*Journal
	// Quarantined is set when the journal was damaged and a new one was begun.
	Quarantined *Quarantined
	// New reports whether there was no journal.
	New bool
}

// Open opens or creates the journal in dir, <state_dir>/live, for this user only, and
// verifies all of it. A damaged journal is set aside. The error wraps file.ErrHeld
// when another process has the journal open; otherwise it is one of the surroundings: the
// disk is full, rights are missing.
func Open(ctx context.Context, dir string, opts Options) (*Opened, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	lock, err := file.LockState(dir, lockName)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	o, err := open(ctx, dir, opts)
	if err != nil {
		lock.Release()
		return nil, fmt.Errorf("journal: %w", err)
	}
	o.lock = lock
	return o, nil
}

func open(ctx context.Context, dir string, opts Options) (*Opened, error) {
	path := filepath.Join(dir, FileName)
	o := &Opened{Journal: &Journal{clock: opts.Now, n: map[string]int64{}, sum: newRowDigest()}}
	exists, at, err := inspect(ctx, path)
	var damage *damageError
	switch {
	case errors.As(err, &damage):
		if o.Quarantined, err = quarantine(ctx, path, damage, opts.Now()); err != nil {
			return nil, err
		}
		exists, at = false, head{}
	case err != nil:
		return nil, err
	}
	o.New = !exists && o.Quarantined == nil
	if err := o.start(ctx, path, at); err == nil {
		return o, nil
	} else if o.Quarantined != nil || !exists || !isDamage(err) {
		return nil, err
	} else if o.Quarantined,
		err = quarantine(ctx, path, &damageError{reason: err.Error()}, opts.Now()); err != nil {
		return nil, err
	}
	// It could be read and not be written.
	if err := o.start(ctx, path, head{}); err != nil {
		return nil, err
	}
	return o, nil
}

// start opens the file for writing and writes to it once: what a run must be able to
// rely on is tried before it starts.
func (j *Journal) start(ctx context.Context, path string, at head) (err error) {
	migrations, err := fs.Sub(schema, "schema")
	if err != nil {
		return err
	}
	if j.db, err = sqlite.Open(ctx, path, migrations, sqlite.Durable); err != nil {
		return err
	}
	err = j.probe(ctx)
	if err == nil && at.hash == "" {
		at, err = readHead(ctx, j.db.Read())
	}
	if err == nil {
		j.witness, err = openWitness(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(err, j.db.Close())
	}
	j.head = at
	writeWitness(j.witness, at)
	_ = file.SyncDir(filepath.Dir(path))
	_ = file.SyncDir(filepath.Dir(filepath.Dir(path)))
	return nil
}

// probe commits something that changes nothing.
func (j *Journal) probe(ctx context.Context) error {
	return j.db.Tx(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
}

// Close waits for a write that runs and closes the journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.db == nil {
		return nil
	}
	err := errors.Join(j.db.Close(), j.witness.Close())
	j.db = nil
	j.lock.Release()
	return err
}

func (j *Journal) now() market.Time { return market.FromTime(j.clock()) }

// Begin writes a run down, before it touches the network. StartedAt is the journal's
// clock when it is zero; ErrExists: the run id or tag is taken.
func (j *Journal) Begin(ctx context.Context, info Info, entries ...Entry) (*Run, error) {
	if info.StartedAt == 0 {
		info.StartedAt = j.now()
	}
	info.Status, info.EndedAt, info.StopReason, info.Error = Running, 0, "", nil
	info.Symbols = slices.Clone(info.Symbols)
	if info.Mode == Paper && info.AccountID == "" {
		info.AccountID = info.RunID
	}
	if err := info.check(); err != nil {
		return nil, err
	}
	values, err := info.values()
	if err != nil {
		return nil, err
	}
	r := &Run{j: j, info: info}
	err = r.write(ctx, entries, func(t *txn) error {
		if _, err := t.tx.ExecContext(t.ctx, insertInto("runs", runColumns), values...); err != nil {
			return refusal(err, "run "+info.RunID)
		}
		return t.touchedRun()
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Resume writes on with a run of an earlier process: what is learnt of its orders, its
// end. ErrNotFound: there is no such run.
func (j *Journal) Resume(ctx context.Context, runID string) (*Run, error) {
	info, err := j.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	return &Run{j: j, info: info}, nil
}

func (i Info) check() error {
	switch {
	case !runIDForm.MatchString(i.RunID):
		return &InvalidError{"run_id", "use at most 128 letters, digits, dots, dashes and underscores"}
	case i.RunTag == "":
		return &InvalidError{"run_tag", "must be set"}
	case i.Mode != Paper && i.Mode != Live:
		return &InvalidError{"mode", "use paper or live"}
	case i.Exchange == "":
		return &InvalidError{"exchange", "must be set"}
	case len(i.Symbols) == 0:
		return &InvalidError{"symbols", "must not be empty"}
	case i.Timeframe == market.Timeframe{}:
		return &InvalidError{"timeframe", "must be set"}
	}
	return nil
}

// values are the columns of runs.
func (i Info) values() ([]any, error) {
	parts := []struct {
		field string
		value any
	}{{"symbols", i.Symbols}, {"request", i.Request}, {"markets", i.Markets}, {"risk", i.Risk}}
	texts := make([]string, len(parts))
	for n, p := range parts {
		text, err := canonical(p.value)
		if err != nil {
			return nil, &InvalidError{p.field, err.Error()}
		}
		texts[n] = string(text)
	}
	return []any{
		i.RunID, i.RunTag, i.Mode, i.Exchange, i.AccountID, texts[0], i.Timeframe.String(), texts[1],
		i.StrategySHA256,
		texts[2], texts[3], nullMoney(i.StartCash), int64(i.StartedAt), nil, i.Status, nil, nil,
	}, nil
}

// ErrClosed reports that the journal was closed.
var ErrClosed = errors.New("the journal is closed")

// ErrEnded reports that the run has ended already.
var ErrEnded = errors.New("the run has ended")

// ErrExists reports that a run, an order or a candle is written down already. Nothing was
// written.
var ErrExists = errors.New("written down already")

// ErrNotBegun reports that the context was over before the write began.
var ErrNotBegun = errors.New("not written: the context had ended")

// ErrNotFound reports that the journal has no such run.
var ErrNotFound = errors.New("not in the journal")

// InvalidError reports that something cannot be written down. Nothing was written; the
// journal is fine.
type InvalidError struct {
	Field, Reason string
}

// Error names the field.
func (e *InvalidError) Error() string { return "journal: " + e.Field + ": " + e.Reason }

// WriteError reports that the journal could not be written: the run fails with
// ARTIFACT_WRITE_FAILED. Cause is the first failure, which stays.
type WriteError struct {
	RunID string
	Cause error
}

// Error returns the message.
func (e *WriteError) Error() string {
	return fmt.Sprintf("the journal of run %s could not be written: %v", e.RunID, e.Cause)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Cause }

// txn is one write transaction for one run: rows first, then the entries of the log.
type txn struct {
	ctx   context.Context
	tx    *sql.Tx
	runID string
	now   int64

	sum    *rowDigest
	counts map[string]int
	run    string // digest of the row of runs, when it was written

	head head
	n    int64
}

// insert adds a row to a digested table.
func (t *txn) insert(table *table, values ...any) error {
	if _, err := t.tx.ExecContext(t.ctx, table.insert, values...); err != nil {
		return err
	}
	t.count(table, values)
	return nil
}

func (t *txn) count(table *table, values []any) {
	t.sum.add(table.name, values)
	t.counts[table.name]++
}

// touchedRun takes the digest of the run's row as it is now.
func (t *txn) touchedRun() error {
	cur, err := openQuery(t.ctx, t.tx, "SELECT "+runColumns+" FROM runs WHERE run_id = ?", t.runID)
	if err != nil {
		return err
	}
	defer cur.close()
	ok, err := cur.next()
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err == nil {
		t.run = runDigest(cur.values)
	}
	return err
}

// log writes the entries and, for all rows before, the one that vouches for them.
func (t *txn) log(entries []*body) error {
	if len(t.counts) > 0 || t.run != "" {
		b := &body{At: t.now, Kind: kindRows, Rows: t.counts, Run: t.run, V: Version}
		if len(t.counts) > 0 {
			b.SHA = t.sum.hex()
		}
		entries = append(entries, b)
	}
	for _, b := range entries {
		b.RunID, b.N = t.runID, t.n+1
		text := b.encode()
		hash := chain(t.head.hash, text)
		if _, err := t.tx.ExecContext(t.ctx, logInsert, t.runID, b.N, b.Kind, text, t.head.hash,
			hash); err != nil {
			return err
		}
		t.n, t.head = b.N, head{t.head.count + 1, hash}
	}
	return nil
}

var logInsert = insertInto("log", logColumns)

// errNothing ends a transaction that has nothing to write.
var errNothing = errors.New("nothing to write")

// transact runs one transaction: f writes rows, then the entries follow. It is finished
// once it began, whatever becomes of ctx: a write that may or may not have
// happened is worse than a late one.
func (j *Journal) transact(ctx context.Context, runID string, entries []*body, f func(*txn) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.db == nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotBegun, context.Cause(ctx))
	}
	if j.damage != nil {
		return j.damage
	}
	t := &txn{ctx: context.WithoutCancel(ctx), runID: runID, now: int64(j.now()), counts: map[string]int{},
		sum: j.sum}
	t.sum.reset()
	err := j.db.Tx(t.ctx, func(tx *sql.Tx) error {
		t.tx = tx
		if err := j.position(t); err != nil {
			return err
		}
		if err := f(t); err != nil {
			return err
		}
		if len(t.counts) == 0 && t.run == "" && len(entries) == 0 {
			return errNothing
		}
		return t.log(entries)
	})
	switch {
	case err == nil:
		j.head, j.n[runID] = t.head, t.n
		writeWitness(j.witness, t.head)
		return nil
	case errors.Is(err, errNothing):
		return nil
	}
	// A commit that failed may have happened: look before the next one.
	j.head = head{}
	clear(j.n)
	if sqlite.IsDamage(err) {
		j.damage = fmt.Errorf("the journal is damaged; it is set aside when the service starts again: %w",
			err)
	}
	return err
}

// position returns where the chain stands: remembered, or read after a failure.
func (j *Journal) position(t *txn) (err error) {
	t.head = j.head
	if t.head.hash == "" {
		if t.head, err = readHead(t.ctx, t.tx); err != nil {
			return err
		}
	}
	n, known := j.n[t.runID]
	if !known {
		err = t.tx.QueryRowContext(t.ctx, "SELECT coalesce(max(n), 0) FROM log WHERE run_id = ?",
			t.runID).Scan(&n)
	}
	t.n = n
	return err
}

// readHead reads where the chain ends.
func readHead(ctx context.Context, q querier) (head, error) {
	h := head{hash: genesis}
	err := q.QueryRowContext(ctx, "SELECT rowid, hash FROM log ORDER BY rowid DESC LIMIT 1").Scan(&h.count,
		&h.hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return h, err
}

// refusal turns what the schema refuses into an error after which the journal is fine.
func refusal(err error, what string) error {
	switch {
	case sqlite.IsDuplicate(err):
		return fmt.Errorf("%s: %w", what, ErrExists)
	case sqlite.IsConstraint(err):
		return &InvalidError{what, err.Error()}
	}
	return err
}

// isRefusal reports whether nothing was written and the journal is fine.
func isRefusal(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid) || errors.Is(err, ErrExists) || errors.Is(err, ErrEnded) ||
		errors.Is(err, ErrClosed) || errors.Is(err, ErrNotBegun)
}

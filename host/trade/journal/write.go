package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/base/sqlite"
)

// ErrClosed says that the journal was closed.
var ErrClosed = errors.New("the journal is closed")

// ErrEnded says that the run has ended already.
var ErrEnded = errors.New("the run has ended")

// ErrExists says that a run, an order or a candle is written down already. Nothing was
// written.
var ErrExists = errors.New("written down already")

// ErrNotBegun says that the context was over before the write began.
var ErrNotBegun = errors.New("not written: the context was over")

// ErrNotFound says that the journal has no such run.
var ErrNotFound = errors.New("not in the journal")

// InvalidError says that something cannot be written down. Nothing was written; the
// journal is fine.
type InvalidError struct {
	Field, Reason string
}

// Error names the field.
func (e *InvalidError) Error() string { return "journal: " + e.Field + ": " + e.Reason }

// WriteError says that the journal could not be written: the run fails with
// ARTIFACT_WRITE_FAILED. Cause is the first failure, which stays.
type WriteError struct {
	RunID string
	Cause error
}

// Error tells what failed.
func (e *WriteError) Error() string {
	return fmt.Sprintf("the journal of run %s could not be written: %v", e.RunID, e.Cause)
}

// Unwrap is the cause.
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
		if _, err := t.tx.ExecContext(t.ctx, logInsert, t.runID, b.N, b.Kind, text, t.head.hash, hash); err != nil {
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
// once it began, whatever becomes of ctx: a write of which nobody knows whether it
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
	t := &txn{ctx: context.WithoutCancel(ctx), runID: runID, now: int64(j.now()), counts: map[string]int{}, sum: j.sum}
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
		j.witness.write(t.head)
		return nil
	case errors.Is(err, errNothing):
		return nil
	}
	// A commit that failed may have happened: look before the next one.
	j.head = head{}
	clear(j.n)
	if sqlite.IsDamage(err) {
		j.damage = fmt.Errorf("the journal is damaged; it is set aside when the service starts again: %w", err)
	}
	return err
}

// position is where the chain stands: remembered, or read after a failure.
func (j *Journal) position(t *txn) (err error) {
	t.head = j.head
	if t.head.hash == "" {
		if t.head, err = readHead(t.ctx, t.tx); err != nil {
			return err
		}
	}
	n, known := j.n[t.runID]
	if !known {
		err = t.tx.QueryRowContext(t.ctx, "SELECT coalesce(max(n), 0) FROM log WHERE run_id = ?", t.runID).Scan(&n)
	}
	t.n = n
	return err
}

// readHead reads where the chain ends.
func readHead(ctx context.Context, q querier) (head, error) {
	h := head{hash: genesis}
	err := q.QueryRowContext(ctx, "SELECT rowid, hash FROM log ORDER BY rowid DESC LIMIT 1").Scan(&h.count, &h.hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return h, err
}

// refusal turns what the schema refuses into an error that says that the journal is fine.
func refusal(err error, what string) error {
	switch {
	case sqlite.IsDuplicate(err):
		return fmt.Errorf("%s: %w", what, ErrExists)
	case sqlite.IsConstraint(err):
		return &InvalidError{what, err.Error()}
	}
	return err
}

// isRefusal says that nothing was written and that the journal is fine.
func isRefusal(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid) || errors.Is(err, ErrExists) || errors.Is(err, ErrEnded) || errors.Is(err, ErrClosed) || errors.Is(err, ErrNotBegun)
}

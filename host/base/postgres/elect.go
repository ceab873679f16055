package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pingTime bounds how long the database may take to say who is the writer.
const pingTime = 5 * time.Second

// LedError reports that another program is the writer, with the address that it has announced.
type LedError struct{ Address string }

// Error implements error.
func (e *LedError) Error() string {
	return fmt.Sprintf("another program is the writer of this database (%s)", e.Address)
}

// LostError reports that a program is not the writer any more.
type LostError struct{ Err error }

// Error implements error.
func (e *LostError) Error() string { return fmt.Sprintf("no longer the writer: %v", e.Err) }

// Unwrap returns what has happened.
func (e *LostError) Unwrap() error { return e.Err }

// Writer is the one writer of a database.
type Writer struct {
	// Epoch counts the writers that the database has had.
	Epoch int64

	pool *sql.DB
	conn *sql.Conn
	pid  int64

	using sync.Mutex // one transaction, or one question whether the session lives
}

// Elect makes the caller the writer as soon as no other program is; without wait the error is a *LedError
// where one is. The schema needs the table writer (one, epoch, address) with its only row; address is asked
// for what to write there. From then on no write of an earlier writer is committed any more, and all that was
// committed can be read.
func (d *DB) Elect(ctx context.Context, wait bool, address func() string) (_ *Writer, err error) {
	w := &Writer{pool: openPool(d.config.with(map[string]string{
		"statement_timeout": "0", "lock_timeout": "0", "idle_session_timeout": "0",
		"idle_in_transaction_session_timeout": "0",
	}), "", 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.conn, err = w.pool.Conn(ctx); err != nil {
		return nil, err
	}
	key, led := lockKey("writer"), true
	if wait {
		_, err = w.conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+key+`)`)
	} else {
		err = w.conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(`+key+`)`).Scan(&led)
	}
	switch {
	case err != nil:
		return nil, err
	case !led:
		_, at, err := d.Writer(ctx)
		if err != nil {
			return nil, err
		}
		return nil, &LedError{at}
	}
	// This waits for the transaction of an earlier writer that is under way.
	err = w.conn.QueryRowContext(ctx, `UPDATE writer SET epoch = epoch + 1, address = ? WHERE one = 1
		RETURNING epoch, pg_backend_pid()`, address()).Scan(&w.Epoch, &w.pid)
	return w, err
}

// Tx runs f in a write transaction of the session that holds the lock. It commits when f returns nil and
// rolls back otherwise, also when f panics. The error is a *LostError where the caller is not the writer
// any more; after one of a commit it is not known whether it has come about.
func (w *Writer) Tx(ctx context.Context, f func(*sql.Tx) error) error {
	w.using.Lock()
	defer w.using.Unlock()
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return &LostError{err}
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing
	var epoch, pid int64
	err = tx.QueryRowContext(ctx, `SELECT epoch, pg_backend_pid() FROM writer WHERE one = 1 FOR UPDATE`).Scan(
		&epoch, &pid)
	switch {
	case err != nil:
		return &LostError{err}
	case epoch != w.Epoch:
		return &LostError{fmt.Errorf("epoch %d has come after %d", epoch, w.Epoch)}
	case pid != w.pid:
		return &LostError{errors.New("the session has changed: connect without a pooler of transactions")}
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Announce changes the address at which others find the writer.
func (w *Writer) Announce(ctx context.Context, address string) error {
	return w.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE writer SET address = ? WHERE one = 1`, address)
		return err
	})
}

// Hold returns when the writer's session has ended, or ctx has.
func (w *Writer) Hold(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if err := w.Ping(ctx); err != nil {
			return err
		}
	}
}

// Ping reports that the session has ended, or that another writer has come.
func (w *Writer) Ping(ctx context.Context) error {
	w.using.Lock()
	defer w.using.Unlock()
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	var epoch int64
	err := w.conn.QueryRowContext(ctx, `SELECT epoch FROM writer WHERE one = 1`).Scan(&epoch)
	if err == nil && epoch != w.Epoch {
		err = fmt.Errorf("epoch %d has come after %d", epoch, w.Epoch)
	}
	if err != nil {
		return &LostError{err}
	}
	return nil
}

// Close ends the session, and with it the lock.
func (w *Writer) Close() error {
	if w.conn != nil {
		_ = w.conn.Close() // of a session that was lost it has nothing to say
	}
	return w.pool.Close()
}

// Writer is the newest writer that the database has had: it may have ended.
func (d *DB) Writer(ctx context.Context) (epoch int64, address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	err = d.reader.QueryRowContext(ctx, `SELECT epoch, address FROM writer WHERE one = 1`).Scan(
		&epoch, &address)
	return epoch, address, err
}

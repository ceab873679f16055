package journal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Run writes one run. Its methods may be called from any goroutine. Their errors are
//   - *InvalidError, ErrExists, ErrEnded, ErrClosed, ErrNotBegun: nothing was written and the
//     run can go on;
//   - *WriteError: the run must fail. Failed gives the same from then on.
type Run struct {
	j *Journal
	// writing is held during a write, so that no intent overtakes a failure.
	writing sync.Mutex

	mu     sync.Mutex
	info   Info
	failed *WriteError
}

// Info is the row of the run as this Run knows it.
func (r *Run) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := r.info
	info.Symbols = slices.Clone(info.Symbols)
	return info
}

// Failed is the first write that failed, a *WriteError; nil while all is well.
func (r *Run) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		return nil
	}
	return r.failed
}

// write is a transaction of this run; a failure is kept.
func (r *Run) write(ctx context.Context, entries []Entry, f func(*txn) error) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	bodies := make([]*body, 0, len(entries)+1)
	for _, e := range entries {
		b, err := entryBody(e, r.j.now())
		if err != nil {
			return err
		}
		bodies = append(bodies, b)
	}
	err := r.j.transact(ctx, r.info.RunID, bodies, f)
	if err == nil || isRefusal(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = &WriteError{r.info.RunID, err}
	}
	return r.failed
}

// Connected is what is known of a run once it talked to the venue.
type Connected struct {
	// AccountID cannot change any more once it was set.
	AccountID string
	// Markets are the rules of the symbols.
	Markets   json.RawMessage
	StartCash decimal.NullDecimal
}

// Connected completes the run's row; what is zero stays as it is.
func (r *Run) Connected(ctx context.Context, c Connected, entries ...Entry) error {
	if had := r.Info().AccountID; c.AccountID != "" && had != "" && c.AccountID != had {
		return &InvalidError{"account_id", "the account of a run cannot change"}
	}
	var markets any
	if c.Markets != nil {
		text, err := canonical(c.Markets)
		if err != nil {
			return &InvalidError{"markets", err.Error()}
		}
		markets = string(text)
	}
	err := r.write(ctx, entries, func(t *txn) error {
		const q = `UPDATE runs SET account_id = CASE WHEN ?2 = '' THEN account_id ELSE ?2 END,
			markets = coalesce(?3, markets), start_cash = coalesce(?4, start_cash) WHERE run_id = ?1`
		if _, err := t.tx.ExecContext(t.ctx, q, t.runID, c.AccountID, markets, nullMoney(c.StartCash)); err != nil {
			return err
		}
		return t.touchedRun()
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.AccountID != "" {
		r.info.AccountID = c.AccountID
	}
	if markets != nil {
		r.info.Markets = json.RawMessage(markets.(string))
	}
	if c.StartCash.Valid {
		r.info.StartCash = c.StartCash
	}
	return nil
}

// End is how a run ended.
type End struct {
	// Status is Completed or Failed.
	Status, StopReason string
	// Error is what a failed run shows, an object.
	Error json.RawMessage
	At    market.Time
}

// End writes the end of the run; a second one is refused with ErrEnded. It is tried also
// after a failed write. What is learnt of orders later can still be written.
func (r *Run) End(ctx context.Context, e End, entries ...Entry) error {
	if e.Status != Completed && e.Status != Failed {
		return &InvalidError{"status", "use completed or failed"}
	}
	if e.At <= 0 {
		return &InvalidError{"ended_at", "must be set"}
	}
	var shown any
	if e.Error != nil {
		text, err := canonical(e.Error)
		if err != nil {
			return &InvalidError{"error", err.Error()}
		}
		shown, e.Error = string(text), text
	}
	err := r.write(ctx, entries, func(t *txn) error {
		const q = `UPDATE runs SET ended_at = ?2, status = ?3, stop_reason = nullif(?4, ''), error = ?5 WHERE run_id = ?1 AND ended_at IS NULL`
		done, err := t.tx.ExecContext(t.ctx, q, t.runID, int64(e.At), e.Status, e.StopReason, shown)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrEnded)
		}
		return t.touchedRun()
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.EndedAt, r.info.Status, r.info.StopReason, r.info.Error = e.At, e.Status, e.StopReason, e.Error
	return nil
}

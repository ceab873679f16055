package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/failpoint"
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

// Info returns the row of the run as this Run knows it.
func (r *Run) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := r.info
	info.Symbols = slices.Clone(info.Symbols)
	return info
}

// Failed returns the first write that failed, a *WriteError; nil while all is well.
func (r *Run) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		return nil
	}
	return r.failed
}

// write returns a transaction of this run; a failure is kept.
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
		if _, err := t.tx.ExecContext(t.ctx, q, t.runID, c.AccountID, markets,
			nullMoney(c.StartCash)); err != nil {
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
		const q = `UPDATE runs SET ended_at = ?2, status = ?3, stop_reason = nullif(?4, ''),
			error = ?5 WHERE run_id = ?1 AND ended_at IS NULL`
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

// Batch is what one transaction writes. The zero value of each part is nothing.
type Batch struct {
	Candles []Candle
	Equity  []Equity
	Intents []Intent
	Events  []Event
	Fills   []Fill
	Entries []Entry
}

// Outcome is what became of a fill.
type Outcome struct {
	// Known reports whether the trade was written down before. Conflict whether it was with
	// other data: the first is kept.
	Known, Conflict bool
	// Kept is what the journal has, of the run KeptRun.
	Kept    Fill
	KeptRun string
}

// Commit writes a batch, all or nothing, and returns what became of its fills. A batch with
// intents is refused with the first *WriteError once there is one; every other batch is
// still tried.
func (r *Run) Commit(ctx context.Context, b Batch) ([]Outcome, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if len(b.Intents) > 0 {
		failpoint.Point(failpoint.IntentBefore)
	}
	var outcomes []Outcome
	err := r.write(ctx, b.Entries, func(t *txn) (err error) {
		if err := r.insertIntents(t, b.Intents); err != nil {
			return err
		}
		if err := r.insertEvents(t, b.Events); err != nil {
			return err
		}
		if outcomes, err = r.insertFills(t, b.Fills); err != nil {
			return err
		}
		return r.insertStep(t, b.Candles, b.Equity)
	})
	if err != nil {
		return nil, err
	}
	passed(b)
	return outcomes, nil
}

// passed marks the places at which a crash finds the batch committed.
func passed(b Batch) {
	if len(b.Intents) > 0 {
		failpoint.Point(failpoint.IntentCommitted)
	}
	if len(b.Fills) > 0 {
		failpoint.Point(failpoint.FillCommitted)
	}
	if len(b.Candles) > 0 {
		failpoint.Point(failpoint.CandleCommitted)
	}
}

// Intent writes an order down; it must not be sent before this returns nil. Both legs of a
// pair go into one call.
func (r *Run) Intent(ctx context.Context, intents ...Intent) error {
	_, err := r.Commit(ctx, Batch{Intents: intents})
	return err
}

// Events writes what was learnt of orders.
func (r *Run) Events(ctx context.Context, events ...Event) error {
	_, err := r.Commit(ctx, Batch{Events: events})
	return err
}

// Fill writes an execution with what it did to its order, together or, when the trade is
// known, only the events.
func (r *Run) Fill(ctx context.Context, fill Fill, events ...Event) (Outcome, error) {
	outcomes, err := r.Commit(ctx, Batch{Fills: []Fill{fill}, Events: events})
	if err != nil {
		return Outcome{}, err
	}
	return outcomes[0], nil
}

// Log writes one line.
func (r *Run) Log(ctx context.Context, kind string, data any) error {
	_, err := r.Commit(ctx, Batch{Entries: []Entry{{Kind: kind, Data: data}}})
	return err
}

// check refuses what the tables would hold and no reader could use.
func (b Batch) check() error {
	for _, c := range b.Candles {
		k := c.Candle
		if !finite(k.Open, k.High, k.Low, k.Close, k.Volume) {
			return &InvalidError{"candle " + string(c.Symbol) + " " + k.OpenTime.String(),
				"a price or the volume is not a number"}
		}
	}
	for _, i := range b.Intents {
		if i.Seq < 1 || i.ClientOrderID == "" || i.Symbol == "" {
			return &InvalidError{"intent", "seq, client_order_id and symbol must be set"}
		}
	}
	for _, e := range b.Events {
		if !kindForm.MatchString(e.Kind) || !slices.Contains(sources, e.Source) {
			return &InvalidError{"event",
				fmt.Sprintf("kind %q must be a word and source %q one of %v", e.Kind, e.Source, sources)}
		}
	}
	for _, f := range b.Fills {
		if f.TradeID == "" || f.ClientOrderID == "" || f.Symbol == "" {
			return &InvalidError{"fill", "trade_id, client_order_id and symbol must be set"}
		}
	}
	return nil
}

// sources are where events come from.
var sources = []string{"reply", "stream", "query", "fills", "local"}

// insertIntents refuses those of a run that has ended: nothing can be sent for it.
func (r *Run) insertIntents(t *txn, intents []Intent) error {
	if len(intents) == 0 {
		return nil
	}
	if err := r.Failed(); err != nil {
		return err
	}
	var ended sql.NullInt64
	if err := t.tx.QueryRowContext(t.ctx, "SELECT ended_at FROM runs WHERE run_id = ?",
		t.runID).Scan(&ended); err != nil {
		return err
	}
	if ended.Valid {
		return ErrEnded
	}
	for _, i := range intents {
		text, err := canonical(i.Body)
		if err != nil {
			return &InvalidError{"intent.body", err.Error()}
		}
		err = t.insert(intentsTable, t.runID, i.Seq, i.ClientOrderID, i.Step, string(i.Symbol), string(text),
			int64(i.CreatedAt))
		if err != nil {
			return refusal(err, "intent "+i.ClientOrderID)
		}
	}
	return nil
}

func (r *Run) insertEvents(t *txn, events []Event) error {
	for _, e := range events {
		values := []any{nil, t.runID, e.ClientOrderID, e.Kind, e.Source, e.Outcome, e.VenueOrderID,
			money(e.CumQuantity), e.RawSHA256, int64(e.At)}
		done, err := t.tx.ExecContext(t.ctx, eventsTable.insert, values...)
		if err != nil {
			return refusal(err, "event of "+e.ClientOrderID)
		}
		if values[0], err = done.LastInsertId(); err != nil {
			return err
		}
		t.count(eventsTable, values)
	}
	return nil
}

func (r *Run) insertStep(t *txn, candles []Candle, equity []Equity) error {
	for _, c := range candles {
		k := c.Candle
		err := t.insert(candlesTable, t.runID, string(c.Symbol), int64(k.OpenTime),
			plain(k.Open), plain(k.High), plain(k.Low), plain(k.Close), plain(k.Volume), c.Step, c.Source)
		if err != nil {
			return refusal(err, "candle "+string(c.Symbol)+" "+k.OpenTime.String())
		}
	}
	for _, e := range equity {
		if err := t.insert(equityTable, t.runID, int64(e.At), money(e.Equity), money(e.Cash)); err != nil {
			return refusal(err, "equity "+e.At.String())
		}
	}
	return nil
}

// insertFills keeps the first report of each trade.
func (r *Run) insertFills(t *txn, fills []Fill) ([]Outcome, error) {
	var outcomes []Outcome
	info := r.Info()
	if len(fills) > 0 && info.AccountID == "" {
		return nil, &InvalidError{"fill", "the account is not known yet: Connected comes first"}
	}
	for _, f := range fills {
		values := []any{info.Exchange, info.AccountID, string(f.Symbol), f.TradeID, t.runID, f.ClientOrderID,
			f.Side.String(),
			money(f.Quantity), money(f.Price), money(f.Fee), f.FeeAsset, f.Liquidity.String(), int64(f.Time)}
		done, err := t.tx.ExecContext(t.ctx,
			fillsTable.insert+" ON CONFLICT (exchange, account_id, symbol, trade_id) DO NOTHING", values...)
		if err != nil {
			return nil, refusal(err, "fill "+f.TradeID)
		}
		n, err := done.RowsAffected()
		if err != nil {
			return nil, err
		}
		if n == 1 {
			t.count(fillsTable, values)
			outcomes = append(outcomes, Outcome{Kept: f, KeptRun: t.runID})
			continue
		}
		kept, err := readFills(t.ctx, t.tx,
			"WHERE exchange = ? AND account_id = ? AND symbol = ? AND trade_id = ?", values[:4]...)
		if err != nil {
			return nil, err
		}
		if len(kept) != 1 {
			return nil, fmt.Errorf("fill %s is neither new nor known", f.TradeID)
		}
		outcomes = append(outcomes,
			Outcome{Known: true, Conflict: !sameFill(kept[0].Fill, f), Kept: kept[0].Fill,
				KeptRun: kept[0].run})
	}
	return outcomes, nil
}

// plain turns -0, which SQLite does not keep, into 0.
func plain(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}

// money returns the one text of a number: no zeros at its end.
func money(d decimal.Decimal) string { return d.Trim(0).String() }

func nullMoney(d decimal.NullDecimal) any {
	if !d.Valid {
		return nil
	}
	return money(d.Decimal)
}

// finite: SQLite stores NaN as null.
func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

package journal

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/failpoint"
)

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
	// Known says that the trade was written down before. Conflict says that it was with
	// other data: the first is kept.
	Known, Conflict bool
	// Kept is what the journal has, of the run KeptRun.
	Kept    Fill
	KeptRun string
}

// Commit writes a batch, all or nothing, and tells what became of its fills. A batch with
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

// Step writes the candles of a step with the account before it, which must be on disk
// before the strategy is asked. It sets Step of the candles.
func (r *Run) Step(ctx context.Context, step int64, candles []Candle, equity []Equity, entries ...Entry) error {
	candles = slices.Clone(candles)
	for i := range candles {
		candles[i].Step = step
	}
	_, err := r.Commit(ctx, Batch{Candles: candles, Equity: equity, Entries: entries})
	return err
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

// check refuses what the tables would hold but nobody could use.
func (b Batch) check() error {
	for _, c := range b.Candles {
		k := c.Candle
		if !finite(k.Open, k.High, k.Low, k.Close, k.Volume) {
			return &InvalidError{"candle " + string(c.Symbol) + " " + k.OpenTime.String(), "a price or the volume is no number"}
		}
	}
	for _, i := range b.Intents {
		if i.Seq < 1 || i.ClientOrderID == "" || i.Symbol == "" {
			return &InvalidError{"intent", "seq, client_order_id and symbol must be set"}
		}
	}
	for _, e := range b.Events {
		if !kindForm.MatchString(e.Kind) || !slices.Contains(sources, e.Source) {
			return &InvalidError{"event", fmt.Sprintf("kind %q must be a word and source %q one of %v", e.Kind, e.Source, sources)}
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
	if err := t.tx.QueryRowContext(t.ctx, "SELECT ended_at FROM runs WHERE run_id = ?", t.runID).Scan(&ended); err != nil {
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
		err = t.insert(intentsTable, t.runID, i.Seq, i.ClientOrderID, i.Step, string(i.Symbol), string(text), int64(i.CreatedAt))
		if err != nil {
			return refusal(err, "intent "+i.ClientOrderID)
		}
	}
	return nil
}

func (r *Run) insertEvents(t *txn, events []Event) error {
	for _, e := range events {
		values := []any{nil, t.runID, e.ClientOrderID, e.Kind, e.Source, e.Outcome, e.VenueOrderID, money(e.CumQuantity), e.RawSHA256, int64(e.At)}
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
		values := []any{info.Exchange, info.AccountID, string(f.Symbol), f.TradeID, t.runID, f.ClientOrderID, f.Side.String(),
			money(f.Quantity), money(f.Price), money(f.Fee), f.FeeAsset, f.Liquidity.String(), int64(f.At)}
		done, err := t.tx.ExecContext(t.ctx, fillsTable.insert+" ON CONFLICT (exchange, account_id, symbol, trade_id) DO NOTHING", values...)
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
		kept, err := readFills(t.ctx, t.tx, "WHERE exchange = ? AND account_id = ? AND symbol = ? AND trade_id = ?", values[:4]...)
		if err != nil {
			return nil, err
		}
		if len(kept) != 1 {
			return nil, fmt.Errorf("fill %s is neither new nor known", f.TradeID)
		}
		outcomes = append(outcomes, Outcome{Known: true, Conflict: !kept[0].Same(f), Kept: kept[0].Fill, KeptRun: kept[0].run})
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

// money is the one text of a number: no zeros at its end.
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

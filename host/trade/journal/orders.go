package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Order is an intent with what the journal knows of its order.
type Order struct {
	Intent
	RunID string
	// State is the last that was written; StateIntent when there is none.
	State        State
	VenueOrderID string
	// CumQuantity is the largest that was written.
	CumQuantity decimal.Decimal
	// SentAt is when it was handed over last; zero: never, as far as is known.
	SentAt market.Time
	// UpdatedAt is the time of the last event.
	UpdatedAt market.Time
}

// LastSeq is the highest sequence number of a run; 0 without orders.
func (j *Journal) LastSeq(ctx context.Context, runID string) (seq int64, err error) {
	q, err := j.read()
	if err != nil {
		return 0, err
	}
	err = q.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM intents WHERE run_id = ?", runID).Scan(&seq)
	return seq, err
}

// OpenOrders are the orders of a run that are not terminal, by sequence number.
func (j *Journal) OpenOrders(ctx context.Context, runID string) ([]Order, error) {
	return j.openOrders(ctx, "WHERE i.run_id = ? AND "+notTerminal, runID)
}

// EarlierOpenOrders are the orders on an account that are not terminal, but for those of
// one run: what a new run must settle before it trades. The oldest run comes first.
func (j *Journal) EarlierOpenOrders(ctx context.Context, exchange, accountID, exceptRun string) ([]Order, error) {
	return j.openOrders(ctx, ofAccount+notTerminal, exchange, accountID, exceptRun)
}

// EarlierUnfilled are the orders on an account that are terminal and lack executions: the venue
// said how much had filled, and the process ended before it heard of each fill.
func (j *Journal) EarlierUnfilled(ctx context.Context, exchange, accountID, exceptRun string) ([]Order, error) {
	return j.openOrders(ctx, filledOf+ofAccount+"NOT "+notTerminal+" AND "+lacksFills, exchange, accountID, exchange, accountID, exceptRun)
}

const (
	ofAccount   = "JOIN runs r ON r.run_id = i.run_id WHERE r.exchange = ? AND r.account_id = ? AND r.run_id <> ? AND "
	notTerminal = "(state NOT IN ('filled', 'canceled', 'rejected', 'expired', 'denied'))"
	filledOf    = `LEFT JOIN (SELECT client_order_id AS id, sum(CAST(quantity AS REAL)) AS filled FROM fills
		WHERE exchange = ? AND account_id = ? GROUP BY client_order_id) f ON f.id = i.client_order_id `
	// The sums are rounded, by less than the smallest step of any venue.
	lacksFills = `coalesce(f.filled, 0) < 0.999999999 *
		(SELECT coalesce(max(CAST(e.cum_quantity AS REAL)), 0) FROM order_events e WHERE e.client_order_id = i.client_order_id)`
)

// stateOf is the last state of intent i. An event of another kind changes none.
const stateOf = `coalesce((SELECT e.kind FROM order_events e WHERE e.client_order_id = i.client_order_id
	AND e.kind IN ('intent', 'sent', 'unknown', 'open', 'partial', 'filled', 'canceled', 'rejected', 'expired', 'denied')
	ORDER BY e.id DESC LIMIT 1), 'intent')`

func (j *Journal) openOrders(ctx context.Context, where string, args ...any) ([]Order, error) {
	q, err := j.read()
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `SELECT i.run_id, i.seq, i.client_order_id, i.step, i.symbol, i.body, i.created_at, `+stateOf+` AS state
		FROM intents i `+where+` ORDER BY i.rowid`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var orders []Order
	for rows.Next() {
		var o Order
		err := rows.Scan(&o.RunID, &o.Seq, &o.ClientOrderID, &o.Step, &o.Symbol, (*[]byte)(&o.Body), &o.CreatedAt, &o.State)
		if err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range orders {
		if err := orders[i].learn(ctx, q); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

// learn adds what the events say.
func (o *Order) learn(ctx context.Context, q querier) error {
	rows, err := q.QueryContext(ctx, "SELECT kind, venue_order_id, cum_quantity, at FROM order_events WHERE client_order_id = ? ORDER BY id", o.ClientOrderID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kind State
		var venue, text string
		if err := rows.Scan(&kind, &venue, &text, &o.UpdatedAt); err != nil {
			return err
		}
		cum, err := decimal.Parse(text)
		if err != nil {
			return err
		}
		if venue != "" {
			o.VenueOrderID = venue
		}
		if cum.Cmp(o.CumQuantity) > 0 {
			o.CumQuantity = cum
		}
		if kind == StateSent {
			o.SentAt = o.UpdatedAt
		}
	}
	return rows.Err()
}

// NotOurs are those of some client order ids that the journal does not know, in the same
// order.
func (j *Journal) NotOurs(ctx context.Context, ids []string) ([]string, error) {
	q, err := j.read()
	if err != nil {
		return nil, err
	}
	var foreign []string
	for _, id := range ids {
		var one int
		err := q.QueryRowContext(ctx, "SELECT 1 FROM intents WHERE client_order_id = ?", id).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			foreign = append(foreign, id)
		} else if err != nil {
			return nil, err
		}
	}
	return foreign, nil
}

// RunOf is the run that wrote an order down; "" when none did.
func (j *Journal) RunOf(ctx context.Context, clientOrderID string) (runID string, err error) {
	q, err := j.read()
	if err != nil {
		return "", err
	}
	err = q.QueryRowContext(ctx, "SELECT run_id FROM intents WHERE client_order_id = ?", clientOrderID).Scan(&runID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return runID, err
}

// KindReleased is the entry of a run whose start handed what earlier runs had left to the operator.
const KindReleased = "released"

// Holding is what the runs on an account have bought of a symbol and not sold, fees in the base taken off.
type Holding struct {
	Symbol   market.Symbol
	Quantity decimal.Decimal
	// Price is that of the last fill.
	Price decimal.Decimal
	// Markets are the rules that the last of these runs knew; nil: none.
	Markets json.RawMessage
	// Runs that traded it, in the order of their first fill.
	Runs []string
}

// Holdings are what all runs on an account hold together, by their fills, in the order in which they first traded. Runs
// before one that released what was left do not count.
func (j *Journal) Holdings(ctx context.Context, exchange, accountID string) ([]Holding, error) {
	q, err := j.read()
	if err != nil {
		return nil, err
	}
	const released = `SELECT coalesce(max(r.rowid), 0) FROM log l JOIN runs r ON r.run_id = l.run_id
		WHERE l.kind = ? AND r.exchange = ? AND r.account_id = ?`
	var since int64
	if err := q.QueryRowContext(ctx, released, KindReleased, exchange, accountID).Scan(&since); err != nil {
		return nil, err
	}
	fills, err := readFills(ctx, q, `WHERE exchange = ? AND account_id = ?
		AND run_id IN (SELECT run_id FROM runs WHERE rowid >= ?) ORDER BY rowid`, exchange, accountID, since)
	if err != nil {
		return nil, err
	}
	var list []*Holding
	known := map[market.Symbol]*Holding{}
	for _, f := range fills {
		h := known[f.Symbol]
		if h == nil {
			h = &Holding{Symbol: f.Symbol}
			known[f.Symbol] = h
			list = append(list, h)
		}
		if err := h.add(f); err != nil {
			return nil, err
		}
	}
	out := make([]Holding, 0, len(list))
	for _, h := range list {
		last := h.Runs[len(h.Runs)-1]
		var text string
		if err := q.QueryRowContext(ctx, "SELECT markets FROM runs WHERE run_id = ?", last).Scan(&text); err != nil {
			return nil, err
		}
		if text != "null" {
			h.Markets = json.RawMessage(text)
		}
		out = append(out, *h)
	}
	return out, nil
}

// add takes one more fill.
func (h *Holding) add(f kept) (err error) {
	change := f.Quantity
	if f.Side == market.Sell {
		change = change.Neg()
	}
	if f.FeeAsset == f.Symbol.Base() {
		if change, err = change.Sub(f.Fee); err != nil {
			return err
		}
	}
	if h.Quantity, err = h.Quantity.Add(change); err != nil {
		return err
	}
	h.Price = f.Price
	for _, run := range h.Runs {
		if run == f.run {
			return nil
		}
	}
	h.Runs = append(h.Runs, f.run)
	return nil
}

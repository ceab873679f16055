package journal

import (
	"context"
	"database/sql"
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

package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// MaxPage is the most rows that one read returns.
const MaxPage = 10000

// Page asks for the rows behind a place.
type Page struct {
	// After is Next of the page before; 0: from the start.
	After int64
	// Limit is at most MaxPage; 0: as many as that.
	Limit int
}

func (p Page) limit() int {
	if p.Limit < 1 || p.Limit > MaxPage {
		return MaxPage
	}
	return p.Limit
}

// Rows are a page of rows.
type Rows[T any] struct {
	Items []T
	// Next asks for the following page; 0: there is none.
	Next int64
}

// Each visits the rows of every page, as far as visit has no error.
func Each[T any](read func(Page) (Rows[T], error), visit func(T) error) error {
	for p := (Page{}); ; {
		rows, err := read(p)
		if err != nil {
			return err
		}
		for _, row := range rows.Items {
			if err := visit(row); err != nil {
				return err
			}
		}
		if p.After = rows.Next; rows.Next == 0 {
			return nil
		}
	}
}

// All returns the rows of every page.
func All[T any](read func(Page) (Rows[T], error)) (list []T, err error) {
	err = Each(read, func(row T) error { list = append(list, row); return nil })
	return list, err
}

// page reads one row more than it returns, to know whether there is one. scan gives the
// row with its place.
func page[T any](ctx context.Context, q querier, p Page, query string, args []any,
	scan func(*sql.Rows) (T, int64, error)) (Rows[T], error) {
	rows, err := q.QueryContext(ctx, query+fmt.Sprintf(" LIMIT %d", p.limit()+1), args...)
	if err != nil {
		return Rows[T]{}, err
	}
	defer rows.Close()
	var out Rows[T]
	var last int64
	for rows.Next() {
		item, place, err := scan(rows)
		if err != nil {
			return Rows[T]{}, err
		}
		if len(out.Items) == p.limit() {
			out.Next = last
			break
		}
		out.Items, last = append(out.Items, item), place
	}
	return out, rows.Err()
}

// read returns the pool of reading connections.
func (j *Journal) read() (querier, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.db == nil {
		return nil, ErrClosed
	}
	return j.db.Read(), nil
}

// Run returns a row of runs; ErrNotFound: there is none.
func (j *Journal) Run(ctx context.Context, runID string) (Info, error) {
	runs, err := j.runs(ctx, "WHERE run_id = ?", runID)
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("run %s: %w", runID, ErrNotFound)
	}
	if err != nil {
		return Info{}, err
	}
	return runs[0], nil
}

// Runs are all runs, the oldest first.
func (j *Journal) Runs(ctx context.Context) ([]Info, error) { return j.runs(ctx, "") }

// Interrupted are the runs without an end, the oldest first: those that a crash ended,
// and one that goes on now.
func (j *Journal) Interrupted(ctx context.Context) ([]Info, error) {
	return j.runs(ctx, "WHERE ended_at IS NULL")
}

func (j *Journal) runs(ctx context.Context, where string, args ...any) ([]Info, error) {
	q, err := j.read()
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "SELECT "+runColumns+" FROM runs "+where+" ORDER BY rowid", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var runs []Info
	for rows.Next() {
		info, err := scanRun(rows)
		if err != nil {
			return nil, err
		}
		runs = append(runs, info)
	}
	return runs, rows.Err()
}

func scanRun(rows *sql.Rows) (Info, error) {
	var i Info
	var symbols, timeframe, request, markets, risk string
	var cash, reason, shown sql.NullString
	var ended sql.NullInt64
	err := rows.Scan(&i.RunID, &i.RunTag, &i.Mode, &i.Exchange, &i.AccountID, &symbols, &timeframe, &request,
		&i.StrategySHA256, &markets, &risk, &cash, &i.StartedAt, &ended, &i.Status, &reason, &shown)
	if err != nil {
		return Info{}, err
	}
	if err := json.Unmarshal([]byte(symbols), &i.Symbols); err != nil {
		return Info{}, err
	}
	if i.Timeframe, err = market.ParseTimeframe(timeframe); err != nil {
		return Info{}, err
	}
	if cash.Valid {
		if i.StartCash.Decimal, err = decimal.Parse(cash.String); err != nil {
			return Info{}, err
		}
		i.StartCash.Valid = true
	}
	i.Request, i.Markets, i.Risk = object(request), object(markets), object(risk)
	i.EndedAt, i.StopReason, i.Error = market.Time(ended.Int64), reason.String, object(shown.String)
	return i, nil
}

// object returns a JSON text; nil for none and for null.
func object(text string) json.RawMessage {
	if text == "" || text == "null" {
		return nil
	}
	return json.RawMessage(text)
}

// Candles of a symbol of a run, by open time. Places are open times.
func (j *Journal) Candles(ctx context.Context, runID string, symbol market.Symbol,
	p Page) (Rows[Candle], error) {
	info, err := j.Run(ctx, runID)
	if err != nil {
		return Rows[Candle]{}, err
	}
	q, err := j.read()
	if err != nil {
		return Rows[Candle]{}, err
	}
	const query = "SELECT symbol, open_time, o, h, l, c, v, step, source FROM candles WHERE run_id = ? " +
		"AND symbol = ? AND open_time > ? ORDER BY open_time"
	return page(ctx, q, p, query, []any{runID, string(symbol), p.After},
		func(rows *sql.Rows) (c Candle, place int64, err error) {
			k := &c.Candle
			err = rows.Scan(&c.Symbol, &k.OpenTime, &k.Open, &k.High, &k.Low, &k.Close, &k.Volume, &c.Step,
				&c.Source)
			k.CloseTime = info.Timeframe.Next(k.OpenTime)
			return c, int64(k.OpenTime), err
		})
}

// Equity of a run, by time. Places are times.
func (j *Journal) Equity(ctx context.Context, runID string, p Page) (Rows[Equity], error) {
	return find(ctx, j, p, "SELECT at, equity, cash FROM equity WHERE run_id = ? AND at > ? ORDER BY at",
		[]any{runID, p.After}, scanEquity)
}

func scanEquity(rows *sql.Rows) (e Equity, place int64, err error) {
	var equity, cash string
	if err = rows.Scan(&e.At, &equity, &cash); err == nil {
		err = parseMoney(map[*decimal.Decimal]string{&e.Equity: equity, &e.Cash: cash})
	}
	return e, int64(e.At), err
}

// Fills of a run in the order in which they were written. Places count fills.
func (j *Journal) Fills(ctx context.Context, runID string, p Page) (Rows[Fill], error) {
	q, err := j.read()
	if err != nil {
		return Rows[Fill]{}, err
	}
	kept, err := readFills(ctx, q,
		fmt.Sprintf("WHERE run_id = ? AND rowid > ? ORDER BY rowid LIMIT %d", p.limit()+1), runID, p.After)
	if err != nil {
		return Rows[Fill]{}, err
	}
	var out Rows[Fill]
	for n, k := range kept {
		if n == p.limit() {
			out.Next = kept[n-1].place
			break
		}
		out.Items = append(out.Items, k.Fill)
	}
	return out, nil
}

// kept is a fill with what is known of its row.
type kept struct {
	Fill
	run   string
	place int64
}

func readFills(ctx context.Context, q querier, where string, args ...any) ([]kept, error) {
	rows, err := q.QueryContext(ctx,
		`SELECT rowid, run_id, symbol, trade_id, client_order_id, side, quantity, price, fee, fee_asset,
			liquidity, at FROM fills `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []kept
	for rows.Next() {
		var k kept
		f := &k.Fill
		var side, quantity, price, fee, liquidity string
		err := rows.Scan(&k.place, &k.run, &f.Symbol, &f.TradeID, &f.ClientOrderID, &side, &quantity, &price,
			&fee, &f.FeeAsset, &liquidity, &f.Time)
		if err != nil {
			return nil, err
		}
		if f.Side, err = market.ParseSide(side); err != nil {
			return nil, err
		}
		if f.Liquidity, err = market.ParseLiquidity(liquidity); err != nil {
			return nil, err
		}
		if err := parseMoney(map[*decimal.Decimal]string{&f.Quantity: quantity, &f.Price: price,
			&f.Fee: fee}); err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, rows.Err()
}

// Events of the orders of a run in the order in which they were written. Places are ids.
func (j *Journal) Events(ctx context.Context, runID string, p Page) (Rows[Event], error) {
	const query = `SELECT id, client_order_id, kind, source, outcome, venue_order_id, cum_quantity,
		raw_sha256, at FROM order_events WHERE run_id = ? AND id > ? ORDER BY id`
	return find(ctx, j, p, query, []any{runID, p.After},
		func(rows *sql.Rows) (e Event, place int64, err error) {
			var cum string
			err = rows.Scan(&e.ID, &e.ClientOrderID, &e.Kind, &e.Source, &e.Outcome, &e.VenueOrderID, &cum,
				&e.RawSHA256, &e.At)
			if err == nil {
				e.CumQuantity, err = decimal.Parse(cum)
			}
			return e, e.ID, err
		})
}

// Intents of a run. Places are sequence numbers.
func (j *Journal) Intents(ctx context.Context, runID string, p Page) (Rows[Intent], error) {
	const query = "SELECT seq, client_order_id, step, symbol, body, created_at FROM intents WHERE run_id " +
		"= ? AND seq > ? ORDER BY seq"
	return find(ctx, j, p, query, []any{runID, p.After},
		func(rows *sql.Rows) (i Intent, place int64, err error) {
			err = rows.Scan(&i.Seq, &i.ClientOrderID, &i.Step, &i.Symbol, (*[]byte)(&i.Body), &i.CreatedAt)
			return i, i.Seq, err
		})
}

// Log of a run, without the entries that the journal keeps for itself. With kinds only
// those are read. Places are numbers of entries.
func (j *Journal) Log(ctx context.Context, runID string, p Page, kinds ...string) (Rows[Entry], error) {
	query, args := "SELECT body FROM log WHERE run_id = ? AND n > ? AND kind <> ?",
		[]any{runID, p.After, kindRows}
	if len(kinds) > 0 {
		query += " AND kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	return find(ctx, j, p, query+" ORDER BY n", args, scanEntry)
}

// LastLog returns the newest entry of a kind: the phase that a run died in, say.
func (j *Journal) LastLog(ctx context.Context, runID, kind string) (e Entry, ok bool, err error) {
	return first(find(ctx, j, Page{Limit: 1},
		"SELECT body FROM log WHERE run_id = ? AND kind = ? ORDER BY n DESC", []any{runID, kind}, scanEntry))
}

func scanEntry(rows *sql.Rows) (Entry, int64, error) {
	var text string
	if err := rows.Scan(&text); err != nil {
		return Entry{}, 0, err
	}
	b, err := decodeBody(text)
	if err != nil {
		return Entry{}, 0, err
	}
	return Entry{N: b.N, Kind: b.Kind, At: market.Time(b.At), Data: b.Data, Version: max(b.V, 1)}, b.N, nil
}

// find is page over the reading connections.
func find[T any](ctx context.Context, j *Journal, p Page, query string, args []any,
	scan func(*sql.Rows) (T, int64, error)) (Rows[T], error) {
	q, err := j.read()
	if err != nil {
		return Rows[T]{}, err
	}
	return page(ctx, q, p, query, args, scan)
}

func first[T any](rows Rows[T], err error) (item T, ok bool, _ error) {
	if err != nil || len(rows.Items) == 0 {
		return item, false, err
	}
	return rows.Items[0], true, nil
}

func parseMoney(texts map[*decimal.Decimal]string) error {
	var all error
	for to, text := range texts {
		d, err := decimal.Parse(text)
		*to, all = d, errors.Join(all, err)
	}
	return all
}

// Order is an intent with what the journal knows of its order.
type Order struct {
	Intent
	RunID string
	// State is the last that was written; order.Intent when there is none.
	State        order.State
	VenueOrderID string
	// CumQuantity is the largest that was written.
	CumQuantity decimal.Decimal
	// SentAt is when it was handed over last; zero: never, as far as is known.
	SentAt market.Time
	// UpdatedAt is the time of the last event.
	UpdatedAt market.Time
}

// OpenOrders are the orders of a run that are not terminal, by sequence number.
func (j *Journal) OpenOrders(ctx context.Context, runID string) ([]Order, error) {
	return j.openOrders(ctx, "WHERE i.run_id = ? AND "+notTerminal, runID)
}

// EarlierOpenOrders are the orders on an account that are not terminal, but for those of
// one run: what a new run must settle before it trades. The oldest run comes first.
func (j *Journal) EarlierOpenOrders(ctx context.Context, exchange, accountID,
	exceptRun string) ([]Order, error) {
	return j.openOrders(ctx, ofAccount+notTerminal, exchange, accountID, exceptRun)
}

// EarlierUnfilled are the orders on an account that are terminal and lack executions: the venue
// said how much had filled, and the process ended before it heard of each fill.
func (j *Journal) EarlierUnfilled(ctx context.Context, exchange, accountID,
	exceptRun string) ([]Order, error) {
	return j.openOrders(ctx, filledOf+ofAccount+"NOT "+notTerminal+" AND "+lacksFills, exchange, accountID,
		exchange, accountID, exceptRun)
}

const (
	ofAccount = "JOIN runs r ON r.run_id = i.run_id WHERE r.exchange = ? AND r.account_id = ? AND " +
		"r.run_id <> ? AND "
	notTerminal = "(state NOT IN ('filled', 'canceled', 'rejected', 'expired', 'denied'))"
	filledOf    = `LEFT JOIN (SELECT client_order_id AS id, sum(CAST(quantity AS REAL)) AS filled FROM fills
		WHERE exchange = ? AND account_id = ? GROUP BY client_order_id) f ON f.id = i.client_order_id `
	// The sums are rounded, by less than the smallest step of any venue.
	lacksFills = `coalesce(f.filled, 0) < 0.999999999 *
		(SELECT coalesce(max(CAST(e.cum_quantity AS REAL)),
		0) FROM order_events e WHERE e.client_order_id = i.client_order_id)`
)

// stateOf is the last state of intent i. An event of another kind changes none.
const stateOf = `coalesce((SELECT e.kind FROM order_events e WHERE e.client_order_id = i.client_order_id
	AND e.kind IN ('intent', 'sent', 'unknown', 'open', 'partial', 'filled', 'canceled', 'rejected',
	'expired', 'denied')
	ORDER BY e.id DESC LIMIT 1), 'intent')`

func (j *Journal) openOrders(ctx context.Context, where string, args ...any) ([]Order, error) {
	q, err := j.read()
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx,
		`SELECT i.run_id, i.seq, i.client_order_id, i.step, i.symbol, i.body, i.created_at, `+stateOf+
			` AS state
		FROM intents i `+where+` ORDER BY i.rowid`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var orders []Order
	for rows.Next() {
		var o Order
		err := rows.Scan(&o.RunID, &o.Seq, &o.ClientOrderID, &o.Step, &o.Symbol, (*[]byte)(&o.Body),
			&o.CreatedAt, &o.State)
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
	rows, err := q.QueryContext(ctx,
		"SELECT kind, venue_order_id, cum_quantity, at FROM order_events WHERE client_order_id = ? ORDER "+
			"BY id", o.ClientOrderID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kind order.State
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
		if kind == order.Sent {
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

// RunOf returns the run that wrote an order down; "" when none did.
func (j *Journal) RunOf(ctx context.Context, clientOrderID string) (runID string, err error) {
	q, err := j.read()
	if err != nil {
		return "", err
	}
	err = q.QueryRowContext(ctx, "SELECT run_id FROM intents WHERE client_order_id = ?",
		clientOrderID).Scan(&runID)
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

// Holdings are what all runs on an account hold together, by their fills, in the order in which they first
// traded. Runs before one that released what was left do not count.
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
		if err := q.QueryRowContext(ctx, "SELECT markets FROM runs WHERE run_id = ?",
			last).Scan(&text); err != nil {
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

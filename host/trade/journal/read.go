package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/govalues/decimal"

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

// All is the rows of every page.
func All[T any](read func(Page) (Rows[T], error)) (list []T, err error) {
	err = Each(read, func(row T) error { list = append(list, row); return nil })
	return list, err
}

// page reads one row more than it returns, to know whether there is one. scan gives the
// row with its place.
func page[T any](ctx context.Context, q querier, p Page, query string, args []any, scan func(*sql.Rows) (T, int64, error)) (Rows[T], error) {
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

// read is the pool of reading connections.
func (j *Journal) read() (querier, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.db == nil {
		return nil, ErrClosed
	}
	return j.db.Read(), nil
}

// Run is a row of runs; ErrNotFound: there is none.
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
	err := rows.Scan(&i.RunID, &i.RunTag, &i.Mode, &i.Exchange, &i.AccountID, &symbols, &timeframe, &request, &i.StrategySHA256,
		&markets, &risk, &cash, &i.StartedAt, &ended, &i.Status, &reason, &shown)
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

// object is a JSON text; nil for none and for null.
func object(text string) json.RawMessage {
	if text == "" || text == "null" {
		return nil
	}
	return json.RawMessage(text)
}

// Candles of a symbol of a run, by open time. Places are open times.
func (j *Journal) Candles(ctx context.Context, runID string, symbol market.Symbol, p Page) (Rows[Candle], error) {
	info, err := j.Run(ctx, runID)
	if err != nil {
		return Rows[Candle]{}, err
	}
	q, err := j.read()
	if err != nil {
		return Rows[Candle]{}, err
	}
	const query = "SELECT symbol, open_time, o, h, l, c, v, step, source FROM candles WHERE run_id = ? AND symbol = ? AND open_time > ? ORDER BY open_time"
	return page(ctx, q, p, query, []any{runID, string(symbol), p.After}, func(rows *sql.Rows) (c Candle, place int64, err error) {
		k := &c.Candle
		err = rows.Scan(&c.Symbol, &k.OpenTime, &k.Open, &k.High, &k.Low, &k.Close, &k.Volume, &c.Step, &c.Source)
		k.CloseTime = info.Timeframe.Next(k.OpenTime)
		return c, int64(k.OpenTime), err
	})
}

// Equity of a run, by time. Places are times.
func (j *Journal) Equity(ctx context.Context, runID string, p Page) (Rows[Equity], error) {
	return find(ctx, j, p, "SELECT at, equity, cash FROM equity WHERE run_id = ? AND at > ? ORDER BY at", []any{runID, p.After}, scanEquity)
}

func scanEquity(rows *sql.Rows) (e Equity, place int64, err error) {
	var equity, cash string
	if err = rows.Scan(&e.At, &equity, &cash); err == nil {
		err = parseMoney(map[*decimal.Decimal]string{&e.Equity: equity, &e.Cash: cash})
	}
	return e, int64(e.At), err
}

// StartEquity is the first equity of a run.
func (j *Journal) StartEquity(ctx context.Context, runID string) (e Equity, ok bool, err error) {
	return first(find(ctx, j, Page{Limit: 1}, "SELECT at, equity, cash FROM equity WHERE run_id = ? ORDER BY at", []any{runID}, scanEquity))
}

// EquityAt is the equity of a run as of a time, 00:00 UTC say: the latest that is not
// behind it.
func (j *Journal) EquityAt(ctx context.Context, runID string, at market.Time) (e Equity, ok bool, err error) {
	const query = "SELECT at, equity, cash FROM equity WHERE run_id = ? AND at <= ? ORDER BY at DESC"
	return first(find(ctx, j, Page{Limit: 1}, query, []any{runID, int64(at)}, scanEquity))
}

// Fills of a run in the order in which they were written. Places count fills.
func (j *Journal) Fills(ctx context.Context, runID string, p Page) (Rows[Fill], error) {
	q, err := j.read()
	if err != nil {
		return Rows[Fill]{}, err
	}
	kept, err := readFills(ctx, q, fmt.Sprintf("WHERE run_id = ? AND rowid > ? ORDER BY rowid LIMIT %d", p.limit()+1), runID, p.After)
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
	rows, err := q.QueryContext(ctx, `SELECT rowid, run_id, symbol, trade_id, client_order_id, side, quantity, price, fee, fee_asset, liquidity, at
		FROM fills `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []kept
	for rows.Next() {
		var k kept
		f := &k.Fill
		var side, quantity, price, fee, liquidity string
		err := rows.Scan(&k.place, &k.run, &f.Symbol, &f.TradeID, &f.ClientOrderID, &side, &quantity, &price, &fee, &f.FeeAsset, &liquidity, &f.At)
		if err != nil {
			return nil, err
		}
		if f.Side, err = market.ParseSide(side); err != nil {
			return nil, err
		}
		if f.Liquidity, err = market.ParseLiquidity(liquidity); err != nil {
			return nil, err
		}
		if err := parseMoney(map[*decimal.Decimal]string{&f.Quantity: quantity, &f.Price: price, &f.Fee: fee}); err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, rows.Err()
}

// Events of the orders of a run in the order in which they were written. Places are ids.
func (j *Journal) Events(ctx context.Context, runID string, p Page) (Rows[Event], error) {
	const query = `SELECT id, client_order_id, kind, source, outcome, venue_order_id, cum_quantity, raw_sha256, at
		FROM order_events WHERE run_id = ? AND id > ? ORDER BY id`
	return find(ctx, j, p, query, []any{runID, p.After}, func(rows *sql.Rows) (e Event, place int64, err error) {
		var cum string
		err = rows.Scan(&e.ID, &e.ClientOrderID, &e.Kind, &e.Source, &e.Outcome, &e.VenueOrderID, &cum, &e.RawSHA256, &e.At)
		if err == nil {
			e.CumQuantity, err = decimal.Parse(cum)
		}
		return e, e.ID, err
	})
}

// Intents of a run. Places are sequence numbers.
func (j *Journal) Intents(ctx context.Context, runID string, p Page) (Rows[Intent], error) {
	const query = "SELECT seq, client_order_id, step, symbol, body, created_at FROM intents WHERE run_id = ? AND seq > ? ORDER BY seq"
	return find(ctx, j, p, query, []any{runID, p.After}, func(rows *sql.Rows) (i Intent, place int64, err error) {
		err = rows.Scan(&i.Seq, &i.ClientOrderID, &i.Step, &i.Symbol, (*[]byte)(&i.Body), &i.CreatedAt)
		return i, i.Seq, err
	})
}

// Log of a run, without the entries that the journal keeps for itself. With kinds only
// those are read. Places are numbers of entries.
func (j *Journal) Log(ctx context.Context, runID string, p Page, kinds ...string) (Rows[Entry], error) {
	query, args := "SELECT body FROM log WHERE run_id = ? AND n > ? AND kind <> ?", []any{runID, p.After, kindRows}
	if len(kinds) > 0 {
		query += " AND kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	return find(ctx, j, p, query+" ORDER BY n", args, scanEntry)
}

// LastLog is the newest entry of a kind: the phase that a run died in, say.
func (j *Journal) LastLog(ctx context.Context, runID, kind string) (e Entry, ok bool, err error) {
	return first(find(ctx, j, Page{Limit: 1}, "SELECT body FROM log WHERE run_id = ? AND kind = ? ORDER BY n DESC", []any{runID, kind}, scanEntry))
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
func find[T any](ctx context.Context, j *Journal, p Page, query string, args []any, scan func(*sql.Rows) (T, int64, error)) (Rows[T], error) {
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

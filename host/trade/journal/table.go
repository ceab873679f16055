package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"math"
	"strings"
)

// table is one table of rows that a digest vouches for.
type table struct {
	name    string
	columns string
	insert  string
}

// The order of tables inside a transaction's digest; within a table it is that of
// insertion.
var (
	intentsTable = newTable("intents", "run_id, seq, client_order_id, step, symbol, body, created_at")
	eventsTable  = newTable("order_events", "id, run_id, client_order_id, kind, source, outcome, venue_order_id, cum_quantity, raw_sha256, at")
	fillsTable   = newTable("fills", "exchange, account_id, symbol, trade_id, run_id, client_order_id, side, quantity, price, fee, fee_asset, liquidity, at")
	candlesTable = newTable("candles", "run_id, symbol, open_time, o, h, l, c, v, step, source")
	equityTable  = newTable("equity", "run_id, at, equity, cash")

	digested = []*table{intentsTable, eventsTable, fillsTable, candlesTable, equityTable}
)

const (
	runColumns = "run_id, run_tag, mode, exchange, account_id, symbols, timeframe, request, strategy_sha256, markets, risk, start_cash, started_at, ended_at, status, stop_reason, error"
	logColumns = "run_id, n, kind, body, prev, hash"
)

func newTable(name, columns string) *table {
	return &table{name: name, columns: columns, insert: insertInto(name, columns)}
}

func insertInto(name, columns string) string {
	n := strings.Count(columns, ",")
	return "INSERT INTO " + name + " (" + columns + ") VALUES (" + strings.Repeat("?, ", n) + "?)"
}

// rowDigest digests rows as they are stored: every value as the driver gives it back,
// with its type and length, so that no two different rows look alike.
type rowDigest struct {
	sum hash.Hash
	buf []byte
}

func newRowDigest() *rowDigest { return &rowDigest{sum: sha256.New()} }

func (d *rowDigest) add(table string, values []any) {
	d.buf = appendText(d.buf[:0], 't', table)
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			d.buf = binary.BigEndian.AppendUint64(append(d.buf, 'i'), uint64(v))
		case float64:
			d.buf = binary.BigEndian.AppendUint64(append(d.buf, 'f'), math.Float64bits(v))
		case string:
			d.buf = appendText(d.buf, 's', v)
		case nil:
			d.buf = append(d.buf, 'n')
		default: // a blob, which no column of ours holds
			d.buf = append(d.buf, 'x')
		}
	}
	d.sum.Write(d.buf)
}

func (d *rowDigest) reset() { d.sum.Reset() }

func (d *rowDigest) hex() string { return hex.EncodeToString(d.sum.Sum(nil)) }

func appendText(b []byte, mark byte, text string) []byte {
	return append(binary.BigEndian.AppendUint64(append(b, mark), uint64(len(text))), text...)
}

// runDigest is of one row of runs.
func runDigest(values []any) string {
	d := newRowDigest()
	d.add("runs", values)
	return d.hex()
}

// querier is what a database and a transaction have in common here.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// cursor reads the rows of a table one after the other, as the driver gives them.
type cursor struct {
	rows   *sql.Rows
	values []any
	into   []any
}

// openCursor reads a whole table in the order of insertion.
func openCursor(ctx context.Context, q querier, name, columns string) (*cursor, error) {
	return openQuery(ctx, q, "SELECT "+columns+" FROM "+name+" ORDER BY rowid")
}

func openQuery(ctx context.Context, q querier, query string, args ...any) (*cursor, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	names, err := rows.Columns()
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	c := &cursor{rows: rows, values: make([]any, len(names)), into: make([]any, len(names))}
	for i := range c.values {
		c.into[i] = &c.values[i]
	}
	return c, nil
}

// next reads a row into values, which the following call overwrites.
func (c *cursor) next() (bool, error) {
	if !c.rows.Next() {
		return false, c.rows.Err()
	}
	return true, c.rows.Scan(c.into...)
}

func (c *cursor) close() { _ = c.rows.Close() }

// text is a value that is expected to be one.
func text(v any) string {
	s, _ := v.(string)
	return s
}

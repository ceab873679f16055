package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The modes of a run.
const (
	Paper = "paper"
	Live  = "live"
)

// The statuses of a run.
const (
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
)

// Info is a row of runs.
type Info struct {
	RunID string
	// RunTag is the six characters of this run in its client order ids.
	RunTag string
	// Mode is Paper or Live.
	Mode     string
	Exchange string
	// AccountID is the venue's own id of the account, the run id in paper; empty until the
	// venue told it.
	AccountID string
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	// Request is the request as it was asked, without secrets.
	Request        json.RawMessage
	StrategySHA256 string
	// Markets are the rules of the symbols, Risk the effective limits; nil: not known.
	Markets, Risk json.RawMessage
	// StartCash is the free quote currency at the start, once it is known.
	StartCash decimal.NullDecimal
	StartedAt market.Time
	// EndedAt is zero while the run goes on, and for ever when it was interrupted.
	EndedAt            market.Time
	Status, StopReason string
	// Error is what a failed run shows, an object; nil: none.
	Error json.RawMessage
}

// Intent is an order that was decided.
type Intent struct {
	// Seq counts the orders of the run from 1.
	Seq           int64
	ClientOrderID string
	Step          int64
	Symbol        market.Symbol
	// Body is the order.
	Body      json.RawMessage
	CreatedAt market.Time
}

// Event is something that was learnt of an order or done with it.
type Event struct {
	// ID is given by the journal.
	ID            int64
	ClientOrderID string
	// Kind is an order.State that the order took, or another word for what was learnt.
	Kind string
	// Source is reply, stream, query, fills or local.
	Source string
	// Outcome of a reply; empty otherwise.
	Outcome      string
	VenueOrderID string
	CumQuantity  decimal.Decimal
	// RawSHA256 is of the venue's answer.
	RawSHA256 string
	At        market.Time
}

// Fill is one execution of an order of ours. Its VenueOrderID is not kept.
type Fill = exchange.Fill

// sameFill reports whether two reports of a trade agree.
func sameFill(f, g Fill) bool {
	return f.Symbol == g.Symbol && f.TradeID == g.TradeID && f.ClientOrderID == g.ClientOrderID &&
		f.Side == g.Side &&
		f.Quantity.Cmp(g.Quantity) == 0 && f.Price.Cmp(g.Price) == 0 && f.Fee.Cmp(g.Fee) == 0 &&
		f.FeeAsset == g.FeeAsset && f.Liquidity == g.Liquidity && f.Time == g.Time
}

// The sources of candles.
const (
	Warmup   = "warmup"
	Stream   = "stream"
	Backfill = "backfill"
)

// Candle is a closed candle as the strategy got it.
type Candle struct {
	Symbol market.Symbol
	// Candle has its CloseTime from the run's timeframe when it is read.
	Candle market.Candle
	Step   int64
	// Source is Warmup, Stream or Backfill.
	Source string
}

// Equity is the account at the close of a step, in quote currency.
type Equity struct {
	At           market.Time
	Equity, Cash decimal.Decimal
}

// Entry is a line of the log: a phase, an alarm, a verdict of risk.
type Entry struct {
	// N counts the entries of the run; given by the journal, which keeps some for itself.
	N int64
	// Kind is a word of letters, digits, dots, dashes and underscores, at most 64.
	Kind string
	// At is the journal's clock when it is zero.
	At market.Time
	// Data is anything that has canonical JSON; when it is read, json.RawMessage.
	Data any
	// Version is the form of Data, given by the journal: 1 or Version.
	Version int
}

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
	eventsTable  = newTable("order_events",
		"id, run_id, client_order_id, kind, source, outcome, venue_order_id, cum_quantity, raw_sha256, at")
	fillsTable = newTable("fills",
		"exchange, account_id, symbol, trade_id, run_id, client_order_id, side, quantity, price, fee, "+
			"fee_asset, liquidity, at")
	candlesTable = newTable("candles", "run_id, symbol, open_time, o, h, l, c, v, step, source")
	equityTable  = newTable("equity", "run_id, at, equity, cash")

	digested = []*table{intentsTable, eventsTable, fillsTable, candlesTable, equityTable}
)

const (
	runColumns = "run_id, run_tag, mode, exchange, account_id, symbols, timeframe, request, " +
		"strategy_sha256, markets, risk, start_cash, started_at, ended_at, status, stop_reason, error"
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

// text returns a value that is expected to be one.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// Version is that of the form in which entries and the rows of their transaction are written. An entry that
// does not say one is of version 1, which stored the Go field names of package market and numbers for its
// enumerations.
const Version = 2

// kindRows is the kind of the entry that vouches for the other rows of its transaction.
const kindRows = "rows"

// genesis is the prev of the first entry.
var genesis = strings.Repeat("0", 2*sha256.Size)

var (
	kindForm  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	runIDForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
)

// body is what the column body of log holds.
type body struct {
	At    int64           `json:"at"`
	Data  json.RawMessage `json:"data,omitempty"`
	Kind  string          `json:"kind"`
	N     int64           `json:"n"`
	Rows  map[string]int  `json:"rows,omitempty"`
	Run   string          `json:"run,omitempty"` // digest of the row of runs, when it was written
	RunID string          `json:"run_id"`
	SHA   string          `json:"sha256,omitempty"` // digest of the counted rows
	V     int             `json:"v,omitempty"`      // Version; 0 for 1
}

// encode returns the canonical JSON. It is put together by hand because every commit needs
// one; the test compares it with digest.JCS. Kind and RunID have no character to escape.
func (b *body) encode() string {
	out := make([]byte, 0, 256+len(b.Data))
	out = strconv.AppendInt(append(out, `{"at":`...), b.At, 10)
	if b.Data != nil {
		out = append(append(out, `,"data":`...), b.Data...)
	}
	out = append(append(out, `,"kind":"`...), b.Kind...)
	out = strconv.AppendInt(append(out, `","n":`...), b.N, 10)
	if len(b.Rows) > 0 {
		out = append(out, `,"rows":{`...)
		sep := ""
		for _, name := range sortedTables {
			if n := b.Rows[name]; n > 0 {
				out = append(append(append(out, sep...), '"'), name...)
				out = strconv.AppendInt(append(out, `":`...), int64(n), 10)
				sep = ","
			}
		}
		out = append(out, '}')
	}
	if b.Run != "" {
		out = append(append(append(out, `,"run":"`...), b.Run...), '"')
	}
	out = append(append(append(out, `,"run_id":"`...), b.RunID...), '"')
	if b.SHA != "" {
		out = append(append(append(out, `,"sha256":"`...), b.SHA...), '"')
	}
	if b.V != 0 {
		out = strconv.AppendInt(append(out, `,"v":`...), int64(b.V), 10)
	}
	return string(append(out, '}'))
}

// sortedTables are the digested tables as canonical JSON orders them.
var sortedTables = []string{"candles", "equity", "fills", "intents", "order_events"}

// decodeBody reads what encode writes and nothing else: a text has one reading, and a
// reading one text.
func decodeBody(text string) (*body, error) {
	b := &body{}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("body of a log entry: %w", err)
	}
	if !kindForm.MatchString(b.Kind) || !runIDForm.MatchString(b.RunID) || b.N < 1 {
		return nil, errors.New("body of a log entry: kind, n or run_id is missing or malformed")
	}
	if (b.Kind == kindRows) == (b.Data != nil) ||
		(b.Kind != kindRows && (b.Rows != nil || b.Run != "" || b.SHA != "")) {
		return nil, errors.New("body of a log entry: data and rows exclude each other")
	}
	if b.V == 1 || b.V < 0 || b.V > Version {
		return nil, fmt.Errorf("body of a log entry: version %d, want at most %d", b.V, Version)
	}
	if b.Data != nil {
		if data, err := digest.CanonicalJSON(b.Data); err != nil || !bytes.Equal(data, b.Data) {
			return nil, errors.New("body of a log entry: data is not canonical")
		}
	}
	if b.encode() != text {
		return nil, errors.New("body of a log entry: not canonical")
	}
	return b, nil
}

// canonical returns the canonical JSON of any value. Text that is no UTF-8, as a venue may
// send it, is mended and not refused.
func canonical(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return digest.CanonicalJSON(text)
}

// chain returns the hash of an entry.
func chain(prev, body string) string {
	sum := sha256.New()
	sum.Write([]byte(prev))
	sum.Write([]byte{'\n'})
	sum.Write([]byte(body))
	return hex.EncodeToString(sum.Sum(nil))
}

// entryBody checks an entry and gives its body without run and number.
func entryBody(e Entry, now market.Time) (*body, error) {
	if !kindForm.MatchString(e.Kind) || e.Kind == kindRows {
		return nil, &InvalidError{"entry.kind",
			"use a word of letters, digits, dots, dashes and underscores; rows is taken"}
	}
	data, err := canonical(e.Data)
	if err != nil {
		return nil, &InvalidError{"entry.data", err.Error()}
	}
	at := e.At
	if at == 0 {
		at = now
	}
	return &body{At: int64(at), Data: data, Kind: e.Kind, V: Version}, nil
}

package foreign

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rows is a table by its columns; an absent cell is "".
type rows struct {
	name    string // of the file, in errors
	columns []string
	cells   []map[string]string
}

// Backtesting reads the tables of backtesting.py: stats._trades and, unless it is nil,
// stats._equity_curve, each as pandas writes it as CSV, or as JSON records. The error is an *Error.
func Backtesting(trades, equity []byte, o Options) (*Results, error) {
	r := &Results{Strategy: o.Strategy, Source: artifact.Imported{Tool: ToolBacktesting}}
	if o.Symbol == "" {
		return nil, unclear("the file does not say what was traded: give --symbol, as in BTC/USDT")
	}
	symbol, err := market.ParseSymbol(o.Symbol)
	if err != nil {
		return nil, unclear("--symbol: %v", err)
	}
	if o.Timeframe != "" {
		if r.Timeframe, err = market.ParseTimeframe(o.Timeframe); err != nil {
			return nil, unclear("--timeframe: %v", err)
		}
	}
	if equity != nil {
		if err := r.readMarks(equity); err != nil {
			return nil, err
		}
	}
	table, err := readRows("the trades", trades, maxTrades)
	if err != nil {
		return nil, err
	}
	for _, column := range []string{"Size", "EntryPrice", "ExitPrice", "PnL", "EntryTime", "ExitTime"} {
		if !slices.Contains(table.columns, column) {
			return nil, unreadable("/"+column, "is no column of the trades: write stats._trades")
		}
	}
	for i := range table.cells {
		t, err := table.trade(i, symbol)
		if err != nil {
			return nil, err
		}
		r.Trades = append(r.Trades, t)
	}
	if r.Timeframe.Approx() <= 0 {
		return nil, unclear("the trades do not say the timeframe: give the equity curve too, or --timeframe")
	}
	for i := range r.Trades {
		t := &r.Trades[i]
		if _, known := table.cells[i]["EntryBar"]; !known {
			t.CandlesHeld = int(int64(t.ExitTime-t.EntryTime) / r.Timeframe.Approx().Milliseconds())
		}
	}
	return r, r.frameOf(symbol, o)
}

// frameOf finds window and cash.
func (r *Results) frameOf(symbol market.Symbol, o Options) error {
	var err error
	switch n := len(r.Marks); {
	case n > 0:
		r.Start, r.End = r.Marks[0].At, r.Marks[n-1].At
		r.Cash, err = positive(strconv.FormatFloat(r.Marks[0].Equity, 'f', -1, 64))
		if err != nil {
			return unreadable("/0/Equity", "%v", err)
		}
	case len(r.Trades) == 0:
		return unclear("there is no trade: give stats._equity_curve too")
	default:
		r.Start, r.End = r.Trades[0].EntryTime, r.Trades[0].ExitTime
		for i := range r.Trades {
			r.Start, r.End = min(r.Start, r.Trades[i].EntryTime), max(r.End, r.Trades[i].ExitTime)
		}
		if r.Cash, err = positive(cmp.Or(o.Cash, "10000")); err != nil {
			return unclear("--cash %v", err)
		}
		r.remark("EQUITY_FROM_CLOSED_TRADES", "Without stats._equity_curve the curve moves when a trade "+
			"is closed, so drawdowns while one is open are not in it; the cash at the start is taken as %s.",
			r.Cash)
	}
	for i := range r.Trades {
		if t := &r.Trades[i]; t.EntryTime < r.Start || t.ExitTime > r.End {
			return unreadable(fmt.Sprintf("/%d/EntryTime", i), "the trade is outside of the equity curve")
		}
	}
	r.finish()
	if len(r.Symbols) == 0 {
		r.Symbols = []string{string(symbol)}
	}
	r.remark("EXCURSIONS_UNKNOWN", "backtesting.py does not write the extremes while a trade was open: mae "+
		"and mfe are 0.")
	if n := len(r.Marks); n > 0 {
		r.agree(json.Number(strconv.FormatFloat(r.Marks[n-1].Equity, 'f', -1, 64)))
	}
	return nil
}

// readMarks reads stats._equity_curve: the first column that is no other one is its index.
func (r *Results) readMarks(text []byte) error {
	table, err := readRows("the equity points", text, maxPoints)
	if err != nil {
		return err
	}
	index := slices.IndexFunc(table.columns, func(c string) bool {
		return c != "Equity" && c != "DrawdownPct" && c != "DrawdownDuration"
	})
	if index < 0 || !slices.Contains(table.columns, "Equity") {
		return unreadable("/Equity", "is no column of the equity points beside an index: "+
			"write stats._equity_curve")
	}
	opens := make([]market.Time, 0, len(table.cells))
	for i, row := range table.cells {
		var m Mark
		if m.At, err = readTime(row[table.columns[index]]); err != nil {
			return unreadable(fmt.Sprintf("/%d/%s", i, table.columns[index]),
				"%v: give the data an index of times", err)
		}
		if m.Equity, err = strconv.ParseFloat(row["Equity"], 64); err != nil || math.IsNaN(m.Equity) ||
			math.Abs(m.Equity) > 1e15 {
			return unreadable(fmt.Sprintf("/%d/Equity", i), "is no amount: %.40q", row["Equity"])
		}
		if i > 0 && m.At <= opens[i-1] {
			return unreadable(fmt.Sprintf("/%d/%s", i, table.columns[index]),
				"is not after the one before it")
		}
		opens, r.Marks = append(opens, m.At), append(r.Marks, m)
	}
	if len(r.Marks) < 2 {
		return unreadable("", "the equity has fewer than two points")
	}
	if r.Timeframe.Approx() <= 0 {
		r.Timeframe, err = stepOf(opens)
	}
	return err
}

func (table *rows) trade(i int, symbol market.Symbol) (market.Trade, error) {
	row := table.cells[i]
	t := market.Trade{Symbol: symbol, Direction: market.Long, ExitReason: market.ExitSignal,
		EntryTag: row["Tag"], OrderIDs: []market.OrderID{}}
	wrong := func(column string, err error) error {
		return unreadable(fmt.Sprintf("/%d/%s", i, column), "%v", err)
	}
	if len(t.EntryTag) > maxTag {
		return t, wrong("Tag", fmt.Errorf("has more than %d bytes", maxTag))
	}
	var a amounts
	var err error
	if a.quantity, err = readDecimal(row["Size"]); err != nil || a.quantity.IsZero() {
		return t, wrong("Size", cmp.Or(err, errors.New("is 0")))
	}
	if a.quantity.IsNeg() {
		t.Direction, a.quantity = market.Short, a.quantity.Neg()
	}
	if a.entry, err = positive(row["EntryPrice"]); err != nil {
		return t, wrong("EntryPrice", err)
	}
	if a.exit, err = positive(row["ExitPrice"]); err != nil {
		return t, wrong("ExitPrice", err)
	}
	if a.pnl, err = readDecimal(row["PnL"]); err != nil {
		return t, wrong("PnL", err)
	}
	if t.EntryTime, err = readTime(row["EntryTime"]); err != nil {
		return t, wrong("EntryTime", fmt.Errorf("%w: give the data an index of times", err))
	}
	if t.ExitTime, err = readTime(row["ExitTime"]); err != nil {
		return t, wrong("ExitTime", err)
	}
	if t.ExitTime < t.EntryTime {
		return t, wrong("ExitTime", errors.New("is before EntryTime"))
	}
	entered, errIn := strconv.Atoi(row["EntryBar"])
	left, errOut := strconv.Atoi(row["ExitBar"])
	if errIn == nil && errOut == nil && left >= entered {
		t.CandlesHeld = left - entered
	}
	for column, reason := range map[string]market.ExitReason{
		"SL": market.ExitStopLoss, "TP": market.ExitTakeProfit,
	} {
		if row[column] != "" && row[column] == row["ExitPrice"] {
			t.ExitReason = reason
		}
	}
	if err := settle(&t, a); err != nil {
		return t, unreadable(fmt.Sprintf("/%d", i), "cannot be computed with: %v", err)
	}
	return t, nil
}

// readRows reads a table as CSV with a header, or as a JSON list of objects.
func readRows(name string, text []byte, most int) (*rows, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	tooMany := &Error{CodeTooLarge, "", fmt.Sprintf("%s have more than %d rows", name, most)}
	t := &rows{name: name}
	switch {
	case bytes.HasPrefix(text, []byte("[")):
		return t, t.readJSON(text, most, tooMany)
	case bytes.HasPrefix(text, []byte("{")):
		return nil, unreadable("", "%s are JSON by columns: write with to_csv, or to_json with "+
			`orient="records"`, name)
	case bytes.HasPrefix(text, []byte("\x80")):
		return nil, unreadable("", "%s are a pickle, which is not read, since it can execute code: "+
			"write with to_csv", name)
	}
	in := csv.NewReader(bytes.NewReader(text))
	header, err := in.Read()
	if err != nil {
		return nil, unreadable("", "%s have no header: %v", name, err)
	}
	if len(header) > 1000 {
		return nil, unreadable("", "%s have more than 1000 columns", name)
	}
	t.columns = header
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, unreadable("", "%s are no CSV: %v", name, err)
		}
		if len(t.cells) == most {
			return nil, tooMany
		}
		row := make(map[string]string, len(known))
		for i, column := range header {
			if known[column] || i == 0 {
				row[column] = cells[i]
			}
		}
		t.cells = append(t.cells, row)
	}
}

// known are the columns that are read; indicators may stand beside them.
var known = map[string]bool{"Size": true, "EntryBar": true, "ExitBar": true, "EntryPrice": true,
	"ExitPrice": true, "SL": true, "TP": true, "PnL": true, "EntryTime": true, "ExitTime": true, "Tag": true,
	"Equity": true, "index": true}

func (t *rows) readJSON(text []byte, most int, tooMany error) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return unreadable("", "%s are no JSON: %v", t.name, err)
	}
	for i := 0; dec.More(); i++ {
		if i == most {
			return tooMany
		}
		var entry map[string]any
		if err := dec.Decode(&entry); err != nil {
			return unreadable(fmt.Sprintf("/%d", i), "is no record: write with orient=\"records\" (%v)", err)
		}
		row := map[string]string{}
		for column, value := range entry {
			if i == 0 {
				t.columns = append(t.columns, column)
			}
			switch v := value.(type) {
			case string:
				row[column] = v
			case json.Number:
				row[column] = v.String()
			}
			if !known[column] && column != "Date" && column != "Datetime" {
				delete(row, column)
			}
		}
		t.cells = append(t.cells, row)
	}
	slices.Sort(t.columns)
	if _, err := dec.Token(); err != nil {
		return unreadable("", "%s are no JSON: %v", t.name, err)
	}
	return nil
}

package artifact

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The CSV files of a run are RFC 4180 with line feeds and a header. Money is written as plain
// decimals in full, other numbers with 12 significant digits, times as 2024-01-01T00:00:00.000Z;
// an empty field is null. Equal input gives equal bytes. Curves have millions of rows, so
// everything is appended to one buffer and nothing is allocated per row.

// The headers of the CSV files: the names that the API gives the same values.
const (
	tradesHeader = "trade_id,symbol,direction,quantity,entry_time,entry_price,exit_time,exit_price," +
		"gross_pnl,fees,slippage,pnl,return,exit_reason,candles_held," +
		"duration_seconds,mae,mfe,entry_tag,exit_tag,order_ids,ambiguous\n"
	ordersHeader = "order_id,client_order_id,symbol,side,type,role,time_in_force,quantity,filled_quantity," +
		"limit_price,stop_price,average_price,status,fee,fee_currency,reduce_only,parent_order_id,tag," +
		"reject_reason,exchange_order_id,created_at,updated_at,filled_at\n"
	fillsHeader = "fill_id,order_id,symbol,side,quantity,price,reference_price,slippage,fee,fee_currency," +
		"liquidity,timestamp,position_after,realized_pnl,ambiguous,tag\n"
	equityHeader = "timestamp,equity,cash,position_value,drawdown,exposure\n"
)

// The tables of a split that have a row for each trade, order and fill.
const (
	TradesFile = "trades.csv"
	OrdersFile = "orders.csv"
	FillsFile  = "fills.csv"
)

// chunk is how much text is gathered before it is written.
const chunk = 64 << 10

// WriteTrades writes trades.csv.
func WriteTrades(w io.Writer, trades []market.Trade) error {
	var clock clockWriter
	return writeRows(w, tradesHeader, len(trades), func(b []byte, i int) []byte {
		return appendTrade(b, &clock, &trades[i])
	})
}

// WriteOrders writes orders.csv.
func WriteOrders(w io.Writer, orders []market.Order) error {
	var clock clockWriter
	return writeRows(w, ordersHeader, len(orders), func(b []byte, i int) []byte {
		return appendOrder(b, &clock, &orders[i])
	})
}

// WriteFills writes fills.csv.
func WriteFills(w io.Writer, fills []market.Fill) error {
	var clock clockWriter
	return writeRows(w, fillsHeader, len(fills), func(b []byte, i int) []byte {
		return appendFill(b, &clock, &fills[i])
	})
}

// writeRows writes a header and n rows, a chunk at a time.
func writeRows(w io.Writer, header string, n int, row func(b []byte, i int) []byte) error {
	b := append(make([]byte, 0, chunk+4096), header...)
	for i := range n {
		if b = row(b, i); len(b) <= chunk {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	if len(b) == 0 {
		return nil
	}
	_, err := w.Write(b)
	return err
}

func appendTrade(b []byte, clock *clockWriter, t *market.Trade) []byte {
	b = append(t.ID.Append(b), ',')
	b = append(appendText(b, string(t.Symbol)), ',')
	b = append(append(b, t.Direction.String()...), ',')
	b = append(market.AppendDecimal(b, t.Quantity), ',')
	b = append(clock.append(b, t.EntryTime), ',')
	b = append(market.AppendDecimal(b, t.EntryPrice), ',')
	b = append(clock.append(b, t.ExitTime), ',')
	b = append(market.AppendDecimal(b, t.ExitPrice), ',')
	b = append(market.AppendDecimal(b, t.GrossPnL), ',')
	b = append(market.AppendDecimal(b, t.Fees), ',')
	b = append(market.AppendDecimal(b, t.Slippage), ',')
	b = append(market.AppendDecimal(b, t.PnL), ',')
	b = append(appendNumber(b, t.Return), ',')
	b = append(appendText(b, string(t.ExitReason)), ',')
	b = append(strconv.AppendInt(b, int64(t.CandlesHeld), 10), ',')
	b = append(appendNumber(b, float64(t.ExitTime-t.EntryTime)/1000), ',')
	b = append(market.AppendDecimal(b, t.MAE), ',')
	b = append(market.AppendDecimal(b, t.MFE), ',')
	b = append(appendText(b, t.EntryTag), ',')
	b = append(appendText(b, t.ExitTag), ',')
	for i, id := range t.OrderIDs {
		if i > 0 {
			b = append(b, ';')
		}
		b = id.Append(b)
	}
	b = append(b, ',')
	return append(strconv.AppendBool(b, t.Ambiguous), '\n')
}

func appendOrder(b []byte, clock *clockWriter, o *market.Order) []byte {
	b = append(o.ID.Append(b), ',')
	b = append(appendText(b, o.Ref), ',')
	b = append(appendText(b, string(o.Symbol)), ',')
	b = append(append(b, o.Side.String()...), ',')
	b = append(append(b, o.Type.String()...), ',')
	b = append(append(b, o.Role.String()...), ',')
	b = append(append(b, o.TimeInForce.String()...), ',')
	b = append(market.AppendDecimal(b, o.Quantity), ',')
	b = append(market.AppendDecimal(b, o.FilledQuantity), ',')
	b = append(appendPrice(b, o.LimitPrice), ',')
	b = append(appendPrice(b, o.StopPrice), ',')
	b = append(appendPrice(b, o.AveragePrice), ',')
	b = append(append(b, o.Status.String()...), ',')
	b = append(market.AppendDecimal(b, o.Fee), ',')
	b = append(appendText(b, o.Symbol.Quote()), ',')
	b = append(strconv.AppendBool(b, o.ReduceOnly), ',')
	b = append(o.ParentID.Append(b), ',')
	b = append(appendText(b, o.Tag), ',')
	b = append(appendText(b, string(o.Reason)), ',')
	b = append(appendText(b, o.ExchangeID), ',')
	b = append(clock.append(b, o.CreatedAt), ',')
	b = append(clock.append(b, o.UpdatedAt), ',')
	return append(clock.append(b, o.FilledAt), '\n')
}

func appendFill(b []byte, clock *clockWriter, f *market.Fill) []byte {
	b = append(f.ID.Append(b), ',')
	b = append(f.OrderID.Append(b), ',')
	b = append(appendText(b, string(f.Symbol)), ',')
	b = append(append(b, f.Side.String()...), ',')
	b = append(market.AppendDecimal(b, f.Quantity), ',')
	b = append(market.AppendDecimal(b, f.Price), ',')
	b = append(market.AppendDecimal(b, f.ReferencePrice), ',')
	b = append(market.AppendDecimal(b, f.Slippage), ',')
	b = append(market.AppendDecimal(b, f.Fee), ',')
	b = append(appendText(b, f.Symbol.Quote()), ',')
	b = append(append(b, f.Liquidity.String()...), ',')
	b = append(clock.append(b, f.Time), ',')
	b = append(market.AppendDecimal(b, f.PositionAfter), ',')
	b = append(market.AppendDecimal(b, f.RealizedPnL), ',')
	b = append(strconv.AppendBool(b, f.Ambiguous), ',')
	return append(appendText(b, f.Tag), '\n')
}

// WriteEquity writes equity_curve.csv.
func WriteEquity(w io.Writer, c *EquityCurve) error {
	n := len(c.Time)
	for _, column := range [][]float64{c.Equity, c.Cash, c.PositionValue, c.Drawdown, c.Exposure} {
		if len(column) != n {
			return fmt.Errorf("equity curve: a column has %d rows, the times have %d", len(column), n)
		}
	}
	var clock clockWriter
	equity, cash, position := keptText{form: appendAmount}, keptText{form: appendAmount},
		keptText{form: appendAmount}
	drawdown, exposure := keptText{form: appendNumber}, keptText{form: appendNumber}
	return writeRows(w, equityHeader, n, func(b []byte, i int) []byte {
		b = append(clock.append(b, c.Time[i]), ',')
		if c.Equity[i] == c.Cash[i] { // nothing is held
			b = append(cash.append(b, c.Cash[i]), ',')
		} else {
			b = append(equity.append(b, c.Equity[i]), ',')
		}
		b = append(cash.append(b, c.Cash[i]), ',')
		b = append(position.append(b, c.PositionValue[i]), ',')
		b = append(drawdown.append(b, c.Drawdown[i]), ',')
		return append(exposure.append(b, c.Exposure[i]), '\n')
	})
}

// keptText writes the numbers of a column and keeps the newest text: cash changes with fills alone, and
// the rest with positions.
type keptText struct {
	form func([]byte, float64) []byte
	of   float64
	text []byte
	any  bool
}

func (k *keptText) append(b []byte, x float64) []byte {
	if !k.any || math.Float64bits(x) != math.Float64bits(k.of) {
		k.of, k.text, k.any = x, k.form(k.text[:0], x), true
	}
	return append(b, k.text...)
}

// appendPrice writes a decimal that may be absent: nothing for 0.
func appendPrice(b []byte, d decimal.Decimal) []byte {
	if d.IsZero() {
		return b
	}
	return market.AppendDecimal(b, d)
}

// appendAmount writes a float64 in full, with as few digits as distinguish it from its
// neighbours. What is not finite has no value: it stays empty.
func appendAmount(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return b
	}
	return strconv.AppendFloat(b, x+0, 'f', -1, 64) // -0 is written 0
}

const digits12 = 12

// appendNumber writes x rounded to 12 significant digits, in full and without
// trailing zeros. What is not finite stays empty.
func appendNumber(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return b
	}
	if x == 0 {
		return append(b, '0')
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], math.Abs(x), 'e', digits12-1, 64) // d.ddddddddddde+dd
	digits := e[:digits12+1]
	digits[1] = digits[0]
	digits = digits[1:]
	exponent := 0
	for _, c := range e[digits12+3:] {
		exponent = exponent*10 + int(c-'0')
	}
	if e[digits12+2] == '-' {
		exponent = -exponent
	}
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if x < 0 {
		b = append(b, '-')
	}
	return appendPlain(b, digits, exponent+1)
}

// appendPlain writes 0.digits x 10^point.
func appendPlain(b, digits []byte, point int) []byte {
	switch {
	case point <= 0:
		b = append(b, "0."...)
		for range -point {
			b = append(b, '0')
		}
		return append(b, digits...)
	case point >= len(digits):
		b = append(b, digits...)
		for range point - len(digits) {
			b = append(b, '0')
		}
		return b
	}
	b = append(b, digits[:point]...)
	b = append(b, '.')
	return append(b, digits[point:]...)
}

// appendText writes a CSV field, quoted where RFC 4180 needs it.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// clockWriter writes times and remembers the day, which most neighbours share.
type clockWriter struct {
	day  int64
	text string // the day and a T; empty before the first time
}

const dayMillis = 24 * 60 * 60 * 1000

// append writes 2024-01-01T00:00:00.000Z; nothing for no time.
func (c *clockWriter) append(b []byte, t market.Time) []byte {
	if t == 0 {
		return b
	}
	day, ms := int64(t)/dayMillis, int64(t)%dayMillis
	if ms < 0 {
		day, ms = day-1, ms+dayMillis
	}
	if c.text == "" || c.day != day {
		c.day, c.text = day, strings.TrimSuffix(market.Time(day*dayMillis).String(), "00:00:00.000Z")
	}
	b = append(b, c.text...)
	b = append(twoDigits(b, ms/3600000), ':')
	b = append(twoDigits(b, ms/60000%60), ':')
	b = append(twoDigits(b, ms/1000%60), '.', byte('0'+ms/100%10))
	return append(twoDigits(b, ms%100), 'Z')
}

func twoDigits(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

package artifact

import (
	"fmt"
	"io"
	"strconv"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The headers of the CSV files: the names that the API gives the same values.
const (
	tradesHeader = "trade_id,symbol,direction,quantity,entry_time,entry_price,exit_time,exit_price,gross_pnl,fees,slippage,pnl,return," +
		"exit_reason,candles_held,duration_seconds,mae,mfe,entry_tag,exit_tag,order_ids,ambiguous\n"
	equityHeader = "timestamp,equity,cash,position_value,drawdown,exposure\n"
)

// chunk is how much text is gathered before it is written.
const chunk = 64 << 10

// WriteTrades writes trades.csv.
func WriteTrades(w io.Writer, trades []market.Trade) error {
	b := append(make([]byte, 0, chunk+4096), tradesHeader...)
	var clock clockWriter
	for i := range trades {
		b = appendTrade(b, &clock, &trades[i])
		var err error
		if b, err = flush(w, b, chunk); err != nil {
			return err
		}
	}
	_, err := flush(w, b, 0)
	return err
}

func appendTrade(b []byte, clock *clockWriter, t *market.Trade) []byte {
	b = append(append(b, t.ID.String()...), ',')
	b = append(appendText(b, string(t.Symbol)), ',')
	b = append(append(b, t.Direction.String()...), ',')
	b = append(appendMoney(b, t.Quantity), ',')
	b = append(clock.append(b, t.EntryTime), ',')
	b = append(appendMoney(b, t.EntryPrice), ',')
	b = append(clock.append(b, t.ExitTime), ',')
	b = append(appendMoney(b, t.ExitPrice), ',')
	b = append(appendMoney(b, t.GrossPnL), ',')
	b = append(appendMoney(b, t.Fees), ',')
	b = append(appendMoney(b, t.Slippage), ',')
	b = append(appendMoney(b, t.PnL), ',')
	b = append(appendNumber(b, t.Return), ',')
	b = append(appendText(b, t.ExitReason), ',')
	b = append(strconv.AppendInt(b, int64(t.CandlesHeld), 10), ',')
	b = append(appendNumber(b, float64(t.ExitTime-t.EntryTime)/1000), ',')
	b = append(appendMoney(b, t.MAE), ',')
	b = append(appendMoney(b, t.MFE), ',')
	b = append(appendText(b, t.EntryTag), ',')
	b = append(appendText(b, t.ExitTag), ',')
	for i, id := range t.OrderIDs {
		if i > 0 {
			b = append(b, ';')
		}
		b = append(b, id.String()...)
	}
	b = append(b, ',')
	return append(strconv.AppendBool(b, t.Ambiguous), '\n')
}

// WriteEquity writes equity_curve.csv.
func WriteEquity(w io.Writer, c *EquityCurve) error {
	n := len(c.Time)
	for _, column := range [][]float64{c.Equity, c.Cash, c.PositionValue, c.Drawdown, c.Exposure} {
		if len(column) != n {
			return fmt.Errorf("equity curve: a column has %d rows, the times have %d", len(column), n)
		}
	}
	b := append(make([]byte, 0, chunk+4096), equityHeader...)
	var clock clockWriter
	for i := range c.Time {
		b = append(clock.append(b, c.Time[i]), ',')
		b = append(appendAmount(b, c.Equity[i]), ',')
		b = append(appendAmount(b, c.Cash[i]), ',')
		b = append(appendAmount(b, c.PositionValue[i]), ',')
		b = append(appendNumber(b, c.Drawdown[i]), ',')
		b = append(appendNumber(b, c.Exposure[i]), '\n')
		var err error
		if b, err = flush(w, b, chunk); err != nil {
			return err
		}
	}
	_, err := flush(w, b, 0)
	return err
}

// flush writes b when it has more than limit bytes and returns it empty.
func flush(w io.Writer, b []byte, limit int) ([]byte, error) {
	if len(b) <= limit {
		return b, nil
	}
	_, err := w.Write(b)
	return b[:0], err
}

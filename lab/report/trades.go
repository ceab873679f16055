package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// trade is a closed round trip as trades.csv has it, money in quote currency.
type trade struct {
	symbol, direction          string
	entry, exit                market.Time
	gross, fees, slippage, pnl float64
	// ret, mae and mfe are fractions of what was opened.
	ret, mae, mfe float64
	candles       int
}

// columns are those of trades.csv that are read.
var columns = []string{
	"symbol", "direction", "quantity", "entry_time", "entry_price", "exit_time", "gross_pnl", "fees",
	"slippage", "pnl", "return", "candles_held", "mae", "mfe",
}

// readTrades reads the text of a trades.csv.
func readTrades(text []byte) ([]trade, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, name := range columns {
		if at[name] = slices.Index(head, name); at[name] < 0 {
			return nil, fmt.Errorf("there is no column %s", name)
		}
	}
	var out []trade
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		t, err := tradeOf(func(name string) string { return row[at[name]] })
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, t)
	}
}

func tradeOf(cell func(string) string) (trade, error) {
	t := trade{symbol: cell("symbol"), direction: cell("direction")}
	var err error
	number := func(name string) float64 {
		x, bad := strconv.ParseFloat(cell(name), 64)
		if bad != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			err = fmt.Errorf("%.40q is no %s", cell(name), name)
		}
		return x
	}
	when := func(name string) market.Time {
		at, bad := market.ParseTime(cell(name))
		if bad != nil {
			err = fmt.Errorf("%.40q is no %s", cell(name), name)
		}
		return at
	}
	t.entry, t.exit = when("entry_time"), when("exit_time")
	t.gross, t.fees = number("gross_pnl"), number("fees")
	t.slippage, t.pnl = number("slippage"), number("pnl")
	opened := math.Abs(float64(number("quantity") * number("entry_price")))
	t.mae, t.mfe = number("mae"), number("mfe")
	if opened > 0 {
		t.mae, t.mfe = t.mae/opened, t.mfe/opened
	}
	if cell("return") != "" {
		t.ret = number("return")
	}
	t.candles = int(number("candles_held"))
	return t, err
}

// trades are those of all parts.
func (d *run) trades() []trade {
	var out []trade
	for _, p := range d.parts {
		out = append(out, p.trades...)
	}
	return out
}

// tally is what a group of trades has come to.
type tally struct {
	name                       string
	n, won                     int
	gross, fees, slippage, pnl float64
}

func (t *tally) add(x *trade) {
	t.n++
	if x.pnl > 0 {
		t.won++
	}
	t.gross, t.fees, t.slippage, t.pnl = t.gross+x.gross, t.fees+x.fees, t.slippage+x.slippage, t.pnl+x.pnl
}

// tallies group trades by a name, in the order of the names that are given and then as they come.
func tallies(list []trade, names []string, of func(*trade) string) []tally {
	var out []tally
	at := map[string]int{}
	place := func(name string) int {
		i, known := at[name]
		if !known {
			i = len(out)
			at[name] = i
			out = append(out, tally{name: name})
		}
		return i
	}
	for _, name := range names {
		place(name)
	}
	for i := range list {
		out[place(of(&list[i]))].add(&list[i])
	}
	return out
}

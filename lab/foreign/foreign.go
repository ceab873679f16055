// Package foreign keeps the results of other backtesting engines as runs of the registry, to compare
// with.
//
// [Freqtrade] reads what freqtrade exports, [Backtesting] what backtesting.py has in its tables. Both
// come to [Results]: closed trades, an equity curve, and what the files say of the question. [Keep]
// computes our metrics from them and stores a run of kind imported. Nothing is played again, so such
// a run is evidence of nothing: it is no trial, and cannot be attacked or packed.
//
// The files are foreign: every number is checked, and an error names the field. The package imports
// artifact, registry, metric and the market nouns.
package foreign

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The tools whose results are read.
const (
	ToolFreqtrade   = "freqtrade"
	ToolBacktesting = "backtesting.py"
)

// The codes of refusals.
const (
	// CodeUnreadable is of files that are not what the tool writes.
	CodeUnreadable = "RESULTS_UNREADABLE"
	// CodeTooLarge is of files beyond the limits.
	CodeTooLarge = "RESULTS_TOO_LARGE"
	// CodeUnclear is of what the files do not say, and an option has to.
	CodeUnclear = "RESULTS_UNCLEAR"
)

// The limits of what is read.
const (
	MaxFile   = 256 << 20 // bytes of a file, and of a member of an archive when unpacked
	maxTrades = 1 << 20
	maxPoints = 1 << 22
	maxMember = 1000 // members of an archive
)

// Error is a refusal. Pointer names the field in the file, or is empty.
type Error struct{ Code, Pointer, Message string }

// Error is the field and what is wrong with it.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + " " + e.Message
}

func unreadable(pointer, format string, args ...any) error {
	return &Error{CodeUnreadable, pointer, fmt.Sprintf(format, args...)}
}

func unclear(format string, args ...any) error {
	return &Error{CodeUnclear, "", fmt.Sprintf(format, args...)}
}

// Options are what a person says beside the files. Empty fields are taken from the files.
type Options struct {
	// Strategy chooses one of several, or names the one of files that name none.
	Strategy string
	Symbol   string
	// Timeframe is of the candles, as in 1h.
	Timeframe string
	// Cash is the cash at the start.
	Cash string
}

// Results are what another engine came to.
type Results struct {
	Source    artifact.Imported
	Strategy  string
	Symbols   []string
	Timeframe market.Timeframe
	Cash      decimal.Decimal
	// Start and End bound the window, both as opens of candles.
	Start, End market.Time
	// Trades are closed, by their exits. Their order numbers are 0: no order is known.
	Trades []market.Trade
	// Marks are the equity at each close where the engine has written it, else it is made of the
	// closed trades.
	Marks   []Mark
	Remarks []artifact.Note
}

// Mark is the equity of one step, by the open of its candle.
type Mark struct {
	At     market.Time
	Equity float64
}

func (r *Results) remark(code, format string, args ...any) {
	r.Remarks = append(r.Remarks, artifact.Note{Code: code, Message: fmt.Sprintf(format, args...)})
}

// finish orders the trades and numbers them.
func (r *Results) finish() {
	slices.SortStableFunc(r.Trades, func(a, b market.Trade) int {
		return int(min(max(a.ExitTime-b.ExitTime, -1), 1))
	})
	seen := map[string]bool{}
	for i := range r.Trades {
		t := &r.Trades[i]
		t.ID = market.TradeID(i + 1)
		if !seen[string(t.Symbol)] {
			seen[string(t.Symbol)] = true
			r.Symbols = append(r.Symbols, string(t.Symbol))
		}
	}
	slices.Sort(r.Symbols)
}

// amounts are the numbers of a trade as a file has them.
type amounts struct {
	quantity, entry, exit, pnl decimal.Decimal
	// low and high are the extreme prices while it was held, 0 where they are unknown.
	low, high decimal.Decimal
}

// settle computes the rest of a trade from its amounts: the fees are what the prices do not explain,
// with funding and whatever else the engine took off.
func settle(t *market.Trade, a amounts) error {
	side := decimal.One
	if t.Direction == market.Short {
		side = side.Neg()
	}
	product := func(x, y decimal.Decimal) (decimal.Decimal, error) {
		d, err := x.Sub(y)
		if err != nil {
			return d, err
		}
		if d, err = d.Mul(a.quantity); err != nil {
			return d, err
		}
		return d.Mul(side)
	}
	var err error
	if t.GrossPnL, err = product(a.exit, a.entry); err != nil {
		return err
	}
	if t.Fees, err = t.GrossPnL.Sub(a.pnl); err != nil {
		return err
	}
	t.Quantity, t.EntryPrice, t.ExitPrice, t.PnL = a.quantity, a.entry, a.exit, a.pnl
	notional, err := a.quantity.Mul(a.entry)
	if err != nil {
		return err
	}
	if whole, _ := notional.Float64(); whole > 0 {
		pnl, _ := a.pnl.Float64()
		t.Return = pnl / whole
	}
	if a.low.IsZero() || a.high.IsZero() {
		return nil
	}
	worst, best := a.low, a.high
	if t.Direction == market.Short {
		worst, best = best, worst
	}
	if t.MAE, err = product(worst, a.entry); err != nil {
		return err
	}
	if t.MFE, err = product(best, a.entry); err != nil {
		return err
	}
	t.MAE, t.MFE = t.MAE.Min(decimal.Zero), t.MFE.Max(decimal.Zero)
	return nil
}

// readDecimal reads a finite number of a file. Binary fractions with more digits than a decimal
// holds are rounded.
func readDecimal(text string) (decimal.Decimal, error) {
	if len(text) > 64 {
		return decimal.Decimal{}, fmt.Errorf("is not a number: %.20q has %d characters", text, len(text))
	}
	d, err := decimal.Parse(text)
	if err != nil {
		return d, fmt.Errorf("is not a number that can be kept: %.40q", text)
	}
	if x, _ := d.Float64(); math.Abs(x) > 1e15 {
		return d, fmt.Errorf("is beyond 1e15: %.40q", text)
	}
	return d, nil
}

// readTime reads a time as pandas writes it: a blank for the T, no offset for UTC.
func readTime(text string) (market.Time, error) {
	t, err := market.ParseTime(strings.Replace(text, " ", "T", 1))
	if err != nil {
		return 0, fmt.Errorf("is no time: %.40q", text)
	}
	if year := t.Time().Year(); year < 1900 || year > 2200 {
		return 0, fmt.Errorf("is in the year %d", year)
	}
	return t, nil
}

// stepOf is the timeframe of opens that ascend: their most frequent distance.
func stepOf(opens []market.Time) (market.Timeframe, error) {
	count, best := map[time.Duration]int{}, time.Duration(0)
	for i := 1; i < len(opens); i++ {
		d := time.Duration(opens[i]-opens[i-1]) * time.Millisecond
		count[d]++
		if n := count[d]; n > count[best] || n == count[best] && d < best {
			best = d
		}
	}
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if best > 0 && best%unit.length == 0 {
			return market.ParseTimeframe(fmt.Sprintf("%d%s", best/unit.length, unit.name))
		}
	}
	return market.Timeframe{}, unclear("the timeframe is unknown: give --timeframe, as in 1h")
}

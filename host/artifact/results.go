package artifact

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Results is what a run has produced so far.
type Results struct {
	Orders    []market.Order
	Fills     []market.Fill
	Trades    []market.Trade
	Positions []market.Position
	Equity    EquityCurve
	// InitialCash and FinalValue are plain decimals.
	InitialCash, FinalValue string
	Metrics                 *metric.Report
	Assumptions, Warnings   []Note
	RequestHash, ResultHash string
	DecisionHash, DataHash  string
	Window                  Window
	Log                     []LogLine
	// LogFile is the lines of log.jsonl, empty where there are none.
	LogFile []byte
	// Published is what the strategy has published, warm-up included.
	Published
	// LateMessages counts cancels and replaces whose order had ended when they arrived, under a delay.
	LateMessages int64
	// Risk is the limits that held, by the names of their options with _ for -; nil in backtests.
	Risk map[string]any
}

// WarmupRejections counts the orders that were refused because the window had not begun.
func (r *Results) WarmupRejections() int {
	n := 0
	for i := range r.Orders {
		if r.Orders[i].Reason == "warmup" {
			n++
		}
	}
	return n
}

// EquityCurve is the equity at each step close of the window, as columns.
type EquityCurve struct {
	Time                        []market.Time
	Equity, Cash, PositionValue []float64
	Drawdown, Exposure          []float64
}

// Slice returns the points [from, to) without copying.
func (e *EquityCurve) Slice(from, to int) EquityCurve {
	return EquityCurve{
		Time: e.Time[from:to], Equity: e.Equity[from:to], Cash: e.Cash[from:to],
		PositionValue: e.PositionValue[from:to], Drawdown: e.Drawdown[from:to], Exposure: e.Exposure[from:to],
	}
}

// Join makes one account of windows that follow each other: each begins with its own cash, so its
// amounts are scaled to the end of the one before. Drawdowns are those of the whole, fractions of
// its peak.
func Join(windows []*EquityCurve) *EquityCurve {
	out := &EquityCurve{}
	scale, peak := 1.0, 0.0
	for _, w := range windows {
		if n := len(out.Equity); n > 0 && len(w.Equity) > 0 && w.Equity[0] != 0 {
			scale = out.Equity[n-1] / w.Equity[0]
		}
		out.Time, out.Exposure = append(out.Time, w.Time...), append(out.Exposure, w.Exposure...)
		for i, e := range w.Equity {
			equity := float64(e * scale)
			out.Equity, out.Cash = append(out.Equity, equity), append(out.Cash, float64(w.Cash[i]*scale))
			out.PositionValue = append(out.PositionValue, float64(w.PositionValue[i]*scale))
			fall := 0.0
			if peak = max(peak, equity); peak > 0 {
				fall = (peak - equity) / peak
			}
			out.Drawdown = append(out.Drawdown, fall)
		}
	}
	return out
}

// JoinHolding makes one line of what was held in windows that follow each other, of the closes in each, none
// of which is empty. It begins at a level; each window goes on where the one before has ended.
func JoinHolding(level float64, closes [][]float64) []float64 {
	var out []float64
	for _, window := range closes {
		for _, c := range window {
			out = append(out, float64(level*(c/window[0])))
		}
		level = out[len(out)-1]
	}
	return out
}

// Window is the part of the data that a run covers.
type Window struct {
	Start   market.Time `json:"start"`
	End     market.Time `json:"end"`
	Candles int64       `json:"candles"`
}

// Note is an assumption or a warning.
type Note struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// LogLine is one line of a run's log.
type LogLine struct {
	Time    market.Time   `json:"time"` // simulated time of the line, 0 before the first step
	Level   string        `json:"level"`
	Source  string        `json:"source"` // host or plugin
	Message string        `json:"message"`
	Fields  market.Fields `json:"fields"`
}

// Annotation is one named series of points that a strategy published. Name and Symbol tell those of a
// run apart.
type Annotation struct {
	Name   string
	Symbol market.Symbol // what it is of; empty for a series of the whole run
	Time   []market.Time
	Values []float64
}

// Failure is why a run failed. Code is one of those of a failed run, see docs/api.md.
type Failure struct {
	Code           string         `json:"code"`
	Message        string         `json:"-"`
	Phase          string         `json:"phase"`
	CandleTime     market.Time    `json:"candle_time"`
	PluginExitCode *int           `json:"plugin_exit_code"`
	LogTail        []string       `json:"log_tail"`
	Data           map[string]any `json:"data"`
}

// The codes of concerns about a result.
const (
	EquityBelowHalf  = "EQUITY_BELOW_HALF"
	OrdersRejected   = "ORDERS_REJECTED"
	FeesAboveCash    = "FEES_ABOVE_CASH"
	DustFills        = "DUST_FILLS"
	SharpeTooFewDays = "SHARPE_TOO_FEW_DAYS"
)

const (
	// dust is the share of the starting cash below which a fill is too small for any exchange.
	dust = 1e-5
	// fewReturns is below how many a Sharpe ratio means next to nothing.
	fewReturns = 250
)

// Concerns are warnings about the numbers themselves: an account that was nearly lost,
// orders that were not or could not be filled, costs above the cash, a ratio from too little.
func (r *Results) Concerns() []Note {
	var list []Note
	note := func(code, format string, args ...any) {
		list = append(list, Note{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	cash, err := strconv.ParseFloat(r.InitialCash, 64)
	if err == nil && cash > 0 {
		low := cash
		if len(r.Equity.Equity) > 0 {
			low = slices.Min(r.Equity.Equity)
		}
		if low < cash/2 {
			day := r.Equity.Time[slices.Index(r.Equity.Equity, low)].Time().Format("2006-01-02")
			note(EquityBelowHalf, "Equity fell to %s %% of the starting cash by %s.", percent(low/cash), day)
		}
		fees, small := r.costs(dust * cash)
		if fees > cash {
			note(FeesAboveCash, "Fees add up to %.1f times the starting cash.", fees/cash)
		}
		if small > 0 {
			note(DustFills, "%d of %d fills were worth less than a hundred-thousandth of the starting cash: "+
				"exchanges refuse orders of that size.", small, len(r.Fills))
		}
	}
	if n, reason := r.rejected(); n > 0 {
		note(OrdersRejected, "%d of %d orders were rejected, most often for %s.", n, len(r.Orders), reason)
	}
	if m := r.Metrics; m != nil && m.Meta.NReturns < fewReturns {
		unit := "candles"
		if m.Meta.Sample == metric.SampleDay {
			unit = "days"
		}
		if _, ok := m.Metrics.Get("sharpe_ratio"); ok {
			note(SharpeTooFewDays, "The Sharpe ratio is from %d %s: below %d it says next to nothing.",
				m.Meta.NReturns, unit, fewReturns)
		}
	}
	return list
}

// percent has digits enough to distinguish a little from nothing.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 2, 64) }

// costs are the fees, and how many fills were worth less than the limit.
func (r *Results) costs(limit float64) (fees float64, small int) {
	for i := range r.Fills {
		f := &r.Fills[i]
		fee, _ := f.Fee.Float64()
		quantity, _ := f.Quantity.Float64()
		price, _ := f.Price.Float64()
		fees += fee
		if quantity*price < limit {
			small++
		}
	}
	return fees, small
}

// rejected counts the rejected orders, those of the warm-up left out, with the reason that most
// of them have.
func (r *Results) rejected() (n int, most market.Reason) {
	reasons := map[market.Reason]int{}
	for i := range r.Orders {
		if o := &r.Orders[i]; o.Status == market.StatusRejected && o.Reason != "warmup" {
			reasons[o.Reason]++
			n++
		}
	}
	for reason, count := range reasons {
		if count > reasons[most] || count == reasons[most] && reason < most {
			most = reason
		}
	}
	return n, most
}

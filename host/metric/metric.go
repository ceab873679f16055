// Package metric computes metrics-v1: what an equity curve and the closed trades
// of a run show, from the Sharpe ratio to the number of rejected orders.
//
// The simulator's recorder hands over columns of equity at step closes, trades and
// totals as an Input; Compute turns them into a Report, which the artifact writer
// stores in report.json and the API shows as performance_metrics. The lab uses the
// same Input for a split and, with several curves, for a stitched walk-forward.
//
// Each statistic is one Metric value: key, one line of documentation, unit and
// function. All lists them in order, and the documentation a user sees is built
// from that list. To add a metric, copy a neighbour in the file of its group.
//
// Every number is reproducible to the last bit on every CPU except where
// Metric.CPUDependent is set: sums are compensated and run in index order,
// products that are added to something are rounded first. Numbers leave the package
// rounded to 12 significant digits and are never NaN, infinite or -0: what a formula
// cannot answer is undefined and has a Reason.
//
// The package imports plugin-sdk/market, sim.Float and the decimal library. It has no clock, no I/O and no
// goroutine.
package metric

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Semantics names the rules that this package implements. A change of any formula
// is a new name.
const Semantics = "metrics-v1"

// Unit is what the number of a metric counts.
type Unit string

// The units. Fractions are not percents: 0.05 is five percent.
const (
	Ratio    Unit = "ratio"
	Fraction Unit = "fraction"
	Quote    Unit = "quote" // quote currency
	Seconds  Unit = "seconds"
	Candles  Unit = "candles"
	Count    Unit = "count"
)

// Reason is why a metric has no value; "" means that it has one.
type Reason string

// The reasons.
const (
	TooFewReturns  Reason = "too_few_returns"
	ZeroVariance   Reason = "zero_variance"
	NoLosses       Reason = "no_losses"
	NoTrades       Reason = "no_trades"
	NoWins         Reason = "no_wins"
	WindowTooShort Reason = "window_too_short"
	ZeroDrawdown   Reason = "zero_drawdown"
	// Insufficient: the sample is too small to estimate anything, see Report.Insufficient.
	Insufficient Reason = "insufficient"
	// NotApplicable: there is nothing to apply the formula to, or its result is no finite number.
	NotApplicable Reason = "not_applicable"
)

// Metric is one statistic.
type Metric struct {
	// Key is the name in JSON, Doc its meaning in one line.
	Key, Doc string
	Unit     Unit
	// Estimate marks ratios and means: what Report.Insufficient leaves out. The others
	// are counts, totals and extremes, true of any window however short.
	Estimate bool
	// CPUDependent marks results that need math.Pow or math.Erfc, whose last digits
	// depend on the CPU: hashes of results leave them out.
	CPUDependent bool

	// eval computes the number, which means nothing where there is a reason.
	eval evaluator
}

type evaluator = func(*facts) (float64, Reason)

func onMain(f func(*sample) (float64, Reason)) evaluator {
	return func(x *facts) (float64, Reason) { return f(x.main) }
}

func onCandle(f func(*sample) (float64, Reason)) evaluator {
	return func(x *facts) (float64, Reason) { return f(x.candle) }
}

func onTrades(f func(*tradeFacts) (float64, Reason)) evaluator {
	return func(x *facts) (float64, Reason) { return f(&x.trades) }
}

// always returns a metric that every run has.
func always(f func(*facts) float64) evaluator {
	return func(x *facts) (float64, Reason) { return f(x), "" }
}

// All lists the metrics in the order in which they are shown.
func All() []Metric {
	return slices.Concat(ratioMetrics, drawdownMetrics, growthMetrics, tradeMetrics, activityMetrics)
}

// ContractKeys lists the metrics that a client may count on: in HTTP answers they
// are numbers even when undefined.
func ContractKeys() []string {
	return []string{"sharpe_ratio", "max_drawdown", "total_trades", "win_rate", "total_return"}
}

// The calendars: which days of a week have candles.
const (
	Calendar24x7     = "24x7"
	CalendarWeekdays = "weekdays"
)

// Input is what the metrics are computed from. Compute reads it and keeps nothing.
type Input struct {
	Timeframe market.Timeframe
	// Calendar is 24x7, or weekdays when all datasets of the run are.
	Calendar string
	// Curves holds one curve for a run or split. Several are a stitched series, such as
	// the test windows of a walk-forward: each starts flat with its own cash, returns
	// never cross from one to the next, and levels are chained (each curve continues
	// at the level at which the one before ended).
	Curves []Curve
	// Trades are the closed round trips of all curves.
	Trades []market.Trade
	Totals Totals
}

// Curve is the account at each step close, as parallel columns. The first point is
// the close of the first candle: nothing can have filled there, so its equity e_0
// is the initial cash. A run that ended before its first close has no points.
type Curve struct {
	// OpenTime is when the candle of the step opened (the earliest, if symbols differ),
	// CloseTime when the step closed, strictly ascending.
	OpenTime, CloseTime []market.Time
	Equity              []float64
	// Exposure is the sum of |notional| / equity. It is 0 exactly when no position is
	// open; at an equity of 0 or below, where it has no meaning, any other number,
	// infinity included, means that one is.
	Exposure []float64
	// Closes has the first and last close of each symbol in the window.
	Closes []Closes
}

// Closes is the first and last close of one symbol in a window.
type Closes struct {
	Symbol      market.Symbol
	First, Last float64
}

// Totals are the sums and counts of a run. The zero value is a run without orders.
type Totals struct {
	FillNotional   Sum `json:"fill_notional"`
	FeesPaid       Sum `json:"fees_paid"`
	SlippagePaid   Sum `json:"slippage_paid"`
	Fills          int `json:"fills"`
	AmbiguousFills int `json:"ambiguous_fills"`
	Orders         int `json:"orders"`
	RejectedOrders int `json:"rejected_orders"`
	// RejectedIntents counts cancels and replaces of something unknown or closed.
	RejectedIntents int `json:"rejected_intents"`
	// OpenTrades counts the positions still open at the end.
	OpenTrades int `json:"open_trades"`
}

// AddFill counts one fill.
func (t *Totals) AddFill(f *market.Fill) {
	t.Fills++
	if f.Ambiguous {
		t.AmbiguousFills++
	}
	t.FillNotional.AddProduct(f.Quantity, f.Price)
	t.FeesPaid.Add(f.Fee)
	t.SlippagePaid.Add(f.Slippage)
}

// AddOrder counts one order; call it once, when the order's state is final or the
// run has ended. Rejected orders count as orders too.
func (t *Totals) AddOrder(o *market.Order) {
	t.Orders++
	if o.Status == market.StatusRejected {
		t.RejectedOrders++
	}
}

// Merge adds the totals of another curve.
func (t *Totals) Merge(o *Totals) {
	t.FillNotional.AddSum(&o.FillNotional)
	t.FeesPaid.AddSum(&o.FeesPaid)
	t.SlippagePaid.AddSum(&o.SlippagePaid)
	t.Fills += o.Fills
	t.AmbiguousFills += o.AmbiguousFills
	t.Orders += o.Orders
	t.RejectedOrders += o.RejectedOrders
	t.RejectedIntents += o.RejectedIntents
	t.OpenTrades += o.OpenTrades
}

// InputError names the part of an Input that cannot be used, and why.
type InputError struct {
	// Field is a path such as curves[0].equity[17].
	Field, Problem string
}

// Error is field and problem.
func (e *InputError) Error() string { return "metrics input: " + e.Field + ": " + e.Problem }

func (in *Input) validate() error {
	if in.Timeframe.Approx() <= 0 {
		return &InputError{"timeframe", "is missing: give the timeframe of the candles, for example 1h"}
	}
	if in.Calendar != Calendar24x7 && in.Calendar != CalendarWeekdays {
		return &InputError{"calendar", fmt.Sprintf("%q is unknown: give 24x7 or weekdays", in.Calendar)}
	}
	for i := range in.Curves {
		if err := in.Curves[i].validate(fmt.Sprintf("curves[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Curve) validate(path string) error {
	n := len(c.Equity)
	if len(c.OpenTime) != n || len(c.CloseTime) != n || len(c.Exposure) != n {
		return &InputError{path,
			fmt.Sprintf("columns differ in length: %d open times, %d close times, %d equities, %d exposures",
				len(c.OpenTime), len(c.CloseTime), n, len(c.Exposure))}
	}
	for i, e := range c.Equity {
		if !finite(e) {
			return &InputError{fmt.Sprintf("%s.equity[%d]", path, i), "is not a finite number"}
		}
		if x := c.Exposure[i]; e > 0 && !(x >= 0 && x <= math.MaxFloat64) {
			return &InputError{fmt.Sprintf("%s.exposure[%d]", path, i), "is not a finite number >= 0"}
		}
		if i > 0 && c.CloseTime[i] <= c.CloseTime[i-1] {
			return &InputError{fmt.Sprintf("%s.close_time[%d]", path, i), "is not after the one before it"}
		}
		if c.OpenTime[i] >= c.CloseTime[i] {
			return &InputError{fmt.Sprintf("%s.open_time[%d]", path, i),
				"is not before the close of its step"}
		}
	}
	if n > 0 && c.Equity[0] <= 0 {
		return &InputError{path + ".equity[0]", "is the initial cash and must be > 0"}
	}
	for i, s := range c.Closes {
		if !(s.First > 0 && s.Last > 0 && finite(s.First) && finite(s.Last)) {
			return &InputError{fmt.Sprintf("%s.closes[%d]", path, i),
				"first and last close must be finite prices > 0"}
		}
	}
	return nil
}

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

const (
	daysPerYear     = 365
	weekdaysPerYear = 252 // trading days
	weeksPerYear    = 52  // of a weekday calendar; 24x7 has 365/7
	monthsPerYear   = 12
)

// DayPeriods returns the number of day returns in a year.
func DayPeriods(calendar string) float64 {
	if calendar == CalendarWeekdays {
		return weekdaysPerYear
	}
	return daysPerYear
}

// CandlePeriods returns the number of candle returns in a year. Below one day on a
// weekday calendar the length of a session is not known, so candles and the days
// that have any are counted instead.
func CandlePeriods(tf market.Timeframe, calendar string, candles, days int) float64 {
	const day = 24 * time.Hour
	n := float64(tf.Count)
	switch {
	case tf.Unit == 'M':
		return monthsPerYear / n
	case calendar != CalendarWeekdays:
		return float64(daysPerYear*day) / float64(tf.Duration())
	case tf.Unit == 'w':
		return weeksPerYear / n
	case tf.Duration() < day && days > 0:
		return float64(weekdaysPerYear*candles) / float64(days)
	default:
		return float64(weekdaysPerYear*day) / float64(tf.Duration())
	}
}

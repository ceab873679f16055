package view

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The sizes of DetailedStatus unless a client prefers others.
const (
	DetailRows   = 100
	DetailPoints = 2000
)

// DetailedStatus is the status with the newest entries.
type DetailedStatus struct {
	Status
	RecentOrders         []Order         `json:"recent_orders"`
	RecentFills          []Fill          `json:"recent_fills"`
	RecentTrades         []Trade         `json:"recent_trades"`
	Positions            []Position      `json:"positions"`
	EquityCurve          Curve           `json:"equity_curve"`
	EquityCurveSampling  metric.Thinning `json:"equity_curve_sampling"`
	RowsTotal            RowsTotal       `json:"rows_total"`
	PerformanceMetrics   metric.Values   `json:"performance_metrics"`
	PerformanceUndefined []string        `json:"performance_metrics_undefined"`
	MetricsMeta          metric.Meta     `json:"metrics_meta"`
	Assumptions          []artifact.Note `json:"assumptions"`
	Warnings             []artifact.Note `json:"warnings"`
	Health               Health          `json:"health"`
}

// RowsTotal counts all entries, shown or not.
type RowsTotal struct {
	Orders int `json:"orders"`
	Fills  int `json:"fills"`
	Trades int `json:"trades"`
}

// DetailedOf shows a report with at most so many rows and points.
func DetailedOf(rep runner.Report, health Health, rows, points int) DetailedStatus {
	r := rep.Results
	m := metricsOf(r)
	curve, info := thinned(r.Equity, points)
	return DetailedStatus{
		Status:       StatusOf(rep.Snapshot),
		RecentOrders: newest(r.Orders, rows, OrderOf), RecentFills: newest(r.Fills, rows, FillOf),
		RecentTrades: newest(r.Trades, rows, TradeOf), Positions: List(r.Positions, PositionOf),
		EquityCurve: curve, EquityCurveSampling: info, RowsTotal: rowsOf(r),
		PerformanceMetrics: m.Metrics, PerformanceUndefined: m.Undefined, MetricsMeta: m.Meta,
		Assumptions: notes(r.Assumptions), Warnings: notes(r.Warnings), Health: health,
	}
}

func metricsOf(r *artifact.Results) metric.HTTP {
	if r.Metrics == nil {
		return metric.Idle()
	}
	return r.Metrics.HTTP()
}

func rowsOf(r *artifact.Results) RowsTotal {
	return RowsTotal{Orders: len(r.Orders), Fills: len(r.Fills), Trades: len(r.Trades)}
}

func notes(n []artifact.Note) []artifact.Note {
	if n == nil {
		return []artifact.Note{}
	}
	return n
}

// thinned picks at most n points of the curve; n < 0 shows all.
func thinned(e artifact.EquityCurve, n int) (Curve, metric.Thinning) {
	if n < 0 || n >= len(e.Time) {
		return Curve{Columns: e},
			metric.Thinning{Method: metric.ThinNone, Points: len(e.Time), Of: len(e.Time)}
	}
	picked, info := metric.ThinEquity(e.Time, e.Equity, n)
	return Curve{Columns: e, Picked: picked}, info
}

// Results is everything that a run has produced. Write writes it field by field, so that a
// long run needs no second copy in memory.
type Results struct {
	RunID                string          `json:"run_id"`
	Config               RunConfig       `json:"config"`
	Status               string          `json:"status"`
	StartTime            market.Time     `json:"start_time"`
	EndTime              market.Time     `json:"end_time"`
	Orders               Entries         `json:"orders"`
	Trades               Entries         `json:"trades"`
	Positions            Entries         `json:"positions"`
	EquityCurve          Curve           `json:"equity_curve"`
	PerformanceMetrics   metric.Values   `json:"performance_metrics"`
	FinalValue           Plain           `json:"final_value"`
	Error                *string         `json:"error"`
	Fills                Entries         `json:"fills"`
	Mode                 string          `json:"mode"`
	StopReason           string          `json:"stop_reason"`
	Partial              bool            `json:"partial"`
	ErrorDetails         *FailureDetails `json:"error_details"`
	InitialCash          Plain           `json:"initial_cash"`
	PerformanceUndefined []string        `json:"performance_metrics_undefined"`
	MetricsMeta          metric.Meta     `json:"metrics_meta"`
	EquityCurveSampling  metric.Thinning `json:"equity_curve_sampling"`
	RowsTotal            RowsTotal       `json:"rows_total"`
	Assumptions          []artifact.Note `json:"assumptions"`
	Warnings             []artifact.Note `json:"warnings"`
	RequestHash          string          `json:"request_hash"`
	ResultHash           string          `json:"result_hash"`
	Artifacts            string          `json:"artifacts"`
	// Trials is null until the trials are counted, and for what is no backtest.
	Trials *registry.Place `json:"trials"`
}

// RunConfig is the request with every default filled in, and what was run.
type RunConfig struct {
	StrategyName   string          `json:"strategy_name"`
	StrategyParams json.RawMessage `json:"strategy_params"`
	Symbols        []string        `json:"symbols"`
	Timeframe      string          `json:"timeframe"`
	StartDate      *string         `json:"start_date"`
	EndDate        *string         `json:"end_date"`
	InitialCash    Plain           `json:"initial_cash"`
	Exchange       string          `json:"exchange"`
	Execution      json.RawMessage `json:"execution"`
	Mode           string          `json:"mode"`
	Window         artifact.Window `json:"window"`
	Strategy       StrategyRef     `json:"strategy"`
	Engine         EngineRef       `json:"engine"`
	DataHash       string          `json:"data_hash"`
	Risk           map[string]any  `json:"risk"`
}

// StrategyRef is the plugin that was run.
type StrategyRef struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// EngineRef is the host that ran it.
type EngineRef struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// shown returns a date of a request as every time is shown; nil if there is none.
func shown(text *string) *string {
	if text == nil {
		return nil
	}
	t, err := market.ParseTime(*text)
	if err != nil {
		return text // what was no date has not started a run
	}
	s := t.String()
	return &s
}

// ConfigOf returns the configuration of a run as far as it is known.
func ConfigOf(rep runner.Report) RunConfig {
	req := rep.Request
	c := RunConfig{
		StrategyName: req.StrategyName, StrategyParams: raw(req.StrategyParams), Symbols: req.Symbols,
		Timeframe: req.Timeframe,
		StartDate: shown(req.StartDate), EndDate: shown(req.EndDate), InitialCash: Plain(req.InitialCash),
		Exchange:  req.Exchange,
		Execution: raw(req.Execution), Mode: req.Mode, Window: rep.Results.Window,
		DataHash: rep.Results.DataHash,
		Risk:     rep.Results.Risk,
	}
	if c.Symbols == nil {
		c.Symbols = []string{}
	}
	if m := rep.Manifest; m != nil {
		c.StrategyParams, c.Execution = raw(m.Request.StrategyParams), raw(m.Request.Execution)
		c.InitialCash, c.Exchange = Plain(m.Request.InitialCash), m.Request.Exchange
		c.Strategy = StrategyRef{Version: m.Strategy.Version, SHA256: m.Plugin.SHA256}
		c.Engine = EngineRef{Version: m.Engine.Version, Commit: m.Engine.Commit}
	}
	if cash := rep.Results.InitialCash; req.Mode == runner.ModeLive && cash != "" {
		c.InitialCash = Plain(cash) // no request has it: it is the cash of the account
	}
	return c
}

// ResultsOf shows a report of a run that has ended with at most so many rows and points.
// Negative rows or points show all.
func ResultsOf(rep runner.Report, rows, points int) *Results {
	r, s, m := rep.Results, StatusOf(rep.Snapshot), metricsOf(rep.Results)
	curve, sampling := thinned(r.Equity, points)
	return &Results{
		RunID: s.RunID, Config: ConfigOf(rep), Status: s.Status, StartTime: s.StartTime, EndTime: s.EndTime,
		Orders: entries(r.Orders, rows, OrderOf), Trades: entries(r.Trades, rows, TradeOf),
		Positions: entries(r.Positions, -1, PositionOf), EquityCurve: curve, PerformanceMetrics: m.Metrics,
		FinalValue: Plain(r.FinalValue), Error: s.Error, Fills: entries(r.Fills, rows, FillOf), Mode: s.Mode,
		StopReason: rep.Snapshot.StopReason, Partial: s.Partial, ErrorDetails: s.ErrorDetails,
		InitialCash: Plain(r.InitialCash), PerformanceUndefined: m.Undefined, MetricsMeta: m.Meta,
		EquityCurveSampling: sampling, RowsTotal: rowsOf(r), Assumptions: notes(r.Assumptions),
		Warnings: notes(r.Warnings), RequestHash: r.RequestHash, ResultHash: r.ResultHash,
		Artifacts: rep.Artifacts, Trials: rep.Trials,
	}
}

// Entries are rows of a table that are shown one by one.
type Entries struct {
	n    int
	show func(i int) any
}

// entries shows the last rows, all if rows is negative.
func entries[T, V any](in []T, rows int, show func(*T) V) Entries {
	if rows >= 0 {
		in = in[max(0, len(in)-rows):]
	}
	return Entries{len(in), func(i int) any { return show(&in[i]) }}
}

// Write writes the document, its fields in their order.
func (r *Results) Write(out io.Writer) error {
	w := &fieldWriter{w: bufio.NewWriterSize(out, 64<<10)}
	all := reflect.ValueOf(r).Elem()
	for i := range all.NumField() {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		_, _ = w.w.WriteString(separator + `"` + all.Type().Field(i).Tag.Get("json") + `":`)
		switch v := all.Field(i).Interface().(type) {
		case Entries:
			w.array(v.n, func(i int) { w.value(v.show(i)) })
		case Curve:
			w.array(v.Len(), func(i int) {
				w.buf = v.AppendPoint(w.buf[:0], i)
				_, w.err = w.w.Write(w.buf)
			})
		default:
			w.value(v)
		}
	}
	_ = w.w.WriteByte('}')
	return errors.Join(w.err, w.w.Flush())
}

// fieldWriter writes one object. Errors of the buffer stick in it.
type fieldWriter struct {
	w   *bufio.Writer
	err error // of a value
	buf []byte
}

// value writes v without the line end that json.Encoder adds.
func (f *fieldWriter) value(v any) {
	if f.err != nil {
		return
	}
	enc := json.NewEncoder(noNewline{f.w})
	enc.SetEscapeHTML(false)
	f.err = enc.Encode(v)
}

func (f *fieldWriter) array(n int, element func(i int)) {
	_ = f.w.WriteByte('[')
	for i := 0; i < n && f.err == nil; i++ {
		if i > 0 {
			_ = f.w.WriteByte(',')
		}
		element(i)
	}
	_ = f.w.WriteByte(']')
}

type noNewline struct{ w io.Writer }

// Write implements io.Writer.
func (n noNewline) Write(p []byte) (int, error) {
	if _, err := n.w.Write(p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// RunEquity is the equity of one split of a run.
type RunEquity struct {
	Split string `json:"split"`
	Items Curve  `json:"items"`
	// Holding is what the first symbol would have come to at each point, [ms, equity]; null without candles.
	Holding  [][2]Number     `json:"holding"`
	Sampling metric.Thinning `json:"sampling"`
}

// RunEquityOf shows a curve with at most so many points, beside holding at the same steps or nil.
func RunEquityOf(split string, e artifact.EquityCurve, holding []float64, points int) RunEquity {
	curve, info := thinned(e, points)
	out := RunEquity{Split: split, Items: curve, Sampling: info}
	if holding == nil {
		return out
	}
	out.Holding = make([][2]Number, curve.Len())
	for i := range out.Holding {
		at := i
		if curve.Picked != nil {
			at = curve.Picked[i]
		}
		out.Holding[i] = [2]Number{Number(e.Time[at]), Number(holding[at])}
	}
	return out
}

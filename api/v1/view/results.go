package view

import (
	"bufio"
	"encoding/json"
	"io"

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
		RecentTrades: newest(r.Trades, rows, TradeOf), Positions: list(r.Positions, PositionOf),
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
		return Curve{Columns: e}, metric.Thinning{Method: metric.ThinNone, Points: len(e.Time), Of: len(e.Time)}
	}
	picked, info := metric.ThinEquity(e.Time, e.Equity, n)
	return Curve{Columns: e, Picked: picked}, info
}

// Results is everything that a run has produced. Its big arrays are last fields of
// their kind and written by WriteTo without being built first.
type Results struct {
	RunID                string          `json:"run_id"`
	Config               RunConfig       `json:"config"`
	Status               string          `json:"status"`
	StartTime            market.Time     `json:"start_time"`
	EndTime              market.Time     `json:"end_time"`
	Orders               []Order         `json:"orders"`
	Trades               []Trade         `json:"trades"`
	Positions            []Position      `json:"positions"`
	EquityCurve          []EquityPoint   `json:"equity_curve"`
	PerformanceMetrics   metric.Values   `json:"performance_metrics"`
	FinalValue           Plain           `json:"final_value"`
	Error                *string         `json:"error"`
	Fills                []Fill          `json:"fills"`
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

// shown is a date of a request as every time is shown; nil if there is none.
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

// ConfigOf is the configuration of a run as far as it is known.
func ConfigOf(rep runner.Report) RunConfig {
	req := rep.Request
	c := RunConfig{
		StrategyName: req.StrategyName, StrategyParams: raw(req.StrategyParams), Symbols: req.Symbols, Timeframe: req.Timeframe,
		StartDate: shown(req.StartDate), EndDate: shown(req.EndDate), InitialCash: Plain(req.InitialCash), Exchange: req.Exchange,
		Execution: raw(req.Execution), Mode: req.Mode, Window: rep.Results.Window, DataHash: rep.Results.DataHash,
		Risk: rep.Results.Risk,
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
		c.InitialCash = Plain(cash) // no request says it: it is what the account had
	}
	return c
}

// ResultsDocument writes the Results of a run field by field, so that a long run
// needs no second copy in memory.
type ResultsDocument struct {
	rep   runner.Report
	curve Curve
	info  metric.Thinning
	rows  int
}

// NewResultsDocument shows a report of a run that has ended. Negative rows or
// points show all.
func NewResultsDocument(rep runner.Report, rows, points int) *ResultsDocument {
	d := &ResultsDocument{rep: rep, rows: rows}
	d.curve, d.info = thinned(rep.Results.Equity, points)
	return d
}

// Write writes the document. The order and names of the fields are those of
// Results, which a test holds.
func (d *ResultsDocument) Write(out io.Writer) error {
	r, s := d.rep.Results, StatusOf(d.rep.Snapshot)
	m := metricsOf(r)
	w := &fieldWriter{w: bufio.NewWriterSize(out, 64<<10)}
	w.field("run_id", s.RunID)
	w.field("config", ConfigOf(d.rep))
	w.field("status", s.Status)
	w.field("start_time", s.StartTime)
	w.field("end_time", s.EndTime)
	writeList(w, "orders", d.tail(len(r.Orders)), r.Orders, OrderOf)
	writeList(w, "trades", d.tail(len(r.Trades)), r.Trades, TradeOf)
	writeList(w, "positions", 0, r.Positions, PositionOf)
	w.curve("equity_curve", d.curve)
	w.field("performance_metrics", m.Metrics)
	w.field("final_value", Plain(r.FinalValue))
	w.field("error", s.Error)
	writeList(w, "fills", d.tail(len(r.Fills)), r.Fills, FillOf)
	w.field("mode", s.Mode)
	w.field("stop_reason", d.rep.Snapshot.StopReason)
	w.field("partial", s.Partial)
	w.field("error_details", s.ErrorDetails)
	w.field("initial_cash", Plain(r.InitialCash))
	w.field("performance_metrics_undefined", m.Undefined)
	w.field("metrics_meta", m.Meta)
	w.field("equity_curve_sampling", d.info)
	w.field("rows_total", rowsOf(r))
	w.field("assumptions", notes(r.Assumptions))
	w.field("warnings", notes(r.Warnings))
	w.field("request_hash", r.RequestHash)
	w.field("result_hash", r.ResultHash)
	w.field("artifacts", d.rep.Artifacts)
	w.field("trials", d.rep.Trials)
	return w.close()
}

// tail is the index of the first of the newest entries to show.
func (d *ResultsDocument) tail(n int) int {
	if d.rows < 0 {
		return 0
	}
	return max(0, n-d.rows)
}

// fieldWriter writes one object; the first error sticks.
type fieldWriter struct {
	w   *bufio.Writer
	any bool
	err error
	buf []byte
}

func (f *fieldWriter) name(name string) {
	f.buf = append(f.buf[:0], ',', '"')
	if !f.any {
		f.any, f.buf[0] = true, '{'
	}
	f.buf = append(append(f.buf, name...), '"', ':')
	f.put(f.buf)
}

func (f *fieldWriter) put(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
}

func (f *fieldWriter) value(v any) {
	if f.err != nil {
		return
	}
	enc := json.NewEncoder(noNewline{f.w})
	enc.SetEscapeHTML(false)
	f.err = enc.Encode(v)
}

func (f *fieldWriter) field(name string, v any) {
	f.name(name)
	f.value(v)
}

func (f *fieldWriter) curve(name string, c Curve) {
	f.name(name)
	f.put([]byte{'['})
	for i := range c.Len() {
		f.buf = f.buf[:0]
		if i > 0 {
			f.buf = append(f.buf, ',')
		}
		f.buf = c.AppendPoint(f.buf, i)
		f.put(f.buf)
	}
	f.put([]byte{']'})
}

func (f *fieldWriter) close() error {
	f.put([]byte{'}'})
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return f.err
}

// writeList writes the entries from index from on.
func writeList[T, V any](f *fieldWriter, name string, from int, in []T, show func(*T) V) {
	f.name(name)
	f.put([]byte{'['})
	for i := from; i < len(in) && f.err == nil; i++ {
		if i > from {
			f.put([]byte{','})
		}
		f.value(show(&in[i]))
	}
	f.put([]byte{']'})
}

// noNewline drops the line end that json.Encoder adds to each value.
type noNewline struct{ w io.Writer }

// Write implements io.Writer.
func (n noNewline) Write(p []byte) (int, error) {
	if _, err := n.w.Write(p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

package artifact

import (
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
	// LogFile is the lines of log.jsonl, empty where none were said or kept.
	LogFile     []byte
	Annotations []Annotation
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

// Annotation is one named series of points that a strategy published.
type Annotation struct {
	Name   string
	Time   []market.Time
	Values []float64
}

// Failure says why a run failed. Code is one of section 7.2 of the API.
type Failure struct {
	Code           string         `json:"code"`
	Message        string         `json:"-"`
	Phase          string         `json:"phase"`
	CandleTime     market.Time    `json:"candle_time"`
	PluginExitCode *int           `json:"plugin_exit_code"`
	LogTail        []string       `json:"log_tail"`
	Data           map[string]any `json:"data"`
}

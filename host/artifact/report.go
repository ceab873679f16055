package artifact

import (
	"io"
	"slices"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The statuses of a run.
const (
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// The places that a run can come from.
const (
	OriginService  = "service"
	OriginLab      = "lab"
	OriginImported = "imported"
)

// Run is everything about one run that is kept.
type Run struct {
	ID       string
	Manifest Manifest
	// Status is completed or failed; running for the row of a run that has just begun.
	Status  string
	Failure *Failure     // set when failed
	Service *ServiceNote // set for runs of the service
	// Splits in the order in which reports list them. The service has one, full.
	Splits []Split
	// Attempt counts from 1 how often the request was tried; 0 means 1.
	Attempt                int
	StartedAt, CompletedAt time.Time
	Origin                 string
	Environment            Environment
	// Evaluation is what only runs of the lab have.
	Evaluation *Evaluation
	// Compact keeps of each split the equity at the ends of UTC days and no decisions, as
	// for the hundreds of trials of a search. Hashes and metrics are those of the full run.
	Compact bool
}

// The artifact levels.
const (
	LevelFull    = "full"
	LevelCompact = "compact"
)

func (run *Run) level() string {
	if run.Compact {
		return LevelCompact
	}
	return LevelFull
}

// Evaluation is what the lab finds out about the splits of a run together. Its parts
// go into report.json as they are.
type Evaluation struct {
	// WalkForward is the stitched walk-forward, nil when there is none.
	WalkForward *WalkForward
	Stress      []Stress
	// Overfitting is nil where there is nothing to estimate it from.
	Overfitting *Overfitting
	// Falsification and FailureCapsule are null in most reports.
	Falsification, FailureCapsule any
	Warnings                      []ReportWarning
	// Files are written beside the rest, such as the locked metrics of the test split or
	// a failure capsule; names are slash separated.
	Files []ExtraFile
	// Plan, Deviation, PostPeek and Contaminated are the standing of the run in its
	// family.
	PlanID                            *string
	TrialIndex                        *int64
	Deviation, PostPeek, Contaminated bool
	// Verdict is what a falsification has come to, "" for other kinds; GatesFailed counts
	// its gates that failed, nil while it is inconclusive.
	Verdict     string
	GatesFailed *int64
}

// WalkForward is the test windows of a walk-forward as one series.
type WalkForward struct {
	Windows int           `json:"windows"`
	Days    int           `json:"days"`
	Metrics metric.Values `json:"metrics"`
	Meta    metric.Meta   `json:"metrics_meta"`
}

// Overfitting is how far the Sharpe ratio of the stitched walk-forward can be trusted:
// estimates over T returns, per return and not annualised. What is undefined is null
// and has a reason in Undefined, by its JSON name.
type Overfitting struct {
	Basis string   `json:"basis"`
	T     int      `json:"t"`
	SR    *float64 `json:"sr"`
	Skew  *float64 `json:"skew"`
	// KurtRaw is 3 for a normal distribution.
	KurtRaw *float64 `json:"kurt_raw"`
	// PSR0 is the probability that the true ratio is above 0.
	PSR0 *float64 `json:"psr0"`
	SRSE *float64 `json:"sr_se"`
	// SRCI95 is SR plus and minus what a normal estimate with this error strays in 95 of 100 cases.
	SRCI95 *[2]float64 `json:"sr_ci95"`
	// EtaLag1 is the autocorrelation of neighbouring returns, the rho of the correction
	// eta of an annualised ratio.
	EtaLag1 *float64 `json:"eta_lag1"`
	// MinTRLDays is how many days of returns it takes until PSR0 reaches 0.95.
	MinTRLDays *int64                   `json:"min_trl_days"`
	Undefined  map[string]metric.Reason `json:"undefined"`
	// Bootstrap is how these returns are to be resampled; nil where they cannot be.
	Bootstrap *Bootstrap `json:"bootstrap"`
	// Selection is what a search has done to the estimates; null unless there was one.
	Selection any `json:"selection"`
}

// Bootstrap is how a series of returns is resampled: B replicas in blocks of a mean
// length, in returns, by a rule, from a seed.
type Bootstrap struct {
	B         int     `json:"b"`
	MeanBlock float64 `json:"mean_block"`
	Rule      string  `json:"rule"`
	Seed      string  `json:"seed"`
}

// Stress is one repetition of a split under worse conditions.
type Stress struct {
	ID       string       `json:"id"`
	SplitID  string       `json:"split_id"`
	Base     StressResult `json:"base"`
	Stressed StressResult `json:"stressed"`
	// Verdict is pass, warn, fail or inconclusive; ReasonCode is why the last.
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reason_code"`
}

// StressResult is how a split went; NetPnL is a decimal in quote currency.
type StressResult struct {
	SharpeRatio *float64 `json:"sharpe_ratio"`
	NetPnL      string   `json:"net_pnl"`
	// LateMessages counts cancels and replaces whose order had ended when they arrived, under a delay.
	LateMessages int64 `json:"late_messages,omitempty"`
}

// ExtraFile is a file of a run that this package does not make itself.
type ExtraFile struct {
	Name, MediaType string
	Content         []byte
}

// ServiceNote is what only runs of the service have.
type ServiceNote struct {
	Mode       string `json:"mode"`
	StopReason string `json:"stop_reason"`
	Partial    bool   `json:"partial"`
	Message    string `json:"message"`
	// Stage is the stage that the registry of deployables had for a paper or live run when
	// it began, empty where none was asked.
	Stage string `json:"stage,omitempty"`
	// CoveredSeconds is how long a paper or live run was really at work; nil where it
	// was not measured.
	CoveredSeconds *float64 `json:"covered_seconds,omitempty"`
	// DivergingFills counts the fills of a paper or live run that a backtest over its
	// recorded candles does not reproduce; nil where they were not compared.
	DivergingFills *int64 `json:"diverging_fills,omitempty"`
}

// Split is what one split has produced. Its id is one of Manifest.Splits.
type Split struct {
	ID      string
	Results *Results
	// Failed reports whether the split did not come to its end.
	Failed bool
	// Locked reports whether the metrics are not for the report: they stand in
	// splits/<id>/metrics.json alone.
	Locked bool
	// WarmupInside counts the candles of the split that were used as warm-up,
	// WarmupOrdersDropped the orders that were rejected during warm-up.
	WarmupInside, WarmupOrdersDropped int
	// Decisions writes the decision lines, each ended by a newline; nil if there is no such file.
	Decisions func(io.Writer) error
	// Log is the split's lines of log.jsonl; that file is there if any split has some.
	Log []byte
	// Published is what the strategy published; the file is there if there is any of it.
	Published Published
}

// The least that ratios can be estimated from.
const (
	SufficientTrades  = 30
	SufficientCandles = 250
)

// The statuses of a split.
const (
	splitOK           = "ok"
	splitInsufficient = "insufficient"
	splitFailed       = "failed"
	splitLocked       = "locked"
)

// judge returns the split's status and its metrics, without ratios when there is too
// little to estimate them from.
func (s *Split) judge() (string, metric.Report) {
	var rep metric.Report
	if s.Results.Metrics != nil {
		rep = *s.Results.Metrics
	}
	few := len(s.Results.Trades) < SufficientTrades || len(s.Results.Equity.Time) < SufficientCandles
	if few && len(rep.Metrics) > 0 {
		rep = rep.Insufficient()
	}
	switch {
	case s.Failed:
		return splitFailed, rep
	case few:
		return splitInsufficient, rep
	}
	return splitOK, rep
}

// Report is report.json: report/v1. What a kind of run does not have is null or empty.
type Report struct {
	Schema      string `json:"schema"`
	RunID       string `json:"run_id"`
	RequestHash string `json:"request_hash"`
	Kind        string `json:"kind"`
	Status      string `json:"status"`
	Strategy    struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Params  any    `json:"params"`
	} `json:"strategy"`
	Semantics struct {
		Execution  string `json:"execution"`
		Metrics    string `json:"metrics"`
		Statistics string `json:"statistics"`
	} `json:"semantics"`
	Splits         []SplitReport   `json:"splits"`
	WalkForward    *WalkForward    `json:"walk_forward"`
	Stress         []Stress        `json:"stress"`
	Overfitting    *Overfitting    `json:"overfitting"`
	Falsification  any             `json:"falsification"`
	FailureCapsule any             `json:"failure_capsule"`
	DecisionHash   string          `json:"decision_hash"`
	ResultHash     string          `json:"result_hash"`
	Assumptions    []Note          `json:"assumptions"`
	Warnings       []ReportWarning `json:"warnings"`
	// StressFailed counts failed stress tests; absent where none was made.
	StressFailed *int64 `json:"stress_failed,omitempty"`
	// GatesFailed counts the gates that a falsification has failed; absent while it is
	// inconclusive and for other kinds.
	GatesFailed *int64 `json:"gates_failed,omitempty"`
}

// ReportWarning is a warning with the JSON pointer of what it is about.
type ReportWarning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

// SplitReport is one split in a report.
type SplitReport struct {
	ID     string      `json:"split_id"`
	Role   string      `json:"role"`
	From   int         `json:"from"`
	To     int         `json:"to"`
	TSFrom market.Time `json:"ts_from"`
	TSTo   market.Time `json:"ts_to"`
	// Status is ok, insufficient (too little to estimate ratios from), locked (its metrics
	// are not shown here) or failed.
	Status              string         `json:"status"`
	Metrics             metric.Values  `json:"metrics"`
	Meta                metric.Meta    `json:"metrics_meta"`
	WarmupInside        int            `json:"warmup_inside"`
	WarmupOrdersDropped int            `json:"warmup_orders_dropped"`
	AmbiguousFills      int            `json:"ambiguous_fills"`
	OpenAtEnd           []OpenPosition `json:"open_at_end"`
	DecisionHash        string         `json:"decision_hash"`

	locked bool
}

// OpenPosition is a position that was still open at the end of a split. Quantities
// and money are decimals as text.
type OpenPosition struct {
	Symbol            string `json:"symbol"`
	Direction         string `json:"direction"`
	Quantity          string `json:"quantity"`
	AverageEntryPrice string `json:"average_entry_price"`
	MarkPrice         string `json:"mark_price"`
	UnrealizedPnL     string `json:"unrealized_pnl"`
}

// newReport needs the decision hashes of the splits, in their order.
func newReport(run *Run, requestHash string, decisionHashes []string) (*Report, error) {
	m := &run.Manifest
	rep := &Report{
		Schema: "report/v1", RunID: run.ID, RequestHash: requestHash, Kind: m.Request.Kind,
		Status: run.Status,
		Splits: []SplitReport{}, Stress: []Stress{}, Assumptions: []Note{}, Warnings: []ReportWarning{},
	}
	rep.Strategy.Name, rep.Strategy.Version, rep.Strategy.Params = m.Strategy.Name, m.Strategy.Version,
		m.Request.StrategyParams
	rep.Semantics.Execution = executionSemantics(m.Request.Execution)
	rep.Semantics.Metrics, rep.Semantics.Statistics = metric.Semantics, StatisticsVersion
	hashes, portable := map[string]string{}, map[string]metric.Values{}
	for i := range run.Splits {
		s := newSplitReport(&run.Splits[i], m.Splits.find(run.Splits[i].ID), decisionHashes[i])
		hashes[s.ID], portable[s.ID] = s.DecisionHash, metric.Report{Metrics: s.Metrics}.Portable()
		if run.Splits[i].Locked {
			s.lock()
		} else {
			// What is remarked about a locked split may reveal how it went.
			rep.note(run.Splits[i].Results)
		}
		rep.Splits = append(rep.Splits, s)
	}
	rep.evaluate(run.Evaluation)
	var err error
	if rep.DecisionHash, err = digest.Of(hashes); err != nil {
		return nil, err
	}
	rep.ResultHash, err = digest.Of(map[string]any{"decision_hash": rep.DecisionHash, "splits": portable})
	return rep, err
}

// HasFailed reports whether the strategy did not come to the end of the split.
func (s *SplitReport) HasFailed() bool { return s.Status == splitFailed }

// lock takes everything out that shows how the split went; it stands in
// splits/<id>/metrics.json. That it failed is no secret.
func (s *SplitReport) lock() {
	if s.Status != splitFailed {
		s.Status = splitLocked
	}
	s.Metrics, s.Meta = metric.Values{},
		metric.Meta{Semantics: metric.Semantics, Undefined: map[string]metric.Reason{}}
	s.WarmupOrdersDropped, s.AmbiguousFills, s.OpenAtEnd, s.locked = 0, 0, []OpenPosition{}, true
}

// evaluate takes over what the lab has found out.
func (rep *Report) evaluate(e *Evaluation) {
	if e == nil {
		return
	}
	rep.WalkForward, rep.Overfitting = e.WalkForward, e.Overfitting
	rep.Stress = append(rep.Stress, e.Stress...)
	rep.Falsification, rep.FailureCapsule = e.Falsification, e.FailureCapsule
	rep.Warnings = append(rep.Warnings, e.Warnings...)
	if e.Verdict != "" {
		rep.GatesFailed = e.GatesFailed
	}
	if len(rep.Stress) > 0 && rep.Kind != KindFalsification { // which counts its gates
		failed := int64(0)
		for _, s := range rep.Stress {
			if s.Verdict == "fail" {
				failed++
			}
		}
		rep.StressFailed = &failed
	}
}

// note takes over what is remarked about a split, each remark once.
func (rep *Report) note(res *Results) {
	for _, n := range res.Assumptions {
		rep.Assumptions = appendNew(rep.Assumptions, n)
	}
	for _, n := range res.Warnings {
		rep.Warnings = appendNew(rep.Warnings, ReportWarning{Code: n.Code, Message: n.Message})
	}
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

func newSplitReport(s *Split, at SplitRange, decisionHash string) SplitReport {
	status, metrics := s.judge()
	out := SplitReport{
		ID: s.ID, Role: at.Role, From: at.From, To: at.To, TSFrom: at.TSFrom, TSTo: at.TSTo,
		Status: status, Metrics: metrics.Metrics, Meta: metrics.Meta,
		WarmupInside: s.WarmupInside, WarmupOrdersDropped: s.WarmupOrdersDropped,
		OpenAtEnd: []OpenPosition{}, DecisionHash: decisionHash,
	}
	if out.Meta.Undefined == nil {
		out.Meta.Semantics, out.Meta.Undefined = metric.Semantics, map[string]metric.Reason{}
	}
	for i := range s.Results.Fills {
		if s.Results.Fills[i].Ambiguous {
			out.AmbiguousFills++
		}
	}
	for _, p := range s.Results.Positions {
		if p.Quantity.IsZero() {
			continue
		}
		out.OpenAtEnd = append(out.OpenAtEnd, OpenPosition{
			Symbol: string(p.Symbol), Direction: p.Direction.String(), Quantity: p.Quantity.Trim(0).String(),
			AverageEntryPrice: p.AverageEntryPrice.Trim(0).String(), MarkPrice: p.MarkPrice.Trim(0).String(),
			UnrealizedPnL: p.UnrealizedPnL.Trim(0).String(),
		})
	}
	return out
}

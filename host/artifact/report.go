package artifact

import (
	"slices"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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

// SplitReport is what a report says about one split.
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
		Schema: "report/v1", RunID: run.ID, RequestHash: requestHash, Kind: m.Request.Kind, Status: run.Status,
		Splits: []SplitReport{}, Stress: []Stress{}, Assumptions: []Note{}, Warnings: []ReportWarning{},
	}
	rep.Strategy.Name, rep.Strategy.Version, rep.Strategy.Params = m.Strategy.Name, m.Strategy.Version, m.Request.StrategyParams
	rep.Semantics.Execution = executionSemantics(m.Request.Execution)
	rep.Semantics.Metrics, rep.Semantics.Statistics = metric.Semantics, StatisticsVersion
	hashes, portable := map[string]string{}, map[string]metric.Values{}
	for i := range run.Splits {
		s := newSplitReport(&run.Splits[i], m.Splits.find(run.Splits[i].ID), decisionHashes[i])
		hashes[s.ID], portable[s.ID] = s.DecisionHash, metric.Report{Metrics: s.Metrics}.Portable()
		if run.Splits[i].Locked {
			s.lock()
		} else {
			// What is remarked about a locked split may tell how it went.
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

// lock takes everything out that tells how the split went; it stands in
// splits/<id>/metrics.json. That it failed is no secret.
func (s *SplitReport) lock() {
	if s.Status != splitFailed {
		s.Status = splitLocked
	}
	s.Metrics, s.Meta = metric.Values{}, metric.Meta{Semantics: metric.Semantics, Undefined: map[string]metric.Reason{}}
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
		if !slices.Contains(rep.Assumptions, n) {
			rep.Assumptions = append(rep.Assumptions, n)
		}
	}
	for _, n := range res.Warnings {
		if w := (ReportWarning{Code: n.Code, Message: n.Message}); !slices.Contains(rep.Warnings, w) {
			rep.Warnings = append(rep.Warnings, w)
		}
	}
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

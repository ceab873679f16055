package artifact

import (
	"io"
	"time"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/result"
)

// The statuses of a run.
const (
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// The places that a run can come from.
const (
	OriginService = "service"
	OriginLab     = "lab"
)

// Run is everything about one run that is kept.
type Run struct {
	ID       string
	Manifest Manifest
	// Status is completed or failed; running for the row of a run that has just begun.
	Status  string
	Failure *result.Failure // set when failed
	Service *ServiceNote    // set for runs of the service
	// Splits in the order in which reports list them. The service has one, full.
	Splits []Split
	// Attempt counts from 1 how often the request was tried; 0 means 1.
	Attempt                int
	StartedAt, CompletedAt time.Time
	Origin                 string
	Environment            Environment
}

// ServiceNote is what only runs of the service have.
type ServiceNote struct {
	Mode       string `json:"mode"`
	StopReason string `json:"stop_reason"`
	Partial    bool   `json:"partial"`
	Message    string `json:"message"`
}

// Split is what one split has produced. Its id is one of Manifest.Splits.
type Split struct {
	ID      string
	Results *result.Results
	// Failed says that the split did not come to its end.
	Failed bool
	// WarmupInside counts the candles of the split that were used as warm-up,
	// WarmupOrdersDropped the orders that were rejected during warm-up.
	WarmupInside, WarmupOrdersDropped int
	// Decisions writes the decision lines, each ended by a newline; nil if there is no such file.
	Decisions func(io.Writer) error
}

// The least that ratios can be estimated from.
const (
	sufficientTrades  = 30
	sufficientCandles = 250
)

// The statuses of a split.
const (
	splitOK           = "ok"
	splitInsufficient = "insufficient"
	splitFailed       = "failed"
)

// judge is the split's status and its metrics, without ratios when there is too
// little to estimate them from.
func (s *Split) judge() (string, metric.Report) {
	var rep metric.Report
	if s.Results.Metrics != nil {
		rep = *s.Results.Metrics
	}
	few := len(s.Results.Trades) < sufficientTrades || len(s.Results.Equity.Time) < sufficientCandles
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

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ErrStopRequested and ErrShutdown are the causes with which the context of an
// Execution is cancelled: they tell a stop from a fault.
var (
	ErrStopRequested = errors.New("stop requested")
	ErrShutdown      = errors.New("the service is shutting down")
)

// Execution is one run in progress. Run is called once; the other methods may be
// called from any goroutine at any time, also after Run has returned.
type Execution interface {
	// Run blocks until the run has ended and every process and goroutine of it is gone.
	// It ends early, within seconds, when ctx is cancelled.
	Run(ctx context.Context) Outcome
	// Progress is cheap: it is called for every status request.
	Progress() Progress
	// Results is a consistent picture of everything up to now. Its slices are not written any more.
	Results() *result.Results
}

// Outcome is how an Execution ended.
type Outcome struct {
	// Stopped says that the run ended early because its context was cancelled.
	Stopped bool
	// Message is shown to people, for example that a hanging plugin was killed.
	Message string
	// Failure is set when the run failed.
	Failure *result.Failure
}

// Progress is where a run stands.
type Progress struct {
	Phase                     string // starting, warming, trading, stopping
	CandlesDone, CandlesTotal int64
	SimulatedTime             market.Time // close time of the newest step; 0 before the first
	Cash, Equity, InitialCash float64
	TradeCount, Orders, Fills int64
	CandlesPerSecond          float64
	ETASeconds                float64
	UpdatedAt                 time.Time
}

// StartRequest is a validated request, every default filled in, ready to launch.
type StartRequest struct {
	Mode           string          `json:"mode"` // backtest, paper, live
	StrategyName   string          `json:"strategy_name"`
	StrategyParams json.RawMessage `json:"strategy_params"`
	Symbols        []string        `json:"symbols"`
	Timeframe      string          `json:"timeframe"`
	StartDate      *string         `json:"start_date"`
	EndDate        *string         `json:"end_date"`
	InitialCash    json.Number     `json:"initial_cash"`
	Exchange       string          `json:"exchange"`
	Execution      json.RawMessage `json:"execution"`
}

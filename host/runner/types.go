package runner

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/exchange"
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
	Results() *artifact.Results
}

// Watched is an Execution that can be followed at little cost, while it runs and
// after it has ended. One that is not Watched is followed through its Results.
type Watched interface {
	// Look shows everything up to now; it copies next to nothing.
	Look() Look
	// OrdersAt copies orders by their index, 0 being the oldest.
	OrdersAt(indexes []int) []market.Order
	// Candles lets use read the candles of a symbol inside the run's window. They must
	// not be kept. False means that there are none, or none any more.
	Candles(symbol market.Symbol, use func(*market.Series)) bool
}

// Gated is an Execution about real money, which a deployment policy was asked about.
type Gated interface {
	// Ungated is why real money is traded although no policy has let it, for people; ""
	// where one has. It does not change.
	Ungated() string
}

// Linked is an Execution that is connected to an exchange.
type Linked interface {
	// Link is how the connection stands; it is cheap.
	Link() Link
}

// Link is how the connection of a paper or live run stands.
type Link struct {
	Exchange string
	// Up says that its streams are connected and have missed nothing, as far as is known.
	Up bool
	// Latency is that of the last request, 0 before the first; LastMessage is when something came.
	Latency     time.Duration
	LastMessage time.Time
	// Offset is the exchange's clock minus ours; Synthetic says that it has a time of its own.
	Offset    time.Duration
	Synthetic bool
}

// Look is what a run has produced so far. What its slices hold is not written any more.
type Look struct {
	// Orders counts the orders; OrdersAt has them.
	Orders int
	// Changes has the index of an order for each time that it was made or changed.
	Changes     []int32
	Fills       []market.Fill
	Trades      []market.Trade
	Positions   []market.Position
	Equity      artifact.EquityCurve
	Annotations []artifact.Annotation
	// Log has the newest lines, LogTotal counts all.
	Log      []artifact.LogLine
	LogTotal int64
}

// Watch is the run as those see it who follow it.
type Watch struct {
	Watched
	RunID   string
	Request StartRequest
}

// Outcome is how an Execution ended.
type Outcome struct {
	// Stopped says that the run ended early because its context was cancelled.
	Stopped bool
	// Withdrawn says that the run was stopped in good order although its context was not cancelled: whoever
	// lets it be does so no more. It ends as if somebody had stopped it.
	Withdrawn bool
	// Message is shown to people, for example that a hanging plugin was killed.
	Message string
	// Failure is set when the run failed.
	Failure *artifact.Failure
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
	// What follows is of paper and live runs. Rejects counts orders that were rejected, LastCandle is when
	// the newest candle came.
	Rejects    int64
	LastCandle time.Time
	// Alarms are those that are open, the worst first; after the end those that were open then, until the
	// reset.
	Alarms []alarm.Alarm
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
	// Resume is what a live run does about what earlier runs left on the account: refuse (if empty), flat or release.
	Resume string `json:"resume,omitempty"`
	// ExchangeConfig is the raw exchange_config of a paper or live run: it may hold
	// credentials, so that it is shown nowhere.
	ExchangeConfig exchange.Secret `json:"-"`
}

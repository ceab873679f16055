package v1

import (
	"context"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api/v1/deprecation"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/runner"
	live "github.com/assay-run/assay/host/trade"
)

// Base is the path below which the operations are.
const Base = problem.Base

// Control changes the state of the one run.
type Control interface {
	Start(context.Context, runner.StartRequest, runner.LaunchFunc) (runner.Snapshot, error)
	Replace(context.Context, string, runner.StartRequest, runner.LaunchFunc) (runner.Snapshot, error)
	Stop(context.Context) (runner.Snapshot, error)
	Reset(context.Context) (runner.Snapshot, error)
	Control(context.Context, runner.Command) (runner.Snapshot, error)
}

// State shows the one run.
type State interface {
	Status() runner.Snapshot
	Detail() runner.Report
	Results() (runner.Report, error)
	Subscribe() (<-chan runner.Change, func())
}

// Launcher looks everything up that a request names and launches it.
type Launcher interface {
	Launch(ctx context.Context, runID string, req runner.StartRequest) (runner.Execution, error)
}

// Options are what the operations need of the host.
type Options struct {
	Control Control
	State   State
	// Backtests launches backtests, Trading paper and live runs; without Trading those are not supported.
	Backtests, Trading Launcher
	Strategies         func() []catalog.Strategy
	Exchanges          func(context.Context) ([]live.Entry, error)
	Health             func() view.Health
	Deprecations       *deprecation.Registry
	Logger             hclog.Logger
	// Version and Commit are the program's; ServerID is new with each start.
	Version, Commit, ServerID string
	StartedAt                 time.Time
}

// API is the set of operations.
type API struct {
	opts    Options
	schemas requestSchemas
	keys    *keyring
	polls   chan struct{}
}

// maxPolls wait for news at a time; more get their answer at once.
const maxPolls = 32

// New makes the operations.
func New(opts Options) (*API, error) {
	s, err := compileRequests()
	if err != nil {
		return nil, err
	}
	return &API{opts: opts, schemas: s, keys: newKeyring(), polls: make(chan struct{}, maxPolls)}, nil
}

// Routes are the operations with their paths.
func (a *API) Routes() []edge.Route {
	get := func(path string, f func(*http.Request) (*edge.Answer, error)) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: Base + path, Handler: a.handler(f)}
	}
	return append(documentRoutes(),
		get("/health", a.health),
		get("/status", a.status),
		get("/status/detailed", a.detailed),
		get("/results", a.results),
		get("/strategies", a.strategies),
		get("/exchanges", a.exchanges),
		get("/meta", a.meta),
		edge.Route{Method: http.MethodPost, Path: Base + "/run/backtest", Handler: op(a, a.schemas.backtest, a.startBacktest)},
		edge.Route{Method: http.MethodPost, Path: Base + "/run/live", Handler: op(a, a.schemas.live, a.startLive)},
		edge.Route{Method: http.MethodPost, Path: Base + "/run/stop", Handler: a.bodiless(a.stop)},
		edge.Route{Method: http.MethodPost, Path: Base + "/run/controls", Handler: op(a, a.schemas.control, a.control)},
		edge.Route{Method: http.MethodDelete, Path: Base + "/run/reset", Handler: a.bodiless(a.reset)},
	)
}

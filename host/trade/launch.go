// Package live is one paper or live run: candles from a connector, a strategy driven in
// lockstep, orders to a venue, and a journal in between.
//
//	connector -> feed -> step -> strategy -> Intent -> risk -> journal -> venue -> Fill -> ledger
//
// Paper fills orders in the simulator that backtests use, so that the same candles give
// the same trades. Live sends them: no committed intent, no order; an order whose fate is
// unknown is asked for and never sent again.
//
// A Launcher makes an Execution, which the runner drives like any other. The packages
// below hold what can be judged by itself: journal (what was done, on disk before it is
// done), order (the life of an order, pure), risk (what may be done, pure), feed
// (closed candles, exactly once).
package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/run/decision"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	orderdesk "github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Limits of time.
const (
	// DefaultStepLimit is how long a strategy may take to answer a step.
	DefaultStepLimit = 5 * time.Second
	// DefaultConnectLimit is how long the venue may be out of reach at the start.
	DefaultConnectLimit = 120 * time.Second
)

// Venue is an exchange that offers what a request asks for.
type Venue struct {
	ID string
	// Description is what it offers.
	Description exchange.Description
	// Config is the request's exchange_config, decoded. Of paper it has no credentials.
	Config exchange.Config
	// Certified: the connector may trade real money.
	Certified bool
	// Pretend says that no money is traded there: the simulated venue, or an endpoint on this machine.
	Pretend bool
	// Endpoint replaces the venue's base URL; only a server option sets it.
	Endpoint string
	// Connect makes the connection of one run; it is not opened yet.
	Connect func(context.Context) (*exchange.Connection, error)
	// connectIn is Connect where the connection may leave files in a folder of the run.
	connectIn func(ctx context.Context, folder string) (*exchange.Connection, error)
}

// Venues finds the exchange of a request. A refusal is a *run.RequestError.
type Venues interface {
	Choose(ctx context.Context, req runner.StartRequest, p *run.Plan) (Venue, error)
}

// Options are what runs need of the host.
type Options struct {
	Catalog *catalog.Catalog
	Venues  Venues
	// Journal is where every run writes what it decides. Without one nothing starts, for the reason in NoJournal.
	Journal   *journal.Journal
	NoJournal error
	Policy    Policy // nil: real money is traded ungated
	// Risk are the limits of the server.
	Risk risk.Options
	Ends
	Logger   hclog.Logger
	SpoolDir string // an existing folder for temporary files
	// LiveDir is <state_dir>/live, where connectors leave what they did when they lost their host.
	LiveDir string
	Engine  artifact.Engine
	// StepLimit and ConnectLimit: the defaults if zero.
	StepLimit, ConnectLimit time.Duration

	beside *beside // of the launcher
}

// Ends is what becomes of what a live run holds, and of its orders, when it ends, loses its host or cannot protect it.
// What is empty is left: exits stay at the venue.
type Ends struct {
	// OnStop is what a stop does, OnShutdown what the end of the service does.
	OnStop, OnShutdown engine.OnStop
	// OnLeaseLoss is what a connector cancels that has lost its host.
	OnLeaseLoss exchange.LeaseLoss
	// Unprotected is what becomes of a position whose exits cannot be placed.
	Unprotected orderdesk.Unprotected
}

// Launcher starts paper and live runs.
type Launcher struct{ opts Options }

// NewLauncher fills in the defaults.
func NewLauncher(o Options) *Launcher {
	o.StepLimit, o.ConnectLimit = cmp.Or(o.StepLimit, DefaultStepLimit), cmp.Or(o.ConnectLimit, DefaultConnectLimit)
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	o.beside = newBeside()
	return &Launcher{o}
}

// Close ends what goes on beside runs that have ended: the report of a risk kill that the control plane has not
// taken yet.
func (l *Launcher) Close() error {
	l.opts.beside.close(killReportGrace)
	return nil
}

// Launch reads a request, launches the plugin and has it accept its parameters. The
// network comes after. A refusal is a *run.RequestError.
func (l *Launcher) Launch(ctx context.Context, runID string, req runner.StartRequest) (runner.Execution, error) {
	x, err := l.launch(ctx, runID, req)
	if err != nil {
		return nil, err // not x: an interface must not hold a nil pointer
	}
	return x, nil
}

func (l *Launcher) launch(ctx context.Context, runID string, req runner.StartRequest) (_ *Execution, err error) {
	var p run.Plan
	if err := p.Read(l.opts.Catalog, req); err != nil {
		return nil, err
	}
	venue, refusal := l.choose(ctx, req, &p)
	x := (&Execution{
		log: l.opts.Logger.Named("live").With("run_id", runID), clock: time.Now, opts: &l.opts, runID: runID,
		setup: setup{plan: p, req: req, venue: venue, config: venue.Config}, gate: &run.Gate{}, phase: run.PhaseStarting,
	}).withParts()
	if connect := venue.connectIn; connect != nil {
		x.setup.venue.Connect = func(ctx context.Context) (*exchange.Connection, error) {
			return connect(ctx, runFolder(l.opts.LiveDir, runID))
		}
	}
	x.notes.said.Limits, x.link.Exchange = run.ChartLimits(), venue.ID
	x.notes.said.KeepFile(artifact.FullSplitID, run.MaxLogFile)
	if x.plugin, err = run.Launch(ctx, l.opts.Catalog, p.Strategy, catalog.LaunchOptions{Lockstep: true}); err != nil {
		if refusal != nil {
			err = refusal
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			x.plugin.Close("the start failed")
		}
	}()
	// Parameters come before the exchange, and only the strategy knows all rules about them.
	if x.setup.warmup, err = x.plugin.Introduce(ctx, x.introduction(), x.takeMessage); err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	if err := x.permit.askPolicy(ctx); err != nil {
		return nil, err
	}
	if l.opts.Journal == nil {
		return nil, &run.RequestError{Code: "RUN_START_FAILED", Cause: l.opts.NoJournal,
			Message: fmt.Sprintf("Paper and live runs need their journal, which could not be opened: %v. Mend that and start the service again.", l.opts.NoJournal),
			Details: map[string]any{"reason": fmt.Sprint(l.opts.NoJournal), "log_tail": []string{}}}
	}
	if x.lines, err = decision.New(l.opts.SpoolDir, artifact.FullSplitID); err != nil {
		return nil, &run.RequestError{Code: "RUN_START_FAILED", Message: fmt.Sprintf("No temporary file could be made: %v", err),
			Details: map[string]any{"reason": err.Error(), "log_tail": []string{}}, Cause: err}
	}
	x.times.started = x.clock()
	x.manifest = l.manifest(x)
	return x, nil
}

func (l *Launcher) choose(ctx context.Context, req runner.StartRequest, p *run.Plan) (Venue, error) {
	if err := p.CheckFits(req); err != nil {
		return Venue{}, err
	}
	return l.opts.Venues.Choose(ctx, req, p)
}

func (x *Execution) introduction() *wire.Start {
	purpose := strategypb.Purpose_PURPOSE_PAPER
	if x.setup.req.Mode == runner.ModeLive {
		purpose = strategypb.Purpose_PURPOSE_LIVE
	}
	return &wire.Start{
		RunID: x.runID, Mode: strategypb.DriveMode_DRIVE_MODE_LOCKSTEP, Purpose: purpose, Params: x.setup.plan.Params,
		Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe, InitialCash: x.setup.plan.Cash, Execution: x.setup.plan.ExecutionJSON,
		RootSeed: 1, LogLevel: "info",
	}
}

// manifest says what is run. The candles are not known yet.
func (l *Launcher) manifest(x *Execution) artifact.Manifest {
	s := x.setup.plan.Strategy
	m := artifact.Manifest{
		Request: artifact.Request{
			Kind: artifact.KindService, Mode: x.setup.req.Mode, StrategyName: s.Name, StrategyParams: x.setup.plan.Params, Timeframe: x.setup.plan.Timeframe.String(),
			Seed: "1", Exchange: x.setup.venue.ID, InitialCash: json.RawMessage(x.setup.plan.Cash.Trim(0).String()), Execution: x.setup.plan.ExecutionJSON,
			StartDate: market.FromTime(x.times.started),
		},
		Strategy: artifact.Strategy{Name: s.Name, Version: s.Version},
		Plugin: artifact.Plugin{
			Size: s.Program().Size, GoVersion: s.Program().GoVersion, OS: runtime.GOOS, Arch: runtime.GOARCH,
			SHA256: s.SHA256, ProtocolVersion: s.ProtocolVersion, SDKVersion: s.SDKVersion,
		},
		Engine: l.opts.Engine, Sandbox: x.plugin.Proc.Level().String(), Walls: x.plugin.Proc.Level().Parts, Debug: s.Debug,
		Splits: artifact.FullSplit(func(func(market.Time) bool) {}),
	}
	for _, symbol := range x.setup.plan.Symbols {
		m.Request.Symbols = append(m.Request.Symbols, string(symbol))
	}
	return m
}

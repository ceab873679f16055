// Package trade is one paper or live run: candles from a connector, a strategy driven in
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
package trade

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/run/decision"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order/oms"
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
	// Pretend reports whether no money is traded there: the simulated venue, or an endpoint on this machine.
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
	// Journal is where every run writes what it decides. Without one nothing starts, for the reason in
	// NoJournal.
	Journal   *journal.Journal
	NoJournal error
	Policy    Policy // nil: real money is traded ungated
	// Inputs are the stored series beside the candles.
	Inputs *candle.Inputs
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

// Ends is what becomes of what a live run holds, and of its orders, when it ends, loses its host or cannot
// protect it. What is empty is left: exits stay at the venue.
type Ends struct {
	// OnStop is what a stop does, OnShutdown what the end of the service does.
	OnStop, OnShutdown engine.OnStop
	// OnLeaseLoss is what a connector cancels that has lost its host.
	OnLeaseLoss exchange.LeaseLoss
	// Unprotected is what becomes of a position whose exits cannot be placed.
	Unprotected oms.Unprotected
}

// Launcher starts paper and live runs.
type Launcher struct{ opts Options }

// NewLauncher fills in the defaults.
func NewLauncher(o Options) *Launcher {
	o.StepLimit, o.ConnectLimit = cmp.Or(o.StepLimit, DefaultStepLimit),
		cmp.Or(o.ConnectLimit, DefaultConnectLimit)
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	o.beside = newBeside()
	return &Launcher{o}
}

// Close ends what goes on beside runs that have ended: the report of a risk kill that the control plane has
// not taken yet.
func (l *Launcher) Close() error {
	l.opts.beside.close(killReportGrace)
	return nil
}

// Launch reads a request, launches the plugin and has it accept its parameters. The
// network comes after. A refusal is a *run.RequestError.
func (l *Launcher) Launch(ctx context.Context, runID string,
	req runner.StartRequest) (runner.Execution, error) {
	x, err := l.launch(ctx, runID, req)
	if err != nil {
		return nil, err // not x: an interface must not hold a nil pointer
	}
	return x, nil
}

func (l *Launcher) launch(ctx context.Context, runID string,
	req runner.StartRequest) (_ *Execution, err error) {
	var p run.Plan
	if err := p.Read(l.opts.Catalog, req); err != nil {
		return nil, err
	}
	venue, refusal := l.choose(ctx, req, &p)
	var read *inputs
	if refusal == nil {
		read, refusal = openInputs(l.opts.Inputs, &p)
	}
	x := (&Execution{
		log: l.opts.Logger.Named("trade").With("run_id", runID), clock: time.Now, opts: &l.opts, runID: runID,
		setup: setup{plan: p, req: req, venue: venue, config: venue.Config, inputs: read}, gate: &run.Gate{},
		phase: run.PhaseStarting,
	}).withParts()
	if connect := venue.connectIn; connect != nil {
		x.setup.venue.Connect = func(ctx context.Context) (*exchange.Connection, error) {
			return connect(ctx, runFolder(l.opts.LiveDir, runID))
		}
	}
	x.notes.output.Limits, x.notes.output.Symbols, x.link.Exchange = run.ChartLimits(), p.Symbols, venue.ID
	x.notes.output.KeepFile(artifact.FullSplitID, run.MaxLogFile)
	if x.plugin,
		err = run.Launch(ctx, l.opts.Catalog, p.Strategy, catalog.LaunchOptions{Lockstep: true}); err != nil {
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
	accepted, stop := context.WithTimeout(ctx, run.LaunchLimit)
	defer stop()
	if x.setup.warmup, err = x.plugin.Introduce(accepted, x.introduction(), x.takeMessage); err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	if err := x.permit.askPolicy(ctx); err != nil {
		return nil, err
	}
	if l.opts.Journal == nil {
		return nil, &run.RequestError{Code: run.CodeStartFailed, Cause: l.opts.NoJournal,
			Message: fmt.Sprintf(
				"Paper and live runs need their journal, which could not be opened: %v. Mend that and "+
					"start the service again.", l.opts.NoJournal),
			Details: map[string]any{"reason": fmt.Sprint(l.opts.NoJournal), "log_tail": []string{}}}
	}
	if x.lines, err = decision.New(l.opts.SpoolDir, artifact.FullSplitID); err != nil {
		return nil, &run.RequestError{Code: run.CodeStartFailed,
			Message: fmt.Sprintf("No temporary file could be made: %v", err),
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
		RunID: x.runID, Mode: strategypb.DriveMode_DRIVE_MODE_LOCKSTEP, Purpose: purpose,
		Params:  x.setup.plan.Params,
		Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe, InitialCash: x.setup.plan.Cash,
		Execution: x.setup.plan.ExecutionJSON,
		RootSeed:  1, LogLevel: "info", Inputs: wire.InputNames(x.setup.plan.Strategy.Inputs),
	}
}

// manifest describes what is run. The candles are not known yet.
func (l *Launcher) manifest(x *Execution) artifact.Manifest {
	s := x.setup.plan.Strategy
	m := artifact.Manifest{
		Request: artifact.Request{
			Kind: artifact.KindService, Mode: x.setup.req.Mode, StrategyName: s.Name,
			StrategyParams: x.setup.plan.Params, Timeframe: x.setup.plan.Timeframe.String(),
			Seed: "1", Exchange: x.setup.venue.ID,
			InitialCash: json.RawMessage(x.setup.plan.Cash.Trim(0).String()),
			Execution:   x.setup.plan.ExecutionJSON,
			StartDate:   market.FromTime(x.times.started),
		},
		Strategy: artifact.Strategy{Name: s.Name, Version: s.Version},
		Plugin: artifact.Plugin{
			Size: s.Program().Size, GoVersion: s.Program().GoVersion, OS: runtime.GOOS, Arch: runtime.GOARCH,
			SHA256: s.SHA256, ProtocolVersion: s.ProtocolVersion, SDKVersion: s.SDKVersion,
		},
		Engine: l.opts.Engine, Sandbox: x.plugin.Proc.Level().String(), Walls: x.plugin.Proc.Level().Parts,
		Debug:  s.Debug,
		Inputs: x.setup.inputs.used(),
		Splits: artifact.FullSplit(func(func(market.Time) bool) {}),
	}
	for _, symbol := range x.setup.plan.Symbols {
		m.Request.Symbols = append(m.Request.Symbols, string(symbol))
	}
	return m
}

// Policy is asked before real money is traded; *deploy.Policy is the one of the service. Its
// refusals are *deploy.Refusal.
type Policy interface {
	Admit(context.Context, deploy.Request) (deploy.Admission, error)
}

// permit is what lets the run trade: what the deployment policy said, and the limits that hold.
type permit struct {
	run *Execution
	// admission is what the deployment policy said; its zero value where no real money is traded.
	admission deploy.Admission
	// bounds are the limits that hold, risk is how they are shown.
	bounds risk.Limits
	risk   map[string]any
	// policyAlarm is what the deployment policy said last; of the goroutine that watches it.
	policyAlarm string
}

// askPolicy asks the policy, after everything else that can refuse a start and before anything of
// the venue is touched. Without a policy real money is traded ungated, which the run warns of.
func (pm *permit) askPolicy(ctx context.Context) (err error) {
	policy := pm.run.opts.Policy
	if policy == nil {
		if policy, err = deploy.New(deploy.Options{Mode: deploy.Warn}); err != nil {
			return err
		}
	}
	pm.admission, err = policy.Admit(ctx, deploy.Request{
		Mode: pm.run.setup.req.Mode, Pretend: pm.run.setup.config.Sandbox || pm.run.setup.venue.Pretend,
		Strategy: pm.run.setup.plan.Strategy.Name, PluginSHA256: pm.run.setup.plan.Strategy.SHA256,
		Params:  pm.run.setup.plan.Params,
		Symbols: pm.run.setup.plan.Symbols, Timeframe: pm.run.setup.plan.Timeframe,
		Exchange: pm.run.setup.venue.ID,
	})
	if err != nil {
		return err
	}
	for _, n := range pm.admission.Notices {
		pm.run.notes.warnings = append(pm.run.notes.warnings,
			artifact.Note{Code: string(n.Code), Message: n.Message})
	}
	return pm.fixLimits()
}

// fixLimits fixes the limits of the run. Real money needs a cap on one order, or an entry that is
// enforced.
func (pm *permit) fixLimits() error {
	pm.bounds = pm.tightenLimits()
	if pm.realMoney() && !pm.bounds.Capped() && !pm.admission.Gated() {
		return run.Refuse(run.CodeModeNotSupported, map[string]any{"reason": "risk_limit_required"},
			"Real money is traded only with a cap on one order: start the service with "+
				"--risk-max-order-notional.")
	}
	pm.risk = ShowLimits(pm.bounds, pm.riskMode())
	return nil
}

// riskMode returns what a breach does.
func (pm *permit) riskMode() risk.Mode {
	if pm.run.setup.req.Mode == runner.ModeLive {
		return risk.Enforce
	}
	return cmp.Or(pm.run.opts.Risk.Paper, risk.Shadow)
}

// ShowLimits is limits as results and streams show them, with what a breach does.
func ShowLimits(l risk.Limits, mode risk.Mode) map[string]any {
	text, err := json.Marshal(l)
	if err != nil { // numbers and their names: it cannot be
		return nil
	}
	shown := shownLimits(text)
	shown["mode"] = string(mode)
	return shown
}

// shownLimits reads what limits were written as, every number as it stands; nil if it is none.
func shownLimits(text []byte) map[string]any {
	var shown map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&shown) != nil {
		return nil
	}
	return shown
}

// Ungated implements runner.Gated.
func (x *Execution) Ungated() string { return x.permit.admission.Ungated }

// realMoney reports whether orders cost money: mode live, but for the simulated venue, a sandbox and
// an endpoint on this machine.
func (pm *permit) realMoney() bool {
	return pm.run.setup.req.Mode == runner.ModeLive && !pm.run.setup.config.Sandbox &&
		!pm.run.setup.venue.Pretend
}

// tightenLimits are the risk limits of the run: those of the server, and of the deployment entry where
// they are smaller.
func (pm *permit) tightenLimits() risk.Limits {
	entry := pm.admission.Limits
	return pm.run.opts.Risk.For(pm.realMoney()).Tighten(risk.Entry{
		MaxOrderNotional: entry.OrderValue, MaxPositionNotional: entry.PositionValue,
		MaxGrossNotional:   entry.Capital,
		MaxDailyLossAmount: entry.DailyLoss, MaxDrawdown: entry.Drawdown, PriceCollar: entry.PriceCollar,
		OrdersPerMinute: entry.OrdersPerMinute,
	})
}

// errRevoked is the end of a run that its deployment ended.
var errRevoked = errors.New("the deployment policy stopped the run")

// watchDeployment follows the entry that lets the run be, until ctx ends.
func (pm *permit) watchDeployment(ctx context.Context, e *engine.Engine) {
	policy, ok := pm.run.opts.Policy.(*deploy.Policy)
	if !ok || !pm.realMoney() {
		return
	}
	w := deploy.Watch{Policy: policy, Admission: pm.admission, On: func(ev deploy.Event) {
		pm.onDeployment(e, ev)
	}}
	w.Run(ctx)
}

// onDeployment does what a change of the deployment asks for.
func (pm *permit) onDeployment(e *engine.Engine, ev deploy.Event) {
	code := string(ev.Code)
	raise := func() {
		pm.run.Raise(alarm.Occurrence{Code: code, Text: ev.Message, Shadow: pm.admission.Ungated != ""})
	}
	switch ev.Act {
	case deploy.Stop:
		raise()
		e.Stop(fmt.Errorf("%w: %s", errRevoked, ev.Message))
	case deploy.Reduce:
		raise()
		e.Restrict(code, ev.Message, true)
	case deploy.Resume:
		e.Restrict(code, ev.Message, false)
		pm.run.Clear(code, "")
	case deploy.Alarm:
		pm.run.Clear(pm.policyAlarm, "") // there is one at a time
		pm.policyAlarm = code
		raise()
	case deploy.Clear:
		pm.run.Clear(pm.policyAlarm, "")
	}
}

// killReportTime is how long the control plane is tried to be told of a risk kill: as long as a statement
// about it holds. Only the end of the service waits for it, and that for killReportGrace.
const (
	killReportTime  = 24 * time.Hour
	killReportGrace = 5 * time.Second
)

// reportKill opens an incident where a limit ended a run of a deployment, beside the end of the run.
func (pm *permit) reportKill(reason string) {
	policy, ok := pm.run.opts.Policy.(interface {
		RiskKill(ctx context.Context, a *deploy.Admission, runID, reason string) error
	})
	if !ok {
		return
	}
	admission, log := pm.admission, pm.run.log
	pm.run.opts.beside.run(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, killReportTime)
		defer cancel()
		if err := policy.RiskKill(ctx, &admission, pm.run.runID, reason); err != nil {
			log.Error("the control plane was not told of the risk kill: open the incident by hand",
				"candidate_revision_id", admission.CandidateRevisionID, "error", err)
		}
	})
}

// beside is what goes on when a run has ended.
type beside struct {
	ctx context.Context
	end context.CancelFunc
	wg  sync.WaitGroup
}

func newBeside() *beside {
	b := &beside{}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

func (b *beside) run(f func(context.Context)) { b.wg.Go(func() { f(b.ctx) }) }

// close gives what goes on a moment, then ends it.
func (b *beside) close(grace time.Duration) {
	late := time.AfterFunc(grace, b.end)
	b.wg.Wait()
	late.Stop()
	b.end()
}

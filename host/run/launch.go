package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/assay-run/assay/host/run/decision"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Limits of time.
const (
	// DefaultStepLimit is how long a plugin may take to advance.
	DefaultStepLimit = 30 * time.Second
	serviceSeed      = 1
)

// Options are what backtests need of the host.
type Options struct {
	Catalog  *catalog.Catalog
	Store    *candle.Store
	Logger   hclog.Logger
	SpoolDir string // an existing folder for temporary files
	Engine   artifact.Engine
	// Mode forces a way to drive; Auto if zero.
	Mode Mode
	// StepLimit is how long the plugin may take to advance, and to be ready where that is more than
	// LaunchLimit; 30 s if zero, and LaunchLimit to be ready.
	StepLimit time.Duration
	// Many is for many short runs, also side by side: the connection to the plugin is not
	// encrypted, its socket is in a private folder all the same, and no run limits the
	// memory of the host.
	Many bool
	// Inputs are the stored series beside the candles; those beside Store if nil.
	Inputs *candle.Inputs
	// Chunked hands the candles of every co-simulation over in messages: for a host
	// whose plugins cannot read its files.
	Chunked bool
}

// Launcher starts backtests.
type Launcher struct {
	Options
	startLimit time.Duration
	// pinned has datasets by their pin: they are what they are, for many plays of the same candles.
	pinned sync.Map
	// inputs has the rows of inputs by their hash, for the same reason.
	inputs sync.Map
}

// NewLauncher fills in the defaults.
func NewLauncher(o Options) *Launcher {
	startLimit := max(o.StepLimit, LaunchLimit)
	o.StepLimit = cmp.Or(o.StepLimit, DefaultStepLimit)
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Inputs == nil && o.Store != nil {
		o.Inputs = o.Store.Inputs()
	}
	return &Launcher{Options: o, startLimit: startLimit}
}

// Launch resolves a request, launches the plugin and has it accept its parameters.
// A refusal is a *RequestError.
func (l *Launcher) Launch(ctx context.Context, runID string,
	req runner.StartRequest) (runner.Execution, error) {
	x, err := l.LaunchSplit(ctx, runID, req, Split{Series: true, LogFile: MaxLogFile})
	if err != nil {
		return nil, err // not x: an interface must not hold a nil pointer
	}
	return x, nil
}

// Check refuses what Launch would refuse before it launches the plugin, which it launches itself where only
// the parameters tell what is wrong. It returns the strategy and the exchange that the request means.
func (l *Launcher) Check(ctx context.Context, req runner.StartRequest) (*catalog.Strategy, string, error) {
	p, err := l.resolve(ctx, "", req, Split{})
	if err != nil {
		return nil, "", err
	}
	p.release()
	return p.Strategy, p.exchange, nil
}

// LaunchSplit is Launch for one split of an evaluation.
func (l *Launcher) LaunchSplit(ctx context.Context, runID string, req runner.StartRequest,
	split Split) (*Execution, error) {
	split.ID = cmp.Or(split.ID, artifact.FullSplitID)
	split.Seed = cmp.Or(split.Seed, serviceSeed)
	if d := split.Drive; d.Procs < 0 || d.Cores < 0 || d.Warmup < AllHistory {
		return nil, fmt.Errorf("no play can be driven like %+v", d)
	}
	if split.Limits != nil && !split.Drive.Lockstep {
		return nil, fmt.Errorf("limits need a play in lockstep")
	}
	p, err := l.resolve(ctx, runID, req, split)
	if err != nil {
		return nil, err
	}
	x, err := l.start(ctx, runID, p)
	if err != nil {
		p.release()
		return nil, err
	}
	return x, nil
}

// limitStart gives a plugin its time to be ready.
func (l *Launcher) limitStart(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.startLimit, fmt.Errorf("it was not ready within %s", l.startLimit))
}

// start launches the process and makes the execution.
func (l *Launcher) start(ctx context.Context, runID string, p *plan) (_ *Execution, err error) {
	ctx, cancel := l.limitStart(ctx)
	defer cancel()
	x := &Execution{
		log: l.Logger.Named("backtest").With("run_id", runID), mode: l.mode(p),
		stepLimit: l.StepLimit, gate: &Gate{}, phase: PhaseStarting,
		data: &runData{sources: p.sources, inputs: p.inputs, timeframe: p.Timeframe},
	}
	x.chunked = x.mode == ModeCoSimulation && (l.Chunked || p.split.Drive.Chunked || p.Strategy.Remote())
	x.output.Limits, x.output.Quiet, x.output.Symbols = ChartLimits(), !p.split.Series, p.Symbols
	if p.split.Series || p.split.SeriesFile {
		x.output.Limits = SeriesLimits()
	}
	x.output.KeepFile(p.split.ID, p.split.LogFile)
	// What a long series takes to read is done while the process starts.
	described := make(chan struct{})
	go func() { defer close(described); x.data.describeWindow() }()
	x.plugin, err = l.launchProcess(ctx, p, x)
	<-described
	defer func() {
		if err == nil {
			return
		}
		if x.plugin != nil {
			x.plugin.Close("the start failed")
		}
		_ = x.data.closeFolder() // the error at hand is the one to report
		if x.rec != nil {
			x.rec.Lift()
		}
	}()
	if err != nil {
		return nil, err
	}
	start := newStart(runID, p, x.mode)
	warmup, err := x.plugin.Introduce(ctx, &start, x.take)
	if err != nil {
		return nil, err
	}
	if err := x.makeEngine(&l.Options, p, warmup); err != nil {
		return nil, err
	}
	if d, ok := x.decider.(*signalled); ok && !p.split.Drive.Unreplayed {
		d.replay = (&replayer{launcher: l, plan: p, start: start, x: x}).replay
	}
	if err := x.data.placeFiles(); err != nil {
		return nil, err
	}
	x.manifest = l.manifest(p, x)
	x.data.hash, err = p.dataHash()
	return x, err
}

func (l *Launcher) mode(p *plan) Mode {
	switch {
	case p.split.Drive.Lockstep:
		return ModeLockstep
	case l.Mode != ModeAuto:
		return l.Mode
	case p.Strategy.SimID == sim.ID():
		return ModeCoSimulation
	case p.Strategy.Signals:
		return ModeSignals
	case p.Strategy.Advance:
		return ModeAdvance
	}
	return ModeLockstep
}

func (l *Launcher) launchProcess(ctx context.Context, p *plan, x *Execution) (*Plugin, error) {
	o := catalog.LaunchOptions{Lockstep: x.mode != ModeCoSimulation, Plain: l.Many,
		Procs: p.split.Drive.Procs, Cores: p.split.Drive.Cores}
	files, bundled := !o.Lockstep && !x.chunked, p.Strategy.Program().Bundle
	if s := p.split.Session; (files || bundled) && s.takes(p.Strategy) {
		return s.launch(ctx, l, p, x.data, o)
	}
	if files {
		var err error
		if x.data.folder, err = l.Store.OpenFolder(); err != nil {
			return nil, noFile(err)
		}
		o.CandleFolder = x.data.folder.Path()
	}
	return Launch(ctx, l.Catalog, p.Strategy, o)
}

// take keeps what the plugin says beside its decisions.
func (x *Execution) take(m *strategypb.PluginMessage) error { return x.output.Take(m, x.gate, x.log) }

// newStart is what opens the conversation with the plugin.
func newStart(runID string, p *plan, mode Mode) wire.Start {
	start := wire.Start{
		RunID: runID, Mode: strategypb.DriveMode_DRIVE_MODE_CO_SIMULATION,
		Purpose: strategypb.Purpose_PURPOSE_BACKTEST,
		Params:  p.Params, Symbols: p.Symbols, Timeframe: p.Timeframe, InitialCash: p.Cash,
		Execution: p.ExecutionJSON,
		RootSeed:  p.split.Seed, DelayCandles: p.split.DelayCandles, WorstPrice: p.split.WorstPrice,
		LogLevel:  "info",
		AllPoints: p.split.Series || p.split.SeriesFile, PriceSteps: p.priceSteps(),
		Inputs: wire.InputNames(p.Strategy.Inputs),
	}
	switch mode {
	case ModeLockstep:
		start.Mode = strategypb.DriveMode_DRIVE_MODE_LOCKSTEP
	case ModeSignals:
		start.Mode = strategypb.DriveMode_DRIVE_MODE_SIGNALS
	case ModeAdvance:
		start.Mode = strategypb.DriveMode_DRIVE_MODE_ADVANCE
	}
	return start
}

// makeEngine lays the warm-up before the window and makes engine, recorder and decider.
func (x *Execution) makeEngine(o *Options, p *plan, warmup market.Warmup) error {
	x.data.layout = newLayout(p.sources, warmup, p.split.Drive)
	x.output.Steps = int(x.data.layout.total)
	x.data.window = windowOf(p.sources, x.data.layout.candles)
	cfg := sim.Config{
		Symbols: p.Symbols, Timeframe: p.Timeframe, InitialCash: p.Cash, Options: p.Execution,
		WarmupSteps: x.data.layout.warmup, WindowStep: x.data.layout.window,
		DelayCandles: p.split.DelayCandles, WorstPrice: p.split.WorstPrice, PriceSteps: p.priceSteps(),
		Stale: sim.StaleInputs(wire.InputAges(p.Strategy.Inputs), x.data.inputRows()),
	}
	series := mapSources(p.sources, (*source).run)
	lines, err := decision.New(o.SpoolDir, p.split.ID)
	if err != nil {
		return noFile(err)
	}
	x.rec = NewRecord(RecordOptions{
		Symbols: p.Symbols, Lines: lines, Steps: x.data.layout.total - x.data.layout.window,
		Window: x.data.layout.window, NoMemoryLimit: o.Many,
	})
	var limits *limited
	if p.split.Limits != nil {
		if limits, err = newLimited(*p.split.Limits, p, x.data.window.Start); err != nil {
			lines.Close()
			return Refuse(CodeValidationFailed, nil, "%v", err)
		}
		cfg.Judge = limits.judge
	}
	if x.engine, err = sim.NewEngine(cfg, x.rec); err != nil {
		lines.Close()
		return Refuse(CodeValidationFailed, nil, "%v", err)
	}
	x.feed = &Feed{Feed: sim.NewSeriesFeed(series), Record: x.rec}
	if len(series) == 1 {
		x.feed.Single = series[0].Time
	}
	switch x.mode {
	case ModeLockstep:
		lockstep := NewLockstep(x.plugin.Stream, x.gate, p.Symbols, x.stepLimit)
		if rows := x.data.inputRows(); rows != nil {
			lockstep.ReadInputs(InputReaders(rows))
		}
		x.decider = lockstep
	case ModeAdvance:
		if x.decider, err = x.newAdvance(p, series); err != nil {
			return err
		}
	case ModeSignals:
		x.decider = &signalled{stream: x.plugin.Stream, gate: x.gate, stepLimit: x.stepLimit,
			signals: wire.NewSignals(p.Symbols, x.data.layout.total)}
	default:
		x.decider = &coSimulation{
			stream: x.plugin.Stream, gate: x.gate, symbols: p.Symbols, total: x.data.layout.total,
			stepLimit: x.stepLimit,
			watermark: -1, before: x.engine.Digest(),
		}
	}
	if limits != nil {
		limits.Decider, limits.engine = x.decider, x.engine
		x.decider = limits
	}
	x.note(p)
	return nil
}

// noFile refuses a run for which the host could not write.
func noFile(err error) error {
	return hostFault(err, err.Error(), "No temporary file could be made: %v", err)
}

// hostFault refuses a run for which neither the request nor the plugin is to blame.
func hostFault(cause error, reason, format string, args ...any) error {
	return startRefusal(cause, reason, []string{}, format, args...)
}

// startRefusal refuses a run that could not be started, with the end of what its plugin has logged.
func startRefusal(cause error, reason string, logTail []string, format string, args ...any) *RequestError {
	return Refuse(CodeStartFailed, map[string]any{"reason": reason, "log_tail": logTail}, format,
		args...).because(cause)
}

// note lists what the run assumes and what the user should know.
func (x *Execution) note(p *plan) {
	assume := func(code, format string, args ...any) {
		x.assumptions = append(x.assumptions,
			artifact.Note{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	assume(NoteFullFills, "Every order fills whole, whatever the volume of the candle.")
	if p.Execution.AllowShort {
		assume(NoteNoBorrowCost, "Short positions pay no interest for what they borrow.")
	}
	for _, s := range p.sources {
		if s.keptViolations() {
			assume(string(importer.OHLCViolations),
				"%s was imported with candles whose high or low does not contain open and close.", s.Symbol)
		}
	}
	if x.data.missing > 0 {
		assume("GAPS",
			"%d candles are missing inside the window. Gaps are never filled: orders wait across them.",
			x.data.missing)
	}
	if x.data.layout.short > 0 {
		assume(NoteWarmupShort,
			"%d warm-up candles are not there before the window; its first candles were used, on which "+
				"orders are rejected.", x.data.layout.short)
	}
	if x.mode == ModeSignals && p.split.Drive.Unreplayed {
		assume(NoteNotReplayed, "That the signals use no later candle was not tested: no step was replayed.")
	}
	if x.mode == ModeLockstep && p.Strategy.SimID != sim.ID() && !p.Strategy.Signals {
		assume("LOCKSTEP",
			"The plugin was built with another simulator or none, so it was driven step by step.")
	}
	if x.mode == ModeAdvance {
		assume("ADVANCE", "The plugin played many steps at a time by itself.")
	}
	for _, text := range p.Strategy.Differs() {
		assume("ADOPTED", "As the strategy says of itself: %s.", text)
	}
	x.warnings = append(x.warnings, p.warnings...)
}

// manifest is exactly what is run.
func (l *Launcher) manifest(p *plan, x *Execution) artifact.Manifest {
	m := artifact.Manifest{
		Request: artifact.Request{
			Kind: artifact.KindService, StrategyName: p.Strategy.Name, StrategyParams: p.Params,
			Timeframe: p.Timeframe.String(),
			Seed:      strconv.FormatUint(p.split.Seed, 10), Exchange: p.exchange,
			InitialCash: json.RawMessage(p.Cash.Trim(0).String()), Execution: p.ExecutionJSON,
		},
		Strategy: artifact.Strategy{Name: p.Strategy.Name, Version: p.Strategy.Version},
		Plugin: artifact.Plugin{
			Size: p.Strategy.Program().Size, GoVersion: p.Strategy.Program().GoVersion, OS: runtime.GOOS,
			Arch:   runtime.GOARCH,
			SHA256: p.Strategy.SHA256, ProtocolVersion: p.Strategy.ProtocolVersion,
			SDKVersion: p.Strategy.SDKVersion,
		},
		Engine: l.Engine, Sandbox: x.plugin.Proc.Level().String(), Walls: x.plugin.Proc.Level().Parts,
		Debug: p.Strategy.Debug,
	}
	m.Splits = x.data.splits
	m.Request.StartDate, m.Request.EndDate = x.data.window.Start, x.data.window.End
	for _, s := range p.sources {
		m.Request.Symbols = append(m.Request.Symbols, string(s.Symbol))
		m.Data = append(m.Data, artifact.Dataset{
			Symbol: string(s.Symbol), Timeframe: p.Timeframe.String(), SHA256: s.SHA256,
			Rows:  int64(s.to - s.from),
			Start: s.start(), End: s.end(), ID: s.ID,
		})
	}
	for _, in := range p.inputs {
		m.Inputs = append(m.Inputs, in.Dataset)
	}
	return m
}

// dataHash names the candles of the window, and the inputs.
func (p *plan) dataHash() (string, error) {
	windows := make([]candle.Window, len(p.sources))
	for i, s := range p.sources {
		windows[i] = candle.Window{
			Symbol: s.Symbol, Timeframe: p.Timeframe, SHA256: s.SHA256, Start: s.start(), End: s.end(),
		}
	}
	for _, in := range p.inputs {
		windows = append(windows, candle.Window{
			Symbol: market.Symbol(in.Symbol), SHA256: in.SHA256, Start: in.Start, End: in.End,
		})
	}
	return candle.DataHash(windows)
}

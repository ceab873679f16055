// Package request answers evaluation requests.
//
// A [Request] names a built plugin, parameters, data and splits. [Host.Prepare] resolves it
// into a manifest, whose canonical request has a hash and so a run id: one request has one
// answer. [Host.Run] claims the request in the registry or takes the answer that is there,
// plays every split in a fresh process, repeats the search split under stress, stitches the
// walk-forward windows, and writes the artifacts and the row.
//
// A plugin that fails ends the run: the splits before it are kept, and a capsule is written.
// So is one when a forced execution decides otherwise, when files have changed since, and
// when a run is interrupted.
//
// Splits are played side by side, stored by index and reduced in order: the number of workers
// changes no byte.
package request

import (
	"context"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Host is what evaluations need of one state directory.
type Host struct {
	// StateDir is absolute.
	StateDir  string
	Candles   *candle.Store
	Artifacts *artifact.Store
	Registry  *registry.Registry
	Engine    artifact.Engine
	Sandbox   sandbox.Mode
	// StepLimit is how long a plugin may take for one answer; 30 s if zero.
	StepLimit time.Duration
	// Workers is how many splits are played side by side; the number of CPUs if 0.
	Workers int
	// Plain leaves out the encryption between host and plugins, as in a search.
	Plain bool
	// Procs is GOMAXPROCS of the plugins; 0 leaves it to them.
	Procs int
	// Session plays the splits of trials one after another in its process, so Workers must be 1; nil gives
	// each split a process of its own.
	Session *run.Session
	// Forks are the processes whose copies play bundles where a replay is driven so; nil gives each
	// replay a process of its own.
	Forks *run.Sessions
	// Elsewhere plays trials on other machines; nil plays them here.
	Elsewhere Player
	// Trials has the trials of a search whose folders are not kept; nil: there are none.
	Trials TrialStore
	Logger hclog.Logger
	// Reattach is the value of ASSAY_REATTACH_STRATEGIES: strategies under a debugger,
	// which are connected to instead of being started. Runs of them are marked debug and
	// can never be packed.
	Reattach string
}

// Request is what to evaluate. Its fields are those of lab.json; see there.
type Request struct {
	// Kind is run, trial or falsification.
	Kind           string
	Slug, FamilyID string
	Plugin         project.Built
	Params         json.RawMessage
	Symbols        []string
	Timeframe      string
	Exchange       string
	Start, End     *string
	// Pins are symbol, or input:<name>, to sha256:<hex>.
	Pins        map[string]string
	InitialCash json.RawMessage
	Execution   json.RawMessage
	Splits      split.Scheme
	// Holding is max_holding_candles.
	Holding int
	Stress  []string
	Seed    uint64
	// Falsification is what a falsification depends on besides; nil otherwise.
	Falsification json.RawMessage
	// TrainedUntil is that of lab.json, "" without one; the later of it and the program's counts.
	TrainedUntil string
}

// trainedUntil is the end of the data that the program was made with, nil where nothing declares
// it.
func (p *Prepared) trainedUntil() (*market.Time, error) {
	var latest *market.Time
	for _, text := range []string{p.Strategy.TrainedUntil, p.Request.TrainedUntil} {
		if text == "" {
			continue
		}
		end, err := market.ParseEnd(text)
		if err != nil {
			return nil, err
		}
		if latest == nil || end > *latest {
			latest = &end
		}
	}
	return latest, nil
}

// FromProject is the request of a project's lab.json.
func FromProject(p *project.Project, built project.Built) Request {
	c := p.Config
	q := Request{
		Kind: artifact.KindRun, Slug: c.Slug, FamilyID: c.FamilyID, Plugin: built, Params: c.Params,
		Symbols:   c.Symbols,
		Timeframe: c.Timeframe, Exchange: c.Exchange, Start: c.Data.Start, End: c.Data.End, Pins: c.Data.Pins,
		InitialCash: c.InitialCash, Execution: c.Execution, Splits: c.Splits, Holding: c.MaxHoldingCandles,
		Stress: c.Stress, TrainedUntil: c.TrainedUntil,
	}
	_, _ = fmt.Sscan(c.Seed, &q.Seed) // project has checked it
	return q
}

// Prepared is a request whose every name has been looked up and fixed.
type Prepared struct {
	Request Request
	// Manifest is complete.
	Manifest    artifact.Manifest
	RequestHash string
	RunID       string
	Strategy    *catalog.Strategy

	catalog  *catalog.Catalog
	borrowed bool // the catalog is another question's
	whole    bool // the candles are not split
	data     []artifact.Dataset
	inputs   []artifact.Dataset
	candles  *candle.Store
	timeline timeline
	coverage []coverage
	request  runner.StartRequest // of the whole window
	pins     map[market.Symbol]string
	postPeek bool // this is a new trial and the family's test has been seen

	launchers *launchers // of all questions about the program on these candles
}

// Close ends what is left of the plugin.
func (p *Prepared) Close() {
	if !p.borrowed {
		p.catalog.Close()
	}
}

// Prepare looks a request up; nothing is executed but the plugin's description of
// itself.
func (h *Host) Prepare(ctx context.Context, q Request) (_ *Prepared, err error) {
	p := &Prepared{Request: q, candles: h.Candles, launchers: &launchers{}}
	if p.catalog, err = h.openPlugin(ctx, q); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.Strategy, err = lookUp(p.catalog, q); err != nil {
		return nil, err
	}
	if err := p.compose(h, func() error { return h.data(ctx, p) }); err != nil {
		return nil, err
	}
	if err := p.fits(); err != nil {
		return nil, err
	}
	return p, nil
}

// fits refuses what the program does not do, such as a timeframe that its larger ones cannot be built
// from, before anything is executed.
func (p *Prepared) fits() error {
	var plan run.Plan
	err := plan.Read(p.catalog, p.request)
	if err == nil {
		err = plan.CheckFits(p.request)
	}
	err = fromBacktest(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == run.CodeDataUnavailable {
		e.Code = fmt.Sprint(e.Details["reason"]) // no candles are asked for yet
	}
	return err
}

// compose fixes everything but the program: parameters and rules first, then the data,
// which look finds where it is not known yet, then what follows from them.
func (p *Prepared) compose(h *Host, look func() error) error {
	q := &p.Request
	params, bad := p.Strategy.ValidateParams(q.Params)
	if len(bad) > 0 {
		return refuse(CodeParams, "/params"+bad[0].Pointer, "/params%s %s", bad[0].Pointer, bad[0].Message)
	}
	cash, execution, err := rules(*q)
	if err != nil {
		return err
	}
	if err := look(); err != nil {
		return err
	}
	splits, err := p.split()
	if err != nil {
		return splitError(err)
	}
	if q.Kind == artifact.KindTrial {
		if splits.Splits = trialSplits(splits.Splits, q.Splits.First); len(splits.Splits) == 0 {
			return refuse(CodeLabJSON, "/splits/scheme",
				"/splits/scheme %s has no walk-forward windows to try parameters on: use default or "+
					"walk_forward", splits.Scheme)
		}
	}
	p.request = runner.StartRequest{
		Mode: runner.ModeBacktest, StrategyName: p.Strategy.Name, StrategyParams: params, Symbols: q.Symbols,
		Timeframe: q.Timeframe,
		StartDate: q.Start, EndDate: q.End, InitialCash: json.Number(cash), Exchange: q.Exchange,
		Execution: execution,
	}
	manifest := artifact.Manifest{
		Request: artifact.Request{
			Kind: q.Kind, FamilyID: q.FamilyID, StrategyName: p.Strategy.Name, StrategyParams: params,
			Symbols: q.Symbols, Timeframe: q.Timeframe,
			Exchange: q.Exchange, StartDate: p.timeline.opens[0],
			EndDate:     p.timeline.closes[len(p.timeline.closes)-1],
			InitialCash: json.RawMessage(cash), Seed: fmt.Sprint(q.Seed), Execution: execution,
			Stress: q.Stress,
		},
		Splits: splits, Data: p.data, Inputs: p.inputs,
		Engine: h.Engine, Debug: p.Strategy.Debug || q.Plugin.SDKEdited,
		Strategy: artifact.Strategy{Name: p.Strategy.Name, Version: p.Strategy.Version, Slug: q.Slug},
		Plugin: artifact.Plugin{
			SHA256: p.Strategy.SHA256, Size: p.Strategy.Program().Size,
			GoVersion: p.Strategy.Program().GoVersion, OS: runtime.GOOS, Arch: runtime.GOARCH,
			ProtocolVersion: p.Strategy.ProtocolVersion, SDKVersion: p.Strategy.SDKVersion,
			SourceSHA256: q.Plugin.SourceSHA256, SDKSHA256: q.Plugin.SDKSHA256,
		},
	}
	manifest.Request.Splits.Purge = purgeOf(splits)
	manifest.Request.Falsification = q.Falsification
	if manifest.Request.TrainedUntil, err = p.trainedUntil(); err != nil {
		return err
	}
	if p.Manifest, err = manifest.Complete(); err != nil {
		return err
	}
	if err := p.covered(); err != nil {
		return err
	}
	if p.RequestHash, err = p.Manifest.Request.Hash(); err != nil {
		return err
	}
	p.RunID, err = RunID(p.RequestHash)
	return err
}

func (p *Prepared) split() (artifact.Splits, error) {
	if p.whole {
		return artifact.FullSplit(slices.Values(p.timeline.closes)), nil
	}
	return p.Request.Splits.Over(p.timeline.closes, p.Request.Holding)
}

// RunID is the name of the run that answers a request: run_ and the first 10 bytes of
// its hash in lower-case base32.
func RunID(requestHash string) (string, error) {
	sum, err := hex.DecodeString(requestHash)
	if err != nil || len(sum) != 32 {
		return "", fmt.Errorf("%q is not a SHA-256", requestHash)
	}
	return "run_" + strings.ToLower(
		base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10])), nil
}

func purgeOf(s artifact.Splits) int {
	purge, _ := s.Params["purge"].(int)
	return purge
}

func splitError(err error) error {
	var short *split.TooShortError
	var field *split.FieldError
	switch {
	case errors.As(err, &short):
		return Errorf("DATA_TOO_SHORT", "%w", err).With("candles", short.Candles, "needed", short.Needed)
	case errors.As(err, &field):
		return refuse(CodeLabJSON, "/splits"+field.Pointer, "/splits%s", field.Error())
	}
	return err
}

// openPlugin opens a catalogue of this one program, or of the strategy under a debugger
// that takes its place.
func (h *Host) openPlugin(ctx context.Context, q Request) (*catalog.Catalog, error) {
	attached, err := catalog.Attached(h.Reattach, q.Slug)
	if err != nil {
		return nil, err
	}
	o := catalog.Options{StateDir: h.StateDir, Sandbox: h.Sandbox, Logger: h.Logger.Named("catalog"),
		Reattach: attached, Only: []string{},
		// numpy and pandas alone take a busy machine seconds
		ProbeTimeout:  max(h.StepLimit, catalog.DefaultProbeTimeout),
		LaunchTimeout: max(h.StepLimit, catalog.DefaultLaunchTimeout),
	}
	if attached == "" {
		o.Dir, o.Only = filepath.Dir(q.Plugin.Path), []string{filepath.Base(q.Plugin.Path)}
	}
	return catalog.Open(ctx, o)
}

// lookUp finds the strategy that the program declares.
func lookUp(c *catalog.Catalog, q Request) (*catalog.Strategy, error) {
	list := c.Strategies()
	if len(list) != 1 {
		return nil, fmt.Errorf("%s holds %d strategies", q.Plugin.Path, len(list))
	}
	s := list[0]
	if s.Error != nil {
		return nil, Errorf(CodeCheckFailed, "the plugin cannot be used: %s", s.Error.Message).
			With("reason", s.Error.Code)
	}
	if !project.SameName(s.Name, q.Slug) {
		return nil, refuse(CodeNameMismatch, "/slug",
			"the program calls its strategy %q, lab.json says %q: make them equal (- and _ count as equal)",
			s.Name, q.Slug)
	}
	found, err := c.Lookup(s.Name)
	if err != nil || !found.Debug {
		return found, err
	}
	// What is under a debugger has no file: the one that it stands for names the request.
	stands := *found
	stands.SHA256 = q.Plugin.SHA256
	return &stands, nil
}

// rules is money and execution options in canonical form.
func rules(q Request) (cash string, execution json.RawMessage, err error) {
	d, err := decimal.Parse(string(q.InitialCash))
	if err != nil {
		return "", nil, refuse(CodeLabJSON, "/initial_cash", "/initial_cash %v", err)
	}
	if d = sim.RoundCash(d); !d.IsPos() {
		return "", nil,
			refuse(CodeLabJSON, "/initial_cash", "/initial_cash is 0 once rounded to the money unit")
	}
	options, err := sim.ResolveOptions(q.Execution, sim.DefaultFees())
	var bad *sim.OptionError
	if errors.As(err, &bad) {
		f := bad.Fields[0]
		return "", nil, refuse(CodeLabJSON, "/execution"+f.Pointer, "/execution%s %s", f.Pointer, f.Message)
	}
	if err != nil {
		return "", nil, err
	}
	execution, err = json.Marshal(options)
	return d.Trim(0).String(), execution, err
}

// launcher starts splits of a prepared request.
func (h *Host) launcher(p *Prepared, spool string, plain bool) *run.Launcher {
	key := launcherKind{spool, plain, h.StepLimit}
	if l, ok := p.launchers.of.Load(key); ok {
		return l.(*run.Launcher)
	}
	l, _ := p.launchers.of.LoadOrStore(key, run.NewLauncher(run.Options{
		Catalog: p.catalog, Store: p.candles, Logger: h.Logger, SpoolDir: spool, Engine: h.Engine,
		StepLimit: h.StepLimit, Many: plain, Inputs: h.Candles.Inputs(),
	}))
	return l.(*run.Launcher)
}

// launchers are those that were made, by their kind: one that is used again has looked up what it plays.
type launchers struct{ of sync.Map }

type launcherKind struct {
	spool string
	plain bool
	limit time.Duration
}

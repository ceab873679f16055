package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	"github.com/assay-run/assay/api/docs"
	"github.com/assay-run/assay/api/ui"
	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/monitor"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/exchange"
	children "github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/upload"
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

// shutdownTime is how long answers that are under way may take at the end.
const shutdownTime = 5 * time.Second

// serve runs the service until a signal ends it.
func serve(ctx context.Context, cfg config, w world) error {
	logger := hclog.New(&hclog.LoggerOptions{Name: "assay", Output: w.err, Level: cfg.logLevel})
	addr, err := cfg.bind.Resolve(ctx)
	if err != nil {
		return err
	}
	ctx, stop := watchSignals(ctx)
	defer stop()
	_, known := os.Stat(cfg.stateDir)
	logger.Info("state directory", "path", cfg.stateDir, "new", known != nil)
	lock, err := file.LockState(cfg.stateDir, "service.lock")
	if err != nil {
		return err
	}
	defer lock.Release()
	ln, err := edge.Open(ctx, addr, api.Refuse)
	if err != nil {
		return err
	}
	cfg.log(logger, ln)
	s, err := open(ctx, cfg, ln, logger)
	if err != nil {
		_ = ln.Close() // the error at hand is the one to report
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	fmt.Fprintf(w.out, "assay listening on %s\n", edge.URL(ln))
	return s.run(ctx, cfg, ln, w)
}

func (c config) log(logger hclog.Logger, ln net.Listener) {
	logger.Info("configuration", "version", version, "commit", commit, "address", edge.URL(ln), "host",
		c.bind.Host, "port", c.bind.Port,
		"log_level", c.logLevel.String(), "behind_proxy", c.bind.BehindProxy, "allowed_hosts",
		c.bind.AllowedHosts,
		"state_dir", c.stateDir, "database", c.databaseName(),
		"strategies", c.strategies, "lab", c.lab, "connectors", c.connectors.dir,
		"connector_endpoints", len(c.connectors.endpoints), "sandbox", string(c.sandbox), "demo", c.demo)
	c.control.log(logger)
}

// databaseName is where the registry of runs is, without a password.
func (c config) databaseName() string {
	if at, err := postgres.ParseConfig(c.database); err == nil {
		return at.String()
	}
	return registry.FileName
}

// service is everything that is open while the program serves.
type service struct {
	logger  hclog.Logger
	runner  *runner.Runner
	server  *edge.Server
	monitor *monitor.Monitor
	hub     *stream.Hub
	policy  *deploy.Policy // asked before real money is traded
	// noJournal is why paper and live runs cannot start; nil: they can.
	noJournal error
	closers   []func() error // in the order of opening
}

// open opens the host and builds the API around it.
func open(ctx context.Context, cfg config, ln net.Listener, logger hclog.Logger) (_ *service, err error) {
	s := &service{logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	candles, err := candle.Open(ctx, cfg.stateDir)
	if err != nil {
		return nil, fmt.Errorf("candle store: %w", err)
	}
	s.closers = append(s.closers, candles.Close)
	store := artifact.NewStore(filepath.Join(cfg.stateDir, "runs"))
	runs, cut, err := s.openRegistry(ctx, cfg.database, store)
	if err != nil {
		return nil, err
	}
	strategies, err := catalog.Open(ctx, catalog.Options{
		Dir: cfg.strategies, StateDir: cfg.stateDir, Sandbox: cfg.sandbox, Logger: logger.Named("catalog"),
		Reattach: cfg.reattach,
	})
	if err != nil {
		return nil, fmt.Errorf("strategies: %w", err)
	}
	s.closers = append(s.closers, func() error { strategies.Close(); return nil })
	launcher, err := newLauncher(cfg, candles, strategies, logger)
	if err != nil {
		return nil, err
	}
	if s.policy, err = s.openPolicy(cfg); err != nil {
		return nil, err
	}
	ledger := holdout.Ledger{Candles: candles, Registry: runs}
	// Asking changes nothing: what is stored now gets its hold-out here, what comes later when it is stored.
	if err := ledger.Know(ctx); err != nil {
		return nil, fmt.Errorf("hold-outs: %w", err)
	}
	archive := &runner.Archive{Store: store, Registry: runs, Know: ledger.Know, Vouch: s.vouch(cfg, store)}
	s.runner = runner.New(runner.Options{
		Recorder: archive, Trials: trialCounter{runs, store}, Logger: logger.Named("runner"),
	})
	book := s.openJournal(ctx, cfg)
	found, err := s.openConnectors(ctx, cfg)
	if err != nil {
		return nil, err
	}
	exchanges := &trade.Exchanges{Store: candles, Connectors: found}
	trading := trade.NewLauncher(trade.Options{
		Catalog: strategies, Venues: exchanges, Journal: book.Journal, NoJournal: s.noJournal,
		Policy: s.policy, Logger: logger, SpoolDir: launcher.SpoolDir, Engine: launcher.Engine,
		Risk: cfg.trading.risk, Ends: cfg.trading.ends, LiveDir: filepath.Join(cfg.stateDir, "live"),
		Inputs: candles.Inputs(),
	})
	s.closers = append(s.closers, trading.Close)
	if err := s.restore(ctx, trading, book.Quarantined, archive, cut); err != nil {
		return nil, err
	}
	uploads, err := s.openUploads(cfg)
	if err != nil {
		return nil, err
	}
	reader, key, err := s.openReader(cfg)
	if err != nil {
		return nil, err
	}
	concluded := &lab{runs: runs, store: store, candles: candles, stateDir: cfg.stateDir,
		strategies: strategies, backtests: launcher, checking: make(chan struct{}, 1),
		jobs: s.openJobs(cfg), uploads: uploads, connectors: found, connectorDir: cfg.connectors.dir,
		packed: candidate.NewStore(cfg.stateDir), controlKey: key, seen: s.policy.Seen}
	return s, s.build(ctx, cfg, ln, parts{candles, strategies, runs,
		library.New(store, runs, concluded), concluded, reader, launcher, exchanges, trading})
}

// openJobs opens what the lab makes beside the service. While a live run goes on, with real money
// or not, it waits.
func (s *service) openJobs(cfg config) *job.Manager {
	m := job.Open(job.Options{
		Program: cfg.lab, StateDir: cfg.stateDir, Logger: s.logger.Named("jobs"),
		Args: []string{"--state-dir", cfg.stateDir, "--sandbox", string(cfg.sandbox), "--log-level", "warn"},
		Env:  []string{postgres.Variable + "=" + cfg.database}, // a password stays off the command line
		Busy: func() bool {
			run := s.runner.Status()
			return run.Mode == runner.ModeLive && run.Status == runner.StatusRunning
		},
	})
	s.closers = append(s.closers, m.Close)
	return m
}

// openUploads opens what is sent for imports. It closes after the jobs, which read it.
func (s *service) openUploads(cfg config) (*upload.Store, error) {
	limits := upload.DefaultLimits()
	limits.Each = cfg.maxUpload
	u, err := upload.Open(filepath.Join(cfg.stateDir, "tmp", "uploads"), limits)
	if err != nil {
		return nil, fmt.Errorf("uploads: %w", err)
	}
	s.closers = append(s.closers, u.Close)
	return u, nil
}

// trialCounter counts trials as the lab does.
type trialCounter struct {
	runs  *registry.Registry
	store *artifact.Store
}

// Place implements runner.TrialCounter.
func (c trialCounter) Place(ctx context.Context, runID string) (*registry.Place, error) {
	return selection.PlaceOf(ctx, c.runs, c.store, runID)
}

// openRegistry opens the registry and settles runs that a crash cut short, which it returns.
func (s *service) openRegistry(ctx context.Context, database string,
	store *artifact.Store) (*registry.Registry, []*artifact.Metadata, error) {
	runs, err := registry.OpenAt(ctx, database, store, s.logger.Named("registry"))
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, runs.Close)
	cut, err := runs.InterruptService(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("registry: %w", err)
	}
	return runs, cut, nil
}

// openJournal opens the journal of paper and live runs. Damage is logged and set aside; where it
// cannot be opened at all (the disk is full, rights are missing) the service runs without such
// runs.
func (s *service) openJournal(ctx context.Context, cfg config) *journal.Opened {
	book, err := journal.Open(ctx, filepath.Join(cfg.stateDir, "live"), journal.Options{})
	if err != nil {
		s.noJournal = err
		s.logger.Error("paper and live runs cannot start: their journal cannot be opened", "error", err)
		return &journal.Opened{}
	}
	s.closers = append(s.closers, book.Close)
	if q := book.Quarantined; q != nil {
		s.logger.Error("the journal was damaged and set aside; a new one was begun", "file", q.Path, "reason",
			q.Reason, "runs", q.Runs)
	}
	return book
}

// restore shows a paper or live run that a crash cut short, until it is reset; also one whose
// journal was damaged.
func (s *service) restore(ctx context.Context, trading *trade.Launcher, q *journal.Quarantined,
	archive *runner.Archive, cut []*artifact.Metadata) error {
	if q != nil {
		for _, id := range q.Interrupted {
			if row, err := archive.Registry.Get(ctx, id); err == nil {
				if m, err := artifact.DecodeMetadata(row.Payload); err == nil {
					cut = append(cut, m)
				}
			}
		}
		if err := trading.Quarantined(ctx, q, cut); err != nil {
			s.logger.Error("the runs of the damaged journal are not known any more", "error", err)
		}
	}
	rep, cleared, err := trading.Interrupted(ctx)
	if err != nil { // no reason not to serve
		s.logger.Error("it cannot be told whether a run was cut short", "error", err)
	}
	if rep == nil {
		return nil
	}
	s.logger.Warn("a run was cut short by the end of the service", "run_id", rep.Snapshot.RunID, "mode",
		rep.Snapshot.Mode, "code", rep.Snapshot.Failure.Code, "phase", rep.Snapshot.Failure.Phase)
	if err := archive.Recover(ctx, rep); err != nil {
		s.logger.Error("the files of the run that was cut short could not be written",
			"run_id", rep.Snapshot.RunID, "error", err)
	}
	return s.runner.Restore(*rep, cleared)
}

func newLauncher(cfg config, candles *candle.Store, strategies *catalog.Catalog,
	logger hclog.Logger) (*run.Launcher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sum, err := digest.File(self)
	if err != nil {
		return nil, fmt.Errorf("hash of the executable: %w", err)
	}
	spool := filepath.Join(cfg.stateDir, "tmp", "service")
	// What a crash left there is stale: no other service uses this folder.
	if err := errors.Join(os.RemoveAll(spool), os.MkdirAll(spool, 0o700)); err != nil {
		return nil, err
	}
	return run.NewLauncher(run.Options{
		Catalog: strategies, Store: candles, Logger: logger, SpoolDir: spool,
		Engine: artifact.Engine{Name: "assay", Version: version, Commit: commit, SHA256: sum},
	}), nil
}

// parts are what the API is built from.
type parts struct {
	candles    *candle.Store
	strategies *catalog.Catalog
	runs       *registry.Registry
	library    *library.Library
	lab        *lab
	reader     *client.Reader
	launcher   *run.Launcher
	exchanges  *trade.Exchanges
	trading    *trade.Launcher
}

// build makes the server.
func (s *service) build(ctx context.Context, cfg config, ln net.Listener, p parts) error {
	retiring, err := v1.Deprecations()
	if err != nil {
		return err
	}
	id, err := serverID(time.Now())
	if err != nil {
		return err
	}
	started := time.Now()
	requests := new(atomic.Int64)
	s.monitor = monitor.NewMonitor(ctx, monitor.HealthOptions{
		Status: s.runner.Status, Counters: s.runner.Counters, Plugins: p.strategies.Counts,
		Sandbox: p.strategies.Sandbox, Registry: p.runs.SchemaVersion, Journal: s.noJournal,
		Damaged:   p.candles.Damaged,
		FreeBytes: func() (int64, error) { return monitor.FreeBytes(cfg.stateDir) },
		Requests:  requests.Load, Now: time.Now,
		Stream:     func() (int, int64) { return s.hub.Counters() },
		Governance: s.policy.Health, Link: s.runner.Link,
	})
	s.hub = stream.New(stream.Options{
		Runner: s.runner, Health: s.monitor.Health, ServerID: id, Version: version,
		Logger: s.logger.Named("stream"),
		Risk:   cfg.trading.limits(), OnStop: string(cfg.trading.ends.OnStop),
	})
	operations, err := v1.New(v1.Options{
		Runner: s.runner, Backtests: p.launcher, Trading: p.trading,
		Strategies: p.strategies.Strategies, Exchanges: p.exchanges.List, Library: p.library, Lab: p.lab,
		Data:         holdout.Ledger{Candles: p.candles, Registry: p.runs},
		Jobs:         p.lab.jobs,
		Uploads:      p.lab.uploads,
		Governance:   p.reader,
		Health:       s.monitor.Health,
		Deprecations: retiring, Logger: s.logger.Named("api"),
		Version: version, Commit: commit, ServerID: id, StartedAt: started,
	})
	if err != nil {
		return err
	}
	bound, _, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return err
	}
	pages, err := pages(retiring)
	if err != nil {
		return err
	}
	routes := append(api.Redirects(), operations.Routes()...)
	routes = append(routes, edge.Route{Method: http.MethodGet, Path: stream.Path, Handler: s.hub.Handler()})
	routes = append(routes, pages...)
	numbers := monitor.NewMetrics(monitor.MetricsOptions{
		Version: version, Commit: commit, StartedAt: started, Routes: routes, Status: s.runner.Status,
		Counters: s.runner.Counters, Stream: s.hub.Counters, Plugins: p.strategies.Counts,
	})
	handler, err := api.NewEdge(api.EdgeConfig{
		Hosts:  edge.NewHosts(append([]string{cfg.bind.Host, bound}, cfg.bind.AllowedHosts...)...),
		Routes: append(routes, numbers.Routes()...), Deprecations: retiring, Logger: s.logger.Named("api"),
		Now: time.Now, NoBody: operations.NoBody, Count: requests,
		Observe: func(o edge.Observation) { numbers.Observe(o.Route, o.Method, o.Status, o.Duration) },
	})
	if err != nil {
		return err
	}
	s.server = edge.NewServer(handler, s.logger.Named("http"))
	return nil
}

// pages are what people look at: the dashboard and the documentation, which lists the
// licences of both and of the bundled candles.
func pages(retiring view.Deprecations) ([]edge.Route, error) {
	dashboard, err := ui.New(sample.Attribution())
	if err != nil {
		return nil, err
	}
	candles := docs.Part{Name: "Bundled sample candles", License: "MIT",
		Texts: []string{sample.Attribution()}}
	reference, err := docs.New(docs.Options{
		Events: stream.Events(), Deprecations: retiring, Parts: append(dashboard.Parts(), candles),
	})
	if err != nil {
		return nil, err
	}
	return append(dashboard.Routes(), reference...), nil
}

// run serves until ctx is cancelled, then ends the run and everything else.
func (s *service) run(ctx context.Context, cfg config, ln net.Listener, w world) error {
	var wg sync.WaitGroup
	// The signal ends the demonstration at once, the rest only after the run has ended:
	// clients of the stream are told how.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 3)
	wg.Go(func() { s.monitor.Run(background) })
	wg.Go(func() {
		if err := s.hub.Run(background); err != nil && background.Err() == nil {
			failed <- fmt.Errorf("stream: %w", err)
		}
	})
	wg.Go(func() {
		if err := s.server.Serve(ln); err != nil {
			failed <- fmt.Errorf("serve: %w", err)
		}
	})
	if cfg.demo {
		wg.Go(func() {
			if err := demonstrate(ctx, edge.URL(ln), w.out); err != nil && ctx.Err() == nil {
				failed <- fmt.Errorf("demonstration: %w", err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
		s.logger.Info("shutting down")
	case err = <-failed:
	}
	// The run ends while the API still answers: starts get SHUTTING_DOWN.
	if e := s.runner.Shutdown(context.WithoutCancel(ctx)); e != nil {
		s.logger.Warn("the run did not end in time", "error", e)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if e := s.hub.Shutdown(grace); e != nil {
		s.logger.Debug("stream clients were cut", "error", e)
	}
	stop()
	if e := s.server.Shutdown(grace); e != nil {
		s.logger.Debug("connections were cut", "error", e)
	}
	wg.Wait()
	return errors.Join(err, s.close())
}

// close closes everything in reverse order.
func (s *service) close() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	s.closers = nil
	return err
}

// connectors are the operator's options of executable connectors.
type connectors struct {
	dir       string
	given     []string // values of --connector-endpoint
	endpoints map[string]string
}

const (
	endpointFlag     = "connector-endpoint"
	endpointVariable = "SERVICE_CONNECTOR_ENDPOINTS"
)

// complete reads the endpoints.
func (c *connectors) complete(w world) error {
	source := w.fillList(&c.given, endpointFlag, endpointVariable)
	c.endpoints = map[string]string{}
	for _, one := range c.given {
		id, address, found := strings.Cut(strings.TrimSpace(one), "=")
		if !found || id == "" {
			return usagef("%s: %q is not id=url", source, one)
		}
		if _, twice := c.endpoints[id]; twice {
			return usagef("%s: %q is given twice", source, id)
		}
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			(u.Scheme != "http" && u.Scheme != "https"):
			return usagef("%s: %q has no base URL: write %s=https://host", source, one, id)
		case u.Scheme == "http" && !onLoopback(u.Hostname()):
			return usagef("%s: %q is plain http and not on loopback: use https", source, one)
		}
		c.endpoints[id] = strings.TrimRight(address, "/")
	}
	return nil
}

func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// openConnectors probes the folder and lists what is there.
func (s *service) openConnectors(ctx context.Context, cfg config) ([]trade.Connector, error) {
	m, err := children.Open(ctx,
		children.Options{Dir: cfg.connectors.dir, StateDir: cfg.stateDir, Sandbox: cfg.sandbox,
			Logger: s.logger.Named("connectors")})
	if err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	s.closers = append(s.closers, func() error { m.Close(); return nil })
	var list []trade.Connector
	unknown := maps.Clone(cfg.connectors.endpoints)
	for _, c := range m.Connectors() {
		entry := trade.Connector{Description: c.Description, Certified: exchange.Certified(c.Description),
			Endpoint: cfg.connectors.endpoints[c.ID]}
		entry.LoopbackEndpoint = endpointOnLoopback(entry.Endpoint)
		delete(unknown, c.ID)
		if c.Fault != nil {
			entry.Description, entry.Certified = undescribed(c.ID, c.File), false
			entry.Fault = &proc.Fault{Code: c.Fault.Code, Message: c.Fault.Message}
		}
		entry.Connect = func(ctx context.Context, folder string) (*exchange.Connection, error) {
			return connect(ctx, m, c.ID, folder)
		}
		list = append(list, entry)
	}
	for _, id := range slices.Sorted(maps.Keys(unknown)) {
		// It is listed as unavailable: whoever starts a run there reads why.
		list = append(list, trade.Connector{Description: undescribed(id, id), Fault: &proc.Fault{
			Code: "missing",
			Message: "--" + endpointFlag + " names it, and there is no connector " + id + " in " +
				cfg.connectors.dir,
		}})
		s.logger.Warn(
			"an endpoint is given for a connector that is not there: that exchange is not available",
			"option", "--"+endpointFlag, "connector", id, "folder", cfg.connectors.dir)
	}
	return list, nil
}

// undescribed stands for a connector that gives no description.
func undescribed(id, name string) exchange.Description {
	return exchange.Description{ID: id, Name: name, Kind: "native", DeadMan: "lease",
		ConfigSchema: exchange.ConfigSchema(nil)}
}

func endpointOnLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && onLoopback(u.Hostname())
}

// connect starts a process for one run, which may write to the folder. Who has it ends it with
// Release or Leave.
func connect(ctx context.Context, m *children.Manager, id, folder string) (*exchange.Connection, error) {
	p, err := m.Launch(ctx, id, children.LaunchOptions{Writable: folder})
	if err != nil {
		return nil, err
	}
	return p.Connection(), nil
}

// Package apitest is what the tests of the API share: a service over real TCP with
// the real edge, operations and run machine around scripted runs, and a recorder
// that holds every answer against the OpenAPI document.
//
// Only tests import it.
package apitest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/monitor"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/upload"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Options change what a Service is made of.
type Options struct {
	// Launch replaces the scripted launch.
	Launch func(context.Context, string, runner.StartRequest) (runner.Execution, error)
	// Trading launches paper and live runs; nil: they are not supported.
	Trading v1.Launcher
	// Governance is what health shows of the deployment policy; it may be nil.
	Governance func(ungated string) (status, message string)
	// Prepare is called with each scripted run before it begins.
	Prepare func(*Run)
	// Routes are added to the operations.
	Routes []edge.Route
	// Extend adds routes that need the run machine; it may be nil.
	Extend       func(*runner.Runner) []edge.Route
	Deprecations view.Deprecations
	Strategies   []catalog.Strategy
	Exchanges    []candle.Exchange
	// Library has the runs that were made; nil: none.
	Library *library.Library
	// Data has the stored candles; the zero value: none.
	Data holdout.Ledger
	// Lab and Jobs make jobs; nil Jobs: there is no program lab.
	Lab  v1.Lab
	Jobs *job.Manager
	// Uploads bounds what is sent for imports; the zero value: as the service does.
	Uploads upload.Limits
	// Control reads a control plane; it may be nil.
	Control *client.Reader
	Log     io.Writer
}

// unpacked is a lab in which nothing was packed; what else it is asked for needs a lab of the test.
type unpacked struct{ v1.Lab }

// Candidates implements v1.Lab.
func (unpacked) Candidates(context.Context) ([]v1.Candidate, error) { return nil, nil }

// Service is the API over real TCP around scripted runs.
type Service struct {
	URL    string
	Addr   string
	Runner *runner.Runner
	// Runs delivers each scripted run once it has been launched.
	Runs     chan *Run
	recorder *Recorder
	client   *http.Client
	mu       sync.Mutex
}

// Start starts a service that ends with the test.
func Start(t testing.TB, o Options) *Service {
	t.Helper()
	recorder, err := NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{Runs: make(chan *Run, 1024), recorder: recorder}
	if o.Log == nil {
		o.Log = io.Discard
	}
	logger := hclog.New(&hclog.LoggerOptions{Output: o.Log, Level: hclog.Trace})
	s.Runner = runner.New(runner.Options{Recorder: nowhere{}, Logger: logger})
	handler := s.handler(t, o, logger)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := edge.NewServer(handler, logger)
	s.Addr = ln.Addr().String()
	s.URL = "http://" + s.Addr
	s.client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(edge.Limit(ln, edge.MaxConnections, api.Refuse)) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Runner.Shutdown(ctx)
		s.client.CloseIdleConnections()
		_ = server.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

func (s *Service) handler(t testing.TB, o Options, logger hclog.Logger) *edge.Edge {
	t.Helper()
	requests := new(atomic.Int64)
	monitor := monitor.NewMonitor(context.Background(), monitor.HealthOptions{
		Status: s.Runner.Status, Counters: s.Runner.Counters, Now: time.Now,
		Plugins:   func() (int, int) { return len(o.Strategies), 0 },
		Registry:  func(context.Context) (int, error) { return 1, nil },
		FreeBytes: func() (int64, error) { return 1 << 40, nil },
		Requests:  requests.Load, Governance: o.Governance,
	})
	if o.Extend != nil {
		o.Routes = append(o.Routes, o.Extend(s.Runner)...)
	}
	if o.Deprecations == nil {
		o.Deprecations = view.Deprecations{}
	}
	if o.Library == nil || o.Data.Candles == nil {
		store := artifact.NewStore(t.TempDir())
		runs, err := registry.Open(context.Background(), store, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = runs.Close() })
		if o.Library == nil {
			o.Library = library.New(store, runs, nil)
		}
		if o.Data.Candles == nil {
			candles, err := candle.Temporary(context.Background(), t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = candles.Close() })
			o.Data = holdout.Ledger{Candles: candles, Registry: runs}
		}
	}
	if o.Lab == nil {
		o.Lab = unpacked{}
	}
	if o.Jobs == nil {
		o.Jobs = job.Open(job.Options{StateDir: t.TempDir(), Logger: logger})
		t.Cleanup(func() { _ = o.Jobs.Close() })
	}
	if o.Uploads == (upload.Limits{}) {
		o.Uploads = upload.DefaultLimits()
	}
	uploads, err := upload.Open(filepath.Join(t.TempDir(), "uploads"), o.Uploads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = uploads.Close() })
	ops, err := v1.New(v1.Options{
		Library: o.Library, Data: o.Data, Lab: o.Lab, Jobs: o.Jobs, Uploads: uploads, Governance: o.Control,
		Runner: s.Runner, Backtests: launcher{s, o}, Trading: o.Trading,
		Strategies: func() []catalog.Strategy { return o.Strategies },
		Exchanges: func(context.Context) ([]trade.Entry, error) {
			var all []trade.Entry
			for _, e := range o.Exchanges {
				all = append(all, trade.Stored(nil, e))
			}
			return all, nil
		},
		Health: monitor.Health, Deprecations: o.Deprecations, Logger: logger,
		Version: "1.0.0", ServerID: "01test", StartedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.NewEdge(api.EdgeConfig{
		Hosts: edge.NewHosts(), Routes: append(api.Redirects(), append(ops.Routes(), o.Routes...)...),
		Deprecations: o.Deprecations, Logger: logger, Now: time.Now, NoBody: ops.NoBody, Count: requests,
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

type launcher struct {
	s *Service
	o Options
}

// Launch implements v1.Launcher.
func (l launcher) Launch(ctx context.Context, id string, req runner.StartRequest) (runner.Execution, error) {
	if l.o.Launch != nil {
		return l.o.Launch(ctx, id, req)
	}
	run := NewRun(id, req)
	if l.o.Prepare != nil {
		l.o.Prepare(run)
	}
	l.s.Runs <- run
	return run, nil
}

// nowhere is a runner.Recorder that keeps nothing.
type nowhere struct{}

func (nowhere) Begin(context.Context, runner.Started) error { return nil }
func (nowhere) Finish(_ context.Context, e runner.Ended) (runner.Kept, error) {
	return runner.Kept{Artifacts: "runs/" + e.RunID}, nil
}

// Answer is a response with its body, decompressed.
type Answer struct {
	*http.Response
	Body []byte
}

// Code returns the error code; "" of a success.
func (a Answer) Code() string {
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(a.Body, &e) // no envelope, no code
	return e.Error.Code
}

// JSON returns the body as a tree.
func (a Answer) JSON(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

// Do sends a request and records the answer. Headers are "Name: value"; a body gets
// Content-Type: application/json unless a header has another.
func (s *Service) Do(t testing.TB, method, path, body string, headers ...string) Answer {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	return s.Send(t, req)
}

// Send sends a request and records the answer.
func (s *Service) Send(t testing.TB, req *http.Request) Answer {
	t.Helper()
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	if resp.Header.Get("Content-Encoding") == "gzip" && len(body) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	s.Record(t, req.Method, req.URL.EscapedPath(), resp, body)
	return Answer{resp, body}
}

// Record holds an answer against the OpenAPI document.
func (s *Service) Record(t testing.TB, method, path string, resp *http.Response, body []byte) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.Check(t, method, path, resp, body)
}

// Backtest is a valid body for a start.
const Backtest = `{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h"}`

// Begin starts a run and returns it.
func (s *Service) Begin(t testing.TB) *Run {
	t.Helper()
	if a := s.Do(t, http.MethodPost, "/api/v1/run/backtest", Backtest); a.StatusCode != http.StatusOK {
		t.Fatalf("start: %d %s", a.StatusCode, a.Body)
	}
	return <-s.Runs
}

// Await waits until the status is reached.
func (s *Service) Await(t testing.TB, status string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s.Runner.Status().Status == status {
			return
		}
	}
	t.Fatalf("the status never became %s", status)
}

// Run is a scripted execution: it runs until End, Crash or a stop.
type Run struct {
	ID      string
	Request runner.StartRequest
	// Canned is what Results shows; it must not be changed once the run has begun.
	Canned *artifact.Results
	// Hang makes the run ignore a stop.
	Hang bool

	end  chan runner.Outcome
	once sync.Once
}

// NewRun returns what a launch returns.
func NewRun(id string, req runner.StartRequest) *Run {
	return &Run{ID: id, Request: req, Canned: SampleResults(3000), end: make(chan runner.Outcome, 1)}
}

// End lets the data of the run end.
func (r *Run) End() { r.finish(runner.Outcome{}) }

// Crash lets the run fail.
func (r *Run) Crash(f artifact.Failure) { r.finish(runner.Outcome{Failure: &f}) }

func (r *Run) finish(o runner.Outcome) { r.once.Do(func() { r.end <- o }) }

// Run implements runner.Execution.
func (r *Run) Run(ctx context.Context) runner.Outcome {
	done := ctx.Done()
	if r.Hang {
		done = nil
	}
	select {
	case o := <-r.end:
		return o
	case <-done:
		return runner.Outcome{Stopped: true, Message: "The run was stopped"}
	}
}

// Progress implements runner.Execution.
func (r *Run) Progress() runner.Progress {
	return runner.Progress{
		Phase: "trading", CandlesDone: 640, CandlesTotal: 1000, SimulatedTime: epoch.Add(640 * time.Hour),
		Cash: 1834.2, Equity: 14617.56, InitialCash: 10000, TradeCount: 1, Orders: 2, Fills: 2,
		CandlesPerSecond: 911610.4, ETASeconds: 1.0444, UpdatedAt: time.Now(),
	}
}

// Results implements runner.Execution.
func (r *Run) Results() *artifact.Results { return r.Canned }

// Manifest implements runner.Described.
func (r *Run) Manifest() artifact.Manifest {
	return artifact.Manifest{
		Request: artifact.Request{
			StrategyParams: []byte(`{"fast":10,"slow":30}`), InitialCash: []byte("10000"), Exchange: "sample",
			Execution: []byte(
				`{"profile":"bar-v1","fee_maker":0.001,"fee_taker":0.001,"slippage_bps":5,` +
					`"protect_from":"entry_candle","intrabar":"stop_first",` +
					`"resting_gap":"limit","limit_touch":"touch","quantity_step":0.00000001,` +
					`"allow_short":false,"close_at_end":false}`),
		},
		Strategy: artifact.Strategy{Version: "1.0.0"}, Plugin: artifact.Plugin{SHA256: "ab"},
		Engine: artifact.Engine{Version: "1.0.0"},
	}
}

// WriteDecisions implements runner.Described.
func (r *Run) WriteDecisions(io.Writer) error { return nil }

const epoch = market.Time(1704067200000)

// SampleResults returns a result with one entry of each kind and so many equity points.
func SampleResults(points int) *artifact.Results {
	d := decimal.MustParse
	r := &artifact.Results{
		InitialCash: "10000", FinalValue: "14617.560000", RequestHash: "aa", ResultHash: "bb", DataHash: "cc",
		Window: artifact.Window{Start: epoch, End: epoch.Add(1000 * time.Hour), Candles: 1000},
	}
	r.Orders = []market.Order{{ID: 1, Symbol: "BTC/USDT", Quantity: d("0.15"), FilledQuantity: d("0.15"),
		AveragePrice: d("61975"),
		Fee:          d("9.29625"), Status: market.StatusFilled, CreatedAt: epoch, UpdatedAt: epoch,
		FilledAt: epoch, Tag: "a<b"},
		{ID: 2, Symbol: "BTC/USDT", Side: market.Sell, Type: market.StopLimit, LimitPrice: d("1"),
			StopPrice: d("2"), ParentID: 1,
			Status: market.StatusRejected, Reason: "invalid_price", CreatedAt: epoch, UpdatedAt: epoch}}
	r.Fills = []market.Fill{{ID: 1, OrderID: 1, Symbol: "BTC/USDT", Quantity: d("0.15"), Price: d("61975"),
		ReferencePrice: d("61944.03"),
		Slippage:       d("4.6455"), Fee: d("9.29625"), Time: epoch, PositionAfter: d("0.15")}}
	r.Trades = []market.Trade{{ID: 1, Symbol: "BTC/USDT", Quantity: d("0.15"), EntryTime: epoch,
		EntryPrice: d("61975"),
		ExitTime:   epoch.Add(14 * time.Hour), ExitPrice: d("62890"), GrossPnL: d("137.25"),
		Fees: d("18.72975"), Slippage: d("4.6455"),
		PnL: d("118.52025"), Return: 0.01274925, ExitReason: "take_profit", CandlesHeld: 14, MAE: d("-41.2"),
		MFE: d("137.25"), OrderIDs: []market.OrderID{1}}}
	r.Positions = []market.Position{{Symbol: "BTC/USDT", Quantity: d("0.15"), AverageEntryPrice: d("61975"),
		MarkPrice:   d("62140"),
		MarketValue: d("9321"), UnrealizedPnL: d("24.75"), StopLoss: d("60735.5"), OpenedAt: epoch,
		UpdatedAt: epoch}}
	e := &r.Equity
	for i := range points {
		e.Time = append(e.Time, epoch.Add(time.Duration(i)*time.Hour))
		e.Equity, e.Cash = append(e.Equity, 10000+float64(i%97)/3), append(e.Cash, 5296.56)
		e.PositionValue, e.Drawdown, e.Exposure = append(e.PositionValue, 9321), append(e.Drawdown, 0.0123),
			append(e.Exposure, 1e-7)
	}
	return r
}

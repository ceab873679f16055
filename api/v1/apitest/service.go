package apitest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/monitor"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/runner"
	live "github.com/assay-run/assay/host/trade"
)

// Options change what a Service is made of.
type Options struct {
	// Launch replaces the scripted launch.
	Launch func(context.Context, string, runner.StartRequest) (runner.Execution, error)
	// Trading launches paper and live runs; nil: they are not supported.
	Trading v1.Launcher
	// Governance is what health says of the deployment policy; it may be nil.
	Governance func(ungated string) (status, message string)
	// Prepare is called with each scripted run before it begins.
	Prepare func(*Run)
	// Routes are added to the operations.
	Routes []edge.Route
	// Extend adds routes that need the run machine; it may be nil.
	Extend       func(*runner.Runner) []edge.Route
	Deprecations *view.Deprecations
	Strategies   []catalog.Strategy
	Exchanges    []candle.Exchange
	Log          io.Writer
}

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
		o.Deprecations = &view.Deprecations{}
	}
	ops, err := v1.New(v1.Options{
		Runner: s.Runner, Backtests: launcher{s, o}, Trading: o.Trading,
		Strategies: func() []catalog.Strategy { return o.Strategies },
		Exchanges: func(context.Context) ([]live.Entry, error) {
			var all []live.Entry
			for _, e := range o.Exchanges {
				all = append(all, live.Stored(nil, e))
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

// Code is the error code; "" of a success.
func (a Answer) Code() string {
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(a.Body, &e) // no envelope, no code
	return e.Error.Code
}

// JSON is the body as a tree.
func (a Answer) JSON(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	return v
}

// Do sends a request and records the answer. Headers are "Name: value"; a body gets
// Content-Type: application/json unless a header says otherwise.
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

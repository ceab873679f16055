// Package v1 is version 1 of the API: its operations, and the OpenAPI document that
// describes them.
//
// A request has passed the edge (package api) when it arrives here. The operation
// reads the body strictly (package digest), checks it against the document (schema),
// looks at the idempotency key and then asks the host: host/runner owns the state
// machine and serialises starts, stops and resets; host/run looks everything
// up and launches; host/catalog and host/candle supply the lists. Answers are built
// by package view.
//
// errors.go alone knows which error of the host becomes which code. Other
// packages of the host never see a status code.
package v1

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/upload"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Base is the path below which the operations are.
const Base = problem.Base

// Launcher looks everything up that a request names and launches it.
type Launcher interface {
	Launch(ctx context.Context, runID string, req runner.StartRequest) (runner.Execution, error)
}

// Lab answers what the lab makes of runs that were made. Its errors are those of a library.
type Lab interface {
	// Sheet is the tear sheet of a run, one HTML file.
	Sheet(ctx context.Context, runID string) ([]byte, error)
	// Compare puts runs side by side, as compare/v1.
	Compare(ctx context.Context, runIDs []string) (json.RawMessage, error)
	// Result is what a search has come to, by its family_result.json. Damage says what is wrong with a file
	// that is not what was written; then, and before the end, nothing is found.
	Result(ctx context.Context, slug, planID string) (found library.Found, damage string, err error)
	// Progress is how far a search is, nil before it has begun.
	Progress(ctx context.Context, slug, planID string) (*library.Progress, error)
	// Falsify begins a job that attacks a run, FalsifyBacktest one that makes that run first, Search one
	// that plays the trials of a search which it registers. Their errors are also those of jobs, and
	// *run.RequestError.
	Falsify(ctx context.Context, runID string, full bool) (job.Job, error)
	FalsifyBacktest(ctx context.Context, b runner.StartRequest, full bool) (job.Job, error)
	Search(ctx context.Context, s SearchRequest) (Search, error)
	// Import begins a job that reads uploaded files, Fetch one that asks an exchange for candles.
	Import(ctx context.Context, r ImportRequest) (job.Job, error)
	Fetch(ctx context.Context, r FetchRequest) (job.Job, error)
	// Candidates are the bundles that were packed, the newest request first; Candidate is one of them.
	Candidates(ctx context.Context) ([]Candidate, error)
	Candidate(ctx context.Context, revision string) (*CandidateDetail, error)
}

// Options are what the operations need of the host.
type Options struct {
	Runner *runner.Runner
	// Backtests launches backtests, Trading paper and live runs; without Trading those are not supported.
	Backtests, Trading Launcher
	Strategies         func() []catalog.Strategy
	Exchanges          func(context.Context) ([]trade.Entry, error)
	Health             func() view.Health
	Deprecations       view.Deprecations
	// Library reads the runs that were made.
	Library *library.Library
	// Data has the stored candles and what is held out of them.
	Data holdout.Ledger
	// Lab is what the lab makes of them, Jobs what it makes beside the service, Uploads what it may read.
	Lab     Lab
	Jobs    *job.Manager
	Uploads *upload.Store
	// Governance reads the control plane; nil where none is configured.
	Governance *client.Reader
	Logger     hclog.Logger
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
	// documents are the routes of the descriptions.
	documents []edge.Route
}

// maxPolls wait for news at a time; more get their answer at once.
const maxPolls = 32

// New makes the operations.
func New(opts Options) (*API, error) {
	s, err := compileRequests()
	if err != nil {
		return nil, err
	}
	documents, err := documentRoutes()
	if err != nil {
		return nil, err
	}
	return &API{opts: opts, schemas: s, keys: newKeyring(), polls: make(chan struct{}, maxPolls),
		documents: documents}, nil
}

// Routes are the operations with their paths.
func (a *API) Routes() []edge.Route {
	get := func(path string, f func(*http.Request) (*edge.Answer, error)) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: Base + path, Handler: a.handler(f)}
	}
	candles := stored{a.opts.Data, a.opts.Library}
	return append(slices.Concat(a.documents, a.archiveRoutes(), jobAPI{a}.routes(), governance{a}.routes()),
		get("/datasets", candles.listDatasets),
		get("/datasets/{dataset_id}", candles.getDataset),
		get("/datasets/{dataset_id}/gaps", candles.datasetGaps),
		get("/health", a.health),
		get("/status", a.status),
		get("/status/detailed", a.detailed),
		get("/results", a.results),
		get("/strategies", a.strategies),
		get("/exchanges", a.exchanges),
		get("/meta", a.meta),
		edge.Route{Method: http.MethodPost, Path: Base + "/run/backtest",
			Handler: op(a, a.schemas.backtest, a.startBacktest)},
		edge.Route{Method: http.MethodPost, Path: Base + "/run/live",
			Handler: op(a, a.schemas.live, a.startLive)},
		edge.Route{Method: http.MethodPost, Path: Base + "/run/stop", Handler: a.bodiless(a.stop)},
		edge.Route{Method: http.MethodPost, Path: Base + "/run/controls",
			Handler: op(a, a.schemas.control, a.control)},
		edge.Route{Method: http.MethodDelete, Path: Base + "/run/reset", Handler: a.bodiless(a.reset)},
	)
}

//go:embed openapi.json
var openAPI []byte

//go:embed deprecations.json
var deprecations []byte

// OpenAPI returns the document that describes this API.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

// Deprecations returns the registry of what is going away.
func Deprecations() (view.Deprecations, error) { return view.ParseDeprecations(deprecations) }

// documentRoutes are the descriptions of the API and of its stream.
func documentRoutes() ([]edge.Route, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	async, err := stream.AsyncAPI()
	if err != nil {
		return nil, err
	}
	api, events := edge.NewAsset(openAPI, header), edge.NewAsset(async, header)
	return []edge.Route{
		{Method: http.MethodGet, Path: "/openapi.json", Handler: api},
		{Method: http.MethodGet, Path: Base + "/openapi.json", Handler: api},
		{Method: http.MethodGet, Path: Base + "/asyncapi.json", Handler: events},
	}, nil
}

// requestSchemas are the schemas that bodies are checked against.
type requestSchemas struct {
	backtest, live, control, reveal, note, falsify, search, imports, fetch,
	empty *schema.Schema
}

func compileRequests() (requestSchemas, error) {
	var s requestSchemas
	doc, err := schema.Parse(openAPI)
	if err != nil {
		return s, err
	}
	for name, into := range map[string]**schema.Schema{"BacktestRequest": &s.backtest, "LiveRequest": &s.live,
		"ControlRequest": &s.control, "RevealRequest": &s.reveal, "NoteRequest": &s.note,
		"FalsificationRequest": &s.falsify, "SearchRequest": &s.search,
		"ImportRequest": &s.imports, "FetchRequest": &s.fetch, "Empty": &s.empty} {
		if *into, err = doc.Compile("/components/schemas/" + name); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (a *API) health(*http.Request) (*edge.Answer, error) {
	return &edge.Answer{Body: a.opts.Health()}, nil
}

// phasePoll is how often a waiting request looks for a change of phase, which is
// not announced like a change of status.
const phasePoll = 100 * time.Millisecond

func (a *API) status(r *http.Request) (*edge.Answer, error) {
	prefer := ParsePrefer(r.Header)
	s := a.opts.Runner.Status()
	header := http.Header{}
	if prefer.Wait > 0 && r.Header.Get("If-None-Match") != "" {
		var waited bool
		if s, waited = a.awaitNews(r, s, prefer.Wait); waited {
			header.Set("Preference-Applied", prefer.AppliedWait())
		}
	}
	return &edge.Answer{Body: view.StatusOf(s), WeakTag: a.tag(s), Header: header}, nil
}

// tag names what a long poll waits to change.
func (a *API) tag(s runner.Snapshot) string {
	return hashTag(a.opts.ServerID, s.RunID, s.Status, s.Phase)
}

func hashTag(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:12])
}

// awaitNews waits until the client's tag is out of date, at most for the time given.
// It reports whether there was a place to wait in.
func (a *API) awaitNews(r *http.Request, s runner.Snapshot,
	limit time.Duration) (_ runner.Snapshot, waited bool) {
	select {
	case a.polls <- struct{}{}:
		defer func() { <-a.polls }()
	default:
		return s, false
	}
	changes, cancel := a.opts.Runner.Subscribe()
	defer cancel()
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(phasePoll)
	defer look.Stop()
	for {
		if s = a.opts.Runner.Status(); !edge.MatchesTag(r.Header, a.tag(s)) {
			return s, true
		}
		select {
		case <-changes:
		case <-look.C:
		case <-end.C:
			return a.opts.Runner.Status(), true
		case <-r.Context().Done():
			return a.opts.Runner.Status(), true
		}
	}
}

func (a *API) detailed(r *http.Request) (*edge.Answer, error) {
	prefer := ParsePrefer(r.Header)
	rows, points := view.DetailRows, view.DetailPoints
	if prefer.Rows >= 0 {
		rows = prefer.Rows
	}
	if prefer.Points >= 0 {
		points = prefer.Points
	}
	return &edge.Answer{
		Body:   view.DetailedOf(a.opts.Runner.Detail(), a.opts.Health(), rows, points),
		Header: applied(prefer),
	}, nil
}

func applied(p Prefer) http.Header {
	h := http.Header{}
	if s := p.AppliedSampling(); s != "" {
		h.Set("Preference-Applied", s)
	}
	return h
}

func (a *API) results(r *http.Request) (*edge.Answer, error) {
	rep, err := a.opts.Runner.Results()
	if err != nil {
		return nil, err
	}
	prefer := ParsePrefer(r.Header)
	s := rep.Snapshot
	return &edge.Answer{
		Stream: view.ResultsOf(rep, prefer.Rows, prefer.Points).Write,
		Tag: hashTag(s.RunID, s.Status, strconv.FormatInt(s.EndTime.UnixNano(), 10),
			strconv.Itoa(prefer.Rows), strconv.Itoa(prefer.Points)),
		Header: applied(prefer),
	}, nil
}

func (a *API) strategies(*http.Request) (*edge.Answer, error) {
	return &edge.Answer{Body: append([]view.Strategy{}, a.opts.Strategies()...), HashTag: true}, nil
}

func (a *API) exchanges(r *http.Request) (*edge.Answer, error) {
	all, err := a.opts.Exchanges(r.Context())
	if err != nil {
		return nil, err
	}
	datasets, err := a.opts.Data.Datasets(r.Context())
	if err != nil {
		return nil, err
	}
	out := make([]view.Exchange, len(all))
	for i, e := range all {
		out[i] = view.NewExchange(e, a.opts.Version, func(s market.Symbol, timeframe string) market.Time {
			for _, d := range datasets {
				if d.Current && d.Exchange == e.ID && d.Symbol == s && d.Timeframe.String() == timeframe {
					return d.HeldOut()
				}
			}
			return 0
		})
	}
	return &edge.Answer{Body: out, HashTag: true}, nil
}

func (a *API) meta(*http.Request) (*edge.Answer, error) {
	return &edge.Answer{Body: view.Meta{
		Service: "assay", APIVersion: "v1", ServiceVersion: a.opts.Version, Commit: a.opts.Commit,
		ServerID: a.opts.ServerID, StartedAt: market.FromTime(a.opts.StartedAt), BasePath: Base,
		Versions: []view.Version{{Version: "v1", Status: "current", BasePath: Base}},
		DeprecationPolicy: view.DeprecationPolicy{
			MinimumNoticeDays: 90, Headers: []string{"Deprecation", "Sunset", "Link"},
			Documentation: "/docs/deprecations",
		},
		Deprecations: append(view.Deprecations{}, a.opts.Deprecations...),
		Capabilities: view.Capabilities{
			WebSocket: true, WSSubprotocols: []string{"assay.v1.rich"},
			Prefer: []string{"wait", "points", "rows"}, IdempotencyKey: true,
		},
		Limits: view.Limits{BodyBytes: maxBody, UploadBytes: a.opts.Uploads.Limits().Each,
			JSONDepth: digest.MaxDepth, WSClients: 64, ConcurrentRuns: 1},
		Links: view.Links{Docs: "/docs", OpenAPI: "/openapi.json", UI: "/ui", Metrics: "/metrics"},
	}}, nil
}

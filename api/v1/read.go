package v1

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/api/v1/strictjson"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func (a *API) health(*http.Request) (*edge.Answer, error) {
	return &edge.Answer{Body: a.opts.Health()}, nil
}

// phasePoll is how often a waiting request looks for a change of phase, which is
// not announced like a change of status.
const phasePoll = 100 * time.Millisecond

func (a *API) status(r *http.Request) (*edge.Answer, error) {
	prefer := ParsePrefer(r.Header)
	s := a.opts.State.Status()
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
// It says whether there was a place to wait in.
func (a *API) awaitNews(r *http.Request, s runner.Snapshot, limit time.Duration) (_ runner.Snapshot, waited bool) {
	select {
	case a.polls <- struct{}{}:
		defer func() { <-a.polls }()
	default:
		return s, false
	}
	changes, cancel := a.opts.State.Subscribe()
	defer cancel()
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(phasePoll)
	defer look.Stop()
	for {
		if s = a.opts.State.Status(); !edge.MatchesTag(r.Header, a.tag(s)) {
			return s, true
		}
		select {
		case <-changes:
		case <-look.C:
		case <-end.C:
			return a.opts.State.Status(), true
		case <-r.Context().Done():
			return a.opts.State.Status(), true
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
		Body:   view.DetailedOf(a.opts.State.Detail(), a.opts.Health(), rows, points),
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
	rep, err := a.opts.State.Results()
	if err != nil {
		return nil, err
	}
	prefer := ParsePrefer(r.Header)
	s := rep.Snapshot
	document := view.NewResultsDocument(rep, prefer.Rows, prefer.Points)
	return &edge.Answer{
		Stream: document.Write,
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
	out := make([]view.Exchange, len(all))
	for i, e := range all {
		out[i] = view.NewExchange(e, a.opts.Version)
	}
	return &edge.Answer{Body: out, HashTag: true}, nil
}

func (a *API) meta(*http.Request) (*edge.Answer, error) {
	return &edge.Answer{Body: view.Meta{
		Service: "assay", APIVersion: "v1", ServiceVersion: a.opts.Version, Commit: a.opts.Commit,
		ServerID: a.opts.ServerID, StartedAt: market.FromTime(a.opts.StartedAt), BasePath: Base,
		Versions: []view.Version{{Version: "v1", Status: "current", BasePath: Base}},
		DeprecationPolicy: view.DeprecationPolicy{
			MinimumNoticeDays: 90, Headers: []string{"Deprecation", "Sunset", "Link"}, Documentation: "/docs/deprecations",
		},
		Deprecations: a.opts.Deprecations.Entries(),
		Capabilities: view.Capabilities{
			WebSocket: true, WSSubprotocols: []string{"assay.v1.rich"}, Prefer: []string{"wait", "points", "rows"}, IdempotencyKey: true,
		},
		Limits: view.Limits{BodyBytes: maxBody, JSONDepth: strictjson.MaxDepth, WSClients: 64, ConcurrentRuns: 1},
		Links:  view.Links{Docs: "/docs", OpenAPI: "/openapi.json", UI: "/ui", Metrics: "/metrics"},
	}}, nil
}

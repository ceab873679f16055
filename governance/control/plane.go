// Package control is the control plane's HTTP server: the edge, the ingest of candidate
// bundles, and reads of what the log comes to.
//
// A request passes the edge (edge.go: host, path, method, origin), then its handler. An
// ingest is judged outside of the log as far as it can be, and written by one store.Update;
// its answer leaves when that is on disk. Reads are bodies of package promotion, worked out
// from the log and the time. The commands of the binary are in command below.
package control

import (
	"context"
	_ "embed"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/exposition"
	"github.com/assay-run/assay/host/base/failpoint"
)

// Options are what a plane is made of.
type Options struct {
	Store *store.Store
	// Artifacts is what holds runs/, nil to leave artifacts unread.
	Artifacts *bucket.Root
	// Hosts are the names that a Host header may carry besides loopback.
	Hosts  []string
	Now    func() time.Time
	Logger hclog.Logger
	// Witnesses are asked to cosign each checkpoint; nil for none.
	Witnesses *witness.Witnesses
	// At is called where an ingest has come to; tests end the process there. It may be nil.
	At failpoint.Hook
}

// Plane is the control plane around an open log.
type Plane struct {
	opts  Options
	store *store.Store

	issuing    sync.Mutex // before the store's locks, and before mu
	mu         sync.Mutex
	registries map[string]*issued // by family

	grown   chan struct{} // the log has grown
	bodies  bodies
	ingests [ingestOutcomes]atomic.Int64
}

// New makes a plane. The store stays its caller's to close.
func New(opts Options) *Plane {
	return &Plane{opts: opts, store: opts.Store, registries: map[string]*issued{},
		grown: make(chan struct{}, 1)}
}

// Handler is the plane's edge with everything behind it.
func (p *Plane) Handler() http.Handler { return newEdge(p, edge.NewHosts(p.opts.Hosts...)) }

// shutdownTime is how long answers that are under way may take at the end.
const shutdownTime = 5 * time.Second

// Serve answers requests until ctx ends.
func (p *Plane) Serve(ctx context.Context, ln net.Listener) error {
	server := edge.NewServer(p.Handler(), p.opts.Logger.Named("http"))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	if p.opts.Witnesses != nil {
		asking, stop := context.WithCancel(ctx)
		var asked sync.WaitGroup
		asked.Go(func() { p.followGrowth(asking) })
		defer asked.Wait()
		defer stop()
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	_ = server.Shutdown(end) // what is not finished by now is cut off
	return <-ended
}

// The outcomes of an ingest: something new was taken, or nothing of it was new, or it was
// refused, or the plane could not do it.
const (
	ingestAccepted = iota
	ingestDuplicate
	ingestRefused
	ingestFailed
	ingestOutcomes
)

func outcomes() [ingestOutcomes]string {
	return [ingestOutcomes]string{"accepted", "duplicate", "refused", "failed"}
}

// newRequests counts the requests of these routes.
func newRequests(routes []edge.Route) *exposition.Requests {
	codes := []int{http.StatusOK, http.StatusCreated, http.StatusNotModified, http.StatusBadRequest}
	codes = append(codes, slices.Collect(maps.Values(statuses))...)
	var paths []string
	for _, r := range routes {
		paths = append(paths, r.Path)
	}
	return exposition.NewRequests("governance", paths, codes)
}

// getMetrics is the page for Prometheus. It is read anew each time.
func (p *Plane) getMetrics(requests *exposition.Requests) (*edge.Answer, error) {
	places, err := look(p, func(w *promotion.World, _ ledger.View) map[promotion.Place]int {
		return w.Places()
	})
	if err != nil {
		return nil, err
	}
	t := &exposition.Text{}
	t.Family("governance_ingests_total", "counter", "Posted bundles by what came of them.")
	for i, outcome := range outcomes() {
		t.Sample("governance_ingests_total", float64(p.ingests[i].Load()), "outcome", outcome)
	}
	t.Single("governance_log_entries", "gauge", "Entries of the log.", float64(p.store.Size()))
	t.Family("governance_revisions", "gauge", "Candidate revisions by stage and status.")
	byText := func(a, b promotion.Place) int { return strings.Compare(a.String(), b.String()) }
	for _, at := range slices.SortedFunc(maps.Keys(places), byText) {
		t.Sample("governance_revisions", float64(places[at]),
			"stage", string(at.Stage), "status", string(at.Status))
	}
	requests.Write(t)
	return &edge.Answer{Raw: t.Bytes(), ContentType: "text/plain; version=0.0.4; charset=utf-8"}, nil
}

//go:embed openapi.json
var spec []byte

// getSpec is the OpenAPI document of the routes.
func (p *Plane) getSpec(*request) (*edge.Answer, error) { return tagged(spec, ""), nil }

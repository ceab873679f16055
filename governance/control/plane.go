package control

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/failpoint"
)

// Options are what a plane is made of.
type Options struct {
	Store *store.Store
	// ArtifactRoot is the folder that holds runs/, "" to leave artifacts unread.
	ArtifactRoot string
	// Hosts are the names that a Host header may carry besides loopback.
	Hosts  []string
	Now    func() time.Time
	Logger hclog.Logger
	// At is told where an ingest has come to; tests end the process there. It may be nil.
	At failpoint.Hook
}

// Plane is the control plane around an open log.
type Plane struct {
	opts  Options
	store *store.Store

	mu         sync.Mutex
	registries map[string]issued // by family

	bodies  bodies
	ingests [ingestOutcomes]atomic.Int64
}

// New makes a plane. The store stays its caller's to close.
func New(opts Options) *Plane {
	return &Plane{opts: opts, store: opts.Store, registries: map[string]issued{}}
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

// Package stream is the status stream, GET /api/v1/ws/status.
//
// A client without the subprotocol assay.v1.rich gets one kind of message, the
// status, on connect, on every change and every 15 seconds. A rich client gets
// numbered frames: a hello and a snapshot of everything, then what changes, and
// answers to its requests for series and rows.
//
// The Hub follows the runner. Changes of status go out at once, each of them. All
// the rest is looked at four times a second while a client listens, coalesced once
// for everybody by the collector, bounded to ten frames a second and marshalled
// once. Every client has an outbox of its own and a goroutine that empties it:
// publishing never waits for a client, and one that cannot keep up is closed.
//
// A run's numbers come from runner.Watched, which shares what a run only appends
// to.
package stream

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
)

// Path is where the stream is served.
const Path = "/api/v1/ws/status"

// Subprotocol makes a client a rich one.
const Subprotocol = "assay.v1.rich"

// MaxClients are connected at a time; more are refused.
const MaxClients = 64

// The limits of one client.
const (
	outboxFrames = 256
	maxMessage   = 4 << 10
	maxMessages  = 10 // a second
)

// Options are what a Hub shows.
type Options struct {
	Runner *runner.Runner
	Health func() view.Health
	// ServerID, Version, Risk and OnStop are in the hello; Risk may be nil.
	ServerID, Version string
	Risk              any
	// OnStop is what becomes of live orders and positions at a stop: leave if empty.
	OnStop string
	// MaxClients is MaxClients if zero.
	MaxClients int
	Logger     hclog.Logger
}

// pace is every duration that a client can observe.
type pace struct {
	tick      time.Duration // between looks at the run
	repeat    time.Duration // of the status to plain, of the heartbeat to rich clients
	ping      time.Duration
	pong      time.Duration // longest time without a pong
	write     time.Duration // longest time for one frame
	closeWait time.Duration // for the client's half of the closing handshake
}

func defaultPace() pace {
	return pace{
		tick: 250 * time.Millisecond, repeat: 15 * time.Second, ping: 20 * time.Second,
		pong:  45 * time.Second,
		write: 5 * time.Second, closeWait: 2 * time.Second,
	}
}

// Hub knows all clients and what they have been sent. Run drives it.
type Hub struct {
	opts    Options
	pace    pace
	collect *collector
	// requested wakes the goroutine that makes snapshots.
	requested chan struct{}
	// heavy is held by the one request that reads much.
	heavy chan struct{}
	ready chan struct{} // closed once the state of the run is known
	stop  chan struct{} // closed by Shutdown
	done  chan struct{} // closed at the end of Run
	wg    sync.WaitGroup

	mu       sync.Mutex
	clients  map[*client]struct{} // who gets frames
	open     map[*client]struct{} // whose connection is open, those on their way out included
	taken    int                  // slots, those of unfinished handshakes included
	dropped  int64
	seq      uint64 // of the newest broadcast
	now      runner.Snapshot
	advanced chan struct{} // closed and replaced when now changes
	started  bool
	closing  bool
}

// New makes a Hub. It serves no client before Run.
func New(opts Options) *Hub {
	if opts.MaxClients == 0 {
		opts.MaxClients = MaxClients
	}
	if opts.OnStop == "" {
		opts.OnStop = "leave"
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	h := &Hub{
		opts: opts, pace: defaultPace(), requested: make(chan struct{}, 1), heavy: make(chan struct{}, 1),
		ready: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
		clients: map[*client]struct{}{}, open: map[*client]struct{}{}, advanced: make(chan struct{}),
	}
	h.collect = newCollector(h)
	return h
}

// Counters are the clients that are connected and those that were dropped because
// they could not keep up.
func (h *Hub) Counters() (clients int, dropped int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients), h.dropped
}

// Run follows the runner until Shutdown or the end of ctx. Then it takes leave of
// the clients and waits until their connections are closed. It runs once.
func (h *Hub) Run(ctx context.Context) error {
	h.mu.Lock()
	again := h.started
	h.started = true
	h.mu.Unlock()
	if again {
		return errors.New("stream: Run was called twice")
	}
	defer close(h.done)
	changes, unsubscribe := h.opts.Runner.Subscribe()
	defer unsubscribe()
	h.mu.Lock()
	h.now = h.opts.Runner.Status()
	h.mu.Unlock()
	close(h.ready)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { h.follow(ctx) })
	wg.Go(func() { h.makeSnapshots(ctx) })
	h.announce(ctx, changes)
	h.sayGoodbye()
	cancel()
	wg.Wait()
	h.wg.Wait()
	return nil
}

// announce passes every change of status on, and repeats the status to plain clients.
func (h *Hub) announce(ctx context.Context, changes <-chan runner.Change) {
	repeat := time.NewTicker(h.pace.repeat)
	defer repeat.Stop()
	for {
		select {
		case c := <-changes:
			h.announceChange(c)
		case <-repeat.C:
			h.repeat()
		case <-ctx.Done():
			return
		case <-h.stop:
			// How the run ended by the shutdown is the last that clients get.
			for h.behind() {
				h.announceChange(<-changes)
			}
			return
		}
	}
}

// behind reports whether a change has happened that has not been announced yet.
func (h *Hub) behind() bool {
	happened := h.opts.Runner.Status().Seq
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now.Seq < happened
}

// follow lets the collector look at the run at its pace. The next look begins a
// whole tick after the end of the one before, which keeps the rates.
func (h *Hub) follow(ctx context.Context) {
	timer := time.NewTimer(h.pace.tick)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if h.followers() > 0 {
			h.collect.tick()
		}
		timer.Reset(h.pace.tick)
	}
}

// followers counts the clients that get broadcasts beside the status.
func (h *Hub) followers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for c := range h.clients {
		if c.attached {
			n++
		}
	}
	return n
}

// Shutdown announces to the clients that the service ends, closes their connections and
// waits for Run to return. When ctx ends first the connections are cut.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.beginClosing()
	started := h.started
	h.mu.Unlock()
	if !started {
		return nil
	}
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	var left []*client
	for c := range h.open {
		left = append(left, c)
	}
	h.mu.Unlock()
	for _, c := range left {
		_ = c.conn.Close() // the client had its time
	}
	return context.Cause(ctx)
}

// beginClosing admits no client any more. It needs the lock.
func (h *Hub) beginClosing() {
	if !h.closing {
		h.closing = true
		close(h.stop)
	}
}

// reconnectAfter is how long clients are to wait before they come back.
const reconnectAfter = time.Second

func (h *Hub) sayGoodbye() {
	h.broadcast("server_shutdown", serverShutdown{reconnectAfter.Milliseconds()}, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beginClosing()
	for c := range h.clients {
		h.leave(c, closeGoingAway, "the service is shutting down")
	}
}

// Handler upgrades requests and serves their connections. It returns as soon as the
// connection is upgraded.
func (h *Hub) Handler() http.Handler { return http.HandlerFunc(h.serve) }

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	err := check(r)
	if err == nil {
		err = h.reserve(r)
	}
	if err != nil {
		edge.SendProblem(w, r, err)
		return
	}
	var refused error
	upgrader := websocket.Upgrader{
		Subprotocols: []string{Subprotocol},
		CheckOrigin:  func(*http.Request) bool { return true }, // check has looked at it
		Error:        func(_ http.ResponseWriter, _ *http.Request, _ int, reason error) { refused = reason },
	}
	rich := slices.Contains(websocket.Subprotocols(r), Subprotocol)
	conn, err := upgrader.Upgrade(&hijacker{w, rich}, r, w.Header().Clone())
	if err != nil {
		h.release()
		if refused != nil {
			edge.SendProblem(w, r, badHandshake().WithCause(err))
		}
		return
	}
	h.admit(conn, edge.From(r.Context()).Linger)
}

// check holds the request against the rules of a WebSocket handshake.
func check(r *http.Request) error {
	if !sameOrigin(r) {
		return problem.New(problem.OriginForbidden)
	}
	if !names(r.Header, "Upgrade", "websocket") || !r.ProtoAtLeast(1, 1) {
		return problem.New(problem.UpgradeRequired).WithHeader("Upgrade",
			"websocket").WithHeader("Connection", "Upgrade")
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if r.Method != http.MethodGet || !names(r.Header, "Connection", "upgrade") || err != nil ||
		len(key) != 16 ||
		r.Header.Get("Sec-WebSocket-Version") != "13" || r.ContentLength != 0 {
		return badHandshake()
	}
	return nil
}

func badHandshake() *problem.Problem {
	return problem.New(problem.BadHandshake).WithHeader("Sec-WebSocket-Version", "13")
}

// names reports whether a list header has a token.
func names(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for item := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(item), token) {
				return true
			}
		}
	}
	return false
}

// sameOrigin reports whether the request comes from a page of this service or from no
// page at all. A WebSocket is not covered by the same-origin policy of browsers, so
// the check is ours.
func sameOrigin(r *http.Request) bool {
	origins, sent := r.Header["Origin"]
	if !sent {
		return true
	}
	if len(origins) != 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	if err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Host == "" || u.User != nil ||
		u.Path != "" {
		return false
	}
	return authority(u.Host, u.Scheme) == authority(r.Host, u.Scheme)
}

// authority is host and port in one spelling.
func authority(host, scheme string) string {
	u := url.URL{Host: host}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") + ":" + port
}

// reserve takes one of the slots, once the hub knows what to show.
func (h *Hub) reserve(r *http.Request) error {
	select {
	case <-h.ready:
	case <-h.stop:
	case <-r.Context().Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing || r.Context().Err() != nil {
		return problem.New(problem.ShuttingDown).WithHeader("Retry-After", "1")
	}
	if h.taken >= h.opts.MaxClients {
		return problem.New(problem.TooManyClients).WithHeader("Retry-After", "1")
	}
	h.taken++
	return nil
}

func (h *Hub) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken--
}

// What a rich client may send, in bytes: the messages it is allowed to send with their
// framing. It bounds what no count of messages sees, such as empty fragments.
const (
	byteBurst = 64 << 10
	byteRate  = 48 << 10 // a second
)

// errFlood ends a connection on which too much arrives.
var errFlood = errors.New("the client sends too much")

// bucket lets through so many a second, and a burst at once.
type bucket struct {
	level, burst, rate float64
	last               time.Time
}

func newBucket(burst, rate float64) bucket { return bucket{level: burst, burst: burst, rate: rate} }

func (b *bucket) take(n float64, now time.Time) bool {
	if !b.last.IsZero() {
		b.level = min(b.burst, b.level+b.rate*now.Sub(b.last).Seconds())
	}
	b.last = now
	b.level -= n
	return b.level >= 0
}

// metered counts what arrives on a connection.
type metered struct {
	net.Conn
	bytes bucket
}

// Read implements net.Conn.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if !m.bytes.take(float64(n), time.Now()) {
		return 0, errFlood
	}
	return n, err
}

// hijacker hands out the connection, that of a rich client metered.
type hijacker struct {
	http.ResponseWriter
	rich bool
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil || !h.rich {
		return conn, buffers, err
	}
	return &metered{Conn: conn, bytes: newBucket(byteBurst, byteRate)}, buffers, nil
}

package stream

import (
	"bufio"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/base/edge"
)

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
		return problem.New(problem.UpgradeRequired).WithHeader("Upgrade", "websocket").WithHeader("Connection", "Upgrade")
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if r.Method != http.MethodGet || !names(r.Header, "Connection", "upgrade") || err != nil || len(key) != 16 ||
		r.Header.Get("Sec-WebSocket-Version") != "13" || r.ContentLength != 0 {
		return badHandshake()
	}
	return nil
}

func badHandshake() *problem.Problem {
	return problem.New(problem.BadHandshake).WithHeader("Sec-WebSocket-Version", "13")
}

// names says whether a list header has a token.
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

// sameOrigin says whether the request comes from a page of this service or from no
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
	if err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Host == "" || u.User != nil || u.Path != "" {
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

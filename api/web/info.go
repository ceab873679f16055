package web

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"sync"
)

// Route is one operation: a method on an exact path.
type Route struct {
	Method, Path string
	Handler      http.Handler
}

// Shared is what the requests of one server have in common.
type Shared struct {
	gzips sync.Pool
}

// NewShared makes the shared part of a server.
func NewShared() *Shared {
	return &Shared{gzips: sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		return z
	}}}
}

// Info is what the edge knows about one request.
type Info struct {
	RequestID string
	// Writer is the innermost writer: what a WebSocket upgrade needs.
	Writer http.ResponseWriter
	// Linger makes the connection take in the rest of an unread body before it
	// closes, so that the client gets to read the answer.
	Linger func()
	// BodyRead says that nothing of the body is left on the connection.
	BodyRead bool
	// Pattern is the path of the matched route, "" before it is known.
	Pattern string
	shared  *Shared
}

type infoKey struct{}

// With puts an Info into the context of a request.
func With(ctx context.Context, s *Shared, info *Info) context.Context {
	info.shared = s
	return context.WithValue(ctx, infoKey{}, info)
}

// From is the Info of a request. Outside of the edge it is a fresh one.
func From(ctx context.Context) *Info {
	if info, ok := ctx.Value(infoKey{}).(*Info); ok {
		return info
	}
	return &Info{RequestID: NewRequestID(), shared: NewShared()}
}

// requestIDPattern is what a client's own request id must look like to be echoed.
var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// RequestID is the client's request id if it has the right form, else a new one.
func RequestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); requestIDPattern.MatchString(id) {
		return id
	}
	return NewRequestID()
}

// NewRequestID makes a request id.
func NewRequestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts instead
	return hex.EncodeToString(b[:])
}

// VersionHeader is sent in this spelling, which http.Header.Set would change.
const VersionHeader = "X-Service-API-Version"

// SetHeaders sets what every response carries.
func SetHeaders(h http.Header, requestID string) {
	h[VersionHeader] = []string{"v1"}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept-Encoding, Prefer")
}

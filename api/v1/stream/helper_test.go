package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is the API with a stream over real TCP.
type service struct {
	*apitest.Service
	hub *stream.Hub

	mu     sync.Mutex
	health view.Health
}

type setup struct {
	api     apitest.Options
	max     int
	prepare func(*stream.Hub)
}

func start(t testing.TB, o setup) *service {
	t.Helper()
	if sleepy, ok := t.(*testing.T); ok {
		sleepy.Parallel()
	}
	s := &service{health: view.Health{Status: "healthy", APIVersion: "v1"}}
	s.health.Checks.Disk.Status = view.Pass
	var routed http.Handler
	o.api.Routes = append(o.api.Routes,
		edge.Route{Method: http.MethodGet, Path: "/api/v1/test/stream", Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { routed.ServeHTTP(w, r) })})
	s.Service = apitest.Start(t, o.api)
	s.hub = stream.New(stream.Options{Runner: s.Runner, Health: s.healthNow, ServerID: "01test",
		Version: "1.0.0", MaxClients: o.max})
	routed = s.hub.Handler()
	if o.prepare != nil {
		o.prepare(s.hub)
	}
	ran := make(chan error, 1)
	go func() { ran <- s.hub.Run(context.Background()) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := s.hub.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return s
}

func (s *service) healthNow() view.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health
}

// frame is a message as a client sees it.
type frame struct {
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	Timestamp market.Time     `json:"timestamp"`
	Seq       uint64          `json:"seq"`
	text      []byte
}

// into decodes the payload.
func (f frame) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(f.Payload, v); err != nil {
		t.Fatalf("%v in %s", err, f.text)
	}
}

// socket is a connected client.
type socket struct {
	t    testing.TB
	conn *websocket.Conn
}

const url = "/api/v1/test/stream"

func (s *service) dial(t testing.TB, protocols ...string) (*socket, *http.Response) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: 10 * time.Second}
	conn, resp, err := d.Dial("ws://"+s.Addr+url, nil)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &socket{t, conn}, resp
}

func (s *service) plain(t testing.TB) *socket {
	t.Helper()
	c, _ := s.dial(t)
	return c
}

// rich connects and takes hello and snapshot.
func (s *service) rich(t testing.TB) (c *socket, snapshot frame) {
	t.Helper()
	c, _ = s.dial(t, stream.Subprotocol)
	if hello := c.next(); hello.Type != "hello" {
		t.Fatalf("first frame %s", hello.text)
	}
	if snapshot = c.next(); snapshot.Type != "snapshot" {
		t.Fatalf("second frame %s", snapshot.text)
	}
	return c, snapshot
}

func (c *socket) read() (frame, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, text, err := c.conn.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	f := frame{text: text}
	return f, json.Unmarshal(text, &f)
}

// soon reads a frame that comes within the time or not at all.
func (c *socket) soon(within time.Duration) (frame, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(within))
	_, text, err := c.conn.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	f := frame{text: text}
	return f, json.Unmarshal(text, &f)
}

func (c *socket) next() frame {
	c.t.Helper()
	f, err := c.read()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return f
}

// await passes over frames until one of the type comes.
func (c *socket) await(kind string) frame {
	c.t.Helper()
	for {
		if f := c.next(); f.Type == kind {
			return f
		}
	}
}

func (c *socket) send(format string, args ...any) {
	c.t.Helper()
	if err := c.conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// closed reads on until the connection ends and returns the close code, 0 without one.
func (c *socket) closed() int {
	c.t.Helper()
	for {
		_, err := c.read()
		var end *websocket.CloseError
		switch {
		case errors.As(err, &end):
			return end.Code
		case err != nil:
			c.t.Logf("ended by %v", err)
			return 0
		}
	}
}

// statusOf is status and run_id of a status_update or snapshot.
func statusOf(t testing.TB, f frame) (status, runID string) {
	t.Helper()
	var p struct {
		Status string `json:"status"`
		RunID  string `json:"run_id"`
	}
	f.into(t, &p)
	return p.Status, p.RunID
}

// expect is a plain frame without its time.
func expect(t testing.TB, f frame, status, runID string) {
	t.Helper()
	const at = "2006-01-02T15:04:05.000Z"
	prefix := fmt.Sprintf(`{"type":"status_update","payload":{"status":%q,"run_id":%q},"timestamp":"`, status,
		runID)
	text := string(f.text)
	if !strings.HasPrefix(text, prefix) || !strings.HasSuffix(text, `"}`) ||
		len(text) != len(prefix)+len(at)+2 {
		t.Fatalf("got  %s\nwant %s…", text, prefix)
	}
	if _, err := time.Parse(at, text[len(prefix):len(text)-2]); err != nil {
		t.Fatal(err)
	}
}

// launches makes the API start a given execution.
func launches(x runner.Execution) apitest.Options {
	return apitest.Options{Launch: func(context.Context, string,
		runner.StartRequest) (runner.Execution, error) {
		return x, nil
	}}
}

func (s *service) post(t testing.TB) string {
	t.Helper()
	a := s.Do(t, http.MethodPost, "/api/v1/run/backtest", apitest.Backtest)
	if a.StatusCode != http.StatusOK {
		t.Fatalf("start: %d %s", a.StatusCode, a.Body)
	}
	return a.JSON(t)["run_id"].(string)
}

package stream_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/host/runner"
)

// One whole run, byte for byte, with and without an unknown subprotocol.
func TestPlain(t *testing.T) {
	s := start(t, setup{prepare: func(h *stream.Hub) { h.Hasten(time.Millisecond, time.Hour) }})
	unknown, resp := s.dial(t, "chat.v9")
	if resp.Header.Get("Sec-WebSocket-Protocol") != "" {
		t.Error("an unknown subprotocol was accepted")
	}
	clients := []*socket{s.plain(t), unknown}
	all := func(status, id string) {
		t.Helper()
		for _, c := range clients {
			expect(t, c.next(), status, id)
		}
	}
	all("idle", "")
	run := s.Begin(t)
	all("running", run.ID)
	late := s.plain(t)
	expect(t, late.next(), "running", run.ID)
	clients = append(clients, late)
	time.Sleep(20 * time.Millisecond) // many looks at the run, of which a plain client gets nothing
	run.End()
	all("completed", run.ID)
	s.Do(t, http.MethodDelete, "/api/v1/run/reset", "")
	all("idle", "")
	run = s.Begin(t)
	all("running", run.ID)
	s.Do(t, http.MethodPost, "/api/v1/run/stop", "")
	all("completed", run.ID)
}

func TestRepeat(t *testing.T) {
	s := start(t, setup{prepare: func(h *stream.Hub) { h.Hasten(5*time.Millisecond, 25*time.Millisecond) }})
	plain := s.plain(t)
	rich, snapshot := s.rich(t)
	for range 5 {
		expect(t, plain.next(), "idle", "")
	}
	for i := range uint64(3) {
		f := rich.next()
		if f.Type != "heartbeat" || string(f.Payload) != "{}" || f.Seq != snapshot.Seq+1+i {
			t.Errorf("got %s after seq %d", f.text, snapshot.Seq)
		}
	}
}

// What a plain client sends is ignored, within the limits.
func TestPlainIsIgnored(t *testing.T) {
	s := start(t, setup{})
	c := s.plain(t)
	expect(t, c.next(), "idle", "")
	for _, text := range []string{"", "}", `{"type":"snapshot"}`, "\xff",
		strings.Repeat("x", stream.MaxMessage)} {
		c.send("%s", text)
	}
	if err := c.conn.WriteMessage(websocket.BinaryMessage, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	run := s.Begin(t)
	expect(t, c.next(), "running", run.ID)
}

// cycles runs n runs that are over at once.
func cycles(t *testing.T, r *runner.Runner, n int) {
	t.Helper()
	ctx := context.Background()
	for range n {
		x := newScript()
		x.end <- runner.Outcome{}
		_, err := r.Start(ctx, runner.StartRequest{Mode: runner.ModeBacktest},
			func(context.Context, string) (runner.Execution, error) {
				return x, nil
			})
		if err != nil {
			t.Error(err)
			return
		}
		for r.Status().Status == runner.StatusRunning {
			time.Sleep(50 * time.Microsecond)
		}
		if _, err := r.Reset(ctx); err != nil {
			t.Error(err)
			return
		}
	}
}

var after = map[string]string{"idle": "running", "running": "completed", "completed": "idle"}

// However short a status is, it is told, in order.
func TestNothingIsMerged(t *testing.T) {
	const runs = 60
	s := start(t, setup{})
	plain := s.plain(t)
	rich, snapshot := s.rich(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cycles(t, s.Runner, runs)
	}()
	defer func() { <-done }()
	status, _ := statusOf(t, plain.next())
	seq, before := snapshot.Seq, "idle"
	for range 3 * runs {
		f := plain.next()
		now, id := statusOf(t, f)
		if now != after[status] || (id == "") != (now == "idle") {
			t.Fatalf("%s after %s", f.text, status)
		}
		status = now
		f = rich.await("status_update")
		var p struct {
			Status   string `json:"status"`
			Previous string `json:"previous_status"`
		}
		f.into(t, &p)
		if p.Previous != before || p.Status != after[before] || f.Seq <= seq {
			t.Fatalf("%s after %s", f.text, before)
		}
		seq, before = f.Seq, p.Status
	}
}

// A client that connects in the middle of changes misses none after its first
// message, and sees none twice.
func TestConnectAmidChanges(t *testing.T) {
	s := start(t, setup{max: 1000})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				cycles(t, s.Runner, 1)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	for i := range 40 {
		var c *socket
		var first frame
		if i%2 == 0 {
			c = s.plain(t)
			first = c.next()
		} else {
			c, first = s.rich(t)
		}
		status, _ := statusOf(t, first)
		for range 4 {
			f := c.next()
			if i%2 == 1 && f.Seq != first.Seq+1 {
				t.Errorf("%s after seq %d", f.text, first.Seq)
			}
			first.Seq = f.Seq
			if f.Type != "status_update" {
				continue
			}
			now, _ := statusOf(t, f)
			if now != after[status] {
				t.Errorf("client %d: %s after %s", i, f.text, status)
			}
			status = now
		}
		_ = c.conn.Close()
	}
}

package api_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
)

// streaming adds the status stream to a service.
func streaming(t *testing.T) func(*runner.Runner) []edge.Route {
	return func(r *runner.Runner) []edge.Route {
		hub := stream.New(stream.Options{Runner: r, Health: func() view.Health { return view.Health{} },
			ServerID: "01test", Version: "1.0.0"})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- hub.Run(ctx) }()
		t.Cleanup(func() {
			if err := hub.Shutdown(context.Background()); err != nil {
				t.Errorf("hub: %v", err)
			}
			cancel()
			<-done // it was told to end
		})
		return []edge.Route{{Method: "GET", Path: stream.Path, Handler: hub.Handler()}}
	}
}

// plainClient reads the one shape of message that clients without a subprotocol get.
type plainClient struct {
	conn *websocket.Conn
	last plainStatus
}

type plainStatus struct {
	Status string
	RunID  string `json:"run_id"`
}

func connect(t *testing.T, addr string) *plainClient {
	t.Helper()
	conn, resp, err := websocket.DefaultDialer.Dial("ws://"+addr+stream.Path, nil)
	if err != nil {
		t.Fatalf("stream: %v %v", err, resp)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &plainClient{conn: conn}
}

func (p *plainClient) read(t *testing.T) plainStatus {
	t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, text, err := p.conn.ReadMessage()
	if err != nil {
		t.Fatalf("stream: %v", err)
	}
	var frame struct {
		Type    string
		Payload plainStatus
	}
	if err := json.Unmarshal(text, &frame); err != nil || frame.Type != "status_update" {
		t.Fatalf("stream: %v in %s", err, text)
	}
	p.last = frame.Payload
	return p.last
}

// change skips the repetitions that come now and then.
func (p *plainClient) change(t *testing.T) plainStatus {
	t.Helper()
	for before := p.last; ; {
		if f := p.read(t); f != before {
			return f
		}
	}
}

// look connects, reads what the stream begins with and leaves.
func (m *model) look(t *testing.T) answer {
	conn, resp, err := websocket.DefaultDialer.Dial("ws://"+m.Addr+stream.Path, nil)
	if err != nil {
		t.Errorf("stream: %v %v", err, resp)
		return answer{}
	}
	defer conn.Close()
	p := plainClient{conn: conn}
	f := p.read(t)
	_ = conn.WriteControl(websocket.CloseMessage,
		websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	for err == nil { // until the service has said goodbye as well
		_, _, err = conn.ReadMessage()
	}
	return answer{ok: true, RunID: f.RunID, Status: f.Status}
}

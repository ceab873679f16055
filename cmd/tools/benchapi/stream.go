package main

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const watchers = 64

// stream lets 64 rich clients watch a backtest and compares it with one that nobody
// watches.
func stream(s *service, o options, r *report) error {
	resp, err := http.Get("http://" + s.addr + "/api/v1/ws/status")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		r.note("stream", "not served")
		return nil
	}
	alone, err := s.fastest(o)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var late []time.Duration
	var wg sync.WaitGroup
	conns := make([]*websocket.Conn, watchers)
	for i := range conns {
		d := websocket.Dialer{Subprotocols: []string{"assay.v1.rich"}}
		if conns[i], _, err = d.Dial("ws://"+s.addr+"/api/v1/ws/status", nil); err != nil {
			return err
		}
		wg.Go(func() {
			seen := watch(conns[i])
			mu.Lock()
			defer mu.Unlock()
			late = append(late, seen...)
		})
	}
	watched, err := s.fastest(o)
	for _, c := range conns {
		_ = c.Close()
	}
	wg.Wait()
	if err != nil {
		return err
	}
	var health struct {
		Metrics struct {
			Dropped float64 `json:"ws_dropped_total"`
		}
	}
	if err := s.call(http.MethodGet, "/health", nil, &health); err != nil {
		return err
	}
	slices.Sort(late)
	r.atMost("stream, 64 rich clients during a backtest: dropped", health.Metrics.Dropped, 0, "")
	if len(late) == 0 {
		return errors.New("no frame of the stream has a timestamp")
	}
	r.atMost("  publish to receive, p99", ms(late[len(late)*99/100]), 50, "ms")
	r.atLeast("  speed of the run beside an unobserved one", 100*alone.Seconds()/watched.Seconds(), 90, "%")
	return nil
}

// watch notes how late each broadcast frame comes. Timestamps are whole milliseconds
// of the same clock.
func watch(c *websocket.Conn) []time.Duration {
	var late []time.Duration
	for {
		_, text, err := c.ReadMessage()
		if err != nil {
			return late
		}
		received := time.Now()
		if bytes.HasPrefix(text, []byte(`{"type":"hello"`)) ||
			bytes.HasPrefix(text, []byte(`{"type":"snapshot"`)) {
			continue
		}
		// Not decoded: 64 clients that do so would measure themselves.
		_, rest, _ := bytes.Cut(text[max(0, len(text)-100):], []byte(`"timestamp":"`))
		at, _, _ := bytes.Cut(rest, []byte(`"`))
		if published, err := time.Parse(time.RFC3339, string(at)); err == nil {
			late = append(late, max(received.Sub(published), 0))
		}
	}
}

// fastest returns the best of a few: other programs use the processors too.
func (s *service) fastest(o options) (best time.Duration, err error) {
	for range 4 {
		took, err := s.timed(o)
		if err != nil {
			return 0, err
		}
		if best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// timed returns how long the large backtest takes.
func (s *service) timed(o options) (time.Duration, error) {
	if err := s.backtest(s.large(o)); err != nil {
		return 0, err
	}
	var done struct {
		Seconds float64 `json:"runtime_seconds"`
	}
	if err := s.call(http.MethodGet, "/status", nil, &done); err != nil {
		return 0, err
	}
	return time.Duration(done.Seconds * float64(time.Second)),
		s.call(http.MethodDelete, "/run/reset", nil, nil)
}

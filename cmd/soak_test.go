package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestSoakRuns starts, ends and resets runs for a long time and looks at what the
// service holds.
func TestSoakRuns(t *testing.T) {
	ring.Long(t, "it goes on for minutes")
	s := serve(t, t.TempDir(), "--strategies", allStrategies(t))
	for range 5 { // what the first runs allocate for good is not growth
		s.backtest(sample("sma_cross"))
	}
	goroutines, heap, files := s.holds(t)
	runs := 0
	for end := time.Now().Add(time.Duration(ring.Minutes()) * time.Minute); time.Now().Before(end); runs++ {
		s.listen(t)
		s.backtest(sample([]string{"sma_cross", "breakout", "rsi_bracket", "limit_entry",
			"buy_hold"}[runs%5]))
	}
	time.Sleep(time.Second)
	g, h, f := s.holds(t)
	t.Logf("%d runs: goroutines %v to %v, heap %.1f to %.1f MiB, open files %d to %d", runs, goroutines, g,
		heap/(1<<20), h/(1<<20), files, f)
	if g > goroutines+2 || f > files+2 || h > heap+16<<20 {
		t.Error("the service grows")
	}
}

// listen connects to the status stream, reads the first message and leaves.
func (s *service) listen(t *testing.T) {
	t.Helper()
	c, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+"/api/v1/ws/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, text, err := c.ReadMessage(); err != nil || !strings.Contains(string(text), `"status_update"`) {
		t.Fatalf("%s, %v", text, err)
	}
}

// holds is goroutines, heap in bytes and open files of the service.
func (s *service) holds(t *testing.T) (goroutines, heap float64, files int) {
	t.Helper()
	var health object
	s.call("GET", "/health", nil, &health)
	m := health["metrics"].(map[string]any)
	open, err := os.ReadDir(filepath.Join("/proc", fmt.Sprint(s.cmd.Process.Pid), "fd"))
	if err != nil {
		t.Skip("needs /proc, to count open files")
	}
	return m["goroutines"].(float64), m["heap_bytes"].(float64), len(open)
}

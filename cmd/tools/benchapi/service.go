package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// server is a process that listens.
type server struct {
	cmd  *exec.Cmd
	addr string
}

// spawn starts a process whose first line ends with its address.
func spawn(cmd *exec.Cmd) (*server, error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not listen: %w", cmd.Path, err), cmd.Wait())
	}
	return &server{cmd, strings.TrimSpace(line[strings.LastIndex(line, "/")+1:])}, nil
}

// stop ends a service in good order.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// startBare starts the server that the service is compared with.
func startBare() (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return spawn(exec.Command(self, "-bare"))
}

// kill ends a process that holds nothing.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// serveBare answers every request with as much as an idle /status does.
func serveBare() {
	body := bytes.Repeat([]byte("x"), 470)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on http://%s\n", ln.Addr())
	// until the process is killed
	_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
}

// service is bin/assay with a large dataset.
type service struct {
	*server
	state string
}

const (
	venue    = "synth"
	interval = time.Minute
)

func startService(o options) (*service, error) {
	state, err := os.MkdirTemp("", "assay-benchapi-")
	if err != nil {
		return nil, err
	}
	s := &service{state: state}
	if err := s.fill(o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(state))
	}
	cmd := exec.Command(filepath.Join(o.bin, "assay"), "--port", "0", "--state-dir", state, "--log-level",
		"warn")
	if s.server, err = spawn(cmd); err != nil {
		return nil, errors.Join(err, os.RemoveAll(state))
	}
	return s, nil
}

// fill puts as many candles into the store as /results is to have points.
func (s *service) fill(o options) error {
	ctx := context.Background()
	store, err := candle.Open(ctx, s.state)
	if err != nil {
		return err
	}
	// Gaps in it take the place of candles, so there are a few more than wanted.
	series := sdktest.Synth(1, o.points, time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC), interval)
	_, err = store.Put(ctx, candle.PutRequest{Exchange: venue, Series: series})
	return errors.Join(err, store.Close())
}

func (s *service) stop() error { return errors.Join(s.server.stop(), os.RemoveAll(s.state)) }

// large returns a backtest of the large dataset.
func (s *service) large(options) map[string]any {
	return map[string]any{"strategy_name": "sma_cross", "symbols": []string{string(sdktest.SynthSymbol)},
		"timeframe": "1m", "exchange": venue}
}

func (s *service) call(method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		text = nil
	}
	req, err := http.NewRequest(method, "http://"+s.addr+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %s", method, path, resp.Status, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// backtest runs a request to its end and leaves it there.
func (s *service) backtest(request any) error {
	if err := s.call(http.MethodPost, "/run/backtest", request, nil); err != nil {
		return err
	}
	for {
		var now struct{ Status, Error string }
		if err := s.call(http.MethodGet, "/status", nil, &now); err != nil {
			return err
		}
		switch now.Status {
		case "completed":
			return nil
		case "failed":
			return fmt.Errorf("the backtest failed: %s", now.Error)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// heap returns the smallest heap of a while: between two collections it holds garbage.
func (s *service) heap() (float64, error) {
	smallest := 0.0
	for range 40 {
		var health struct {
			Metrics struct {
				HeapBytes float64 `json:"heap_bytes"`
			}
		}
		if err := s.call(http.MethodGet, "/health", nil, &health); err != nil {
			return 0, err
		}
		if b := health.Metrics.HeapBytes; smallest == 0 || b < smallest {
			smallest = b
		}
		// makes garbage
		if _, err := load(s.addr, "GET /api/v1/meta HTTP/1.1\r\nHost: localhost\r\n\r\n", 1,
			200); err != nil {
			return 0, err
		}
	}
	return smallest, nil
}

// memory is by how much the peak of the service's resident memory rises while f goes on.
func (s *service) memory(f func() error) (float64, error) {
	pid := s.cmd.Process.Pid
	// 5 sets the peak back to what is resident now.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return 0, f() // not on this system
	}
	before, err := resident(pid)
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := resident(pid)
	return after - before, err
}

func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kb float64
	_, err = fmt.Sscan(rest, &kb)
	return kb * 1024, err
}

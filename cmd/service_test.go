package cmd_test

//ring:no-detector what is tested runs in other processes
//ring:beside it waits more than it computes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/hosttest"
)

// programs are the real binaries, built once for all tests of this package.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // a service waits more than it computes
	code := m.Run()
	if programs.dir != "" {
		os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// bin returns the folder with assay, lab and strategies, laid out as make build does.
func bin(t testing.TB) string {
	t.Helper()
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "assay-bin-"); programs.err == nil {
			programs.err = buildAll(programs.dir)
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return programs.dir
}

func buildAll(dir string) error {
	if err := hosttest.Build(dir, "v1", "cmd/assay", "cmd/lab"); err != nil {
		return err
	}
	folder := filepath.Join(dir, "strategies")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	return hosttest.Build(folder, "v1", "strategies/sma_cross", "strategies/rsi_bracket")
}

// more is built once into the folder all beside what bin returns.
var more struct {
	once sync.Once
	err  error
}

// allStrategies returns a folder with three more strategies than that of bin: a service asks each of
// its folder what it is when it starts, and most tests play one.
func allStrategies(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(bin(t), "all")
	more.once.Do(func() {
		if more.err = os.Mkdir(folder, 0o755); more.err != nil {
			return
		}
		more.err = hosttest.Build(folder, "v1", "strategies/buy_hold", "strategies/limit_entry",
			"strategies/breakout")
		for _, name := range []string{"sma_cross", "rsi_bracket"} {
			more.err = errors.Join(more.err,
				os.Link(filepath.Join(bin(t), "strategies", name), filepath.Join(folder, name)))
		}
	})
	if more.err != nil {
		t.Fatal(more.err)
	}
	return folder
}

// service is a running bin/assay.
type service struct {
	t      testing.TB
	cmd    *exec.Cmd
	url    string
	stderr *hosttest.Buffer
	exited chan struct{}
}

// serve starts the service on a free port and waits until it listens.
func serve(t testing.TB, state string, args ...string) *service {
	t.Helper()
	return serveWith(t, state, filepath.Join(bin(t), "assay"), nil, args...)
}

// serveWith starts a program of the service; prepare may change the command before.
func serveWith(t testing.TB, state, program string, prepare func(*exec.Cmd), args ...string) *service {
	t.Helper()
	s := &service{t: t, stderr: &hosttest.Buffer{}, exited: make(chan struct{})}
	args = append([]string{"--port", "0", "--state-dir", state}, args...)
	s.cmd = exec.Command(program, args...)
	if prepare != nil {
		prepare(s.cmd)
	}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 16)
	go func() {
		defer close(s.exited)
		for in := bufio.NewScanner(out); in.Scan(); {
			select {
			case lines <- in.Text():
			default:
			}
		}
		_ = s.cmd.Wait() // the exit code is asked for where it matters
	}()
	t.Cleanup(func() { s.end(syscall.SIGTERM) })
	select {
	case line := <-lines:
		var ok bool
		if s.url, ok = strings.CutPrefix(line, "assay listening on "); !ok {
			t.Fatalf("the first line is %q", line)
		}
	case <-s.exited:
		t.Fatalf("the service ended:\n%s", s.stderr)
	case <-time.After(30 * time.Second):
		t.Fatalf("the service does not listen:\n%s", s.stderr)
	}
	return s
}

// end signals the process, waits for it and returns its exit code.
func (s *service) end(sig syscall.Signal) int {
	s.t.Helper()
	_ = s.cmd.Process.Signal(sig) // it may be gone already
	select {
	case <-s.exited:
	case <-time.After(40 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
		s.t.Errorf("the service did not end:\n%s", s.stderr)
	}
	return s.cmd.ProcessState.ExitCode()
}

// call makes a request and decodes the answer into out if that is not nil.
func (s *service) call(method, path string, body, out any) *http.Response {
	s.t.Helper()
	resp, text := s.request(method, "/api/v1"+path, body)
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			s.t.Fatalf("%s %s: %d %v\n%s", method, path, resp.StatusCode, err, text)
		}
	}
	return resp
}

// request makes a request and holds the answer against the OpenAPI document where that
// knows the path.
func (s *service) request(method, path string, body any) (*http.Response, []byte) {
	s.t.Helper()
	in := io.Reader(http.NoBody)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, s.url+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, path, err, s.stderr)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.HasPrefix(path, "/api/v1/") {
		recorder, err := recorded()
		if err != nil {
			s.t.Fatal(err)
		}
		recorder.Check(s.t, method, path, resp, text)
	}
	return resp, text
}

// recorded reads the document once.
var recorded = sync.OnceValues(apitest.NewRecorder)

type object = map[string]any

// backtest runs a request to its end, resets and returns the results.
func (s *service) backtest(body object) object {
	s.t.Helper()
	var answer object
	if resp := s.call("POST", "/run/backtest", body, &answer); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("start: %d %v", resp.StatusCode, answer)
	}
	s.await("completed", "failed")
	var results object
	if resp := s.call("GET", "/results", nil, &results); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("results: %d %v", resp.StatusCode, results)
	}
	if resp := s.call("DELETE", "/run/reset", nil, nil); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("reset: %d", resp.StatusCode)
	}
	return results
}

// await polls the status until it is one of those named.
func (s *service) await(states ...string) object {
	s.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(
		5 * time.Millisecond) {
		var status object
		s.call("GET", "/status", nil, &status)
		for _, want := range states {
			if status["status"] == want {
				return status
			}
		}
	}
	s.t.Fatalf("the run does not become %v\n%s", states, s.stderr)
	return nil
}

// lab runs the lab command and fails the test if that fails.
func lab(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(bin(t), "lab"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("lab %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// shared returns a file beside the checkout; the test is skipped where it is not there.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	full := filepath.Join(append([]string{"..", "..", "shared"}, path...)...)
	if _, err := os.Stat(full); err != nil {
		t.Skipf("needs the folder shared beside the checkout, with %s", filepath.Join(path...))
	}
	return full
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
)

// asService makes the test binary be the program itself.
const asService = "ASSAY_TEST_RUN_SERVICE"

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		main()
	}
	code := m.Run()
	if dir := builtStrategies.Load(); dir != nil {
		_ = os.RemoveAll(*dir) // a folder left in the temporary folder is no failure
	}
	os.Exit(code)
}

var builtStrategies atomic.Pointer[string]

// strategiesDir is a folder with one real plugin, built once per test run.
var strategiesDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-strategies")
	if err != nil {
		return "", err
	}
	builtStrategies.Store(&dir)
	return dir, hosttest.Build(dir, "v1", "strategies/sma_cross")
})

// process is a running service.
type process struct {
	cmd    *exec.Cmd
	url    string
	output *hosttest.Buffer
	exited chan struct{}
}

// launch starts a service and waits until it listens.
func launch(t *testing.T, state string, args ...string) *process {
	t.Helper()
	dir, err := strategiesDir()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--port", "0", "--state-dir", state, "--strategies", dir}, args...)
	p := &process{cmd: exec.Command(os.Args[0], args...), output: &hosttest.Buffer{},
		exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asService+"=1")
	p.cmd.Stderr = p.output
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		for scan := bufio.NewScanner(stdout); scan.Scan(); {
			fmt.Fprintln(p.output, scan.Text())
			lines <- scan.Text()
		}
		_ = p.cmd.Wait() // the exit code is looked at by the tests
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most tests have ended it already
		<-p.exited
	})
	select {
	case line := <-lines:
		p.url = strings.TrimPrefix(line, "assay listening on ")
	case <-p.exited:
		t.Fatalf("the service ended: %s", p.output)
	case <-time.After(60 * time.Second):
		t.Fatalf("the service does not listen: %s", p.output)
	}
	return p
}

// end sends a signal and returns the exit code.
func (p *process) end(t *testing.T, s syscall.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(40 * time.Second):
		t.Fatalf("the service does not end: %s", p.output)
	}
	return p.cmd.ProcessState.ExitCode()
}

// await waits for a text in the output.
func (p *process) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(p.output.String(), text) {
			return
		}
	}
	t.Fatalf("%q never appeared in: %s", text, p.output)
}

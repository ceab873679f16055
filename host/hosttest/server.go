package hosttest

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Tool compiles a program of another project: a tool of a module of its own, so that the product's module
// needs nothing of it. The folder is that of the module below host/hosttest.
func Tool(folder, name string) (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	module := filepath.Join(string(bytes.TrimSpace(root)), "host", "hosttest", filepath.FromSlash(folder))
	out, err := exec.Command("go", "-C", module, "tool", "-n", name).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go tool -n %s: %w\n%s", name, err, out)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(lines[len(lines)-1]), nil
}

// Serve runs a server that cannot choose a port itself, on one of loopback that was free a moment ago, and
// returns where it listens. It has been there for ready; it ends with the test, and with the test binary.
func Serve(t testing.TB, command func(host, port string) *exec.Cmd, ready func(at string) error) (at string) {
	t.Helper()
	for range 5 {
		at, err := serve(t, command, ready)
		if err == nil {
			return at
		}
		t.Log(err)
	}
	t.Fatal("the server did not start")
	return ""
}

func serve(t testing.TB, command func(host, port string) *exec.Cmd,
	ready func(at string) error) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	at := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return "", err
	}
	cmd := command(host, port)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &output, &output, endWithParent()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := ready(at)
		if err == nil {
			return at, nil
		}
		select {
		case exit := <-ended:
			ended <- exit
			return "", fmt.Errorf("%s ended: %w\n%s", cmd.Path, exit, output.Bytes())
		default:
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%s does not answer: %w", cmd.Path, err)
		}
	}
}

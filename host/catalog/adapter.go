package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/assay-run/assay/host/catalog/child"
	"github.com/assay-run/assay/host/catalog/sandbox"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// adapter lets go-plugin drive a child: go-plugin speaks the handshake, the child
// is started, watched and killed our way.
type adapter struct {
	config child.Config
	mtls   bool
	procs  int
	limit  context.Context // of the start

	mu      sync.Mutex
	process *child.Child
	err     error
	aborted bool
}

var _ runner.Runner = (*adapter)(nil)

// prepare takes over what go-plugin wants in the environment.
func (a *adapter) prepare(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
	env := []string{"TZ=UTC", "LANG=C"}
	if path, ok := os.LookupEnv("PATH"); ok {
		env = append(env, "PATH="+path)
	}
	if a.procs > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(a.procs))
	}
	env = append(env, sandbox.BuildEnviron()...)
	a.config.Env = append(env, cmd.Env...)
	a.config.SocketDir = dir
	return a, nil
}

// Start starts the process.
func (a *adapter) Start(context.Context) error {
	process, err := child.Start(a.limit, a.config)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.process, a.err = process, err
	if process != nil && a.aborted {
		process.Kill()
	}
	return err
}

// abort ends a start that took too long, whether or not there is a process yet.
func (a *adapter) abort() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.aborted = true
	if a.process != nil {
		a.process.Kill()
	}
}

func (a *adapter) started() (*child.Child, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.process, a.err
}

// Stdout is the handshake only; the child reads what follows itself.
func (a *adapter) Stdout() io.ReadCloser { return a.process.Handshake() }

// Stderr is nothing: the child keeps it, raw.
func (a *adapter) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the strategy's.
func (a *adapter) Name() string { return a.config.Name }

// ID is the process's number.
func (a *adapter) ID() string {
	if p, _ := a.started(); p != nil {
		return strconv.Itoa(p.PID())
	}
	return ""
}

// Wait returns when the process is gone.
func (a *adapter) Wait(context.Context) error {
	<-a.process.Done()
	return nil
}

// Kill kills the process group.
func (a *adapter) Kill(context.Context) error {
	if p, _ := a.started(); p != nil {
		p.Kill()
	}
	return nil
}

// Diagnose has nothing to add: explain looks at the process itself.
func (a *adapter) Diagnose(context.Context) string { return "" }

// PluginToHost accepts only a socket in the process's own folder.
func (a *adapter) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" || filepath.Dir(filepath.Clean(address)) != filepath.Clean(a.config.SocketDir) {
		return "", "", fmt.Errorf("the address %s %.200q is not in the socket folder", network, address)
	}
	return network, address, nil
}

// HostToPlugin leaves addresses as they are: both sides see the same files.
func (a *adapter) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// Write adds output that came over the wire to what the process printed itself.
func (a *adapter) Write(b []byte) (int, error) {
	if p, _ := a.started(); p != nil {
		return p.Write(b)
	}
	return len(b), nil
}

// exitWait is how long a process that closed its stdout may take to be gone.
const exitWait = 300 * time.Millisecond

// explain finds the reason why a start failed from what the process did.
func (a *adapter) explain(err error, timedOut bool, timeout time.Duration) *LaunchError {
	process, startErr := a.started()
	var notRun *child.ExecError
	var noSandbox *child.SandboxError
	var fault *Fault
	tail := []string{}
	switch {
	case timedOut:
		fault = faultf(CodeStartTimeout, "did not answer within %s", timeout)
	case errors.As(startErr, &noSandbox):
		fault = faultf(CodeSandboxUnavailable, "%v", noSandbox)
	case errors.As(startErr, &notRun):
		fault = faultf(CodeNotExecutable, "%v", notRun)
	case process == nil:
		fault = faultf(CodeStartCrashed, "%v", err)
	default:
		fault = a.diagnose(process, err)
	}
	if process != nil {
		process.Kill()
		<-process.Done()
		tail = process.Tail()
	}
	return &LaunchError{Code: fault.Code, Message: fault.Message, LogTail: tail}
}

// diagnose looks at what the process printed and whether it is still there.
func (a *adapter) diagnose(process *child.Child, err error) *Fault {
	if fault := a.judge(process.FirstLine()); fault != nil {
		return fault
	}
	exited := true
	select {
	case <-process.Done():
	case <-time.After(exitWait):
		exited = false
	}
	switch {
	case process.FirstLine() != "" && exited:
		return faultf(CodeStartCrashed, "ended after the handshake (%s)", process.Exit())
	case process.FirstLine() != "":
		return faultf(CodeWrongHandshake, "did not answer after the handshake: %v", err)
	case exited && process.ExitCode() != 0 && !saysPlugin(process.Tail()):
		return faultf(CodeStartCrashed, "ended before the handshake (%s)", process.Exit())
	}
	return faultf(CodeWrongHandshake, "is no Assay strategy: it does not answer to the handshake")
}

// judge reads the handshake line: core version, protocol version, network, address,
// kind of protocol, certificate.
func (a *adapter) judge(line string) *Fault {
	if line == "" {
		return nil
	}
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 4 {
		return faultf(CodeWrongHandshake, "is no Assay strategy: it begins with %.80q", line)
	}
	if core, err := strconv.Atoi(parts[0]); err != nil || core != plugin.CoreProtocolVersion {
		return faultf(CodeWrongHandshake, "is no Assay strategy: its handshake begins with %.40q", parts[0])
	}
	if parts[1] != strconv.Itoa(wire.ProtocolVersion) {
		return faultf(CodeWrongProtocol, "speaks protocol %.20s, the host speaks %d: build it with the host's SDK",
			parts[1], wire.ProtocolVersion)
	}
	if len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC) {
		return faultf(CodeWrongProtocol, "does not speak gRPC")
	}
	if _, _, err := a.PluginToHost(parts[2], parts[3]); err != nil {
		return faultf(CodeWrongHandshake, "%v", err)
	}
	if a.mtls && (len(parts) < 6 || parts[5] == "") {
		return faultf(CodeWrongHandshake, "offers no certificate: plugins must support AutoMTLS")
	}
	return nil
}

// saysPlugin recognises the words, go-plugin's and our SDK's, of a plugin that
// missed its own magic cookie.
func saysPlugin(tail []string) bool {
	for _, line := range tail {
		if strings.Contains(line, "is a plugin") || strings.Contains(line, "is not started by hand") {
			return true
		}
	}
	return false
}

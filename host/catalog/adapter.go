package catalog

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/assay-run/assay/host/proc/child"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// adapter lets go-plugin drive a child: go-plugin speaks the handshake, the child
// is started, watched and killed our way.
type adapter struct {
	child.Runner
	mtls  bool
	procs int
}

var _ runner.Runner = (*adapter)(nil)

// prepare takes over what go-plugin wants in the environment.
func (a *adapter) prepare(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
	// In the sandbox there is no time zone but UTC; without it the machine's would differ
	// from one to the next.
	env := []string{}
	if sandbox.Unwalled(a.Config.Sandbox, a.Config.Race) != "" {
		env = append(env, "TZ=UTC")
	}
	if a.procs > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(a.procs))
	}
	env = append(env, sandbox.BuildEnviron()...)
	a.Config.Env = append(env, cmd.Env...)
	a.Config.SocketDir = dir
	return a, nil
}

// exitWait is how long a process that closed its stdout may take to be gone.
const exitWait = 300 * time.Millisecond

// explain finds the reason why a start failed from what the process did.
func (a *adapter) explain(err error, timedOut bool, timeout time.Duration) *LaunchError {
	process, startErr := a.Started()
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

package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin/runner"

	"github.com/assay-run/assay/host/proc/child"
)

// exitWait is how long a process that closed its stdout may take to be gone.
const exitWait = 300 * time.Millisecond

// runner lets go-plugin drive a child: go-plugin speaks the handshake, the child is
// started, watched and killed our way.
type runner struct{ child.Runner }

var _ goplugin.Runner = (*runner)(nil)

// prepare takes over what go-plugin wants in the environment.
func (r *runner) prepare(_ hclog.Logger, cmd *exec.Cmd, dir string) (goplugin.Runner, error) {
	var env []string
	// Where the certificates of the system are is not the same everywhere.
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	r.Config.Env, r.Config.SocketDir = append(env, cmd.Env...), dir
	return r, nil
}

func (r *runner) exit() string {
	if p, _ := r.Started(); p != nil {
		return p.Exit()
	}
	return ""
}

func (r *runner) tail() []string {
	if p, _ := r.Started(); p != nil {
		return p.Tail()
	}
	return []string{}
}

// explain finds the reason why a start failed from what the process did, and kills it.
func (r *runner) explain(err error, timedOut bool, timeout time.Duration) *Fault {
	process, startErr := r.Started()
	var notRun *child.ExecError
	var noSandbox *child.SandboxError
	switch {
	case timedOut:
		r.Abort()
		return faultf(CodeStartTimeout, "did not answer within %s", timeout)
	case errors.As(startErr, &noSandbox):
		return faultf(CodeSandboxUnavailable, "%v", noSandbox)
	case errors.As(startErr, &notRun):
		return faultf(CodeNotExecutable, "%v", notRun)
	case process == nil:
		return faultf(CodeStartCrashed, "%v", err)
	}
	defer r.Abort()
	if fault := judge(process.FirstLine(), r.Config.SocketDir); fault != nil {
		return fault
	}
	exited := true
	select {
	case <-process.Done():
	case <-time.After(exitWait):
		exited = false
	}
	last := ""
	if tail := process.Tail(); len(tail) > 0 {
		last = fmt.Sprintf("; it said: %.300s", tail[len(tail)-1])
	}
	switch {
	case process.FirstLine() != "" && exited:
		return faultf(CodeStartCrashed, "ended after the handshake (%s)%s", process.Exit(), last)
	case process.FirstLine() != "":
		return faultf(CodeWrongHandshake, "did not answer after the handshake: %v", err)
	case exited && process.ExitCode() != 0:
		return faultf(CodeStartCrashed, "ended before the handshake (%s)%s", process.Exit(), last)
	}
	return faultf(CodeWrongHandshake, "is no Assay connector: it does not answer to the handshake")
}

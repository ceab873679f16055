package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin/runner"

	"github.com/assay-run/assay/host/catalog/child"
)

// exitWait is how long a process that closed its stdout may take to be gone.
const exitWait = 300 * time.Millisecond

// runner lets go-plugin drive a child: go-plugin speaks the handshake, the child is
// started, watched and killed our way.
type runner struct {
	config child.Config
	limit  context.Context // of the start

	mu      sync.Mutex
	process *child.Child
	err     error
	aborted bool
}

var _ goplugin.Runner = (*runner)(nil)

// prepare takes over what go-plugin wants in the environment.
func (r *runner) prepare(_ hclog.Logger, cmd *exec.Cmd, dir string) (goplugin.Runner, error) {
	env := []string{"TZ=UTC", "LANG=C"}
	// Where the certificates of the system are is not the same everywhere.
	for _, name := range []string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	r.config.Env, r.config.SocketDir = append(env, cmd.Env...), dir
	return r, nil
}

// Start starts the process.
func (r *runner) Start(context.Context) error {
	process, err := child.Start(r.limit, r.config)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.err = process, err
	if process != nil && r.aborted {
		process.Kill()
	}
	return err
}

// abort kills the process group, whether or not there is a process yet.
func (r *runner) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = true
	if r.process != nil {
		r.process.Kill()
	}
}

func (r *runner) started() (*child.Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process, r.err
}

// done is closed when the process is gone and its output is read, also if there never was one.
func (r *runner) done() <-chan struct{} {
	if p, _ := r.started(); p != nil {
		return p.Done()
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

func (r *runner) exit() string {
	if p, _ := r.started(); p != nil {
		return p.Exit()
	}
	return ""
}

func (r *runner) tail() []string {
	if p, _ := r.started(); p != nil {
		return p.Tail()
	}
	return []string{}
}

// Stdout is the handshake only; the child reads what follows itself.
func (r *runner) Stdout() io.ReadCloser { return r.process.Handshake() }

// Stderr is nothing: the child keeps it.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the file's.
func (r *runner) Name() string { return r.config.Name }

// ID is the process's number.
func (r *runner) ID() string {
	if p, _ := r.started(); p != nil {
		return strconv.Itoa(p.PID())
	}
	return ""
}

// Wait returns when the process is gone.
func (r *runner) Wait(context.Context) error {
	<-r.done()
	return nil
}

// Kill kills the process group.
func (r *runner) Kill(context.Context) error {
	r.abort()
	return nil
}

// Diagnose has nothing to add: explain looks at the process itself.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost accepts only a socket in the process's own folder.
func (r *runner) PluginToHost(network, address string) (string, string, error) {
	if !inFolder(network, address, r.config.SocketDir) {
		return "", "", fmt.Errorf("the address %s %.200q is not in the socket folder", network, address)
	}
	return network, address, nil
}

// HostToPlugin leaves addresses as they are: both sides see the same files.
func (r *runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// Write adds output that came over the wire to what the process printed itself.
func (r *runner) Write(b []byte) (int, error) {
	if p, _ := r.started(); p != nil {
		return p.Write(b)
	}
	return len(b), nil
}

// explain finds the reason why a start failed from what the process did, and kills it.
func (r *runner) explain(err error, timedOut bool, timeout time.Duration) *Fault {
	process, startErr := r.started()
	var notRun *child.ExecError
	switch {
	case timedOut:
		r.abort()
		return faultf(CodeStartTimeout, "did not answer within %s", timeout)
	case errors.As(startErr, &notRun):
		return faultf(CodeNotExecutable, "%v", notRun)
	case process == nil:
		return faultf(CodeStartCrashed, "%v", err)
	}
	defer r.abort()
	if fault := judge(process.FirstLine(), r.config.SocketDir); fault != nil {
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

package child

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Runner starts a child on behalf of go-plugin, whose runner.Runner it is: go-plugin speaks
// the handshake, the child is started, watched and killed our way. Set Config before the
// start; Limit ends it.
type Runner struct {
	Config Config
	Limit  context.Context

	mu      sync.Mutex
	process *Child
	err     error
	aborted bool
}

// Start starts the process.
func (r *Runner) Start(context.Context) error {
	process, err := Start(r.Limit, r.Config)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.err = process, err
	if process != nil && r.aborted {
		process.Kill()
	}
	return err
}

// Abort kills the process group, whether or not there is a process yet.
func (r *Runner) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = true
	if r.process != nil {
		r.process.Kill()
	}
}

// Started is the process, or why there is none; both nil before the start.
func (r *Runner) Started() (*Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process, r.err
}

// Child is the process, nil when there is none.
func (r *Runner) Child() *Child {
	p, _ := r.Started()
	return p
}

// Done is closed when the process is gone and its output is read, also if there never was one.
func (r *Runner) Done() <-chan struct{} {
	if p := r.Child(); p != nil {
		return p.Done()
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// Stdout is the handshake only; the child reads what follows itself.
func (r *Runner) Stdout() io.ReadCloser { return r.process.Handshake() }

// Stderr is nothing: the child keeps it.
func (r *Runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the program's.
func (r *Runner) Name() string { return r.Config.Name }

// ID is the process's number.
func (r *Runner) ID() string {
	if p := r.Child(); p != nil {
		return strconv.Itoa(p.PID())
	}
	return ""
}

// Wait returns when the process is gone.
func (r *Runner) Wait(context.Context) error {
	<-r.Done()
	return nil
}

// Kill kills the process group.
func (r *Runner) Kill(context.Context) error {
	r.Abort()
	return nil
}

// Diagnose has nothing to add: whoever launched looks at the process itself.
func (r *Runner) Diagnose(context.Context) string { return "" }

// PluginToHost accepts only a socket in the process's own folder, and says where the host
// finds it.
func (r *Runner) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" || filepath.Dir(filepath.Clean(address)) != filepath.Clean(r.Config.SocketDir) {
		return "", "", fmt.Errorf("the address %s %.200q is not in the socket folder", network, address)
	}
	if p := r.Child(); p != nil && p.ownRoot {
		path, err := p.socketPath(filepath.Clean(address))
		return network, path, err
	}
	return network, address, nil
}

// HostToPlugin leaves addresses as they are: plugins do not dial.
func (r *Runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// Write adds output that came over the wire to what the process printed itself.
func (r *Runner) Write(b []byte) (int, error) {
	if p := r.Child(); p != nil {
		return p.Write(b)
	}
	return len(b), nil
}

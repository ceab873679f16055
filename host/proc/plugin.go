// Package proc starts the programs of strategies and connectors, each as a process of its
// own, and makes sure that nothing of it is left.
//
// A [Store] keeps verified copies of programs, so that what is started is what was looked
// at. [Store.Launch] starts one of them and returns a [Plugin] when it answers; a [Fault]
// is why it does not. A [Child] is the operating system's side of the process: it has its
// own process group, almost no environment and, unless the sandbox is off, the walls of
// package sandbox; what it prints is kept.
//
// A child dies with its host: Linux kills it when the thread that started it ends, which is
// why a goroutine with a thread of its own stays with it, and the reading end of a pipe
// whose other end only the host holds reports it everywhere else.
//
// Packages catalog and launch say what the programs are and how long they live.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	goplugin "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// The codes of programs that cannot be started.
const (
	CodeUnreadable         = "UNREADABLE"
	CodeNotExecutable      = "NOT_EXECUTABLE"
	CodeWrongHandshake     = "WRONG_HANDSHAKE"
	CodeWrongProtocol      = "WRONG_PROTOCOL"
	CodeStartTimeout       = "START_TIMEOUT"
	CodeStartCrashed       = "START_CRASHED"
	CodeSandboxUnavailable = "SANDBOX_UNAVAILABLE"
	CodeBadBundle          = "BAD_BUNDLE"
)

// Fault is why a program cannot be used, for people.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message with its code.
func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// Faultf makes a fault.
func Faultf(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// LaunchError is the fault of a start, with the end of what the process printed.
type LaunchError struct {
	Fault
	LogTail []string
}

// Role is a kind of plugin: how it is spoken to, and how its faults are put.
type Role struct {
	Noun, Plural    string // "strategy", "plugins"
	Advice          string // for a program of another protocol
	Handshake       plugin.HandshakeConfig
	Plugins         map[int]plugin.PluginSet
	Service         string // of Plugins
	ProtocolVersion int
	MaxMessageBytes int
	DialOptions     []grpc.DialOption
	// Quotes puts what the process printed into the fault itself.
	Quotes bool
	// Frames makes the client of a bundle's process from a connection, which it takes over, and returns the
	// one it uses. It is nil where the role has no bundles.
	Frames func(net.Conn) (client any, link net.Conn, err error)
}

// Launch is one start of a program.
type Launch struct {
	Role    *Role
	Program Program
	Timeout time.Duration
	Plain   bool // the connection is not encrypted
	// Sessions is for a bundle that plays one run after another, each in a copy of the process that ends
	// with it: see Reconnect.
	Sessions bool
	// Config is what the process may do. Binary, SocketDir, Libraries and Race are set here.
	Config Config
}

// Plugin is a process that has answered.
type Plugin struct {
	*Child
	Service any // the client that the role's plugin set makes

	runner *runner
	client *plugin.Client
	folder *socketFolder
	conn   *grpc.ClientConn // of one that was attached

	// Of a bundle:
	role     *Role
	address  string // of its socket
	sessions bool
	linked   sync.Mutex
	link     net.Conn
}

// Attach returns a plugin that nothing here has started, such as one under a debugger, or ends: only the
// connection to it is closed, which is its end here. Why is why no sandbox closes it in.
func Attach(conn *grpc.ClientConn, pid int, why string) *Plugin {
	return &Plugin{conn: conn, Child: &Child{
		pid: pid, reaped: true, tail: newTail(nil), done: make(chan struct{}), level: sandbox.NoSandbox(why),
	}}
}

// Launch starts a fresh process and returns when it answers. An error is a *LaunchError, or
// the cause of ctx if that ended first. The caller calls Discard or Stop in every case, also
// after the process has ended by itself.
func (s Store) Launch(ctx context.Context, l Launch) (*Plugin, error) {
	if l.Program.Bundle {
		return s.launchBundle(ctx, l)
	}
	program, err := s.OpenCopy(l.Program.SHA256)
	if err != nil {
		return nil, &LaunchError{*Faultf(CodeUnreadable, "%v", err), []string{}}
	}
	defer program.Close()
	folder, err := newSocketFolder()
	if err != nil {
		return nil, fmt.Errorf("make the socket folder: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	l.Config.Binary = program
	l.Config.Libraries, l.Config.Race = l.Program.Libraries, l.Program.Race
	r := &runner{config: l.Config, limit: limited}
	p := &Plugin{runner: r, folder: folder, client: plugin.NewClient(l.clientConfig(r, folder))}
	// go-plugin does not know contexts; it returns when the process is gone.
	stop := context.AfterFunc(limited, r.abort)
	p.Service, err = p.dispense(l.Role.Service)
	if inTime := stop(); err == nil && inTime {
		p.Child = r.child()
		return p, nil
	}
	defer p.Discard()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, l.explain(r, err, limited.Err() != nil)
}

func (l *Launch) clientConfig(r *runner, folder *socketFolder) *plugin.ClientConfig {
	limits := grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(l.Role.MaxMessageBytes), grpc.MaxCallSendMsgSize(l.Role.MaxMessageBytes))
	return &plugin.ClientConfig{
		HandshakeConfig:  l.Role.Handshake,
		VersionedPlugins: l.Role.Plugins,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc:       r.prepare,
		SkipHostEnv:      true,
		AutoMTLS:         !l.Plain,
		// Our own limit comes first; this one only keeps go-plugin from giving up earlier.
		StartTimeout:     l.Timeout + time.Second,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: folder.dir},
		Logger:           hclog.NewNullLogger(),
		// What a plugin without our SDK prints after the handshake comes over the wire.
		SyncStdout:      r,
		SyncStderr:      r,
		GRPCDialOptions: append([]grpc.DialOption{limits}, l.Role.DialOptions...),
	}
}

func (p *Plugin) dispense(service string) (any, error) {
	rpc, err := p.client.Client()
	if err != nil {
		return nil, err
	}
	if err := rpc.Ping(); err != nil {
		return nil, err
	}
	return rpc.Dispense(service)
}

// exitWait is how long a process that closed its stdout may take to be gone.
const exitWait = 300 * time.Millisecond

// explain finds the reason why a start failed from what the process did, and ends it.
func (l *Launch) explain(r *runner, err error, timedOut bool) *LaunchError {
	process, startErr := r.started()
	var notRun *ExecError
	var noSandbox *SandboxError
	var fault *Fault
	tail := []string{}
	switch {
	case timedOut || errors.Is(err, context.DeadlineExceeded): // a connection may notice first
		fault = Faultf(CodeStartTimeout, "did not answer within %s", l.Timeout)
	case errors.As(startErr, &noSandbox):
		fault = Faultf(CodeSandboxUnavailable, "%v", noSandbox)
	case errors.As(startErr, &notRun):
		fault = Faultf(CodeNotExecutable, "%v", notRun)
	case process == nil:
		fault = Faultf(CodeStartCrashed, "%v", err)
	default:
		fault = l.diagnose(r, process, err)
	}
	if process != nil {
		process.Kill()
		<-process.Done()
		tail = process.Tail()
	}
	return &LaunchError{*fault, tail}
}

// diagnose looks at what the process printed and whether it is still there.
func (l *Launch) diagnose(r *runner, process *Child, err error) *Fault {
	greeted := l.Program.Bundle && strings.HasPrefix(process.FirstLine(), framesCore+"|")
	if fault := l.judge(r, process.FirstLine()); fault != nil && !greeted {
		return fault
	}
	exited := Await(process.Done(), exitWait)
	tail, quote := process.Tail(), ""
	if n := len(tail); n > 0 && l.Role.Quotes {
		quote = fmt.Sprintf("; it said: %.300s", tail[n-1])
	}
	switch {
	case process.FirstLine() != "" && exited:
		return Faultf(CodeStartCrashed, "ended after the handshake (%s)%s", process.Exit(), quote)
	case process.FirstLine() != "":
		return Faultf(CodeWrongHandshake, "did not answer after the handshake: %v", err)
	case exited && process.ExitCode() != 0 && (l.Role.Quotes || !missedCookie(tail)):
		return Faultf(CodeStartCrashed, "ended before the handshake (%s)%s", process.Exit(), quote)
	}
	return Faultf(CodeWrongHandshake, "is not an Assay %s: it does not answer the handshake", l.Role.Noun)
}

// judge reads the handshake line: core version, protocol version, network, address, kind of
// protocol, certificate.
func (l *Launch) judge(r *runner, line string) *Fault {
	if line == "" {
		return nil
	}
	wrong := func(format string, args ...any) *Fault { return Faultf(CodeWrongHandshake, format, args...) }
	parts := strings.Split(strings.TrimSpace(line), "|")
	core, coreErr := strconv.Atoi(parts[0])
	known := coreErr == nil && core == plugin.CoreProtocolVersion
	switch {
	case len(parts) < 4, !known && l.Role.Quotes:
		return wrong("is not an Assay %s: it begins with %.80q", l.Role.Noun, line)
	case !known:
		return wrong("is not an Assay %s: its handshake begins with %.40q", l.Role.Noun, parts[0])
	case parts[1] != strconv.Itoa(l.Role.ProtocolVersion):
		return Faultf(CodeWrongProtocol, "speaks protocol %.20s, the host speaks %d%s", parts[1],
			l.Role.ProtocolVersion, l.Role.Advice)
	case len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC):
		return Faultf(CodeWrongProtocol, "does not speak gRPC")
	}
	if err := r.inFolder(parts[2], parts[3]); err != nil {
		return wrong("%v", err)
	}
	if !l.Plain && (len(parts) < 6 || parts[5] == "") {
		return wrong("offers no certificate: %s must support AutoMTLS", l.Role.Plural)
	}
	return nil
}

// missedCookie recognises the words, go-plugin's and our SDK's, of a plugin that missed its
// own magic cookie.
func missedCookie(tail []string) bool {
	for _, line := range tail {
		if strings.Contains(line, "is a plugin") || strings.Contains(line, "is not started by hand") {
			return true
		}
	}
	return false
}

// Socket returns where the host finds another socket of the process, by its name in the folder of the first;
// false: there is none.
func (p *Plugin) Socket(name string) (path string, ok bool) {
	_, path, err := p.runner.PluginToHost("unix", filepath.Join(p.runner.config.SocketDir, name))
	if err != nil {
		return "", false
	}
	info, err := os.Lstat(path)
	return path, err == nil && (p.ownRoot || info.Mode().Type() == os.ModeSocket)
}

// Bundled reports whether the program is a bundle.
func (p *Plugin) Bundled() bool { return p.role != nil }

// HangUp closes the connection and leaves the process alone.
func (p *Plugin) HangUp() {
	if p.unlink() {
		return
	}
	if c, err := p.client.Client(); err == nil {
		if g, ok := c.(*plugin.GRPCClient); ok {
			_ = g.Conn.Close()
		}
	}
}

// Discard kills the process group, if it is still there, and clears away after it.
func (p *Plugin) Discard() {
	if p.conn != nil {
		_ = p.conn.Close()
		close(p.done)
		return
	}
	p.runner.abort()
	<-p.runner.done()
	if p.client == nil {
		p.clear()
		return
	}
	p.client.Kill() // closes the connection; no process is left to be waited for
	p.folder.remove()
}

// Stop asks the process to end, kills its group after the time grace, and clears away. Without
// a grace it is Discard, and for a process of sessions, which does not end by itself.
func (p *Plugin) Stop(grace time.Duration) {
	if grace == 0 || p.conn != nil || p.sessions {
		p.Discard()
		return
	}
	if p.client == nil {
		p.HangUp() // it ends when its host is gone
		if !Await(p.Done(), grace) {
			p.Kill()
		}
		<-p.Done()
		p.clear()
		return
	}
	closed := make(chan struct{})
	go func() { // it returns when the process is gone
		defer close(closed)
		p.client.Kill()
	}()
	if !Await(p.Done(), grace) {
		p.Kill()
	}
	<-p.Done()
	<-closed
	p.folder.remove()
}

// Running holds the plugins of one host that are running. The zero value is ready.
type Running[P comparable] struct {
	mu     sync.Mutex
	closed bool
	set    map[P]struct{}
}

// Add adds a plugin and reports whether it was added: not after Close.
func (r *Running[P]) Add(p P) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.set == nil {
		r.set = map[P]struct{}{}
	}
	r.set[p] = struct{}{}
	return true
}

// Remove forgets a plugin that is gone.
func (r *Running[P]) Remove(p P) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set, p)
}

// Close ends all plugins side by side and lets no more in.
func (r *Running[P]) Close(end func(P)) {
	r.mu.Lock()
	r.closed = true
	var wg sync.WaitGroup
	for p := range r.set {
		wg.Go(func() { end(p) })
	}
	r.mu.Unlock()
	wg.Wait()
}

var _ goplugin.Runner = (*runner)(nil)

// runner starts a child on behalf of go-plugin, whose runner.Runner it is: go-plugin speaks
// the handshake, the child is started, watched and killed our way.
type runner struct {
	config Config
	limit  context.Context // of the start

	mu      sync.Mutex
	process *Child
	err     error
	aborted bool
}

// prepare takes over what go-plugin needs in the environment.
func (r *runner) prepare(_ hclog.Logger, cmd *exec.Cmd, dir string) (goplugin.Runner, error) {
	r.config.Env, r.config.SocketDir = append(r.config.Env, cmd.Env...), dir
	return r, nil
}

// Start starts the process.
func (r *runner) Start(context.Context) error {
	process, err := Start(r.limit, r.config)
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

// started returns the process, or why there is none; both nil before the start.
func (r *runner) started() (*Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process, r.err
}

// child returns the process, nil when there is none.
func (r *runner) child() *Child {
	p, _ := r.started()
	return p
}

// done is closed when the process is gone and its output is read, also if there never was one.
func (r *runner) done() <-chan struct{} {
	if p := r.child(); p != nil {
		return p.Done()
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// Stdout returns the handshake only; the child reads what follows itself.
func (r *runner) Stdout() io.ReadCloser { return r.process.Handshake() }

// Stderr is nothing: the child keeps it.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the program's.
func (r *runner) Name() string { return r.config.Name }

// ID returns the process's number.
func (r *runner) ID() string {
	if p := r.child(); p != nil {
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

// Diagnose has nothing to add: Launch looks at the process itself.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost accepts only a socket in the process's own folder and returns where the host
// finds it.
func (r *runner) PluginToHost(network, address string) (string, string, error) {
	if err := r.inFolder(network, address); err != nil {
		return "", "", err
	}
	if p := r.child(); p != nil && p.ownRoot {
		path, err := p.socketPath(filepath.Clean(address))
		return network, path, err
	}
	return network, address, nil
}

func (r *runner) inFolder(network, address string) error {
	if network != "unix" || filepath.Dir(filepath.Clean(address)) != filepath.Clean(r.config.SocketDir) {
		return fmt.Errorf("the address %s %.200q is not in the socket folder", network, address)
	}
	return nil
}

// HostToPlugin leaves addresses as they are: plugins do not dial.
func (r *runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// Write adds output that came over the wire to what the process printed itself.
func (r *runner) Write(b []byte) (int, error) {
	if p := r.child(); p != nil {
		return p.Write(b)
	}
	return len(b), nil
}

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/proc/child"
	"github.com/assay-run/assay/host/proc/sandbox"
)

const (
	endGrace   = 2 * time.Second // to end by itself when asked
	leaveLimit = 2 * time.Second
)

// Process is one running connector, good for one run.
type Process struct {
	manager *Manager
	id      string
	runner  *runner
	plugin  *plugin.Client
	client  *wire.Client
	redact  *wire.Redactor
	folder  *child.SocketFolder

	crashed chan struct{}
	ended   chan struct{} // the process is gone and cleared away
	clear   sync.Once

	mu     sync.Mutex
	wanted bool // somebody here ended it
	cause  error
}

// CrashError says that a connector is gone without having been asked, or has been killed
// because it broke the protocol.
type CrashError struct {
	ID string
	// Exit is how the process ended, in words, such as "signal: killed".
	Exit string
	// LogTail is the newest of what it printed, redacted.
	LogTail []string
	// Cause is a *wire.ProtocolError, or nil.
	Cause error
}

// Error is the message.
func (e *CrashError) Error() string {
	text := fmt.Sprintf("the connector %s ended (%s)", e.ID, e.Exit)
	if e.Cause != nil {
		text = fmt.Sprintf("the connector %s was killed: %v", e.ID, e.Cause)
	}
	if n := len(e.LogTail); n > 0 {
		text += "; it said: " + e.LogTail[n-1]
	}
	return text
}

// Unwrap is the cause.
func (e *CrashError) Unwrap() error { return e.Cause }

// start brings a process to the point where it answers. An error is a *Fault.
func (m *Manager) start(ctx context.Context, c Connector, o LaunchOptions, timeout time.Duration) (*Process, error) {
	program, err := m.store.OpenCopy(c.SHA256)
	if err != nil {
		return nil, faultf(CodeUnreadable, "%v", err)
	}
	defer program.Close()
	if o.Writable != "" {
		if err := os.MkdirAll(o.Writable, 0o700); err != nil {
			return nil, fmt.Errorf("make the connector's folder: %w", err)
		}
	}
	folder, err := child.NewSocketFolder()
	if err != nil {
		return nil, fmt.Errorf("make the socket folder: %w", err)
	}
	p := &Process{
		manager: m, id: c.ID, redact: &wire.Redactor{}, folder: folder, crashed: make(chan struct{}), ended: make(chan struct{}),
	}
	log := m.log.With("connector", c.ID)
	p.runner = &runner{child.Runner{Limit: ctx, Config: child.Config{
		Binary: program, Name: c.File, Libraries: c.program.Libraries, Race: c.program.Race, Network: true, Writable: o.Writable,
		Sandbox: m.opts.Sandbox, Limits: sandbox.DefaultLimits(), Survives: true,
		OnLine: func(line string) { log.Info("connector says", "line", p.redact.Text(line)) },
	}}}
	p.plugin = plugin.NewClient(clientConfig(p.runner, folder.Dir(), timeout))
	stop := context.AfterFunc(ctx, p.runner.Abort)
	conn, err := dispense(p.plugin)
	if inTime := stop(); err != nil || !inTime {
		fault := p.runner.explain(err, !inTime, timeout)
		p.discard()
		return nil, fault
	}
	p.client = wire.NewClient(conn, wire.ClientOptions{Broken: p.broken, Redactor: p.redact})
	if err := m.admit(p); err != nil {
		p.Kill("the host shuts down")
		return nil, err
	}
	go p.watch()
	return p, nil
}

func clientConfig(r *runner, folder string, timeout time.Duration) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc:       r.prepare,
		SkipHostEnv:      true,
		AutoMTLS:         true,
		StartTimeout:     timeout + time.Second, // ours comes first
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: folder},
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       r,
		SyncStderr:       r,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes), grpc.MaxCallSendMsgSize(wire.MaxMessageBytes)),
		},
	}
}

func dispense(c *plugin.Client) (grpc.ClientConnInterface, error) {
	rpc, err := c.Client()
	if err != nil {
		return nil, err
	}
	if err := rpc.Ping(); err != nil {
		return nil, err
	}
	raw, err := rpc.Dispense(wire.PluginName)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(grpc.ClientConnInterface)
	if !ok {
		return nil, errors.New("it serves something else")
	}
	return conn, nil
}

// Connection is what the run talks to.
func (p *Process) Connection() exchange.Connection { return p.client.Connection() }

// PID is the process's number.
func (p *Process) PID() int {
	pid, _ := strconv.Atoi(p.runner.ID())
	return pid
}

// Sandbox is what closes the process in.
func (p *Process) Sandbox() sandbox.Level { return p.runner.Child().Level() }

// Crashed is closed when the process is gone although nobody here ended it, or was killed
// because it broke the protocol. Err says more then.
func (p *Process) Crashed() <-chan struct{} { return p.crashed }

// Done is closed when the process is gone and cleared away, however it ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Err is a *CrashError after Crashed, nil before.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.crashed:
		return p.cause
	default:
		return nil
	}
}

// LogTail is the newest of what the process printed, in lines, redacted.
func (p *Process) LogTail() []string {
	tail := p.runner.tail()
	for i := range tail {
		tail[i] = p.redact.Text(tail[i])
	}
	return tail
}

// broken is called by the client when the connector broke the protocol.
func (p *Process) broken(fault error) {
	p.manager.log.Error("connector broke the protocol", "connector", p.id, "error", fault)
	p.mu.Lock()
	if p.cause == nil && !p.wanted {
		p.cause = &CrashError{ID: p.id, Cause: fault}
	}
	p.mu.Unlock()
	p.runner.Abort()
}

// watch waits for the end of the process and clears away after it.
func (p *Process) watch() {
	<-p.runner.Done()
	p.mu.Lock()
	if !p.wanted {
		crash, _ := p.cause.(*CrashError)
		if crash == nil {
			crash = &CrashError{ID: p.id}
		}
		crash.Exit, crash.LogTail = p.runner.exit(), p.LogTail()
		p.cause = crash
		close(p.crashed)
		p.manager.log.Error("connector crashed", "connector", p.id, "exit", crash.Exit)
	}
	p.mu.Unlock()
	p.discard()
}

// discard clears away a process that is gone or never answered.
func (p *Process) discard() {
	p.clear.Do(func() {
		p.runner.Abort()
		<-p.runner.Done()
		if p.client != nil {
			p.client.Release()
		}
		p.plugin.Kill() // closes the connection; nobody is left to be waited for
		p.folder.Remove()
		p.redact.Forget()
		p.manager.forget(p)
		close(p.ended)
	})
}

func (p *Process) want(reason string) {
	p.mu.Lock()
	first := !p.wanted
	p.wanted = true
	p.mu.Unlock()
	if first {
		p.manager.log.Debug("connector ends", "connector", p.id, "pid", p.PID(), "reason", reason)
	}
}

// Kill ends the process at once, with its group. Orders that are open at the venue stay:
// it is for a process that holds none, or that cannot be trusted. It can be called at any
// time and more than once.
func (p *Process) Kill(reason string) {
	p.want(reason)
	p.runner.Abort()
	p.discard()
}

// End ends a process whose session was closed: it is asked to end and killed two seconds
// later.
func (p *Process) End() {
	p.want("the session is closed")
	p.hangUp()
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case <-p.runner.Done():
	case <-grace.C:
	}
	p.discard()
}

// Leave hangs up and lets the process end by itself: with a session open it takes that for
// the loss of its host and cancels the run's orders first. Leave waits two seconds at most;
// what is left is cleared away when the process is gone, if the host still is there.
func (p *Process) Leave() {
	p.want("the host leaves")
	p.hangUp()
	limit := time.NewTimer(leaveLimit)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
	}
}

// hangUp closes the connection. The process takes that as its end.
func (p *Process) hangUp() {
	p.client.Release()
	if c, err := p.plugin.Client(); err == nil {
		if g, ok := c.(*plugin.GRPCClient); ok {
			_ = g.Conn.Close()
		}
	}
}

// judge reads the handshake line: core version, protocol version, network, address, kind
// of protocol, certificate.
func judge(line, folder string) *Fault {
	if line == "" {
		return nil
	}
	parts := strings.Split(strings.TrimSpace(line), "|")
	switch {
	case len(parts) < 4 || parts[0] != strconv.Itoa(plugin.CoreProtocolVersion):
		return faultf(CodeWrongHandshake, "is no Assay connector: it begins with %.80q", line)
	case parts[1] != strconv.Itoa(wire.ProtocolVersion):
		return faultf(CodeWrongProtocol, "speaks protocol %.20s, the host speaks %d", parts[1], wire.ProtocolVersion)
	case len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC):
		return faultf(CodeWrongProtocol, "does not speak gRPC")
	case !inFolder(parts[2], parts[3], folder):
		return faultf(CodeWrongHandshake, "the address %s %.200q is not in the socket folder", parts[2], parts[3])
	case len(parts) < 6 || parts[5] == "":
		return faultf(CodeWrongHandshake, "offers no certificate: connectors must support AutoMTLS")
	}
	return nil
}

func inFolder(network, address, folder string) bool {
	return network == "unix" && filepath.Dir(filepath.Clean(address)) == filepath.Clean(folder)
}

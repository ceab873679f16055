package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
)

const (
	endGrace   = 2 * time.Second // to end by itself when asked
	leaveLimit = 2 * time.Second
)

// Process is one running connector, good for one run.
type Process struct {
	*proc.Plugin
	manager *Manager
	id      string
	client  *wire.Client
	redact  *wire.Redactor

	crashed chan struct{}
	ended   chan struct{} // the process is gone and cleared away
	clear   sync.Once

	mu     sync.Mutex
	wanted bool // it was ended here
	cause  error
}

// CrashError reports that a connector is gone without having been asked, or has been killed
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

// Error returns the message.
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

// Unwrap returns the cause.
func (e *CrashError) Unwrap() error { return e.Cause }

// role is that of a connector.
var role = proc.Role{
	Noun: "connector", Plural: "connectors",
	Handshake: wire.Handshake(), Plugins: wire.VersionedPlugins(), Service: wire.PluginName,
	ProtocolVersion: wire.ProtocolVersion, MaxMessageBytes: wire.MaxMessageBytes, Quotes: true,
}

// start brings a process to the point where it answers.
func (m *Manager) start(
	ctx context.Context, c Connector, o LaunchOptions, timeout time.Duration,
) (*Process, error) {
	if o.Writable != "" {
		if err := os.MkdirAll(o.Writable, 0o700); err != nil {
			return nil, fmt.Errorf("make the connector's folder: %w", err)
		}
	}
	redact := &wire.Redactor{}
	log := m.log.With("connector", c.ID)
	plugin, err := m.store.Launch(ctx, proc.Launch{
		Role: &role, Program: c.program, Timeout: timeout,
		Config: proc.Config{
			Name: c.File, Env: environ(), Network: true, Writable: o.Writable, Survives: true,
			Sandbox: m.opts.Sandbox, Limits: sandbox.DefaultLimits(),
			OnLine: func(line string) { log.Info("connector output", "line", redact.Text(line)) },
		},
	})
	var failed *proc.LaunchError
	switch {
	case errors.As(err, &failed):
		return nil, &failed.Fault
	case err != nil:
		return nil, err
	}
	p := &Process{
		Plugin: plugin, manager: m, id: c.ID, redact: redact, crashed: make(chan struct{}),
		ended: make(chan struct{}),
	}
	conn := plugin.Service.(grpc.ClientConnInterface)
	p.client = wire.NewClient(conn, wire.ClientOptions{Broken: p.broken, Redactor: redact})
	if !m.running.Add(p) {
		p.Kill("the host shuts down")
		return nil, errors.New("launch: the manager is closed")
	}
	go p.watch()
	return p, nil
}

// environ has where the certificates of the system are.
func environ() (env []string) {
	for _, name := range sandbox.CertificateVariables() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Connection returns what the run talks to. Who has it ends the process with its Release or Leave.
func (p *Process) Connection() *exchange.Connection {
	return &exchange.Connection{
		Connector: p.client, Gone: p.crashed, Release: p.End, Leave: p.Leave, Sandbox: p.Level().String(),
	}
}

// Crashed is closed when the process is gone without having been ended here, or was killed
// because it broke the protocol. Err explains it then.
func (p *Process) Crashed() <-chan struct{} { return p.crashed }

// Done is closed when the process is gone and cleared away, however it ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Err returns a *CrashError after Crashed, nil before.
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

// LogTail returns the newest of what the process printed, in lines, redacted.
func (p *Process) LogTail() []string {
	tail := p.Tail()
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
	p.Plugin.Kill()
}

// watch waits for the end of the process and clears away after it.
func (p *Process) watch() {
	<-p.Plugin.Done()
	p.mu.Lock()
	if !p.wanted {
		crash, _ := p.cause.(*CrashError)
		if crash == nil {
			crash = &CrashError{ID: p.id}
		}
		crash.Exit, crash.LogTail = p.Exit(), p.LogTail()
		p.cause = crash
		close(p.crashed)
		p.manager.log.Error("connector crashed", "connector", p.id, "exit", crash.Exit)
	}
	p.mu.Unlock()
	p.discard()
}

// discard clears away after a process.
func (p *Process) discard() {
	p.clear.Do(func() {
		p.Plugin.Kill()
		<-p.Plugin.Done()
		p.client.Release()
		p.Discard()
		p.redact.Forget()
		p.manager.running.Remove(p)
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
	p.Plugin.Kill()
	p.discard()
}

// End ends a process whose session was closed: it is asked to end and killed two seconds
// later.
func (p *Process) End() {
	p.want("the session is closed")
	p.hangUp()
	proc.Await(p.Plugin.Done(), endGrace)
	p.discard()
}

// Leave hangs up and lets the process end by itself: with a session open it takes that for
// the loss of its host and cancels the run's orders first. Leave waits two seconds at most;
// what is left is cleared away when the process is gone, if the host still is there.
func (p *Process) Leave() {
	p.want("the host leaves")
	p.hangUp()
	proc.Await(p.ended, leaveLimit)
}

// hangUp closes the connection. The process takes that as its end.
func (p *Process) hangUp() {
	p.client.Release()
	p.Plugin.HangUp()
}

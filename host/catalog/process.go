package catalog

import (
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

const (
	killGrace = time.Second     // to end by itself when asked
	killLimit = 2 * time.Second // Kill never takes longer
	tailQuiet = 250 * time.Millisecond
	tailLimit = time.Second
)

// Process is one running strategy, good for one run.
type Process struct {
	name    string
	client  strategypb.StrategyClient
	catalog *Catalog
	kill    sync.Once
	ended   chan struct{}

	// Of a process that was started here.
	plugin *proc.Plugin

	// Of a strategy under a debugger.
	conn *grpc.ClientConn
	pid  int
}

// Client is the generated client of the connection.
func (p *Process) Client() strategypb.StrategyClient { return p.client }

// PID is the process's number.
func (p *Process) PID() int {
	if p.plugin == nil {
		return p.pid
	}
	return p.plugin.PID()
}

// Done is closed when the process, started here, is gone and its output is read.
// With a debugger, where the process is not ours, it is closed by Kill. That a
// process has crashed is seen first, and more reliably, at the context of the stream.
func (p *Process) Done() <-chan struct{} {
	if p.plugin == nil {
		return p.ended
	}
	return p.plugin.Done()
}

// ExitCode is -1 as long as the process runs and with a debugger, 128 and the number
// of the signal when one ended it.
func (p *Process) ExitCode() int {
	if p.plugin == nil {
		return -1
	}
	return p.plugin.ExitCode()
}

// Exit says in words how the process ended, "" as long as it runs.
func (p *Process) Exit() string {
	if p.plugin == nil {
		return ""
	}
	return p.plugin.Exit()
}

// LogTail is the newest 64 KiB of what the process printed, raw, in lines.
func (p *Process) LogTail() []string {
	if p.plugin == nil {
		return []string{}
	}
	return p.plugin.Tail()
}

// Settle gives the last words of a process that will be killed for a fault the time
// to arrive: go-plugin brings what a strategy prints over a stream of its own, which
// a fault that came over another one can overtake. It takes a quarter of a second,
// four of them when the strategy goes on talking.
func (p *Process) Settle() {
	if p.plugin != nil {
		p.plugin.Settle(tailQuiet, tailLimit)
	}
}

// Sandbox is what closes the process in, to record with the run.
func (p *Process) Sandbox() sandbox.Level {
	if p.plugin == nil {
		return sandbox.NoSandbox(underDebugger)
	}
	return p.plugin.Level()
}

// Debug says that the strategy runs under a debugger.
func (p *Process) Debug() bool { return p.plugin == nil }

// Kill ends the process: it is asked to end, after one second its whole group is
// killed, and after two Kill returns in any case. It can be called several times
// and also when the process is gone: it closes the connection and removes the
// socket. The reason goes to the log.
func (p *Process) Kill(reason string) { p.stop(reason, killGrace) }

// Finish is Kill for a process that has ended its run in good order and has nothing
// left to do or to say: it is not asked to end first.
func (p *Process) Finish() { p.stop("it is done", 0) }

func (p *Process) stop(reason string, grace time.Duration) {
	p.kill.Do(func() {
		p.catalog.log.Debug("plugin ends", "strategy", p.name, "pid", p.PID(), "reason", reason)
		go p.end(grace)
	})
	limit := time.NewTimer(killLimit)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
	}
}

// end does the work of Kill. It takes as long as the process lives, so it has a goroutine
// to itself.
func (p *Process) end(grace time.Duration) {
	defer close(p.ended)
	defer p.catalog.running.Remove(p)
	switch {
	case p.plugin == nil:
		_ = p.conn.Close()
	case grace == 0:
		p.plugin.Discard()
	default:
		p.plugin.Stop(grace)
	}
}

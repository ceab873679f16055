package catalog

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// windowBytes lets a chunk of candles leave without waiting for the reader.
const windowBytes = 16 << 20

// LaunchOptions say what one run's process may see.
type LaunchOptions struct {
	// Lockstep is a run that hands over candles one by one. No candle file is
	// readable for the process, so CandleFolder must be empty.
	Lockstep bool
	// CandleFolder is the absolute path of the folder with the candle files of a
	// co-simulation, which may come later; the sandbox makes exactly these readable, but
	// does not let the process list them. Empty: there are none.
	CandleFolder string
	// Plain leaves the connection unencrypted outside of the sandbox too: the socket is in a private folder
	// anyway. For many short runs in a row.
	Plain bool
	// Procs is GOMAXPROCS of the process; 0 leaves it to the Go runtime. In lockstep the
	// SDK uses one processor all the same.
	Procs int
	// Cores is how many processors the process has; 0 is all. Only Linux can say so.
	Cores int
	// Sessions is for a bundle whose process plays one run after another: see Renew.
	Sessions bool
	// Stderr gets the lines that the process prints, not faster than a log can take.
	// It is called from one goroutine at a time. Nil: the catalogue's log, at debug.
	Stderr func(line string)
}

// Launch starts a fresh process of the strategy for one run, and returns when it
// answers. An error is a *LaunchError, or the cause of ctx if that ended first.
// The caller calls Kill in every case, also after the process has ended by itself.
func (c *Catalog) Launch(ctx context.Context, s *Strategy, o LaunchOptions) (*Process, error) {
	if s.Status != Available {
		return nil, &UnavailableError{Name: s.Name, Fault: *s.Error}
	}
	if o.Lockstep && o.CandleFolder != "" {
		return nil, errors.New("catalog: a lockstep run hands over no candle files")
	}
	if s.reattach != nil {
		return c.attach(ctx, s)
	}
	// Inside of its walls no other program sees the socket: keys and encryption would cost more than all the
	// rest of a start.
	o.Plain = o.Plain || sandbox.Unwalled(c.opts.Sandbox, s.program.Race) == ""
	return c.start(ctx, s.Name, s.program, c.opts.LaunchTimeout, o)
}

// shutDown is why Close ends a process.
const shutDown = "the host shuts down"

// role is that of a strategy.
var role = proc.Role{
	Noun: "strategy", Plural: "plugins", Advice: ": build it with the host's SDK",
	Handshake: wire.Handshake(), Plugins: wire.VersionedPlugins(nil), Service: wire.PluginName,
	ProtocolVersion: wire.ProtocolVersion, MaxMessageBytes: wire.MaxMessageBytes, Frames: newFrames,
	DialOptions: []grpc.DialOption{
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
	},
}

// start starts a program for a probe or a run.
func (c *Catalog) start(
	ctx context.Context, name string, program proc.Program, timeout time.Duration, o LaunchOptions,
) (*Process, error) {
	if o.Stderr == nil {
		log := c.log.With("strategy", name)
		o.Stderr = func(line string) { log.Debug("plugin output", "line", line) }
	}
	l := proc.Launch{
		Role: &role, Program: program, Timeout: timeout, Plain: o.Plain, Sessions: o.Sessions,
		Config: proc.Config{
			Name: name, Env: c.environ(program, o.Procs), Sandbox: c.opts.Sandbox, Limits: *c.opts.Limits,
			Cores:  o.Cores,
			OnLine: o.Stderr,
		},
	}
	// Where keys guard the link, no second one goes without.
	framed := o.Lockstep && o.Plain && !program.Bundle
	if framed {
		l.Config.Env = append(l.Config.Env, wire.FramesVariable+"="+wire.FramesVersion)
	}
	if o.CandleFolder != "" {
		l.Config.ReadOnly = []string{o.CandleFolder}
	}
	plugin, err := c.store.Launch(ctx, l)
	var failed *proc.LaunchError
	switch {
	case errors.As(err, &failed):
		return nil, &LaunchError{
			Strategy: name, Code: failed.Code, Message: failed.Message, LogTail: failed.LogTail,
		}
	case err != nil:
		return nil, err
	}
	client := plugin.Service.(strategypb.StrategyClient)
	if framed {
		if address, ok := plugin.Socket(wire.FramesSocket); ok {
			client = &runFrames{client, address}
		}
	}
	return c.admit(name, client, plugin)
}

// environ returns what a program finds in its environment.
func (c *Catalog) environ(program proc.Program, procs int) []string {
	env := []string{}
	// In the sandbox there is no time zone but UTC; without it the machine's would differ
	// from one to the next.
	if sandbox.Unwalled(c.opts.Sandbox, program.Race) != "" {
		env = append(env, "TZ=UTC")
	}
	if procs > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(procs))
	}
	return append(env, sandbox.BuildEnviron()...)
}

// admit adds a process to those that Close ends.
func (c *Catalog) admit(name string, client strategypb.StrategyClient,
	plugin *proc.Plugin) (*Process, error) {
	p := &Process{Plugin: plugin, catalog: c, name: name, client: client, ended: make(chan struct{})}
	if !c.running.Add(p) {
		p.Kill(shutDown)
		return nil, errors.New("catalog: closed")
	}
	return p, nil
}

const (
	killGrace = time.Second     // to end by itself when asked
	killLimit = 2 * time.Second // Kill never takes longer
)

// Process is one running strategy, good for one run. That it has crashed is seen first, and more
// reliably, at the context of the stream. One under a debugger is done when Kill has closed the connection.
type Process struct {
	*proc.Plugin
	name    string
	client  strategypb.StrategyClient
	catalog *Catalog
	kill    sync.Once
	ended   chan struct{}
}

// Client returns the generated client of the connection.
func (p *Process) Client() strategypb.StrategyClient { return p.client }

// Renew makes a process of sessions ready for its next run.
func (p *Process) Renew(ctx context.Context) error {
	if err := p.Reconnect(ctx); err != nil {
		return err
	}
	p.client = p.Service.(strategypb.StrategyClient)
	return nil
}

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
		go func() { // it takes as long as the process lives
			defer close(p.ended)
			defer p.catalog.running.Remove(p)
			p.Stop(grace)
		}()
	})
	proc.Await(p.ended, killLimit)
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/proc/child"
	"github.com/assay-run/assay/host/proc/programs"
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
	// Plain leaves the connection unencrypted: it saves some 20 ms and the socket is
	// in a private folder anyway. For many short runs in a row.
	Plain bool
	// Procs is GOMAXPROCS of the process; 0 leaves it to the Go runtime. In lockstep the
	// SDK uses one processor all the same.
	Procs int
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
	l := launch{name: s.Name, program: s.program, timeout: c.opts.LaunchTimeout, mtls: !o.Plain, procs: o.Procs,
		onLine: o.Stderr}
	if o.CandleFolder != "" {
		l.readOnly = []string{o.CandleFolder}
	}
	return c.start(ctx, l)
}

// launch is one start of a program, for a probe or a run.
type launch struct {
	name     string
	program  programs.Program
	timeout  time.Duration
	readOnly []string
	mtls     bool
	procs    int // GOMAXPROCS; 0 unset
	onLine   func(string)
}

func (c *Catalog) start(ctx context.Context, l launch) (*Process, error) {
	program, err := c.store.OpenCopy(l.program.SHA256)
	if err != nil {
		return nil, &LaunchError{Strategy: l.name, Code: CodeUnreadable, Message: err.Error(), LogTail: []string{}}
	}
	defer program.Close()
	folder, err := child.NewSocketFolder()
	if err != nil {
		return nil, fmt.Errorf("make the socket folder: %w", err)
	}
	if l.onLine == nil {
		log := c.log.With("strategy", l.name)
		l.onLine = func(line string) { log.Debug("plugin says", "line", line) }
	}
	adapter := &adapter{mtls: l.mtls, procs: l.procs, Runner: child.Runner{Config: child.Config{
		Binary: program, Name: l.name, Libraries: l.program.Libraries, Race: l.program.Race, ReadOnly: l.readOnly,
		Sandbox: c.opts.Sandbox, Limits: *c.opts.Limits, OnLine: l.onLine,
	}}}
	client := plugin.NewClient(clientConfig(adapter, l, folder.Dir()))
	p := &Process{catalog: c, name: l.name, adapter: adapter, plugin: client, folder: folder, ended: make(chan struct{})}
	if err := p.connect(ctx, l.timeout); err != nil {
		p.abandon()
		return nil, err
	}
	if err := c.admit(p); err != nil {
		return nil, err
	}
	return p, nil
}

// admit adds a process to those that Close ends.
func (c *Catalog) admit(p *Process) error {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.live[p] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		p.Kill("the host shuts down")
		return errors.New("catalog: closed")
	}
	return nil
}

func (c *Catalog) forget(p *Process) {
	c.mu.Lock()
	delete(c.live, p)
	c.mu.Unlock()
}

func clientConfig(a *adapter, l launch, folder string) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc:       a.prepare,
		SkipHostEnv:      true,
		AutoMTLS:         l.mtls,
		// Our own limit comes first; this one only keeps go-plugin from giving up earlier.
		StartTimeout:     l.timeout + time.Second,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: folder},
		Logger:           hclog.NewNullLogger(),
		// What a plugin without our SDK prints after the handshake comes over the wire.
		SyncStdout: a,
		SyncStderr: a,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(
				grpc.MaxCallRecvMsgSize(wire.MaxMessageBytes), grpc.MaxCallSendMsgSize(wire.MaxMessageBytes)),
			grpc.WithInitialWindowSize(windowBytes),
			grpc.WithInitialConnWindowSize(windowBytes),
		},
	}
}

// connect brings the process to the point where it answers, or says why not.
func (p *Process) connect(ctx context.Context, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// go-plugin does not know contexts; it returns when the process is gone.
	stop := context.AfterFunc(limited, p.adapter.Abort)
	p.adapter.Limit = limited
	client, err := dispense(p.plugin)
	if inTime := stop(); err == nil && inTime {
		p.client = client
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failed := p.adapter.explain(err, limited.Err() != nil, timeout)
	failed.Strategy = p.name
	return failed
}

func dispense(c *plugin.Client) (strategypb.StrategyClient, error) {
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
	client, ok := raw.(strategypb.StrategyClient)
	if !ok {
		return nil, fmt.Errorf("the plugin serves %T", raw)
	}
	return client, nil
}

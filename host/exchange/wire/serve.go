package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/host/exchange/wire/nodump"
)

const (
	// ProtocolVersion of the link described in connector.proto.
	ProtocolVersion = 1
	// PluginName is the name under which the service is dispensed.
	PluginName = "connector"
	// MaxMessageBytes bounds every message in either direction.
	MaxMessageBytes = 8 << 20
)

// firstCall is how long a connector waits for its host to connect.
const firstCall = 30 * time.Second

// Handshake is the magic cookie that tells a connector it was started by a host.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{MagicCookieKey: "ASSAY_CONNECTOR", MagicCookieValue: "b1c4a7e2-connector"}
}

// VersionedPlugins is what both sides negotiate. The host's Dispense(PluginName) returns
// the grpc.ClientConnInterface that NewClient takes.
func VersionedPlugins() map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {PluginName: &connectorPlugin{}}}
}

// connectorPlugin connects the service to go-plugin.
type connectorPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer implements plugin.GRPCPlugin.
func (p *connectorPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if p.server == nil {
		return errors.New("wire: no connector to serve")
	}
	connectorpb.RegisterConnectorServer(s, p.server)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (*connectorPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return grpc.ClientConnInterface(c), nil
}

// Register serves a connection on a gRPC server, with the guard around it; ended is as in
// Guard. For tests: a connector calls Serve.
func Register(s *grpc.Server, conn exchange.Connection, ended func()) {
	connectorpb.RegisterConnectorServer(s, &server{guard: newGuard(conn, ended)})
}

// Serve is the main of a connector: it serves the connection to the host that started the
// process, and returns never. The process ends when the host has closed the session, or
// after the lease was lost and the run's orders are taken care of. As long as a session
// is open SIGINT, SIGTERM and SIGHUP are ignored.
//
// Standard output belongs to the handshake; afterwards both it and standard error reach
// the host's log. A write that the host does not read is lost rather than waited for.
func Serve(conn exchange.Connection) {
	cookie := Handshake()
	if os.Getenv(cookie.MagicCookieKey) != cookie.MagicCookieValue {
		fmt.Fprintf(os.Stderr, `%s connects Assay to an exchange and is not started by hand.

Put this file into the folder of connectors, which is the folder "connectors" beside the
assay executable unless --connectors or SERVICE_CONNECTORS names another one, and restart
assay: it appears under GET /api/v1/exchanges.
`, filepath.Base(os.Args[0]))
		os.Exit(1)
	}
	if err := nodump.Set(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := &process{stderr: os.Stderr, gone: make(chan struct{})}
	p.guard = newGuard(conn, p.exit)
	p.settle()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  cookie,
		VersionedPlugins: map[int]plugin.PluginSet{ProtocolVersion: {PluginName: &connectorPlugin{server: &server{guard: p.guard, called: p.handshakeDone}}}},
		GRPCServer:       p.newGRPC,
		// Made before plugin.Serve replaces os.Stderr: a logger made later would be lost.
		Logger: hclog.New(&hclog.LoggerOptions{Name: "connector", Level: hclog.Error, Output: os.Stderr}),
	})
	p.disconnected()
	<-p.gone
}

// process is the operating system's side of a connector.
type process struct {
	guard  *guard
	stderr *os.File // the original one
	once   sync.Once
	ending sync.Once
	gone   chan struct{}

	mu    sync.Mutex
	links int
	came  bool // a host has connected
}

// settle prepares the process for a host that hangs or dies: neither a full nor a broken
// pipe nor a signal keeps it from cleaning up.
func (p *process) settle() {
	_ = syscall.SetNonblock(int(p.stderr.Fd()), true)
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for range signals {
			if !p.guard.live() {
				p.exit()
			}
		}
	}()
	time.AfterFunc(firstCall, func() {
		p.mu.Lock()
		came := p.came
		p.mu.Unlock()
		if !came {
			p.exit()
		}
	})
}

// handshakeDone gives standard output and error back to the process: go-plugin's own
// pipes would fill up as soon as the host does not read.
func (p *process) handshakeDone() {
	p.once.Do(func() { os.Stdout, os.Stderr = p.stderr, p.stderr })
}

func (p *process) newGRPC(opts []grpc.ServerOption) *grpc.Server {
	s := &server{guard: p.guard, called: p.handshakeDone}
	return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.StatsHandler(p),
		grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream))...)
}

// HandleConn implements stats.Handler: the host has one connection, and when that ends
// the host is gone.
func (p *process) HandleConn(_ context.Context, s stats.ConnStats) {
	p.mu.Lock()
	switch s.(type) {
	case *stats.ConnBegin:
		p.came = true
		p.links++
	case *stats.ConnEnd:
		p.links--
	}
	last := p.came && p.links == 0
	p.mu.Unlock()
	if last {
		p.disconnected()
	}
}

// TagConn implements stats.Handler.
func (p *process) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC implements stats.Handler.
func (p *process) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (p *process) HandleRPC(context.Context, stats.RPCStats) {}

// disconnected ends the process, or has the guard end it once it has cleaned up.
func (p *process) disconnected() {
	if !p.guard.live() {
		p.exit()
		return
	}
	p.guard.broken()
}

// exit removes the socket with its folders, as far as they are empty, and ends the process.
func (p *process) exit() {
	p.ending.Do(func() {
		if dir := os.Getenv(plugin.EnvUnixSocketDir); dir != "" {
			sockets, _ := filepath.Glob(filepath.Join(dir, "plugin*"))
			for _, s := range append(sockets, dir, filepath.Dir(dir)) {
				_ = os.Remove(s)
			}
		}
		os.Exit(0)
	})
	<-p.gone // somebody else is about to exit
}

func panicText(p any) string { return fmt.Sprintf("panic: %v", p) }

// Package wire carries the contract of package exchange between the host and a connector
// process: the gRPC service of package connectorpb over hashicorp/go-plugin.
//
// On the connector's side Serve is the one call in main. It puts a guard around the
// connection that the connector implements, and serves it:
//
//	gRPC -> server (messages) -> guard (contract, lease, redaction) -> exchange.Connection
//
// The guard opens a session once, refuses what a session may not do, takes credentials
// out of every text, and keeps the lease: when the host is gone or silent it refuses
// submits, cancels the run's open orders, asks until they are confirmed as gone, writes
// lease.json and ends the process. Guard gives the same protection without a process.
//
// On the host's side Client implements the same interfaces over the connection, with the
// deadline of every call. Any gRPC error of a Submit or a Cancel is Unknown. What a
// connector sends is checked before use: a number that is none, an unknown
// symbol or a negative quantity is a *ProtocolError and counts as a crash.
//
// Package launch finds connectors and starts their processes.
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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// server translates messages for a guard. A call that could not be understood is an
// InvalidArgument; what a venue answered is in the Result of the reply.
type server struct {
	connectorpb.UnimplementedConnectorServer
	guard  *guard
	called func() // at the first call; may be nil
}

// outcome returns the Result of a read. One that failed cannot be Accepted.
func outcome(err error) *connectorpb.Result {
	r := exchange.ResultOf(err)
	if err != nil && r.Outcome == exchange.Accepted {
		r = exchange.Result{Outcome: exchange.Unknown, Message: r.Message}
	}
	return message[connectorpb.Result](r)
}

// Describe implements connectorpb.ConnectorServer.
func (s *server) Describe(ctx context.Context,
	_ *connectorpb.DescribeRequest) (*connectorpb.Description, error) {
	d, err := s.guard.Describe(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, exchange.Clip(err.Error()))
	}
	return descriptionMessage(d), nil
}

// Open implements connectorpb.ConnectorServer.
func (s *server) Open(ctx context.Context, p *connectorpb.OpenRequest) (*connectorpb.OpenReply, error) {
	q, err := request[exchange.OpenRequest](p)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, exchange.Clip(err.Error()))
	}
	out, err := s.guard.Open(ctx, q)
	return openedMessage(out, err), nil
}

// Markets implements connectorpb.ConnectorServer.
func (s *server) Markets(ctx context.Context,
	_ *connectorpb.MarketsRequest) (*connectorpb.MarketsReply, error) {
	list, err := s.guard.Markets(ctx)
	return &connectorpb.MarketsReply{Result: outcome(err), Markets: messages[connectorpb.Market](list)}, nil
}

// Candles implements connectorpb.ConnectorServer.
func (s *server) Candles(ctx context.Context,
	p *connectorpb.CandlesRequest) (*connectorpb.CandlesReply, error) {
	list, err := s.guard.Candles(ctx, exchange.CandleQuery{
		Symbol: market.Symbol(p.GetSymbol()), From: market.Time(p.GetFrom()), To: market.Time(p.GetTo()),
		Limit: int(p.GetLimit()),
	})
	return &connectorpb.CandlesReply{Result: outcome(err), Candles: messages[connectorpb.Candle](list)}, nil
}

// StreamCandles implements connectorpb.ConnectorServer.
func (s *server) StreamCandles(_ *connectorpb.StreamCandlesRequest,
	stream grpc.ServerStreamingServer[connectorpb.CandleEvent]) error {
	return forward(stream, s.guard.StreamCandles, candleEventMessage,
		func(err error) *connectorpb.CandleEvent {
			if errors.Is(err, exchange.ErrEnded) {
				return &connectorpb.CandleEvent{
					Event: &connectorpb.CandleEvent_Ended{Ended: &connectorpb.Ended{}}}
			}
			return &connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_Failed{Failed: outcome(err)}}
		})
}

// forward sends what a stream brings until the host ends the call or the stream gives up, and
// why it did; without a reason of its own that is a fault too.
func forward[N, P any](
	stream grpc.ServerStreamingServer[P], follow func(context.Context, func(N)) error,
	event func(N) *P, last func(error) *P,
) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	err := follow(ctx, func(n N) {
		if stream.Send(event(n)) != nil {
			cancel()
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		err = errors.New(noReason)
	}
	return stream.Send(last(err))
}

// Submit implements connectorpb.ConnectorServer.
func (s *server) Submit(ctx context.Context, p *connectorpb.SubmitRequest) (*connectorpb.OrderReply, error) {
	return about(ctx, p, s.guard.Submit)
}

// about makes a call about one order.
func about[N, P any](
	ctx context.Context, p *P, call func(context.Context, N) (exchange.Result, exchange.Order),
) (*connectorpb.OrderReply, error) {
	q, err := request[N](p)
	if err != nil {
		return &connectorpb.OrderReply{Result: notSent(err)}, nil
	}
	r, o := call(ctx, q)
	return &connectorpb.OrderReply{Result: message[connectorpb.Result](r), Order: orderMessage(o)}, nil
}

// notSent returns the answer to a request that makes no sense.
func notSent(err error) *connectorpb.Result {
	return message[connectorpb.Result](exchange.Result{Outcome: exchange.NotSent, Message: err.Error()})
}

// SubmitPair implements connectorpb.ConnectorServer.
func (s *server) SubmitPair(ctx context.Context,
	p *connectorpb.SubmitPairRequest) (*connectorpb.PairReply, error) {
	q, err := request[exchange.PairRequest](p)
	if err != nil {
		return &connectorpb.PairReply{Result: notSent(err)}, nil
	}
	r, legs := s.guard.SubmitPair(ctx, q)
	return &connectorpb.PairReply{
		Result: message[connectorpb.Result](r), Limit: orderMessage(legs[0]), Stop: orderMessage(legs[1]),
	}, nil
}

// Cancel implements connectorpb.ConnectorServer.
func (s *server) Cancel(ctx context.Context, p *connectorpb.OrderRef) (*connectorpb.OrderReply, error) {
	return about(ctx, p, s.guard.Cancel)
}

// Query implements connectorpb.ConnectorServer.
func (s *server) Query(ctx context.Context, p *connectorpb.OrderRef) (*connectorpb.OrderReply, error) {
	return about(ctx, p, s.guard.Query)
}

// OpenOrders implements connectorpb.ConnectorServer.
func (s *server) OpenOrders(ctx context.Context,
	_ *connectorpb.OpenOrdersRequest) (*connectorpb.OpenOrdersReply, error) {
	list, err := s.guard.OpenOrders(ctx)
	return &connectorpb.OpenOrdersReply{Result: outcome(err), Orders: messages[connectorpb.Order](list)}, nil
}

// Fills implements connectorpb.ConnectorServer.
func (s *server) Fills(ctx context.Context, p *connectorpb.FillsRequest) (*connectorpb.FillsReply, error) {
	page, err := s.guard.Fills(ctx, market.Symbol(p.GetSymbol()), market.Time(p.GetSince()))
	return &connectorpb.FillsReply{
		Result: outcome(err), Fills: messages[connectorpb.Fill](page.Fills), Complete: page.Complete &&
			err == nil,
	}, nil
}

// Balances implements connectorpb.ConnectorServer.
func (s *server) Balances(ctx context.Context,
	_ *connectorpb.BalancesRequest) (*connectorpb.BalancesReply, error) {
	list, err := s.guard.Balances(ctx)
	return &connectorpb.BalancesReply{Result: outcome(err), Balances: messages[connectorpb.Balance](list)},
		nil
}

// StreamAccount implements connectorpb.ConnectorServer.
func (s *server) StreamAccount(_ *connectorpb.StreamAccountRequest,
	stream grpc.ServerStreamingServer[connectorpb.AccountEvent]) error {
	return forward(stream, s.guard.StreamAccount, accountEventMessage,
		func(err error) *connectorpb.AccountEvent {
			return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Failed{Failed: outcome(err)}}
		})
}

// ArmDeadMan implements connectorpb.ConnectorServer.
func (s *server) ArmDeadMan(ctx context.Context,
	p *connectorpb.ArmDeadManRequest) (*connectorpb.ArmDeadManReply, error) {
	err := s.guard.ArmDeadMan(ctx, time.Duration(p.GetTtlMs())*time.Millisecond)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, status.Error(codes.Unimplemented, "the exchange has no such switch")
	}
	return &connectorpb.ArmDeadManReply{Result: outcome(err)}, nil
}

// Lease implements connectorpb.ConnectorServer.
func (s *server) Lease(stream grpc.BidiStreamingServer[connectorpb.Beat, connectorpb.Ack]) error {
	for {
		beat, err := stream.Recv()
		if err != nil {
			s.guard.broken()
			return nil
		}
		ack, err := s.guard.Beat(stream.Context(), beat.GetSeq())
		if err != nil {
			return status.Error(codes.FailedPrecondition, exchange.Clip(err.Error()))
		}
		p := message[connectorpb.Ack](ack)
		p.Seq = beat.GetSeq()
		if err := stream.Send(p); err != nil {
			s.guard.broken()
			return nil
		}
	}
}

// Close implements connectorpb.ConnectorServer.
func (s *server) Close(ctx context.Context, p *connectorpb.CloseRequest) (*connectorpb.CloseReply, error) {
	left, err := s.guard.Close(ctx, p.GetCancelOpen())
	for i := range left {
		left[i] = valid(left[i])
	}
	return &connectorpb.CloseReply{Result: outcome(err), Unconfirmed: left}, nil
}

// recovered turns a panic into an error, which is Unknown at the host. The text of the
// panic is redacted like any other.
func (s *server) recovered(err *error) {
	if p := recover(); p != nil {
		*err = status.Error(codes.Internal, exchange.Clip(s.guard.redact.Text(fmt.Sprintf("panic: %v", p))))
	}
}

func (s *server) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (_ any, err error) {
	s.first()
	defer s.recovered(&err)
	return next(ctx, req)
}

func (s *server) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	s.first()
	defer s.recovered(&err)
	return next(srv, stream)
}

func (s *server) first() {
	if s.called != nil {
		s.called()
	}
}

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

// Handshake returns the magic cookie by which a connector knows that a host started it.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{MagicCookieKey: "ASSAY_CONNECTOR", MagicCookieValue: "b1c4a7e2-connector"}
}

// VersionedPlugins returns what both sides negotiate. The host's Dispense(PluginName) returns
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
	if err := DisableDump(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := &process{stderr: os.Stderr, gone: make(chan struct{})}
	p.guard = newGuard(conn, p.exit)
	p.settle()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: cookie,
		VersionedPlugins: map[int]plugin.PluginSet{
			ProtocolVersion: {
				PluginName: &connectorPlugin{server: &server{guard: p.guard, called: p.handshakeDone}}}},
		GRPCServer: p.newGRPC,
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
	<-p.gone // another goroutine is about to exit
}

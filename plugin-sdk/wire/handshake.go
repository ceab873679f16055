// Package wire is the link between host and strategy: the handshake, the go-plugin
// glue and the conversions between the generated messages of strategypb and the
// nouns of market and sdk. Both sides use it, so a field is converted in one place
// only: XToProto beside XFromProto.
//
// What comes from the other process is not trusted. Every FromProto checks what it
// reads and answers with a *ProtocolError that names the field: a number that is
// NaN, infinite or not plain, an index outside the run's symbols, an unknown enum
// value, a text that is too long, a step out of order. What does not fit a message
// on the way out (an unknown symbol, NaN) is sent in a form that the other side
// refuses, so that the judgement is always the receiver's.
//
// Numbers of intents, orders and fills travel as plain decimal strings, candles and
// account values as float64; both arrive with the same bits.
//
// The package imports sdk, market and strategypb.
package wire

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// ProtocolVersion of the link described in strategy.proto.
const ProtocolVersion = 1

// PluginName is the name under which the strategy service is served.
const PluginName = "strategy"

// MaxMessageBytes bounds every message in either direction.
const MaxMessageBytes = 8 << 20

// windowBytes is how much of a stream may be on the way: more than the round trip
// of a local socket can use up, little enough to hold a plugin back.
const windowBytes = 16 << 20

// ServerOptions are the limits of the plugin's gRPC server.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	}
}

// DialOptions are the limits of the host's gRPC client.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessageBytes)),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
	}
}

// Handshake is the magic cookie by which a plugin knows that a host started it.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "ASSAY_PLUGIN",
		MagicCookieValue: "6e0f1b6c-strategy",
	}
}

// VersionedPlugins is what both sides negotiate. The plugin side passes its
// server, the host nil; the host's Dispense(PluginName) returns a
// strategypb.StrategyClient.
func VersionedPlugins(server strategypb.StrategyServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {PluginName: &GRPCPlugin{server: server}}}
}

// GRPCPlugin connects the generated service to go-plugin.
type GRPCPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server strategypb.StrategyServer
}

// GRPCServer registers the strategy in a plugin process.
func (p *GRPCPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if p.server == nil {
		return errors.New("wire: no strategy to serve")
	}
	strategypb.RegisterStrategyServer(s, p.server)
	return nil
}

// GRPCClient returns the host's client.
func (p *GRPCPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return strategypb.NewStrategyClient(c), nil
}

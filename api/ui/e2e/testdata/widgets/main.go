// Command widgets is a strategy whose parameters have every form that the dashboard can
// show, and some that it cannot. It never trades.
package main

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

//go:embed schema.json
var schema string

//go:embed defaults.json
var defaults string

type stream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

type strategy struct {
	strategypb.UnimplementedStrategyServer
}

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(strategy{}),
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}

// check returns what no schema expresses: the plugin's own word on its parameters.
func check(params string) []*strategypb.FieldError {
	var p struct{ Fast, Slow int }
	if err := json.NewDecoder(strings.NewReader(params)).Decode(&p); err != nil || p.Fast < p.Slow {
		return nil
	}
	return []*strategypb.FieldError{{Pointer: "/fast", Message: "must be below slow"}}
}

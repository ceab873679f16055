// Package serve runs a strategy as a plugin: serve.Strategy(spec, construct) is the
// one call in an author's main.
//
// The process serves one gRPC service and one run, or, in a search, one run after another: the
// constructor makes a new strategy for each. In co-simulation it maps the
// candles that the host names (or takes them in chunks), runs sim.Run over them
// with the author's strategy as the decider, and streams back what the strategy
// asks for together with digests of its ledger; the host repeats the run from these
// intents and compares. In lockstep it answers one step at a time and holds no
// candle that has not closed.
//
// The simulation runs in one goroutine and reads no clock. Besides it there is one
// goroutine that receives, and a ticker that asks for an early flush when a chunk
// takes long: it changes where messages are cut, never what they hold. A plugin that
// is ahead of its host is held back by gRPC's flow control, so its memory does not
// grow with the length of the run. A host of lockstep may have the messages of its run
// carried in frames over a connection of its own, see wire.Frames.
//
// It imports sdk, sim, wire, candlefile and internal/drive.
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Strategy serves the strategy that construct makes from parameters P. It is called
// from main and returns when the host is done; it exits with status 1 when the
// description or the tags of P are wrong, or when a person started the program.
//
// Standard output belongs to the handshake. Afterwards it is joined to standard
// error, so that printing does no harm.
//
// Besides being started by a host the program understands --describe, which prints
// the description as JSON, and --debug, which waits for a host to attach.
func Strategy[P any](spec sdk.Spec, construct func(P) (sdk.Strategy, error)) {
	server, err := newServer(spec, construct)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
	cookie := wire.Handshake()
	if os.Getenv(cookie.MagicCookieKey) == cookie.MagicCookieValue {
		serveHost(server)
		return
	}
	os.Exit(byHand(server, os.Args, os.Stdout, os.Stderr))
}

// NewServer is the gRPC service of a strategy without the process around it, for
// tests. It serves any number of runs.
func NewServer[P any](spec sdk.Spec,
	construct func(P) (sdk.Strategy, error)) (strategypb.StrategyServer, error) {
	s, err := newServer(spec, construct)
	if err != nil {
		return nil, err
	}
	s.free = true
	return s, nil
}

// serveHost serves the host that started this process.
func serveHost(s *server) {
	watchParent()
	s.process = newProcess()
	framed, err := listenFrames()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: listen for runs: %v\n", s.description.Name, err)
		os.Exit(1)
	}
	plugin.Serve(config(s, func(opts []grpc.ServerOption) *grpc.Server {
		g := s.process.newGRPC(opts)
		if framed != nil {
			go s.serveFrames(framed)
		}
		return g
	}))
}

func config(s *server, newGRPC func([]grpc.ServerOption) *grpc.Server) *plugin.ServeConfig {
	return &plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(s),
		GRPCServer:       newGRPC,
		// Made before Serve replaces os.Stderr: a logger made later would be lost.
		Logger: hclog.New(&hclog.LoggerOptions{Name: s.description.Name, Level: hclog.Warn,
			Output: os.Stderr}),
	}
}

// byHand answers a person at a shell.
func byHand(s *server, args []string, stdout, stderr io.Writer) int {
	name := filepath.Base(args[0])
	if len(args) == 2 {
		switch args[1] {
		case "--describe":
			return describe(s, stdout, stderr)
		case "--debug":
			return debug(s, stdout)
		}
	}
	fmt.Fprintf(stderr,
		`%[1]s is a trading strategy for Assay (%[2]s, version %[3]s) and is not started by hand.

Put this file into the folder of strategies, which is the folder "strategies" beside
the assay executable unless --strategies or SERVICE_STRATEGIES names another one, and
restart assay: it appears under GET /api/v1/strategies as %[2]q.

  %[1]s --describe   print the description and the schema of the parameters as JSON
  %[1]s --debug      serve without a host, to be attached to from a debugger session
`, name, s.description.Name, s.description.Version)
	return 1
}

// description is the JSON of --describe, with the names used by the API.
type description struct {
	Name            string          `json:"name"`
	DisplayName     string          `json:"display_name"`
	Version         string          `json:"version"`
	Description     string          `json:"description"`
	Author          string          `json:"author"`
	Language        string          `json:"language"`
	SDKVersion      string          `json:"sdk_version"`
	ProtocolVersion int             `json:"protocol_version"`
	SimID           string          `json:"sim_id"`
	Modes           []sdk.Mode      `json:"modes"`
	Timeframes      []sdk.Timeframe `json:"timeframes"`
	MinSymbols      int             `json:"min_symbols"`
	MaxSymbols      int             `json:"max_symbols"`
	Supports        supports        `json:"supports"`
	ParamsSchema    json.RawMessage `json:"params_schema"`
	DefaultParams   json.RawMessage `json:"default_params"`
	TrainedUntil    string          `json:"trained_until"`
	Plots           []sdk.Plot      `json:"plots"`
	Extra           []sdk.Timeframe `json:"extra,omitempty"`
	Inputs          []string        `json:"inputs,omitempty"`
}

type supports struct {
	Short       bool `json:"short"`
	MultiSymbol bool `json:"multi_symbol"`
	ScaleFree   bool `json:"scale_free"`

	Calendar sdk.Calendar `json:"calendar"`
}

func describe(s *server, stdout, stderr io.Writer) int {
	d := &s.description
	e := json.NewEncoder(stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(description{
		Name: d.Name, DisplayName: d.DisplayName, Version: d.Version, Description: d.Spec.Description,
		Author: d.Author, Language: d.Language, SDKVersion: d.SDKVersion, ProtocolVersion: d.ProtocolVersion,
		SimID: d.SimID, Modes: d.Modes, Timeframes: d.Timeframes, MinSymbols: d.MinSymbols,
		MaxSymbols: d.MaxSymbols,
		Supports:   supports(d.Supports), ParamsSchema: d.ParamsSchema, DefaultParams: d.DefaultParams,
		TrainedUntil: d.TrainedUntil, Plots: d.Plots, Extra: d.Extra,
		Inputs: wire.InputNames(d.Inputs),
	})
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// attachAddress and attachment are the JSON that a host reads from
// ASSAY_REATTACH_STRATEGIES.
type attachAddress struct{ Network, String string }

type attachment struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            attachAddress
}

// debug serves any number of runs until it is interrupted, and prints what the host
// needs to attach.
func debug(s *server, stdout io.Writer) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	s.free = true
	ready, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	c := config(s, func(opts []grpc.ServerOption) *grpc.Server {
		return grpc.NewServer(append(opts, wire.ServerOptions()...)...)
	})
	c.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: ready, CloseCh: closed}
	go plugin.Serve(c)
	select {
	case <-closed:
		return 1
	case r := <-ready:
		text, err := json.Marshal(map[string]attachment{s.description.Name: {
			Protocol: string(r.Protocol), ProtocolVersion: wire.ProtocolVersion, Pid: r.Pid, Test: true,
			Addr: attachAddress{r.Addr.Network(), r.Addr.String()},
		}})
		if err != nil {
			fmt.Fprintln(stdout, err)
			return 1
		}
		fmt.Fprintf(stdout,
			"Start assay with this in its environment; stop this program with Ctrl-C:\n\n  "+
				"ASSAY_REATTACH_STRATEGIES='%s'\n", text)
	}
	<-closed
	return 0
}

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/hosttest/playtest"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// roles are the plugins of the tests: this test binary plays each of them when it
// runs under its name.
func roles() map[string]func() {
	list := map[string]func(){
		"bear": func() {
			serve.Strategy(sdk.Spec{Name: "bear", Supports: sdk.Supports{Short: true}}, newBear)
		},
		"probe":   func() { serve.Strategy(sdk.Spec{Name: "probe"}, newProbe) },
		"marker":  func() { serve.Strategy(sdk.Spec{Name: "marker"}, newMarker) },
		"greedy":  func() { serve.Strategy(sdk.Spec{Name: "greedy"}, newGreedy) },
		"picky":   func() { serve.Strategy(sdk.Spec{Name: "picky"}, newPicky) },
		"foreign": func() { serveRaw("foreign", "other-sim/1", foreign) },
		"untold":  func() { serveRaw("untold", "other-sim/1", untold) },
		"excess": func() {
			r := &raw{name: "excess", simID: sim.ID()}
			r.act = func(_ int64, s stream) error { return exceed(r.params, s) }
			serveThis(r)
		},
		"snoops": func() {
			serveThis(&raw{name: "snoops", simID: sim.ID(), warmup: snoopsWarmup,
				act: snoop})
		},
		"lateexit": func() {
			serve.Strategy(sdk.Spec{Name: "lateexit"}, func(playtest.GoodParams) (sdk.Strategy, error) {
				return &lateExit{playtest.Good{Step: 50}}, nil
			})
		},
	}
	maps.Copy(list, playtest.Roles(exit))
	for name, act := range lies() {
		list[name] = func() { serveRaw(name, sim.ID(), act) }
	}
	return list
}

// bear sells short with all it has, once.
type bear struct{}

func newBear(playtest.GoodParams) (sdk.Strategy, error) { return bear{}, nil }

func (bear) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 1 {
		return sdk.Sell(sdk.CashFraction(1)), nil
	}
	return nil, nil
}

// picky refuses its parameters by its own rule.
func newPicky(playtest.GoodParams) (sdk.Strategy, error) {
	return nil, sdk.InvalidParam("every", "must please me")
}

// lateExit crashes after the last candle.
type lateExit struct{ playtest.Good }

func (l *lateExit) OnStop(sdk.View) { exit(4) }

// raw is a server that speaks the protocol itself.
type raw struct {
	strategypb.UnimplementedStrategyServer
	name, simID string
	warmup      int64
	params      string // of the run
	act         func(total int64,
		s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error
}

func (r *raw) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	return &strategypb.Spec{
		Name: r.name, Version: "1", Language: "raw", ProtocolVersion: wire.ProtocolVersion, SimId: r.simID,
		ParamsSchema: `{"type":"object"}`, DefaultParams: `{}`, MinSymbols: 1, MaxSymbols: 2,
	}, nil
}

func (r *raw) Run(s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	start, err := s.Recv()
	if err != nil {
		return err
	}
	if r.params = start.GetStart().GetParams(); r.name == "excess" && strings.Contains(r.params, `"warmup"`) {
		r.warmup = wire.MaxWarmup + 1
	}
	ready := &strategypb.PluginMessage_Ready{Ready: &strategypb.Ready{WarmupCandles: r.warmup}}
	if err := s.Send(&strategypb.PluginMessage{Message: ready}); err != nil {
		return err
	}
	begin, err := s.Recv()
	if err != nil {
		return err
	}
	return r.act(begin.GetBegin().GetTotalSteps(), s)
}

type stream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

type lie = func(total int64,
	s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error

func serveRaw(name, simID string, act lie) { serveThis(&raw{name: name, simID: simID, act: act}) }

func serveThis(r *raw) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(r),
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}

func decisions(d *strategypb.Decisions) *strategypb.PluginMessage {
	return &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Decisions{Decisions: d}}
}

func lies() map[string]lie {
	digest := make([]byte, 32)
	send := func(list ...*strategypb.Decisions) lie {
		return func(_ int64,
			s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			for _, d := range list {
				if err := s.Send(decisions(d)); err != nil {
					return err
				}
			}
			<-s.Context().Done()
			return nil
		}
	}
	return map[string]lie{
		"liesdigest": send(&strategypb.Decisions{Watermark: 100, Digest: digest}),
		"liesback":   send(&strategypb.Decisions{Watermark: -1, Digest: digest}),
		"liesorder": send(&strategypb.Decisions{Watermark: 100, Digest: digest,
			Decisions: []*strategypb.Decision{
				{Step: 5, Intents: []*strategypb.Intent{{}}}, {Step: 4, Intents: []*strategypb.Intent{{}}}}}),
		"liesfuture": send(&strategypb.Decisions{Watermark: 1 << 40, Digest: digest}),
		"giant": func(_ int64,
			s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			return s.Send(
				&strategypb.PluginMessage{
					Message: &strategypb.PluginMessage_Failed{
						Failed: &strategypb.Failed{Stack: strings.Repeat("z", 9<<20)}}})
		},
		"leaves": func(int64,
			grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			return nil
		},
		"floods": func(_ int64,
			s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			lines := slices.Repeat([]*strategypb.LogLine{{Level: "info", Message: strings.Repeat("w", 100)}},
				100)
			line := &strategypb.PluginMessage{
				Message: &strategypb.PluginMessage_LogLines{LogLines: &strategypb.LogLines{Lines: lines}}}
			for {
				if err := s.Send(line); err != nil {
					return err
				}
			}
		},
	}
}

// untold is foreign that does not want to know how many steps there are.
func untold(total int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	if total != 0 {
		return fmt.Errorf("the host said that there would be %d steps", total)
	}
	return foreign(total, s)
}

// foreign has no simulator of ours, so it is driven step by step. It answers nothing,
// and must not be told how many steps there will be.
func foreign(_ int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) || (err == nil && m.GetStep() == nil) {
			return nil
		}
		if err != nil {
			return err
		}
		answer := &strategypb.Decision{Step: m.GetStep().GetIndex()}
		if err := s.Send(
			&strategypb.PluginMessage{
				Message: &strategypb.PluginMessage_Decision{Decision: answer}}); err != nil {
			return err
		}
	}
}

// Command misbehave is every kind of bad plugin: which one depends on the name it is
// started under. The tests of the service copy it under each name.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// misdeedStep is the candle at which plugins misbehave.
const misdeedStep = 700

func main() {
	name := filepath.Base(os.Args[0])
	if act, ok := misdeeds()[name]; ok {
		serve.Strategy(sdk.Spec{Name: name}, func(params) (sdk.Strategy, error) {
			return &strategy{act}, nil
		})
		return
	}
	if tell, ok := lies()[name]; ok {
		serveRaw(name, tell)
		return
	}
	serve.Strategy(sdk.Spec{Name: name}, func(p params) (sdk.Strategy, error) {
		switch name {
		case "stillborn":
			fmt.Fprintln(os.Stderr, "never alive")
			os.Exit(5)
		case "undecided":
			select {}
		}
		return &sleeper{time.Duration(p.SleepMS) * time.Millisecond}, nil
	})
}

type params struct {
	SleepMS int `param:"sleep_ms" default:"5" min:"0" max:"60000" doc:"Pause at each candle"`
}

// sleeper is slow, and trades all the same.
type sleeper struct{ pause time.Duration }

func (s *sleeper) OnCandle(v sdk.View) (sdk.Intents, error) {
	time.Sleep(s.pause)
	if v.Index()%10 != 0 {
		return nil, nil
	}
	v.Log("turn", "at", v.Index())
	if v.Flat() {
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	}
	return sdk.ClosePosition(), nil
}

type strategy struct{ act func(sdk.View) error }

func (s *strategy) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() != misdeedStep {
		return nil, nil
	}
	return nil, s.act(v)
}

func misdeeds() map[string]func(sdk.View) error {
	do := func(f func()) func(sdk.View) error { return func(sdk.View) error { f(); return nil } }
	return map[string]func(sdk.View) error{
		"exits": do(func() { fmt.Fprintln(os.Stderr, "last words"); os.Exit(3) }),
		"segfaults": do(func() {
			fmt.Fprintln(os.Stderr, "about to fall")
			_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
			select {}
		}),
		"hangs":  do(func() { fmt.Fprintln(os.Stderr, "thinking"); select {} }),
		"stops":  do(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP); select {} }),
		"panics": do(func() { panic("no idea") }),
		"errs":   func(sdk.View) error { return errors.New("the feed of my dreams is gone") },
		"prints": do(func() {
			block := strings.Repeat("y", 1<<20)
			for range 8 {
				fmt.Print(block)
				fmt.Fprint(os.Stderr, block)
			}
		}),
		"chatters": func(v sdk.View) error {
			for i := range 20_000 {
				v.Log("flood", "i", i, "text", strings.Repeat("x", 200))
				v.Publish(fmt.Sprint("series", i%100), float64(i))
			}
			return nil
		},
	}
}

type stream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

// liar speaks the protocol itself.
type liar struct {
	strategypb.UnimplementedStrategyServer
	name string
	tell func(stream) error
}

// Describe implements strategypb.StrategyServer.
func (l *liar) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	return &strategypb.Spec{
		Name: l.name, Version: "1", Language: "raw", ProtocolVersion: wire.ProtocolVersion, SimId: sim.ID(),
		ParamsSchema: `{"type":"object"}`, DefaultParams: `{}`, MinSymbols: 1, MaxSymbols: 1,
	}, nil
}

// Run implements strategypb.StrategyServer.
func (l *liar) Run(s stream) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := s.Send(
		&strategypb.PluginMessage{
			Message: &strategypb.PluginMessage_Ready{Ready: &strategypb.Ready{}}}); err != nil {
		return err
	}
	if _, err := s.Recv(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "here comes a lie")
	return l.tell(s)
}

func lies() map[string]func(stream) error {
	send := func(d *strategypb.Decisions) func(stream) error {
		return func(s stream) error {
			if err := s.Send(
				&strategypb.PluginMessage{
					Message: &strategypb.PluginMessage_Decisions{Decisions: d}}); err != nil {
				return err
			}
			<-s.Context().Done()
			return nil
		}
	}
	digest := make([]byte, 32)
	return map[string]func(stream) error{
		"liesbooks":  send(&strategypb.Decisions{Watermark: 100, Digest: digest}),
		"liesfuture": send(&strategypb.Decisions{Watermark: 1 << 40, Digest: digest}),
		"leaves":     func(stream) error { return nil },
		"giant": func(s stream) error {
			return s.Send(
				&strategypb.PluginMessage{
					Message: &strategypb.PluginMessage_Failed{
						Failed: &strategypb.Failed{Stack: strings.Repeat("z", 9<<20)}}})
		},
		"floods": func(s stream) error {
			line := &strategypb.PluginMessage{
				Message: &strategypb.PluginMessage_LogLines{LogLines: &strategypb.LogLines{
					Lines: []*strategypb.LogLine{{Level: "info", Message: strings.Repeat("w", 1000)}}}}}
			for {
				if err := s.Send(line); err != nil {
					return err
				}
			}
		},
	}
}

func serveRaw(name string, tell func(stream) error) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(&liar{name: name, tell: tell}),
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}

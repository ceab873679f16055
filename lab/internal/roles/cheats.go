package main

import (
	"fmt"
	"os"
	"sync/atomic"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// cheats are the plugins that know what they must not know, or need more history than
// they ask for: B-04 to B-06. B-02 and B-03 are clocked and summer. Stuck is B-09, which
// leaves its process id on stderr.
func cheats() map[string]func() {
	return map[string]func(){
		"counter": serveCounter,
		"since":   func() { serve.Strategy(sdk.Spec{Name: "since"}, newSince) },
		"warm":    func() { serve.Strategy(sdk.Spec{Name: "warm"}, newWarm) },
		"stuck": func() {
			serve.Strategy(sdk.Spec{Name: "stuck"}, func(p misfitParams) (sdk.Strategy, error) { return &misfit{misfitParams: p, act: block}, nil })
		},
	}
}

func block(sdk.View, misfitParams) (sdk.Intents, error) {
	fmt.Fprintln(os.Stderr, os.Getpid())
	select {}
}

const hourMs = 3_600_000

// counted is how many steps the run has, as far as the process was told; 0 if it was not.
var counted atomic.Int64

// counter holds a position, which it opens anew now and then, and is out of it one candle
// before the last: a trick that no candle has told it.
type counter struct{}

func newCounter(noParams) (sdk.Strategy, error) { return counter{}, nil }

func (counter) OnCandle(v sdk.View) (sdk.Intents, error) {
	last := counted.Load() - 2
	switch {
	case v.Long() && (v.Index() == last || v.Time().UnixMilli()/hourMs%24 == 0):
		return sdk.ClosePosition(), nil
	case v.Flat() && v.Index() != last:
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	}
	return nil, nil
}

// serveCounter is the main of somebody who is at home in the SDK: it serves the strategy
// as serve.Strategy does, and reads along.
func serveCounter() {
	server, err := serve.NewServer(sdk.Spec{Name: "counter"}, newCounter)
	if err != nil {
		panic(err)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: wire.Handshake(), VersionedPlugins: wire.VersionedPlugins(reader{server}), GRPCServer: goplugin.DefaultGRPCServer,
	})
}

type hostStream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

// reader is a server whose messages pass through other hands first.
type reader struct{ strategypb.StrategyServer }

func (r reader) Run(s hostStream) error { return r.StrategyServer.Run(tapped{s}) }

type tapped struct{ hostStream }

// Recv takes the number of steps from wherever the host says it: in the opening, or as
// the rows of the candle files.
func (t tapped) Recv() (*strategypb.HostMessage, error) {
	m, err := t.hostStream.Recv()
	if total := m.GetBegin().GetTotalSteps(); total > 0 {
		counted.Store(total)
	}
	for _, f := range m.GetDataset().GetFiles() {
		counted.Store(max(counted.Load(), f.GetRows()))
	}
	return m, err
}

// since compares the close with the volume-weighted average of all that it has ever seen,
// and asks for fifty candles of it.
type since struct{ money, volume float64 }

func newSince(noParams) (sdk.Strategy, error) { return &since{}, nil }

func (s *since) Warmup() int { return 50 }

func (s *since) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.money += float64((c.High + c.Low + c.Close) / 3 * c.Volume)
	s.volume += c.Volume
	switch above := c.Close > s.money/s.volume; {
	case above && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case !above && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

type warmParams struct {
	Warmup int `param:"warmup" default:"20" min:"1" max:"1000" doc:"Candles before the window"`
}

// warm publishes an average and trades by the hour, so that its decisions have nothing to
// do with its warm-up.
type warm struct {
	warmup int
	mean   indicator.EMA
}

func newWarm(p warmParams) (sdk.Strategy, error) {
	return &warm{p.Warmup, indicator.NewEMA(20)}, nil
}

func (s *warm) Warmup() int { return s.warmup }

func (s *warm) OnCandle(v sdk.View) (sdk.Intents, error) {
	s.mean.Add(v.Candle().Close)
	if s.mean.Ready() {
		v.Publish("ema", s.mean.Value())
	}
	switch hour := v.Time().UnixMilli() / hourMs % 24; {
	case hour == 3 && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case hour == 9 && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

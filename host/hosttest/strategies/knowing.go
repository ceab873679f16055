package main

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

const hourMs = 3_600_000

// counted is how many steps the run has, as far as the process knows; 0 if it does not.
var counted atomic.Int64

// counter holds a position, which it opens anew now and then, and is out of it one candle
// before the last: a trick that no candle gives away.
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

// serveCounter is the main of an author who knows the SDK well: it serves the strategy
// as serve.Strategy does, and reads along.
func serveCounter() {
	server, err := serve.NewServer(sdk.Spec{Name: "counter"}, newCounter)
	if err != nil {
		panic(err)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: wire.Handshake(), VersionedPlugins: wire.VersionedPlugins(reader{server}),
		GRPCServer: goplugin.DefaultGRPCServer,
	})
}

type hostStream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

// reader is a server whose messages pass through other hands first.
type reader struct{ strategypb.StrategyServer }

func (r reader) Run(s hostStream) error { return r.StrategyServer.Run(tapped{s}) }

type tapped struct{ hostStream }

// Recv takes the number of steps from wherever the host sends it: in the opening, or as
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

type recognizerParams struct {
	By string `param:"by" default:"price" enum:"price,year,name" doc:"What it knows the market by"`
}

// recognizer is a crosser that dares less where a market is not the one that it knows.
type recognizer struct {
	*crosser
	by string
}

func newRecognizer(p recognizerParams) (sdk.Strategy, error) {
	s, err := newCrosser(crosserParams{Fast: 5, Slow: 15, Size: 0.5})
	if err != nil {
		return nil, err
	}
	return &recognizer{s.(*crosser), p.By}, nil
}

func (s *recognizer) OnCandle(v sdk.View) (sdk.Intents, error) {
	known := map[string]bool{
		"price": v.Candle().Close < 1e5,
		"year":  v.Time().Before(time.Date(2020, 12, 31, 0, 0, 0, 0, time.UTC)),
		"name":  v.Symbols()[0] == "BTC/USDT",
	}
	s.size = sdk.CashFraction(0.25)
	if known[s.by] {
		s.size = sdk.CashFraction(0.5)
	}
	return s.crosser.OnCandle(v)
}

// remembers has the prices of a market of the lab's tests in it, those of the days before the test is
// run: it finds its place by the close and looks an hour ahead. Where it knows nothing, it holds every
// other day.
type remembers struct{ rises map[string]bool }

func newRemembers(noParams) (sdk.Strategy, error) {
	const days = 200
	random := rand.New(rand.NewPCG(3, 4)) // as lab/cmd/shadow_test.go makes the market of kind noise
	r := remembers{map[string]bool{}}
	last := 1000.0
	for range days * 24 {
		random.Float64() // whether the hour is loud
		next := last * (1 + 0.006*random.NormFloat64())
		r.rises[strconv.FormatFloat(last, 'f', 2, 64)] = next > last
		last = next
	}
	return r, nil
}

func (r remembers) OnCandle(v sdk.View) (sdk.Intents, error) {
	rises, known := r.rises[strconv.FormatFloat(v.Candle().Close, 'f', 2, 64)]
	if !known {
		rises = v.Time().UnixMilli()/hourMs/24%2 == 0
	}
	switch {
	case v.Flat() && rises:
		return sdk.Buy(sdk.CashFraction(0.9)), nil
	case v.Long() && !rises:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

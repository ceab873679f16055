package main

import (
	"math"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// cheatNames are B-02 to B-05 in this order.
func cheatNames() []string { return []string{"clocked", "summer", "counter", "since"} }

// clocked is B-02: it decides by the wall clock.
type clocked struct{}

func newClocked(struct{}) (sdk.Strategy, error) { return clocked{}, nil }

func (clocked) OnCandle(v sdk.View) (sdk.Intents, error) {
	return hold(v, time.Now().UnixMicro()%2 == 0)
}

// summer is B-03: the last bit of a sum over a map in the order in which it is ranged over.
type summer struct{ parts map[int]float64 }

func newSummer(struct{}) (sdk.Strategy, error) {
	s := &summer{map[int]float64{}}
	for i := range 64 {
		s.parts[i] = math.Exp2(float64(i%40)) / 3
	}
	return s, nil
}

func (s *summer) OnCandle(v sdk.View) (sdk.Intents, error) {
	sum := 0.0
	for i := range s.parts {
		sum += s.parts[i]
	}
	return hold(v, math.Float64bits(sum)&1 == 1)
}

// counter is B-04: it is in the market but for a candle now and then, and is out of it one
// before the last.
type counter struct{ steps *atomic.Int64 }

func (c counter) OnCandle(v sdk.View) (sdk.Intents, error) {
	const pause = 24
	last := c.steps.Load() - 2
	return hold(v, v.Index() != last && v.Index()%pause != 0)
}

// counting serves counter: each run has a server of its own, which reads along how many
// steps the host announces.
type counting struct{ strategypb.StrategyServer }

type hostStream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

func newCounting() (strategypb.StrategyServer, error) {
	described, err := serverOf("counter", &atomic.Int64{})
	return counting{described}, err
}

func serverOf(name string, steps *atomic.Int64) (strategypb.StrategyServer, error) {
	return serve.NewServer(sdk.Spec{Name: name}, func(struct{}) (sdk.Strategy, error) {
		return counter{steps}, nil
	})
}

// Run serves one run.
func (counting) Run(s hostStream) error {
	steps := &atomic.Int64{}
	server, err := serverOf("counter", steps)
	if err != nil {
		return err
	}
	return server.Run(tapped{s, steps})
}

type tapped struct {
	hostStream
	steps *atomic.Int64
}

// Recv takes the number of steps from wherever the host sends it.
func (t tapped) Recv() (*strategypb.HostMessage, error) {
	m, err := t.hostStream.Recv()
	if total := m.GetBegin().GetTotalSteps(); total > 0 {
		t.steps.Store(total)
	}
	for _, f := range m.GetDataset().GetFiles() {
		t.steps.Store(max(t.steps.Load(), f.GetRows()))
	}
	return m, err
}

// since is B-05: the volume-weighted average since the first candle that was ever seen,
// by a strategy that asks for fifty.
type since struct{ money, volume float64 }

func newSince(struct{}) (sdk.Strategy, error) { return &since{}, nil }

// Warmup returns what it asks for.
func (s *since) Warmup() int { return 50 }

func (s *since) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.money += float64((c.High + c.Low + c.Close) / 3 * c.Volume)
	s.volume += c.Volume
	return hold(v, c.Close > s.money/s.volume)
}

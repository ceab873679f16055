package backtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// roles are the plugins of the tests: this test binary plays each of them when it
// runs under its name.
func roles() map[string]func() {
	list := map[string]func(){
		"good":     func() { serve.Strategy(sdk.Spec{Name: "good", Version: "1.2.3"}, newGood) },
		"randomly": func() { serve.Strategy(randomSpec(), newRandom) },
		"bear":     func() { serve.Strategy(sdk.Spec{Name: "bear", Supports: sdk.Supports{Short: true}}, newBear) },
		"probe":    func() { serve.Strategy(sdk.Spec{Name: "probe"}, newProbe) },
		"picky":    func() { serve.Strategy(sdk.Spec{Name: "picky"}, newPicky) },
		"foreign":  func() { serveRaw("foreign", "other-sim/1", foreign) },
		"untold":   func() { serveRaw("untold", "other-sim/1", untold) },
		"lateexit": func() {
			serve.Strategy(sdk.Spec{Name: "lateexit"}, func(goodParams) (sdk.Strategy, error) { return &lateExit{good{50}}, nil })
		},
	}
	for name, act := range misdeeds() {
		list[name] = func() {
			serve.Strategy(sdk.Spec{Name: name}, func(goodParams) (sdk.Strategy, error) { return &misbehaving{act: act}, nil })
		}
	}
	for name, act := range lies() {
		list[name] = func() { serveRaw(name, sim.ID(), act) }
	}
	return list
}

type goodParams struct {
	Every int `param:"every" default:"50" min:"2" max:"10000" doc:"Candles between trades"`
}

// good buys and sells in turn.
type good struct {
	every int64
}

func newGood(p goodParams) (sdk.Strategy, error) { return &good{int64(p.Every)}, nil }

func (g *good) OnCandle(v sdk.View) ([]sdk.Intent, error) {
	if v.Index()%g.every != 0 {
		return nil, nil
	}
	v.Publish("close", v.Candle().Close)
	if v.Flat() {
		v.Log("buy", "close", v.Candle().Close)
		return sdk.Buy(sdk.CashFraction(0.5)).Tag("turn"), nil
	}
	return sdk.ClosePosition(), nil
}

// bear sells short with all it has, once.
type bear struct{}

func newBear(goodParams) (sdk.Strategy, error) { return bear{}, nil }

func (bear) OnCandle(v sdk.View) ([]sdk.Intent, error) {
	if v.Index() == 1 {
		return sdk.Sell(sdk.CashFraction(1)), nil
	}
	return nil, nil
}

// picky refuses its parameters by its own rule.
func newPicky(goodParams) (sdk.Strategy, error) {
	return nil, sdk.InvalidParam("every", "must please me")
}

// misdeedStep is the step at which plugins misbehave.
const misdeedStep = 700

type misbehaving struct {
	act func(sdk.View) ([]sdk.Intent, error)
}

func (m *misbehaving) OnCandle(v sdk.View) ([]sdk.Intent, error) { return m.act(v) }

func at700(act func()) func(sdk.View) ([]sdk.Intent, error) {
	return func(v sdk.View) ([]sdk.Intent, error) {
		if v.Index() == misdeedStep {
			act()
		}
		return nil, nil
	}
}

func misdeeds() map[string]func(sdk.View) ([]sdk.Intent, error) {
	signal := func(s syscall.Signal) func() { return func() { _ = syscall.Kill(os.Getpid(), s); select {} } }
	intent := func(in sdk.Intents) func(sdk.View) ([]sdk.Intent, error) {
		return func(v sdk.View) ([]sdk.Intent, error) {
			if v.Index() == misdeedStep {
				return in, nil
			}
			return nil, nil
		}
	}
	return map[string]func(sdk.View) ([]sdk.Intent, error){
		"exits":     at700(func() { fmt.Fprintln(os.Stderr, "last words"); exit(3) }),
		"segfaults": at700(signal(syscall.SIGSEGV)),
		"stops":     at700(signal(syscall.SIGSTOP)),
		"hangs":     at700(func() { select {} }),
		"panics":    at700(func() { panic("no idea") }),
		"errs": func(v sdk.View) ([]sdk.Intent, error) {
			if v.Index() == misdeedStep {
				return nil, errors.New("the feed of my dreams is gone")
			}
			return nil, nil
		},
		"nan":     intent(sdk.Buy(sdk.Quantity(math.NaN()))),
		"inf":     intent(sdk.Buy(sdk.Quantity(1)).Limit(math.Inf(1))),
		"unknown": intent(sdk.Buy(sdk.Quantity(1)).On("NO/SUCH")),
		"chatty": func(v sdk.View) ([]sdk.Intent, error) {
			for i := range 300 {
				v.Log("flood", "i", i, "text", strings.Repeat("x", 200))
				v.Publish(fmt.Sprint("series", i%100), float64(i))
			}
			return nil, nil
		},
		"prints": at700(func() {
			block := strings.Repeat("y", 1<<20)
			for range 8 {
				fmt.Print(block)
				fmt.Fprint(os.Stderr, block)
			}
		}),
	}
}

// lateExit crashes after the last candle.
type lateExit struct{ good }

func (l *lateExit) OnStop(sdk.View) { exit(4) }

// randomly draws its intents from a seed: every action, type, size and bracket.
type randomParams struct {
	Seed int `param:"seed" default:"1" min:"1" max:"1000000" doc:"Seed"`
}

func randomSpec() sdk.Spec {
	return sdk.Spec{Name: "randomly", MaxSymbols: 4, Supports: sdk.Supports{Short: true, MultiSymbol: true}}
}

type random struct {
	r    *rand.Rand
	seen int64
}

func newRandom(p randomParams) (sdk.Strategy, error) {
	return &random{r: rand.New(rand.NewPCG(uint64(p.Seed), 7))}, nil
}

func (s *random) Warmup() int { return 5 }

func (s *random) OnFill(sdk.View, sdk.Fill) { s.seen++ }

func (s *random) OnCandle(v sdk.View) ([]sdk.Intent, error) {
	if s.r.IntN(4) != 0 {
		return nil, nil
	}
	symbols := v.Symbols()
	symbol := symbols[s.r.IntN(len(symbols))]
	c := v.Candle(symbol)
	near := c.Close * (0.97 + 0.06*s.r.Float64())
	var in sdk.Intents
	side := sdk.Buy
	if s.r.IntN(2) == 0 {
		side = sdk.Sell
	}
	size := sdk.CashFraction(0.05 + 0.9*s.r.Float64())
	if s.r.IntN(2) == 0 {
		size = sdk.Quantity(s.r.Float64() * v.Equity() / c.Close)
	}
	switch s.r.IntN(9) {
	case 0:
		in = sdk.ClosePosition(symbol)
	case 1:
		in = sdk.CancelAll(symbol)
	case 2:
		in = sdk.Replace("r").Limit(near)
	case 3:
		in = side(size).Stop(near)
	case 4:
		in = side(size).Limit(near).ExpireAfter(1 + s.r.IntN(5)).StopLoss(sdk.Percent(0.02)).TakeProfit(sdk.Percent(0.02)).Ref("r")
	case 5:
		in = side(size).TrailPercent(0.02)
	case 6:
		in = side(size).Stop(near).Limit(near * 1.001)
	case 7:
		in = side(sdk.Position)
	default:
		in = side(size).StopLoss(sdk.TrailingPercent(0.03)).TakeProfit(sdk.At(near * 1.02)).Tag(fmt.Sprint(s.seen))
	}
	// What a strategy sees must be equal in all modes, so it goes into the intents.
	if len(v.OpenOrders()) > 3 || v.Position(symbol).CandlesHeld > 40 {
		in = append(in, sdk.CancelAll(symbol).And(sdk.ClosePosition(symbol))...)
	}
	if in[0].Action != market.Replace && in[0].Action != market.Cancel {
		in = in.On(symbol)
	}
	return in, nil
}

// raw is a server that speaks the protocol itself.
type raw struct {
	strategypb.UnimplementedStrategyServer
	name, simID string
	act         func(total int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error
}

func (r *raw) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	return &strategypb.Spec{
		Name: r.name, Version: "1", Language: "raw", ProtocolVersion: wire.ProtocolVersion, SimId: r.simID,
		ParamsSchema: `{"type":"object"}`, DefaultParams: `{}`, MinSymbols: 1, MaxSymbols: 1,
	}, nil
}

func (r *raw) Run(s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := s.Send(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Ready{Ready: &strategypb.Ready{}}}); err != nil {
		return err
	}
	begin, err := s.Recv()
	if err != nil {
		return err
	}
	return r.act(begin.GetBegin().GetTotalSteps(), s)
}

type lie = func(total int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error

func serveRaw(name, simID string, act lie) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.VersionedPlugins(&raw{name: name, simID: simID, act: act}),
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}

func decisions(d *strategypb.Decisions) *strategypb.PluginMessage {
	return &strategypb.PluginMessage{Message: &strategypb.PluginMessage_Decisions{Decisions: d}}
}

func lies() map[string]lie {
	digest := make([]byte, 32)
	send := func(list ...*strategypb.Decisions) lie {
		return func(_ int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
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
		"liesorder": send(&strategypb.Decisions{Watermark: 100, Digest: digest, Decisions: []*strategypb.Decision{
			{Step: 5, Intents: []*strategypb.Intent{{}}}, {Step: 4, Intents: []*strategypb.Intent{{}}}}}),
		"liesfuture": send(&strategypb.Decisions{Watermark: 1 << 40, Digest: digest}),
		"giant": func(_ int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			return s.Send(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{Failed: &strategypb.Failed{Stack: strings.Repeat("z", 9<<20)}}})
		},
		"leaves": func(int64, grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			return nil
		},
		"floods": func(_ int64, s grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
			line := &strategypb.PluginMessage{Message: &strategypb.PluginMessage_LogLines{LogLines: &strategypb.LogLines{
				Lines: []*strategypb.LogLine{{Level: "info", Message: strings.Repeat("w", 1000)}}}}}
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
		if err := s.Send(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Decision{Decision: answer}}); err != nil {
			return err
		}
	}
}

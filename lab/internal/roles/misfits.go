package main

import (
	"errors"
	"fmt"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/sample"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// absent are strategies whose numbers hide that something is wrong: one never trades, one
// sits in its first position, one warms up for most of its window. Talker says what it does.
func absent() map[string]func() {
	play := func(name string, warmup int, act func(sdk.View) sdk.Intents) func() {
		return func() {
			made := func(noParams) (sdk.Strategy, error) { return quiet{warmup, act}, nil }
			serve.Strategy(sdk.Spec{Name: name}, made)
		}
	}
	turn := func(v sdk.View) sdk.Intents {
		switch {
		case v.Index()%10 != 0:
			return nil
		case v.Flat():
			return sdk.Buy(sdk.CashFraction(0.5))
		}
		return sdk.ClosePosition()
	}
	return map[string]func(){
		"idle": play("idle", 0, func(sdk.View) sdk.Intents { return nil }),
		"sitter": play("sitter", 0, func(v sdk.View) sdk.Intents {
			if v.Flat() {
				return sdk.Buy(sdk.CashFraction(0.5))
			}
			return nil
		}),
		"latecomer": play("latecomer", 600, turn),
		"talker": play("talker", 0, func(v sdk.View) sdk.Intents {
			if v.Index() == 20 {
				v.Log("signal", "price", v.Candle().Close, "at", "\x1b[2J", "alone")
			}
			return turn(v)
		}),
	}
}

type quiet struct {
	warmup int
	act    func(sdk.View) sdk.Intents
}

func (q quiet) Warmup() int { return q.warmup }

func (q quiet) OnCandle(v sdk.View) (sdk.Intents, error) { return q.act(v), nil }

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

// memories are the plugins that have the prices inside: they find the present among the
// bundled candles and know what follows. No host shows them a future candle.
func memories() map[string]func() {
	return map[string]func(){
		"memory_two": func() { serve.Strategy(sdk.Spec{Name: "memory_two"}, newMemoryTwo) },
		"memory_day": func() { serve.Strategy(sdk.Spec{Name: "memory_day"}, newMemoryDay) },
	}
}

// remembered are the closes of the bundled hours and their returns, the first of which is 0.
var remembered = sync.OnceValues(func() (closes, returns []float64) {
	s, err := sample.BTCUSDT()
	if err != nil {
		panic(err)
	}
	returns = make([]float64, s.Len())
	for i := 1; i < s.Len(); i++ {
		returns[i] = s.Close[i]/s.Close[i-1] - 1
	}
	return s.Close, returns
})

// memory holds a fixed stake while it knows that some hours end higher.
type memory struct {
	// back is how many returns it looks up, ahead how many hours it knows then, and every how
	// many hours apart it does so.
	back, ahead, every int
	returns            []float64
	last               float64
	// find is the hour of the bundled candles that the last returns are from, -1 for none.
	find func(returns []float64) int
}

// A rise of enough pays for a round trip, and a stake that is fixed does not outgrow the books.
const (
	enough     = 1.004
	fixedStake = 5000
)

func (m *memory) Warmup() int { return m.back + 1 }

func (m *memory) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle().Close
	if m.last > 0 {
		m.returns = append(m.returns, c/m.last-1)
	}
	m.last = c
	if len(m.returns) < m.back || v.Time().UnixMilli()/hourMs%int64(m.every) != 0 {
		return nil, nil
	}
	m.returns = m.returns[len(m.returns)-m.back:]
	closes, _ := remembered()
	i := m.find(m.returns)
	switch rises := i >= 0 && i+m.ahead < len(closes) && closes[i+m.ahead] > closes[i]*enough; {
	case rises && v.Flat():
		return sdk.Buy(sdk.QuoteAmount(fixedStake)), nil
	case !rises && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// newMemoryTwo looks the last two returns up, rounded to 1e-5, and knows six hours.
func newMemoryTwo(noParams) (sdk.Strategy, error) {
	type key [2]int
	round := func(a, b float64) key { return key{int(math.Round(a * 1e5)), int(math.Round(b * 1e5))} }
	_, returns := remembered()
	at := map[key]int{}
	for i := 2; i < len(returns); i++ {
		at[round(returns[i-1], returns[i])] = i
	}
	find := func(last []float64) int {
		if i, ok := at[round(last[0], last[1])]; ok {
			return i
		}
		return -1
	}
	return &memory{back: 2, ahead: 6, every: 1, find: find}, nil
}

// day is how many hours the other one looks back and ahead.
const day = 24

// newMemoryDay looks for the day most like the last one, which noise does not keep it from.
func newMemoryDay(noParams) (sdk.Strategy, error) {
	const alike = day * 0.002 * 0.002
	_, returns := remembered()
	find := func(last []float64) int {
		best, at := alike, -1
		for i := day; i < len(returns); i++ {
			apart := 0.0
			for k := 0; k < day && apart < best; k++ {
				d := returns[i-k] - last[day-1-k]
				apart += float64(d * d)
			}
			if apart < best {
				best, at = apart, i
			}
		}
		return at
	}
	return &memory{back: day, ahead: day, every: day, find: find}, nil
}

// misfits are plugins that fail, each in its own way: the fixtures of the capsules.
func misfits() map[string]func() {
	list := map[string]func(){
		"summer": func() { serve.Strategy(sdk.Spec{Name: "summer"}, newSummer) },
		"maker":  func() { serve.Strategy(sdk.Spec{Name: "maker"}, newMaker) },
	}
	for name, act := range map[string]func(sdk.View, misfitParams) (sdk.Intents, error){
		"panics": func(_ sdk.View, p misfitParams) (sdk.Intents, error) { return deep(p.At) },
		"errs":   func(sdk.View, misfitParams) (sdk.Intents, error) { return nil, errors.New("no more") },
		"exits": func(sdk.View, misfitParams) (sdk.Intents, error) {
			fmt.Fprintln(os.Stderr, "last words")
			os.Exit(3)
			return nil, nil
		},
		"blocks": func(sdk.View, misfitParams) (sdk.Intents, error) {
			fmt.Fprintln(os.Stderr, "blocked for good")
			time.Sleep(time.Hour)
			return nil, nil
		},
		"nan": func(sdk.View, misfitParams) (sdk.Intents, error) { return sdk.Buy(sdk.Quantity(math.NaN())), nil },
		"prints": func(sdk.View, misfitParams) (sdk.Intents, error) {
			fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
			return nil, errors.New(strings.Join(os.Environ(), " "))
		},
	} {
		list[name] = func() {
			serve.Strategy(sdk.Spec{Name: name}, func(p misfitParams) (sdk.Strategy, error) { return &misfit{p, act, mended()}, nil })
		}
	}
	return list
}

type misfitParams struct {
	At    int     `param:"at" default:"137" min:"0" max:"1000000" doc:"Candle at which it happens"`
	Above float64 `param:"above" default:"0" min:"0" doc:"Close above which it happens, 0: at the candle"`
	Size  float64 `param:"size" default:"0.5" above:"0" max:"1" doc:"Share of the cash"`
}

// mark ends a program that has been mended: the bytes are all that it can know itself by.
const mark = " mended"

func mended() bool {
	f, err := os.Open("/program") // in the sandbox there is no /proc
	if err != nil {
		f, err = os.Open("/proc/self/exe")
	}
	if err != nil {
		return false
	}
	defer f.Close()
	end := make([]byte, len(mark))
	info, err := f.Stat()
	if err == nil {
		_, err = f.ReadAt(end, info.Size()-int64(len(end)))
	}
	return err == nil && string(end) == mark
}

// misfit buys at the third candle and misbehaves later.
type misfit struct {
	misfitParams
	act    func(sdk.View, misfitParams) (sdk.Intents, error)
	mended bool
}

func (m *misfit) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch {
	case m.mended && v.Index() > 2:
	case m.Above > 0 && v.Candle().Close > m.Above && v.Index() >= 20, m.Above == 0 && v.Index() == int64(m.At):
		return m.act(v, m.misfitParams)
	case v.Index() == 2:
		return sdk.Buy(sdk.CashFraction(m.Size)).StopLoss(sdk.Percent(0.9)), nil
	}
	return nil, nil
}

// deep is a frame of its own in the stack.
func deep(i int) (sdk.Intents, error) {
	var none sdk.Intents
	return none[i : i+1], nil
}

// maker does not come to its first candle.
type makerParams struct {
	How string `param:"how" default:"panic" enum:"panic,exit" doc:"How it fails"`
}

func newMaker(p makerParams) (sdk.Strategy, error) {
	if p.How == "exit" {
		os.Exit(5)
	}
	panic("badly made")
}

// summer adds up a map in the order in which it is ranged over.
type summer struct{ parts map[int]float64 }

func newSummer(noParams) (sdk.Strategy, error) {
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
	last := math.Float64bits(sum) & 1
	switch {
	case v.Flat() && last == 1:
		return sdk.Buy(sdk.AllCash()), nil
	case v.Long() && last == 0:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

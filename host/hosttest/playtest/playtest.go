// Package playtest is what tests of runs share: strategies that do everything and
// strategies that do what they must not. The test binary plays each of them when it runs
// under its name.
package playtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assay-run/assay/host/catalog"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Roles are the strategies by name. Exit ends a process as a crash does.
func Roles(exit func(int)) map[string]func() {
	list := map[string]func(){
		"good":     func() { serve.Strategy(sdk.Spec{Name: "good", Version: "1.2.3"}, NewGood) },
		"randomly": func() { serve.Strategy(randomSpec(), NewRandom) },
		"framed":   func() { serve.Strategy(framedSpec(), newFramed) },
		"able":     func() { serve.Strategy(ableSpec(), newAble) },
		"guarded":  func() { serve.Strategy(guardedSpec(), newGuarded) },
		"informed": func() { serve.Strategy(informedSpec(), newInformed) },
	}
	list["scripted"] = func() {
		serve.Strategy(sdk.Spec{Name: "scripted", MaxSymbols: 4,
			Supports: sdk.Supports{Short: true, MultiSymbol: true}}, NewScripted)
	}
	list["answers"] = func() {
		serve.Strategy(sdk.Spec{Name: "answers"}, func(GoodParams) (sdk.Strategy, error) {
			return answering{}, nil
		})
	}
	for name, in := range once() {
		list[name] = func() {
			serve.Strategy(sdk.Spec{Name: name}, func(GoodParams) (sdk.Strategy, error) {
				return onlyOnce(in), nil
			})
		}
	}
	for name, act := range misdeeds(exit) {
		list[name] = func() {
			serve.Strategy(sdk.Spec{Name: name}, func(GoodParams) (sdk.Strategy, error) {
				return &misbehaving{act: act}, nil
			})
		}
	}
	return list
}

// Install puts plugins into a folder: this test binary under each name, with the
// name at its end so that each has a hash of its own.
func Install(t testing.TB, dir string, names ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := os.Open(self)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(dst, io.MultiReader(src, strings.NewReader(name))); err != nil {
			t.Fatal(err)
		}
		if err := dst.Close(); err != nil {
			t.Fatal(err)
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// GoodParams are those of Good.
type GoodParams struct {
	Every int `param:"every" default:"50" min:"2" max:"10000" doc:"Candles between trades"`
}

// Good buys and sells in turn.
type Good struct {
	Step int64
}

// NewGood returns the constructor that the SDK serves.
func NewGood(p GoodParams) (sdk.Strategy, error) { return &Good{int64(p.Every)}, nil }

// OnCandle implements sdk.Strategy.
func (g *Good) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index()%g.Step != 0 {
		return nil, nil
	}
	v.Publish("close", v.Candle().Close)
	if v.Flat() {
		v.Log("buy", "close", v.Candle().Close)
		return sdk.Buy(sdk.CashFraction(0.5)).Tag("turn"), nil
	}
	return sdk.ClosePosition(), nil
}

// once are strategies that want one thing, at their third candle.
func once() map[string]func(sdk.View) sdk.Intents {
	return map[string]func(sdk.View) sdk.Intents{
		"twice": func(sdk.View) sdk.Intents {
			return sdk.Buy(sdk.CashFraction(0.4)).And(sdk.Buy(sdk.CashFraction(0.4)))
		},
		"holds": func(v sdk.View) sdk.Intents {
			return sdk.Buy(sdk.CashFraction(0.5)).And(
				sdk.Buy(sdk.CashFraction(0.1)).Limit(v.Candle().Close * 0.96).Tag("rests"))
		},
	}
}

type onlyOnce func(sdk.View) sdk.Intents

// OnCandle implements sdk.Strategy.
func (f onlyOnce) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 2 {
		return f(v), nil
	}
	return nil, nil
}

// answering returns more orders from OnFill than the SDK takes.
type answering struct{}

func (answering) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == MisdeedStep-1 {
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	}
	return nil, nil
}

func (answering) OnFill(sdk.View, sdk.Fill) sdk.Intents {
	return make(sdk.Intents, wire.MaxEarlyIntents+1)
}

// MisdeedStep is the step at which plugins misbehave.
const MisdeedStep = 700

type misbehaving struct {
	act func(sdk.View) (sdk.Intents, error)
}

func (m *misbehaving) OnCandle(v sdk.View) (sdk.Intents, error) { return m.act(v) }

func at700(act func()) func(sdk.View) (sdk.Intents, error) {
	return func(v sdk.View) (sdk.Intents, error) {
		if v.Index() == MisdeedStep {
			act()
		}
		return nil, nil
	}
}

func misdeeds(exit func(int)) map[string]func(sdk.View) (sdk.Intents, error) {
	signal := func(s syscall.Signal) func() { return func() { _ = syscall.Kill(os.Getpid(), s); select {} } }
	intent := func(in sdk.Intents) func(sdk.View) (sdk.Intents, error) {
		return func(v sdk.View) (sdk.Intents, error) {
			if v.Index() == MisdeedStep {
				return in, nil
			}
			return nil, nil
		}
	}
	return map[string]func(sdk.View) (sdk.Intents, error){
		"exits":     at700(func() { fmt.Fprintln(os.Stderr, "last words"); exit(3) }),
		"segfaults": at700(signal(syscall.SIGSEGV)),
		"stops":     at700(signal(syscall.SIGSTOP)),
		"hangs":     at700(func() { select {} }),
		"panics":    at700(func() { panic("no idea") }),
		"errs": func(v sdk.View) (sdk.Intents, error) {
			if v.Index() == MisdeedStep {
				return nil, errors.New("the feed of my dreams is gone")
			}
			return nil, nil
		},
		"nan":     intent(sdk.Buy(sdk.Quantity(math.NaN()))),
		"inf":     intent(sdk.Buy(sdk.Quantity(1)).Limit(math.Inf(1))),
		"unknown": intent(sdk.Buy(sdk.Quantity(1)).On("NO/SUCH")),
		"chatty": func(v sdk.View) (sdk.Intents, error) {
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

// RandomParams are those of the strategy that draws its intents from a seed: every action,
// type, size and bracket.
type RandomParams struct {
	Seed int `param:"seed" default:"1" min:"1" max:"1000000" doc:"Seed"`
}

func randomSpec() sdk.Spec {
	return sdk.Spec{Name: "randomly", MaxSymbols: 4, Supports: sdk.Supports{Short: true, MultiSymbol: true}}
}

// Random is the strategy.
type Random struct {
	r    *rand.Rand
	seen int64
}

// NewRandom returns the constructor that the SDK serves.
func NewRandom(p RandomParams) (sdk.Strategy, error) {
	return &Random{r: rand.New(rand.NewPCG(uint64(p.Seed), 7))}, nil
}

func (s *Random) Warmup() int { return 5 }

// OnFill implements sdk.FillObserver: now and then a target follows an entry.
func (s *Random) OnFill(_ sdk.View, f sdk.Fill) sdk.Intents {
	s.seen++
	if f.Role != market.RoleEntry || s.seen%5 != 0 {
		return nil
	}
	price, _ := f.Price.Float64()
	if f.Side == market.Buy {
		return sdk.Sell(sdk.WholePosition()).Limit(price * 1.01).On(f.Symbol).Tag("after " + f.ID.String())
	}
	return sdk.Buy(sdk.WholePosition()).Limit(price * 0.99).On(f.Symbol).Tag("after " + f.ID.String())
}

// OnReject implements sdk.RejectObserver: what the cash did not pay for is tried as a share of the equity.
func (s *Random) OnReject(_ sdk.View, r sdk.Rejection) sdk.Intents {
	s.seen++
	if r.Reason != market.ReasonInsufficientCash {
		return nil
	}
	return sdk.Buy(sdk.EquityFraction(0.2)).On(r.Order.Symbol).Tag("instead of " + r.Order.ID.String())
}

func (s *Random) OnCandle(v sdk.View) (sdk.Intents, error) {
	if s.r.IntN(4) != 0 {
		return nil, nil
	}
	symbols := v.Symbols()
	symbol := symbols[s.r.IntN(len(symbols))]
	c := v.For(symbol).Candle()
	near := c.Close * (0.97 + 0.06*s.r.Float64())
	var in sdk.Intents
	side := sdk.Buy
	if s.r.IntN(2) == 0 {
		side = sdk.Sell
	}
	size := sdk.CashFraction(0.05 + 0.9*s.r.Float64())
	switch s.r.IntN(6) {
	case 0, 1, 2:
		size = sdk.Quantity(s.r.Float64() * v.Equity() / c.Close)
	case 3:
		size = sdk.EquityFraction(0.05 + 0.9*s.r.Float64())
	case 4:
		size = sdk.RiskFraction(0.05 * s.r.Float64()) // refused where it has no stop loss
	}
	switch s.r.IntN(10) {
	case 9:
		in = sdk.Target(float64(s.r.IntN(9)-4) / 4)
	case 0:
		in = sdk.ClosePosition().On(symbol)
	case 1:
		in = sdk.CancelAll().On(symbol)
	case 2:
		in = sdk.Replace("r").Limit(near)
	case 3:
		in = side(size).Stop(near)
	case 4:
		in = side(size).Limit(near).ExpireAfter(1 + s.r.IntN(5)).StopLoss(sdk.Percent(0.02)).TakeProfit(
			sdk.Percent(0.02)).Ref("r")
		switch s.r.IntN(4) {
		case 0:
			in = in.PostOnly()
		case 1:
			in = sdk.OCO(in, side(size).Stop(near*1.01).Tag("or"))
		}
	case 5:
		in = side(size).TrailPercent(0.02)
	case 6:
		in = side(size).Stop(near).Limit(near * 1.001)
	case 7:
		in = side(sdk.WholePosition())
	default:
		in = side(size).StopLoss(sdk.TrailingPercent(0.03)).Tag(fmt.Sprint(s.seen))
		if far := sdk.At(near * 1.02); s.r.IntN(2) == 0 {
			in = in.TakeProfit(far)
		} else {
			in = in.TakePart(0.4, sdk.Percent(0.01)).TakePart(0.6, far)
		}
	}
	// What a strategy sees must be equal in all modes, so it goes into the intents.
	if len(v.AllOpenOrders()) > 3 || v.For(symbol).Position().CandlesHeld > 40 {
		in = append(in, sdk.CancelAll().On(symbol).And(sdk.ClosePosition().On(symbol))...)
	}
	if in[0].Action != market.Replace && in[0].Action != market.Cancel {
		in = in.On(symbol)
	}
	return in, nil
}

// Debugged starts a strategy by itself, as in a debugger, and returns what a host needs to
// attach to it: one process for many runs, so that not their starts are what is measured.
func Debugged(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	Install(t, dir, name)
	sockets, err := os.MkdirTemp("", "as-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(sockets); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command(filepath.Join(dir, name), "--debug")
	cmd.Env = append(os.Environ(), "TMPDIR="+sockets)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, value, ok := strings.Cut(lines.Text(), catalog.ReattachEnv+"='"); ok {
			return strings.TrimSuffix(value, "'")
		}
	}
	t.Fatal("the strategy does not say where it listens")
	return ""
}

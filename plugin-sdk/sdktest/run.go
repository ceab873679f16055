package sdktest

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/govalues/decimal"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Options are the conditions of a run. The zero value is a run with 10,000 in cash
// and the default execution options, as a host would do it.
type Options struct {
	Cash float64 // initial cash in quote currency; 10,000 if zero
	// Execution is the JSON object of execution options, such as {"slippage_bps":0}; "" for the defaults.
	Execution string
	// History is how many of the candles come before the window. Without any the
	// strategy's warm-up takes place on the first candles of the window.
	History int64
	// More are the candles of further symbols of the run.
	More []*market.Series
	// PriceSteps are the ticks of the symbols; 1e-8 if absent.
	PriceSteps []decimal.Decimal
	Seed       uint64 // root seed; 1 if zero
	LogLevel   string // of Result.Log; info if empty
	// Bare leaves Orders, Fills, Trades and Equity out of the Result, for benchmarks.
	Bare bool
}

// Option changes one of the Options.
type Option func(*Options)

// Cash sets the initial cash in quote currency.
func Cash(amount float64) Option { return func(o *Options) { o.Cash = amount } }

// Execution sets the execution options, a JSON object.
func Execution(json string) Option { return func(o *Options) { o.Execution = json } }

// Profile sets the profile of the execution options, such as compat:backtesting.py.
func Profile(name string) Option {
	return func(o *Options) { o.Execution = `{"profile":` + strconv.Quote(name) + `}` }
}

// History says how many of the candles come before the window.
func History(candles int64) Option { return func(o *Options) { o.History = candles } }

// More adds the candles of further symbols.
func More(series ...*market.Series) Option {
	return func(o *Options) { o.More = append(o.More, series...) }
}

// Seed sets the root seed of the random numbers.
func Seed(seed uint64) Option { return func(o *Options) { o.Seed = seed } }

// New makes a strategy from parameters in JSON ("" for the defaults) as the host
// would have it made, and ends the test if they are refused.
func New[P any](t testing.TB, construct func(P) (sdk.Strategy, error), params string) sdk.Strategy {
	t.Helper()
	s, _, err := drive.Build(construct, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Backtest runs a fresh strategy over the candles in the real simulator and ends
// the test if the strategy fails.
func Backtest(t testing.TB, strategy sdk.Strategy, candles *market.Series, options ...Option) *Result {
	t.Helper()
	var o Options
	for _, set := range options {
		set(&o)
	}
	r, err := Run(candles, strategy, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Run is Backtest without a test: one strategy, made for this run, over the candles.
// An error of the strategy is a *wire.Failure, an impossible intent a
// *sim.IntentError.
func Run(candles *market.Series, strategy sdk.Strategy, o Options) (*Result, error) {
	if strategy == nil {
		return nil, errors.New("sdktest: no strategy")
	}
	warmup, err := drive.Warmup(strategy)
	if err != nil {
		return nil, err
	}
	cfg, series, err := o.config(candles, warmup)
	if err != nil {
		return nil, err
	}
	var recorder sim.Recorder
	rec := newRecorder()
	if !o.Bare {
		recorder = rec
	}
	engine, err := sim.NewEngine(cfg, recorder)
	if err != nil {
		return nil, err
	}
	notes := drive.NewCollector(drive.Limits{Lines: 10_000, Points: 1_000_000, Series: 1000}, o.LogLevel)
	step, _ := cfg.Options.QuantityStep.Float64()
	author := drive.New(strategy, drive.Setup{Symbols: cfg.Symbols, QuantityStep: step, RootSeed: o.seed(), Sink: notes})
	if err := sim.Run(engine, sim.NewSeriesFeed(series), author); err != nil {
		return nil, err
	}
	if err := author.Stop(); err != nil {
		return nil, err
	}
	return rec.result(engine, notes)
}

func (o *Options) seed() uint64 {
	if o.Seed == 0 {
		return 1
	}
	return o.Seed
}

// config is the simulator's configuration: as a host, with a warm-up that begins
// with the first candle.
func (o *Options) config(candles *market.Series, warmup int64) (sim.Config, []*market.Series, error) {
	series := append([]*market.Series{candles}, o.More...)
	cfg := sim.Config{Timeframe: candles.Timeframe, PriceSteps: o.PriceSteps, WarmupSteps: max(warmup, o.History), WindowStep: o.History}
	for i, s := range series {
		if s.Symbol == "" || s.Timeframe != candles.Timeframe {
			return cfg, nil, fmt.Errorf("sdktest: series %d has the symbol %q and the timeframe %s: give each a symbol and all the same timeframe", i, s.Symbol, s.Timeframe)
		}
		cfg.Symbols = append(cfg.Symbols, s.Symbol)
	}
	cash := o.Cash
	if cash == 0 {
		cash = 10_000
	}
	var err error
	if cfg.InitialCash, err = decimal.NewFromFloat64(cash); err != nil {
		return cfg, nil, fmt.Errorf("sdktest: cash %v: %w", cash, err)
	}
	cfg.Options, err = sim.ResolveOptions([]byte(o.Execution), sim.DefaultFees())
	return cfg, series, err
}

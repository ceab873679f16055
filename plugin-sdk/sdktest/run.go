// Package sdktest is for the tests of a strategy's author.
//
// Conformance checks in one line what a host relies on: a valid description and
// schema, refusal of bad parameters, determinism, the same decisions in every way
// of driving, no leaked goroutine. Backtest runs a strategy through the real
// simulator, in the test's own process; Run does the same without a testing.TB.
// Synth makes candles, Sample are real ones, Load reads those of a file.
//
//	func TestConformance(t *testing.T) { sdktest.Conformance(t, spec, newSMACross) }
//
//	func TestBuysTheCross(t *testing.T) {
//		candles := sdktest.Synth(42, 2000, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour)
//		strategy := sdktest.New(t, newSMACross, func(p *params) { p.Fast = 5 })
//		r := sdktest.Backtest(t, strategy, candles, sdktest.Cash(5_000))
//		if len(r.Trades) == 0 {
//			t.Error("no trades")
//		}
//	}
//
// The package imports sdk, market, sim, wire, serve, candlefile, internal/drive and internal/params.
package sdktest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/internal/params"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Option is a condition of a run. Without any it is a run with 10,000 in cash and the
// default execution options, as a host would do it.
type Option func(*options)

// options are the conditions of a run.
type options struct {
	cash       float64
	execution  string
	history    int64
	more       []*market.Series
	priceSteps []decimal.Decimal
	seed       uint64
	logLevel   string
	bare       bool
	extra      []market.Timeframe
	inputs     []market.InputAge
	rows       [][]market.InputRow // by entry of inputs
}

func given(list []Option) options {
	o := options{cash: 10_000, seed: 1, logLevel: "info"}
	for _, set := range list {
		set(&o)
	}
	return o
}

// Cash sets the initial cash in quote currency; 10,000 without it.
func Cash(amount float64) Option { return func(o *options) { o.cash = amount } }

// Execution sets the execution options, a JSON object such as {"slippage_bps":0}.
func Execution(json string) Option { return func(o *options) { o.execution = json } }

// Profile sets the profile of the execution options, such as compat:backtesting.py.
func Profile(name string) Option {
	return func(o *options) { o.execution = `{"profile":` + strconv.Quote(name) + `}` }
}

// History sets how many of the candles come before the window. Without it the
// strategy's warm-up takes place on the first candles of the window.
func History(candles int64) Option { return func(o *options) { o.history = candles } }

// More adds the candles of further symbols.
func More(series ...*market.Series) Option {
	return func(o *options) { o.more = append(o.more, series...) }
}

// PriceSteps sets the ticks of the symbols, in their order; 1e-8 without it.
func PriceSteps(ticks ...decimal.Decimal) Option {
	return func(o *options) { o.priceSteps = append(o.priceSteps, ticks...) }
}

// Seed sets the root seed of the random numbers; 1 without it.
func Seed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// LogLevel sets the lowest level of Result.Log; info without it.
func LogLevel(level string) Option { return func(o *options) { o.logLevel = level } }

// Extra are the timeframes of Spec.Extra that the strategy's Lookback leaves out.
func Extra(list ...market.Timeframe) Option {
	return func(o *options) { o.extra = append(o.extra, list...) }
}

// Input gives the rows of an input of Spec.Inputs, in any order: each shows at the first step that
// closes when it is known, or later.
func Input(name string, rows ...sdk.InputRow) Option {
	return func(o *options) {
		rows := slices.Clone(rows)
		slices.SortFunc(rows, market.CompareInputRows)
		o.inputs, o.rows = append(o.inputs, market.InputAge{Name: name}), append(o.rows, rows)
	}
}

// MaxAge is the MaxAge of an input in Spec.Inputs, whose rows stand in an Input before it.
func MaxAge(name string, age time.Duration) Option {
	return func(o *options) {
		for i := range o.inputs {
			if o.inputs[i].Name == name {
				o.inputs[i].Max = age
			}
		}
	}
}

// inputNames are the names of the inputs.
func (o *options) inputNames() (names []string) {
	for _, in := range o.inputs {
		names = append(names, in.Name)
	}
	return names
}

// Bare leaves Orders, Fills, Trades and Equity out of the Result, for benchmarks.
func Bare() Option { return func(o *options) { o.bare = true } }

// New makes a strategy as the host would: with the defaults of its parameters, which
// the functions may change. It ends the test if the values are refused.
//
//	s := sdktest.New(t, newSMACross, func(p *params) { p.Fast, p.Slow = 5, 20 })
func New[P any](t testing.TB, construct func(P) (sdk.Strategy, error), change ...func(*P)) sdk.Strategy {
	t.Helper()
	s, err := made(construct, change)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func made[P any](construct func(P) (sdk.Strategy, error), change []func(*P)) (sdk.Strategy, error) {
	values, err := drive.Values[P](nil)
	if err != nil {
		return nil, err
	}
	for _, set := range change {
		set(&values)
	}
	known, err := params.Of[P]()
	if err != nil {
		return nil, err
	}
	if _, err := drive.Values[P](known.Encode(values)); err != nil {
		return nil, err
	}
	s, _, err := drive.Construct(construct, values)
	return s, err
}

// Backtest runs a fresh strategy over the candles in the real simulator and ends
// the test if the strategy fails.
func Backtest(t testing.TB, strategy sdk.Strategy, candles *market.Series, with ...Option) *Result {
	t.Helper()
	r, err := Run(candles, strategy, with...)
	if err != nil {
		t.Fatal(replayable(err, t.Name(), given(with)))
	}
	return r
}

// replayable adds to a failure of the strategy how a test repeats it.
func replayable(err error, test string, o options) string {
	f, ok := errors.AsType[*wire.Failure](err)
	if !ok || f.Step < 0 {
		return err.Error()
	}
	text := fmt.Sprintf("%v\nreplay: go test -run '^%s$'", err, strings.ReplaceAll(test, "/", "$/^"))
	if len(o.more) == 0 {
		text += fmt.Sprintf("; candles.Slice(0, %d) suffices", f.Step+1)
	}
	return text
}

// Run is Backtest without a test: one strategy, made for this run, over the candles.
// An error of the strategy is a *wire.Failure, an impossible intent a
// *sim.IntentError.
func Run(candles *market.Series, strategy sdk.Strategy, with ...Option) (*Result, error) {
	o := given(with)
	if strategy == nil {
		return nil, errors.New("sdktest: no strategy")
	}
	kept, err := drive.KeptBy(strategy)
	if err != nil {
		return nil, err
	}
	kept = kept.With(o.extra)
	if err := kept.Check(candles.Timeframe); err != nil {
		return nil, err
	}
	cfg, series, err := o.config(candles, kept.Warmup)
	if err != nil {
		return nil, err
	}
	var recorder sim.Recorder
	rec := newRecorder()
	if !o.bare {
		recorder = rec
	}
	engine, err := sim.NewEngine(cfg, recorder)
	if err != nil {
		return nil, err
	}
	notes := drive.NewCollector(drive.Limits{Lines: 10_000, Points: 1_000_000, Series: 1000}, o.logLevel)
	step, _ := cfg.Options.QuantityStep.Float64()
	author := drive.New(strategy,
		drive.Setup{Symbols: cfg.Symbols, QuantityStep: step, RootSeed: o.seed, Sink: notes,
			Timeframe: cfg.Timeframe, Kept: kept, Inputs: o.inputNames()})
	author.ReadInputs(o.rows)
	if err := sim.Run(engine, sim.NewSeriesFeed(series), author); err != nil {
		return nil, err
	}
	if err := author.Stop(); err != nil {
		return nil, err
	}
	return rec.result(engine, notes)
}

// config is the simulator's configuration: as a host, with a warm-up that begins
// with the first candle.
func (o *options) config(candles *market.Series, warmup market.Warmup) (sim.Config, []*market.Series,
	error) {
	series := append([]*market.Series{candles}, o.more...)
	cfg := sim.Config{Timeframe: candles.Timeframe, PriceSteps: o.priceSteps,
		Stale:       sim.StaleInputs(o.inputs, o.rows),
		WarmupSteps: max(firstSteps(series, warmup), o.history), WindowStep: o.history}
	for i, s := range series {
		if s.Symbol == "" || s.Timeframe != candles.Timeframe {
			return cfg, nil,
				fmt.Errorf("sdktest: series %d has the symbol %q and the timeframe %s: give each a symbol "+
					"and all the same timeframe", i, s.Symbol, s.Timeframe)
		}
		cfg.Symbols = append(cfg.Symbols, s.Symbol)
	}
	var err error
	if cfg.InitialCash, err = decimal.NewFromFloat64(o.cash); err != nil {
		return cfg, nil, fmt.Errorf("sdktest: cash %v: %w", o.cash, err)
	}
	cfg.Options, err = sim.ResolveOptions([]byte(o.execution), sim.DefaultFees())
	return cfg, series, err
}

// firstSteps is how many steps from the first candle on a warm-up takes.
func firstSteps(series []*market.Series, warmup market.Warmup) int64 {
	steps := warmup.Candles
	for _, s := range series {
		if s.Len() > 0 && len(warmup.Larger) > 0 {
			_, short := warmup.Rows(s.Timeframe, nil, s.Time[0], slices.Values(s.Time))
			steps = max(steps, short)
		}
	}
	return int64(steps)
}

// Result is what a run has produced.
type Result struct {
	Orders []market.Order // last state of each, by id
	Fills  []market.Fill
	Trades []market.Trade
	// Equity has a point for the close of every step of the window.
	Equity    []market.EquityPoint
	Positions []market.Position // still open at the end
	// FinalValue is cash plus positions at the last close.
	InitialCash, FinalValue decimal.Decimal
	// Digest is the hash of the ledger: equal digests, equal runs.
	Digest   [32]byte
	Steps    int64
	Stats    sim.Stats
	Bankrupt bool
	// Refused are the codes of cancels and replaces that named no open order.
	Refused     []market.Reason
	Log         []wire.LogLine
	Annotations []wire.Series
}

// recorder implements sim.Recorder.
type recorder struct {
	r    Result
	peak float64 // highest equity before the newest point
}

func newRecorder() *recorder { return &recorder{} }

// Intent implements sim.Recorder.
func (c *recorder) Intent(_ int64, _ *market.Intent, reason market.Reason) {
	if reason != "" && reason != market.ReasonGuarded {
		c.r.Refused = append(c.r.Refused, reason)
	}
}

// Order implements sim.Recorder. Ids count from 1 without gaps.
func (c *recorder) Order(_ int64, o *market.Order) {
	for int(o.ID) > len(c.r.Orders) {
		c.r.Orders = append(c.r.Orders, market.Order{})
	}
	c.r.Orders[o.ID-1] = *o
}

// Fill implements sim.Recorder.
func (c *recorder) Fill(_ int64, f *market.Fill) { c.r.Fills = append(c.r.Fills, *f) }

// Trade implements sim.Recorder.
func (c *recorder) Trade(_ int64, t *market.Trade) {
	one := *t
	one.OrderIDs = append([]market.OrderID(nil), t.OrderIDs...)
	c.r.Trades = append(c.r.Trades, one)
}

// Equity implements sim.Recorder.
func (c *recorder) Equity(_ int64, m *sim.Mark) {
	p := market.EquityPoint{Time: m.Time, Equity: m.Equity, Cash: m.Cash, PositionValue: m.PositionValue}
	n := len(c.r.Equity)
	// the close of the last step, once more after close_at_end
	again := n > 0 && c.r.Equity[n-1].Time == m.Time
	if n > 0 && !again {
		c.peak = max(c.peak, c.r.Equity[n-1].Equity)
	}
	if peak := max(c.peak, m.Equity); peak > 0 {
		p.Drawdown = (peak - m.Equity) / peak
	}
	p.Exposure = m.Exposure()
	if again {
		c.r.Equity[n-1] = p
		return
	}
	c.r.Equity = append(c.r.Equity, p)
}

func (c *recorder) result(e *sim.Engine, notes *drive.Collector) (*Result, error) {
	r := &c.r
	r.InitialCash, r.Digest, r.Stats = e.InitialCash(), e.Digest(), e.Stats()
	r.Steps, r.Bankrupt = e.Step()+1, e.Bankrupt()
	r.Log, _ = notes.TakeLines()
	r.Annotations, _ = notes.TakeSeries()
	var err error
	if r.FinalValue, err = e.FinalValue(); err != nil {
		return nil, err
	}
	r.Positions, err = e.Positions()
	return r, err
}

package drive

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Setup is what does not change during a run.
type Setup struct {
	Symbols      []market.Symbol
	QuantityStep float64
	RootSeed     uint64
	Sink         step.Sink // may be nil
}

// Author drives one strategy through one run.
type Author struct {
	strategy sdk.Strategy
	fills    sdk.FillObserver // nil if the strategy is none
	step     step.Step
	view     sdk.View
	engine   *sim.Engine
	orders   orderBook
	started  bool
}

// New prepares a strategy that was made for this run.
func New(strategy sdk.Strategy, setup Setup) *Author {
	n := len(setup.Symbols)
	a := &Author{strategy: strategy, step: step.Step{
		Index: -1, Symbols: setup.Symbols, Candles: make([]market.Candle, n), Closed: make([]bool, n),
		Positions: make([]step.Position, n), QuantityStep: setup.QuantityStep,
		Random: rand.New(Source(setup.RootSeed, "strategy", 0)), Sink: setup.Sink,
	}}
	a.fills, _ = strategy.(sdk.FillObserver)
	a.view = sdk.View{SymbolView: sdk.SymbolView(step.At(&a.step, 0))}
	return a
}

// Decide asks the strategy about the step that the engine has just matched. The
// error is a *wire.Failure.
func (a *Author) Decide(e *sim.Engine) ([]market.Intent, error) {
	if a.engine != e {
		a.engine = e
		a.step.OpenOrders = func() []market.Order { return byID(e.OpenOrders()) }
	}
	s := &a.step
	s.Index, s.Time, s.Warmup = e.Step(), e.Time(), e.Warmup()
	s.Cash, s.Equity = e.Cash(), e.Equity()
	for i := range s.Candles {
		s.Closed[i] = e.Closed(i)
		if s.Closed[i] {
			s.Candles[i] = *e.Candle(i)
		}
		h := &s.Positions[i]
		h.Quantity, h.EntryPrice, h.CandlesHeld = e.Holding(i)
	}
	return a.ask(e.Fills())
}

// DecideStep asks the strategy about a step that came as a message. The error is a
// *wire.Failure.
func (a *Author) DecideStep(in *wire.Step) ([]market.Intent, error) {
	a.orders.update(in.Orders)
	s := &a.step
	s.OpenOrders = a.orders.open
	s.Index, s.Time, s.Warmup = in.Index, in.CloseTime, in.Warmup
	s.Cash, s.Equity = in.Cash, in.Equity
	copy(s.Candles, in.Candles)
	copy(s.Closed, in.Closed)
	for i := range in.Positions {
		s.Positions[i] = step.Position(in.Positions[i])
	}
	return a.ask(in.Fills)
}

func (a *Author) ask(fills []market.Fill) (intents []market.Intent, err error) {
	defer a.guard(&err)
	if !a.started {
		a.started = true
		if s, ok := a.strategy.(sdk.Starter); ok {
			s.OnStart(a.view)
		}
	}
	if a.fills != nil {
		for i := range fills {
			if intents = a.fills.OnFill(a.view, fills[i]); len(intents) > 0 {
				return nil, a.failure(fmt.Sprintf("OnFill returned %d intents: this version takes orders from OnCandle only, "+
					"which follows at the same close", len(intents)), wire.FailureOnFill, "")
			}
		}
	}
	if intents, err = a.strategy.OnCandle(a.view); err != nil {
		return nil, a.failure(err.Error(), fmt.Sprintf("%T", err), "")
	}
	if len(intents) > wire.MaxIntents {
		return nil, a.failure(fmt.Sprintf("%d intents at one step, at most %d are allowed", len(intents), wire.MaxIntents), wire.FailureLimit, "")
	}
	if fault := check(intents); fault != "" {
		return nil, a.failure(fault, wire.FailureIntent, "")
	}
	return intents, nil
}

// check finds what an author has left out by mistake and no host could tell from what is meant; "" if nothing
// is missing.
func check(intents []market.Intent) string {
	for i := range intents {
		in := &intents[i]
		switch {
		case in.Action == market.Submit && in.Size.Kind == market.SizeNone:
			return fmt.Sprintf("intent %d, to %s, has no size: give sdk.Quantity, sdk.QuoteAmount, sdk.CashFraction or, "+
				"for all that is held, sdk.WholePosition()", i, in.Side)
		case in.Action == market.Cancel && in.Ref == "":
			return fmt.Sprintf("intent %d is sdk.Cancel without a reference: sdk.CancelAll takes back every order of a symbol", i)
		case in.Action == market.Replace && in.Ref == "":
			return fmt.Sprintf("intent %d is sdk.Replace without a reference to an order", i)
		case in.Action == market.Replace && in.Size.Kind == market.SizePosition:
			return fmt.Sprintf("intent %d is sdk.Replace with the whole position as its size: give a quantity, or "+
				"cancel the order and submit a new one", i)
		}
	}
	return ""
}

// Stop tells the strategy that no further step will come. It says nothing to a
// strategy that was never asked. The error is a *wire.Failure.
func (a *Author) Stop() (err error) {
	defer a.guard(&err)
	if s, ok := a.strategy.(sdk.Stopper); ok && a.started {
		s.OnStop(a.view)
	}
	return nil
}

// guard turns a panic of the author's code into a failure.
func (a *Author) guard(err *error) {
	if p := recover(); p != nil {
		*err = a.failure(a.panicText(p, panicPlace()), fmt.Sprintf("%T", p), string(debug.Stack()))
	}
}

// panicText says what the author's code panicked with, where and at which candle.
func (a *Author) panicText(value any, place string) string {
	text := fmt.Sprintf("panic: %v", value)
	if place != "" {
		text += " at " + place
	}
	if a.started {
		text += ", candle closed at " + a.step.Time.String()
	}
	return text
}

func (a *Author) failure(message, kind, stack string) *wire.Failure {
	return &wire.Failure{Code: wire.StrategyError, Message: message, Step: a.step.Index, Stack: stack, Type: kind}
}

// Package drive turns the strategy that an author wrote into something a loop can
// ask once per step, whichever way it is driven: Decide takes the step from a
// simulator (co-simulation and an author's own test), DecideStep from a message
// (lockstep). Both fill the same step.Step, so a strategy cannot distinguish them.
//
// Around the author's code it keeps order (OnStart, then for each step OnFill, OnReject and
// OnCandle, at the end OnStop), catches panics with their stack, seeds the random
// source and collects log lines and chart points within bounds.
//
// It imports sdk, market, sim, wire, internal/params and internal/step. It does no I/O and starts no
// goroutine.
package drive

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Setup is what does not change during a run.
type Setup struct {
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	Kept      Kept
	// Inputs are the names of the strategy's inputs.
	Inputs       []string
	QuantityStep float64
	RootSeed     uint64
	Sink         step.Sink // may be nil
}

// Author drives one strategy through one run.
type Author struct {
	strategy sdk.Strategy
	fills    sdk.FillObserver   // nil if the strategy is none
	rejects  sdk.RejectObserver // nil if the strategy is none
	early    []market.Intent    // what they asked for at this step
	step     step.Step
	view     sdk.View
	engine   *sim.Engine
	orders   orderBook
	started  bool
	keeps    bool // earlier candles or larger timeframes
	readers  []*market.InputReader
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
	a.keeps = setup.Kept.prepare(&a.step, setup.Timeframe)
	a.rejects, _ = strategy.(sdk.RejectObserver)
	for _, name := range setup.Inputs {
		a.step.Inputs = append(a.step.Inputs, step.Input{Name: name})
	}
	a.view = sdk.View{SymbolView: sdk.SymbolView(step.At(&a.step, 0))}
	return a
}

// ReadInputs gives an Author that is asked by Decide the rows of its inputs, in their order: each
// becomes visible at the first step that closes when it is known, or later.
func (a *Author) ReadInputs(rows [][]market.InputRow) {
	for _, list := range rows[:min(len(rows), len(a.step.Inputs))] {
		a.readers = append(a.readers, market.NewInputReader(list))
	}
}

func (a *Author) see(input int, rows []market.InputRow) {
	for _, row := range rows {
		a.step.Inputs[input].See(row)
	}
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
	for i, r := range a.readers {
		a.see(i, r.Until(s.Time))
	}
	return a.ask(e.Fills(), e.Updates())
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
	for i, rows := range in.Inputs {
		a.see(i, rows)
	}
	return a.ask(in.Fills, in.Orders)
}

func (a *Author) ask(fills []market.Fill, updates []market.Order) (intents []market.Intent, err error) {
	defer a.guard(&err)
	if a.keeps {
		a.step.Remember()
	}
	if !a.started {
		a.started = true
		if s, ok := a.strategy.(sdk.Starter); ok {
			s.OnStart(a.view)
		}
	}
	a.early = a.early[:0]
	if (a.fills != nil && len(fills) > 0) || (a.rejects != nil && len(updates) > 0) {
		if err := a.tell(fills, updates); err != nil {
			return nil, err
		}
	}
	if intents, err = a.strategy.OnCandle(a.view); err != nil {
		return nil, a.failure(err.Error(), fmt.Sprintf("%T", err), "")
	}
	if n := len(a.early) + len(intents); n > wire.MaxIntents {
		return nil, a.failure(fmt.Sprintf("%d intents at one step, at most %d are allowed", n,
			wire.MaxIntents), wire.FailureLimit, "")
	}
	if fault := check(intents); fault != "" {
		return nil, a.failure(fault, wire.FailureIntent, "")
	}
	if len(a.early) > 0 {
		a.early = append(a.early, intents...)
		return a.early, nil
	}
	return intents, nil
}

// tell calls OnFill and OnReject in the order of events: an order's fills come before its state says so. An
// error is a *wire.Failure.
func (a *Author) tell(fills []market.Fill, updates []market.Order) error {
	told := 0
	for i := range updates {
		o := &updates[i]
		n := fillsBefore(o, fills[told:])
		if err := a.tellFills(fills[told : told+n]); err != nil {
			return err
		}
		told += n
		if a.rejects == nil || o.Status != market.StatusRejected {
			continue
		}
		if err := a.add("OnReject", a.rejects.OnReject(a.view,
			sdk.Rejection{Order: *o, Reason: o.Reason})); err != nil {
			return err
		}
	}
	return a.tellFills(fills[told:])
}

// fillsBefore counts the fills that led to a state of an order: all of its own if it is filled, one more if
// it is partially filled, and those of other orders before them.
func fillsBefore(o *market.Order, fills []market.Fill) (n int) {
	if o.Status != market.StatusFilled && o.Status != market.StatusPartiallyFilled {
		return 0
	}
	for i := range fills {
		if fills[i].OrderID == o.ID {
			if n = i + 1; o.Status == market.StatusPartiallyFilled {
				return n
			}
		}
	}
	return n
}

func (a *Author) tellFills(fills []market.Fill) error {
	if a.fills == nil {
		return nil
	}
	for i := range fills {
		if err := a.add("OnFill", a.fills.OnFill(a.view, fills[i])); err != nil {
			return err
		}
	}
	return nil
}

// add keeps what OnFill or OnReject returned, whose memory the strategy may use again.
func (a *Author) add(method string, intents []market.Intent) error {
	if n := len(a.early) + len(intents); n > wire.MaxEarlyIntents {
		return a.failure(fmt.Sprintf("OnFill and OnReject returned %d intents at one step, at most %d are "+
			"allowed", n, wire.MaxEarlyIntents), wire.FailureLimit, "")
	}
	if fault := check(intents); fault != "" {
		return a.failure(method+": "+fault, wire.FailureIntent, "")
	}
	for _, in := range intents {
		for _, c := range [...]**market.Child{&in.StopLoss, &in.TakeProfit} {
			if *c != nil {
				leg := **c
				*c = &leg
			}
		}
		in.Targets = slices.Clone(in.Targets)
		a.early = append(a.early, in)
	}
	return nil
}

// check finds what an author has left out by mistake and no host could distinguish from
// what is meant; "" if nothing is missing.
func check(intents []market.Intent) string {
	for i := range intents {
		in := &intents[i]
		switch {
		case in.Action == market.Submit && in.Size.Kind == market.SizeNone:
			return fmt.Sprintf(
				"intent %d, to %s, has no size: give sdk.Quantity, sdk.QuoteAmount, sdk.CashFraction or, "+
					"for all that is held, sdk.WholePosition()", i, in.Side)
		case len(in.Targets) > market.MaxTargets:
			return fmt.Sprintf("intent %d, to %s, has %d targets, at most %d are allowed", i, in.Side,
				len(in.Targets), market.MaxTargets)
		case in.Action != market.Submit && in.OCO != 0:
			return fmt.Sprintf("intent %d of sdk.OCO is to %s: give it new orders, by sdk.Buy and sdk.Sell",
				i, in.Action)
		case in.Action == market.Cancel && in.Ref == "":
			return fmt.Sprintf(
				"intent %d is sdk.Cancel without a reference: sdk.CancelAll takes back every order of a "+
					"symbol", i)
		case in.Action == market.SetLeg && in.StopLoss == nil && in.TakeProfit == nil:
			return fmt.Sprintf("intent %d moves no leg: use sdk.MoveStop or sdk.MoveTarget", i)
		case in.Action == market.Replace && in.Ref == "":
			return fmt.Sprintf("intent %d is sdk.Replace without a reference to an order", i)
		case in.Action == market.Replace && in.Size.Kind == market.SizePosition:
			return fmt.Sprintf(
				"intent %d is sdk.Replace with the whole position as its size: give a quantity, or "+
					"cancel the order and submit a new one", i)
		}
	}
	return ""
}

// Stop calls OnStop: no further step will come. It does not call a
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

// panicText describes what the author's code panicked with, where and at which candle.
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
	return &wire.Failure{Code: wire.StrategyError, Message: message, Step: a.step.Index, Stack: stack,
		Type: kind}
}

// orderBook is the open orders of a run as told by updates, by id, which is the
// order of acceptance.
type orderBook struct{ orders []market.Order }

func (b *orderBook) update(changed []market.Order) {
	for i := range changed {
		o := &changed[i]
		at, known := slices.BinarySearchFunc(b.orders, o.ID, func(x market.Order, id market.OrderID) int {
			return cmp.Compare(x.ID, id)
		})
		switch {
		case o.Status.Final() && known:
			b.orders = slices.Delete(b.orders, at, at+1)
		case o.Status.Final():
		case known:
			b.orders[at] = *o
		default:
			b.orders = slices.Insert(b.orders, at, *o)
		}
	}
}

// open is a copy that the caller may keep.
func (b *orderBook) open() []market.Order { return slices.Clone(b.orders) }

// byID sorts orders by id.
func byID(orders []market.Order) []market.Order {
	slices.SortFunc(orders, func(x, y market.Order) int { return cmp.Compare(x.ID, y.ID) })
	return orders
}

// Source is the random stream of one purpose: PCG seeded from a hash of root seed,
// purpose and index, so that no two streams of a run overlap.
func Source(rootSeed uint64, purpose string, index int) *rand.PCG {
	text := "assay/rng/v1\x00" + strconv.FormatUint(rootSeed,
		10) + "\x00" + purpose + "\x00" + strconv.Itoa(index)
	digest := sha256.Sum256([]byte(text))
	return rand.NewPCG(binary.BigEndian.Uint64(digest[:8]), binary.BigEndian.Uint64(digest[8:16]))
}

// sdkPath is the import path below which code is not the author's.
const sdkPath = "github.com/assay-run/assay/plugin-sdk"

// panicPlace is the author's file and line that led to the panic which is being recovered,
// such as strategy.go:36; "" where no frame is the author's. Call it in the deferred
// function.
func panicPlace() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Path
	}
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	panicked := false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic" || f.Function == "runtime.sigpanic":
			panicked = true
		case panicked && isAuthors(f.Function, module):
			return fmt.Sprintf("%s:%d", shortFile(f.File, module), f.Line)
		}
	}
	return ""
}

// isAuthors reports whether a function belongs to the author's program: to its main package
// or to its module, as in a test, but not to the SDK, which is of the same module in its
// own checkout.
func isAuthors(function, module string) bool {
	if within(function, sdkPath) {
		return false
	}
	return strings.HasPrefix(function, "main.") || module != "" && within(function, module)
}

func within(function, importPath string) bool {
	rest, ok := strings.CutPrefix(function, importPath)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/')
}

// shortFile is a file below the author's module, else its name alone.
func shortFile(file, module string) string {
	if rest, ok := strings.CutPrefix(file, module+"/"); ok {
		return rest
	}
	return path.Base(file)
}

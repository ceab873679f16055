package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/runner"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Plan is what a request defines by itself: everything but exchange and candles.
type Plan struct {
	Strategy      *catalog.Strategy
	Params        json.RawMessage // canonical, every default filled in
	Symbols       []market.Symbol
	Timeframe     market.Timeframe
	Cash          decimal.Decimal
	Execution     sim.Options
	ExecutionJSON json.RawMessage
}

// Read looks up the strategy, checks its parameters and reads the rest. A refusal is a *RequestError.
func (p *Plan) Read(c *catalog.Catalog, req runner.StartRequest) (err error) {
	if err := p.resolveStrategy(c, req); err != nil {
		return err
	}
	if p.Timeframe, err = market.ParseTimeframe(req.Timeframe); err != nil {
		return Invalid("/timeframe", err)
	}
	for i, s := range req.Symbols {
		symbol, err := market.ParseSymbol(s)
		if err != nil {
			return Invalid(fmt.Sprintf("/symbols/%d", i), err)
		}
		p.Symbols = append(p.Symbols, symbol)
	}
	if err := p.checkExtra(); err != nil {
		return err
	}
	return p.ReadRules(req)
}

// Invalid returns a VALIDATION_FAILED at one field.
func Invalid(pointer string, err error) *RequestError {
	return InvalidFields(FieldError{Pointer: pointer, Message: err.Error(), Rule: "format"})
}

// InvalidFields returns a VALIDATION_FAILED at one field or more, of which the message has the first.
func InvalidFields(first FieldError, more ...FieldError) *RequestError {
	refusal := Refuse(CodeValidationFailed, nil, "The request is not valid: %s %s.",
		first.Pointer, first.Message)
	refusal.Fields = append([]FieldError{first}, more...)
	return refusal
}

// FindStrategy finds a strategy that can be used. A refusal is a *RequestError.
func FindStrategy(c *catalog.Catalog, name string) (*catalog.Strategy, error) {
	s, err := c.Lookup(name)
	var missing *catalog.NotFoundError
	var broken *catalog.UnavailableError
	switch {
	case errors.As(err, &missing):
		return nil, Refuse(CodeStrategyNotFound, map[string]any{"available": nonNil(missing.Available)},
			"There is no strategy %q.", name).because(err)
	case errors.As(err, &broken):
		return nil, Refuse(CodeStrategyUnavailable, map[string]any{"reason": broken.Fault.Code},
			"The strategy %q cannot be used: %s", name, broken.Fault.Message).because(err)
	}
	return s, err
}

func (p *Plan) resolveStrategy(c *catalog.Catalog, req runner.StartRequest) error {
	s, err := FindStrategy(c, req.StrategyName)
	if err != nil {
		return err
	}
	params, bad := s.ValidateParams(req.StrategyParams)
	if len(bad) > 0 {
		refusal := Refuse(wire.InvalidStrategyParams, nil, "The parameters do not fit strategy %q.", s.Name)
		for _, f := range bad {
			f.Pointer = "/strategy_params" + f.Pointer
			refusal.Fields = append(refusal.Fields, f)
		}
		return refusal
	}
	p.Strategy, p.Params = s, params
	return nil
}

// nonNil returns a copy that shows as [] when empty.
func nonNil(list []string) []string { return append([]string{}, list...) }

// checkExtra reports whether the larger timeframes of the strategy can be built from the run's.
func (p *Plan) checkExtra() error {
	s := p.Strategy
	var reads market.Warmup
	for _, tf := range s.Extra {
		reads.Larger = append(reads.Larger, market.Larger{Timeframe: tf})
	}
	if bad, ok := errors.AsType[*market.NoMultipleError](reads.Check(p.Timeframe)); ok {
		return Refuse(CodeUnsupportedTimeframe, map[string]any{"available": nonNil(s.Timeframes)},
			"Strategy %q reads candles of %s, which cannot be built from those of %s: run it on a timeframe "+
				"that divides %[2]s.", s.Name, bad.Timeframe, bad.Of)
	}
	return nil
}

// CheckFits reports whether the strategy can do what is asked: mode, timeframe, symbols.
func (p *Plan) CheckFits(req runner.StartRequest) error {
	s := p.Strategy
	if !s.SupportsMode(req.Mode) {
		reason := fmt.Sprintf("strategy %q runs in %v only", s.Name, s.Modes)
		return Refuse(CodeModeNotSupported, map[string]any{"reason": reason}, "The %s.", reason)
	}
	ageless := slices.IndexFunc(s.Inputs, func(in sdk.Input) bool { return in.MaxAge == 0 })
	if req.Mode == runner.ModeLive && ageless >= 0 {
		field := fmt.Sprintf("inputs[%d].max_age", ageless)
		return Refuse(CodeModeNotSupported, map[string]any{"reason": field},
			"Strategy %q reads the input %s of any age: live it must say in %s how old the newest value may "+
				"be.", s.Name, s.Inputs[ageless].Name, field)
	}
	if !s.SupportsTimeframe(req.Timeframe) {
		return Refuse(CodeUnsupportedTimeframe, map[string]any{"available": nonNil(s.Timeframes)},
			"Strategy %q does not work on %s.", s.Name, req.Timeframe)
	}
	if n := len(p.Symbols); n < s.MinSymbols || n > s.MaxSymbols {
		return Refuse(CodeUnsupportedSymbol, map[string]any{"symbols": req.Symbols, "available": []string{}},
			"Strategy %q takes %d to %d symbols, not %d.", s.Name, s.MinSymbols, s.MaxSymbols, n)
	}
	for _, symbol := range p.Symbols[1:] {
		if symbol.Quote() != p.Symbols[0].Quote() {
			return Refuse(CodeUnsupportedSymbol,
				map[string]any{"symbols": []string{string(symbol)}, "available": []string{}},
				"All symbols of a run need the same quote currency: %s and %s differ.", p.Symbols[0], symbol)
		}
	}
	return nil
}

// ReadRules reads money and execution options.
func (p *Plan) ReadRules(req runner.StartRequest) (err error) {
	cash, err := decimal.Parse(string(req.InitialCash))
	if err != nil {
		var f float64
		if f, err = req.InitialCash.Float64(); err == nil {
			cash, err = decimal.NewFromFloat64(f)
		}
	}
	if err != nil {
		return Invalid("/initial_cash", errors.New("must be a number above 0 and at most 1e15"))
	}
	if p.Cash = sim.RoundCash(cash); !p.Cash.IsPos() {
		return Invalid("/initial_cash", errors.New("is 0 once rounded to the money unit"))
	}
	p.Execution, err = sim.ResolveOptions(req.Execution, sim.DefaultFees())
	if bad, ok := errors.AsType[*sim.OptionError](err); ok {
		refusal := Refuse(CodeValidationFailed, nil, "The execution options are not valid.").because(err)
		for _, f := range bad.Fields {
			refusal.Fields = append(refusal.Fields, FieldError{Pointer: "/execution" + f.Pointer,
				Message: f.Message, Rule: f.Rule})
		}
		return refusal
	}
	if err != nil {
		return err
	}
	p.ExecutionJSON, err = json.Marshal(p.Execution)
	return err
}

// DefaultExchange is the one that is tried first when a request names none: the
// bundled sample candles.
const DefaultExchange = "sample"

// plan is a request whose every name has been looked up.
type plan struct {
	Plan
	exchange string
	sources  []*source
	inputs   []Input
	warnings []artifact.Note
	split    Split
}

func (p *plan) release() {
	for _, s := range p.sources {
		_ = s.release() // a mapping that cannot be freed is no reason to refuse differently
	}
}

// priceSteps are the ticks of the symbols.
func (p *plan) priceSteps() []decimal.Decimal {
	var steps []decimal.Decimal
	for _, s := range p.sources {
		steps = append(steps, s.PriceStep)
	}
	return steps
}

// resolve looks everything up in the order of the API: strategy, parameters,
// exchange, data, rules.
func (l *Launcher) resolve(ctx context.Context, runID string, req runner.StartRequest,
	split Split) (*plan, error) {
	p := &plan{split: split}
	if err := p.Read(l.Catalog, req); err != nil {
		return nil, err
	}
	err := p.CheckFits(req)
	if err == nil {
		err = l.resolveExchange(ctx, p, req)
	}
	if err == nil {
		err = l.resolveData(ctx, p, req)
	}
	if err == nil {
		p.inputs, err = l.resolveInputs(p)
	}
	if err != nil {
		p.release()
		return nil, l.parametersFirst(ctx, runID, p, err)
	}
	return p, nil
}

// parametersFirst answers for a failed look-up. Parameters come before exchange and
// data, and only the strategy itself knows all rules about them, so it is asked.
func (l *Launcher) parametersFirst(ctx context.Context, runID string, p *plan, failed error) error {
	ctx, cancel := l.limitStart(ctx)
	defer cancel()
	x := &Execution{log: l.Logger, mode: ModeLockstep, data: &runData{}, gate: &Gate{}}
	p.sources = nil
	var err error
	if x.plugin, err = l.launchProcess(ctx, p, x); err != nil {
		return failed
	}
	defer func() { x.plugin.Close("the request was refused") }()
	start := newStart(runID, p, x.mode)
	_, err = x.plugin.Introduce(ctx, &start, x.take)
	if codeOf(err) == wire.InvalidStrategyParams {
		return err
	}
	return failed
}

// resolveExchange finds the exchange that was named, or the one that offers
// everything: the default one first, then by id.
func (l *Launcher) resolveExchange(ctx context.Context, p *plan, req runner.StartRequest) error {
	if l.known(p, req.Exchange) {
		p.exchange = req.Exchange
		return nil
	}
	all, err := l.Store.Exchanges(ctx)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	if req.Exchange != "" {
		i := slices.Index(ids, req.Exchange)
		if i < 0 {
			return Refuse(CodeExchangeNotFound, map[string]any{"available": ids}, "There is no exchange %q.",
				req.Exchange)
		}
		p.exchange = req.Exchange
		return l.offers(ctx, all[i], p)
	}
	if i := slices.Index(ids, DefaultExchange); i > 0 {
		all = slices.Insert(slices.Delete(slices.Clone(all), i, i+1), 0, all[i])
	}
	var refusal error
	for _, e := range all {
		err := l.offers(ctx, e, p)
		if err == nil {
			p.exchange = e.ID
			return nil
		}
		if refusal == nil || codeOf(refusal) == CodeUnsupportedSymbol {
			refusal = err
		}
	}
	if refusal == nil || codeOf(refusal) == CodeUnsupportedSymbol {
		return nowhere(all, p)
	}
	return refusal
}

// known reports whether the exchange has every symbol, as an earlier play has found.
func (l *Launcher) known(p *plan, exchange string) bool {
	return !slices.ContainsFunc(p.Symbols, func(s market.Symbol) bool {
		_, ok := l.pinned.Load(p.pin(exchange, s))
		return !ok
	})
}

func codeOf(err error) string {
	if r, ok := errors.AsType[*RequestError](err); ok {
		return r.Code
	}
	return ""
}

// nowhere speaks for all exchanges where none was named and none has the symbols:
// it lists what any of them has.
func nowhere(all []candle.Exchange, p *plan) error {
	var known []market.Symbol
	for _, e := range all {
		for _, s := range e.Symbols {
			if !slices.Contains(known, s) {
				known = append(known, s)
			}
		}
	}
	unknown, text := p.without(known), "No exchange has candles of %v."
	if len(unknown) == 0 {
		unknown, text = texts(p.Symbols), "No one exchange has candles of all of %v."
	}
	return Refuse(CodeUnsupportedSymbol, map[string]any{"symbols": unknown, "available": texts(known)}, text,
		unknown)
}

// without are the symbols that are not among others.
func (p *plan) without(others []market.Symbol) []string {
	return texts(slices.DeleteFunc(slices.Clone(p.Symbols),
		func(s market.Symbol) bool { return slices.Contains(others, s) }))
}

// offers reports whether an exchange has candles of every symbol, or of a lower
// timeframe that they can be made from.
func (l *Launcher) offers(ctx context.Context, e candle.Exchange, p *plan) error {
	if unknown := p.without(e.Symbols); len(unknown) > 0 {
		return Refuse(CodeUnsupportedSymbol,
			map[string]any{"symbols": unknown, "available": texts(e.Symbols)},
			"Exchange %q has no candles of %v.", e.ID, unknown)
	}
	for _, s := range p.Symbols {
		err := l.Store.Offers(ctx, e.ID, s, p.Timeframe)
		if none, ok := errors.AsType[*candle.NotFoundError](err); ok {
			return Refuse(CodeUnsupportedTimeframe, map[string]any{"available": nonNil(none.Have)},
				"Exchange %q has no %s candles of %s and none that they could be made from.", e.ID,
				p.Timeframe, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func texts(list []market.Symbol) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

// resolveData opens the candles of every symbol and finds the rows of the window.
func (l *Launcher) resolveData(ctx context.Context, p *plan, req runner.StartRequest) error {
	start, end, err := dates(req)
	if err != nil {
		return err
	}
	for _, symbol := range p.Symbols {
		d, err := l.dataset(ctx, p, symbol)
		if err != nil {
			return dataRefusal(symbol, err)
		}
		series, release, err := p.split.Session.open(l.Store, d)
		if err != nil {
			return dataRefusal(symbol, err)
		}
		s := &source{Dataset: d, series: series, release: release}
		s.series.Symbol = symbol
		p.sources = append(p.sources, s)
		if err := s.cut(start, end, p); err != nil {
			return err
		}
	}
	p.warnings = append(p.warnings, coverage(p.sources, start, end)...)
	return nil
}

// dataset returns the pinned one, else the current one.
func (l *Launcher) dataset(ctx context.Context, p *plan, symbol market.Symbol) (candle.Dataset, error) {
	if sum := p.split.Pins[symbol]; sum != "" {
		k := p.pin(p.exchange, symbol)
		if d, ok := l.pinned.Load(k); ok {
			return d.(candle.Dataset), nil
		}
		d, err := l.Store.Pinned(ctx, p.exchange, symbol, p.Timeframe, sum)
		if err == nil {
			l.pinned.Store(k, d)
		}
		return d, err
	}
	return l.Store.Lookup(ctx, p.exchange, symbol, p.Timeframe)
}

func dataRefusal(symbol market.Symbol, err error) error {
	var corrupt *candlefile.CorruptError
	var none *candle.NotFoundError
	switch {
	case errors.As(err, &none):
		return Refuse(CodeUnsupportedTimeframe, map[string]any{"available": nonNil(none.Have)},
			"There are no such candles of %s: %s", symbol, none.Reason).because(err)
	case errors.As(err, &corrupt): // its text has a path, which is for the log
		return hostFault(err, "corrupt_dataset",
			"The stored candles of %s are damaged: %s. Import them again.", symbol, corrupt.Reason)
	}
	return hostFault(err, "unreadable", "The stored candles of %s cannot be read.", symbol)
}

func dates(req runner.StartRequest) (start, end *market.Time, err error) {
	read := func(pointer string, s *string) (*market.Time, error) {
		if s == nil {
			return nil, nil
		}
		t, err := market.ParseTime(*s)
		if err != nil {
			return nil, Invalid(pointer, err)
		}
		return &t, nil
	}
	if start, err = read("/start_date", req.StartDate); err != nil {
		return nil, nil, err
	}
	if end, err = read("/end_date", req.EndDate); err != nil {
		return nil, nil, err
	}
	if start != nil && end != nil && *start >= *end {
		return nil, nil,
			Refuse(CodeInvalidDateRange,
				map[string]any{"start_date": *req.StartDate, "end_date": *req.EndDate},
				"start_date must be before end_date.")
	}
	return start, end, nil
}

// cut finds the rows of the window [start, end) by open time.
func (s *source) cut(start, end *market.Time, p *plan) error {
	n := s.series.Len()
	first, last := s.series.Time[0], s.series.CloseTime(n-1)
	s.from, s.to = 0, n
	if start != nil {
		s.from = s.series.Search(*start)
	}
	if end != nil {
		s.to = s.series.Search(*end)
	}
	if s.from >= s.to {
		return Refuse(CodeDataUnavailable,
			map[string]any{"range": map[string]any{"symbol": s.Symbol, "start": first, "end": last}},
			"There is no %s candle of %s in the window; there are candles from %s to %s.", p.Timeframe,
			s.Symbol, first, last)
	}
	return nil
}

// coverage compares the candles of every symbol with the window that was asked for: the window is cut where
// no symbol has any, and a symbol that begins later or ends earlier than the others is named.
func coverage(sources []*source, start, end *market.Time) []artifact.Note {
	var notes []artifact.Note
	window := windowOf(sources, 0)
	first, last := window.Start, window.End
	data := sources[0].reach()
	for _, s := range sources[1:] {
		r := s.reach()
		data.Start, data.End = min(data.Start, r.Start), max(data.End, r.End)
	}
	if (start != nil && *start < data.Start) || (end != nil && *end > data.End) {
		notes = append(notes, artifact.Note{Code: "WINDOW_CLIPPED",
			Message: fmt.Sprintf("There are candles from %s to %s: the window was cut to them.", data.Start,
				data.End)})
	}
	for _, s := range sources {
		from, to := s.start(), s.end()
		text := ""
		switch {
		case from > first && to < last:
			text = fmt.Sprintf("%s has candles from %s to %s only: it joins late and leaves early.", s.Symbol,
				from, to)
		case from > first:
			text = fmt.Sprintf("%s has no candles before %s: it joins late, the others trade from %s.",
				s.Symbol, from, first)
		case to < last:
			text = fmt.Sprintf("%s has no candles from %s on: it leaves early, the others trade until %s.",
				s.Symbol, to, last)
		default:
			continue
		}
		notes = append(notes, artifact.Note{Code: "SYMBOL_PARTIAL", Message: text})
	}
	return notes
}

// reach is from the open of the first stored candle to the close of the last.
func (s *source) reach() candle.Range {
	return candle.Range{Start: s.series.Time[0], End: s.series.CloseTime(s.series.Len() - 1)}
}

// pin names a dataset by its hash.
type pin struct {
	exchange, timeframe, sha256 string
	symbol                      market.Symbol
}

func (p *plan) pin(exchange string, symbol market.Symbol) pin {
	return pin{exchange, p.Timeframe.String(), p.split.Pins[symbol], symbol}
}

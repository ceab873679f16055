package play

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Plan is what a request says by itself: everything but exchange and candles.
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
	return p.ReadRules(req)
}

// Invalid is a VALIDATION_FAILED at one field.
func Invalid(pointer string, err error) *RequestError {
	return &RequestError{Code: "VALIDATION_FAILED", Message: "The request is not valid.", Fields: []FieldError{{Pointer: pointer, Message: err.Error(), Rule: "format"}}}
}

func (p *Plan) resolveStrategy(c *catalog.Catalog, req runner.StartRequest) error {
	s, err := c.Lookup(req.StrategyName)
	var missing *catalog.NotFoundError
	var broken *catalog.UnavailableError
	switch {
	case errors.As(err, &missing):
		return &RequestError{Code: "STRATEGY_NOT_FOUND", Message: fmt.Sprintf("There is no strategy %q.", req.StrategyName),
			Details: map[string]any{"available": nonNil(missing.Available)}, Cause: err}
	case errors.As(err, &broken):
		return &RequestError{Code: "STRATEGY_UNAVAILABLE", Message: fmt.Sprintf("The strategy %q cannot be used: %s", req.StrategyName, broken.Fault.Message),
			Details: map[string]any{"reason": broken.Fault.Code}, Cause: err}
	case err != nil:
		return err
	}
	params, bad := s.ValidateParams(req.StrategyParams)
	if len(bad) > 0 {
		refusal := &RequestError{Code: "INVALID_STRATEGY_PARAMS", Message: fmt.Sprintf("The parameters do not fit strategy %q.", s.Name)}
		for _, f := range bad {
			refusal.Fields = append(refusal.Fields, FieldError{Pointer: "/strategy_params" + f.Pointer, Message: f.Message, Rule: f.Rule})
		}
		return refusal
	}
	p.Strategy, p.Params = s, params
	return nil
}

// nonNil is a copy that shows as [] when empty.
func nonNil(list []string) []string { return append([]string{}, list...) }

// CheckFits says whether the strategy can do what is asked: mode, timeframe, symbols.
func (p *Plan) CheckFits(req runner.StartRequest) error {
	s := p.Strategy
	if !s.SupportsMode(req.Mode) {
		reason := fmt.Sprintf("strategy %q runs in %v only", s.Name, s.Modes)
		return Refuse("MODE_NOT_SUPPORTED", map[string]any{"reason": reason}, "The %s.", reason)
	}
	if !s.SupportsTimeframe(req.Timeframe) {
		return Refuse("UNSUPPORTED_TIMEFRAME", map[string]any{"available": nonNil(s.Timeframes)}, "Strategy %q does not work on %s.", s.Name, req.Timeframe)
	}
	if n := len(p.Symbols); n < s.MinSymbols || n > s.MaxSymbols {
		return Refuse("UNSUPPORTED_SYMBOL", map[string]any{"symbols": req.Symbols, "available": []string{}},
			"Strategy %q takes %d to %d symbols, not %d.", s.Name, s.MinSymbols, s.MaxSymbols, n)
	}
	for _, symbol := range p.Symbols[1:] {
		if symbol.Quote() != p.Symbols[0].Quote() {
			return Refuse("UNSUPPORTED_SYMBOL", map[string]any{"symbols": []string{string(symbol)}, "available": []string{}},
				"All symbols of a run need the same quote currency: %s and %s differ.", p.Symbols[0], symbol)
		}
	}
	return nil
}

// ReadRules reads money and execution options.
func (p *Plan) ReadRules(req runner.StartRequest) (err error) {
	cash, err := decimal.Parse(string(req.InitialCash))
	if err != nil {
		f, ferr := req.InitialCash.Float64()
		if ferr != nil {
			return Invalid("/initial_cash", errors.New("must be a number above 0 and at most 1e15"))
		}
		if cash, err = decimal.NewFromFloat64(f); err != nil {
			return Invalid("/initial_cash", errors.New("must be a number above 0 and at most 1e15"))
		}
	}
	if p.Cash = sim.RoundCash(cash); !p.Cash.IsPos() {
		return Invalid("/initial_cash", fmt.Errorf("is 0 once rounded to the money unit"))
	}
	p.Execution, err = sim.ResolveOptions(req.Execution, sim.DefaultFees())
	var bad *sim.OptionError
	if errors.As(err, &bad) {
		refusal := &RequestError{Code: "VALIDATION_FAILED", Message: "The execution options are not valid.", Cause: err}
		for _, f := range bad.Fields {
			refusal.Fields = append(refusal.Fields, FieldError{Pointer: "/execution" + f.Pointer, Message: f.Message, Rule: f.Rule})
		}
		return refusal
	}
	if err != nil {
		return err
	}
	p.ExecutionJSON, err = json.Marshal(p.Execution)
	return err
}

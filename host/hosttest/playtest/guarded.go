package playtest

import (
	"slices"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

func guardedSpec() sdk.Spec {
	return sdk.Spec{Name: "guarded", MaxSymbols: 2, Supports: sdk.Supports{Short: true, MultiSymbol: true}}
}

// GuardedParams name one of [Guards].
type GuardedParams struct {
	Guard string `param:"guard" default:"position" doc:"What the strategy asks for"`
}

// guarded asks for the same orders at every candle, whatever it holds: its guards decide.
type guarded struct {
	ask func(v sdk.SymbolView, even bool) sdk.Intents
}

func newGuarded(p GuardedParams) (sdk.Strategy, error) {
	for _, g := range Guards() {
		if g.Name == p.Guard {
			return &guarded{g.ask}, nil
		}
	}
	return nil, sdk.InvalidParam("guard", "is not one of them")
}

// Guard is a guard of the SDK, or a use of several, and orders that it decides about.
type Guard struct {
	Name   string
	Shorts bool // it needs them
	ask    func(v sdk.SymbolView, even bool) sdk.Intents
}

// Guards are those that must be judged the same in all modes, over two symbols.
func Guards() []Guard {
	part := sdk.EquityFraction(0.2)
	return []Guard{
		{Name: "position", ask: func(_ sdk.SymbolView, even bool) sdk.Intents {
			if even {
				return sdk.Buy(part).When(sdk.Flat).Tag("flat").And(sdk.Buy(part).When(sdk.Long).Tag("long"))
			}
			return sdk.ClosePosition().When(sdk.Long)
		}},
		{Name: "no_entry_working", ask: func(v sdk.SymbolView, _ bool) sdk.Intents {
			buy := sdk.Buy(part).Limit(v.Candle().Close * 0.998)
			return sdk.ClosePosition().When(sdk.Long).And(buy.When(sdk.Flat))
		}},
		{Name: "max_entries", ask: func(v sdk.SymbolView, even bool) sdk.Intents {
			if !even && v.Position().CandlesHeld > 4 {
				return sdk.ClosePosition()
			}
			return sdk.Buy(sdk.EquityFraction(0.1)).MaxEntries(3)
		}},
		{Name: "max_open", ask: func(_ sdk.SymbolView, even bool) sdk.Intents {
			if !even {
				return sdk.ClosePosition().When(sdk.Long)
			}
			return sdk.Buy(part).When(sdk.Flat).MaxOpen(1)
		}},
		{Name: "exit_before_entry", ask: func(v sdk.SymbolView, _ bool) sdk.Intents {
			return sdk.ClosePosition().When(sdk.Long).And(sdk.Buy(part).When(sdk.Flat))
		}},
		{Name: "reversal", Shorts: true, ask: func(_ sdk.SymbolView, even bool) sdk.Intents {
			if even {
				return sdk.ClosePosition().When(sdk.Short).And(sdk.Buy(part).When(sdk.Flat | sdk.Short))
			}
			return sdk.ClosePosition().When(sdk.Long).And(sdk.Sell(part).When(sdk.Flat | sdk.Long))
		}},
	}
}

// OnCandle implements sdk.Strategy.
func (s *guarded) OnCandle(v sdk.View) (all sdk.Intents, err error) {
	symbols := v.Symbols()
	if v.Index()%6 < 3 {
		symbols = slices.Clone(symbols)
		slices.Reverse(symbols) // so that each is the one that takes the room
	}
	for _, symbol := range symbols {
		if one := v.For(symbol); one.Closed() {
			all = all.And(s.ask(one, v.Index()%2 == 0).On(symbol))
		}
	}
	return all, nil
}

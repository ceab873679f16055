// Package cheats has the strategies that the battery of lab falsify must judge rightly, the honest ones
// that it must not refute among them, and the table of all known attacks with what becomes of each:
// docs/cheats.md. Each strategy needs the SDK only, so that it plays as a program of its own (program
// host/hosttest/strategies) as well as inside another one (command calibrate).
package cheats

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// Known returns the candles that a program has inside; key is the value of its parameter market.
type Known func(key string) (*market.Series, error)

// Strategy is one of the strategies under the name of its plugin.
type Strategy struct {
	Name string
	// Main serves it as a plugin's main does.
	Main func()
	// Server serves it within another program.
	Server func() (strategypb.StrategyServer, error)
}

// Strategies returns all strategies. Those that know prices know them from known.
func Strategies(known Known) []Strategy {
	inside := func(made func(*market.Series) (sdk.Strategy, error)) func(marketParams) (sdk.Strategy, error) {
		return func(p marketParams) (sdk.Strategy, error) {
			s, err := known(p.Market)
			if err != nil {
				return nil, err
			}
			return made(s)
		}
	}
	free := sdk.Supports{ScaleFree: true}
	return []Strategy{
		strategy("honest_sma", free, newTrend),
		strategy("baked", free, newBaked),
		strategy("time_table", sdk.Supports{}, inside(newTimeTable)),
		strategy("memory_two", sdk.Supports{}, inside(newMemoryTwo)),
		strategy("memory_day", sdk.Supports{}, inside(newMemoryDay)),
		strategy("memory_cash", sdk.Supports{}, inside(newMemoryCash)),
		strategy("memory_rare", sdk.Supports{}, inside(newMemoryRare)),
		strategy("good_weeks", sdk.Supports{}, inside(newGoodWeeks)),
		strategy("price_table", sdk.Supports{}, inside(newPriceTable)),
		strategy("martingale", free, newMartingale),
		strategy("never_loses", free, newNeverLoses),
		strategy("dice", free, newDice),
		strategy("machine_day", free, newMachineDay),
		strategy("disguised", free, newDisguised),
		strategy("tide", free, newTide),
		strategy("tide_bomb", free, newBomb),
		strategy("signs", free, newSigns),
		strategy("turn_of_month", sdk.Supports{ScaleFree: true, Calendar: sdk.CalendarDate}, newTurnOfMonth),
	}
}

// marketParams is no number, so that a program that knows prices has no neighbours.
type marketParams struct {
	Market string `param:"market" default:"" doc:"Which candles are inside"`
}

func strategy[P any](name string, supports sdk.Supports, made func(P) (sdk.Strategy, error)) Strategy {
	spec := sdk.Spec{Name: name, Version: "1.0.0", Supports: supports}
	return Strategy{
		Name:   name,
		Main:   func() { serve.Strategy(spec, made) },
		Server: func() (strategypb.StrategyServer, error) { return serve.NewServer(spec, made) },
	}
}

// hold brings the account to where it is wanted: a position of a size, or none.
func hold(v sdk.View, wanted bool, size sdk.Size) (sdk.Intents, error) {
	switch {
	case wanted && v.Flat():
		return sdk.Buy(size), nil
	case !wanted && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// half is the size of most of them: half of the cash.
func half() sdk.Size { return sdk.CashFraction(0.5) }

// stake is a fixed amount, half of what the account has at the first candle: it does not outgrow the volume.
type stake struct{ amount float64 }

func (s *stake) size(v sdk.View) sdk.Size {
	if s.amount == 0 {
		s.amount = v.Equity() / 2
	}
	return sdk.QuoteAmount(s.amount)
}

// The units of times.
const (
	dayMs  = 86_400_000
	weekMs = 7 * dayMs
	hourMs = 3_600_000
)

// isDaily reports whether the candles of a series are days.
func isDaily(s *market.Series) bool { return s.Timeframe.Duration().Milliseconds() >= dayMs }

package playtest

import (
	"fmt"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

func ableSpec() sdk.Spec {
	return sdk.Spec{Name: "able", Supports: sdk.Supports{Short: true}, Extra: sdk.Timeframes("6h", "1d")}
}

// AbleParams name one of [Abilities].
type AbleParams struct {
	Ability string `param:"ability" default:"equity_fraction" doc:"What the strategy does"`
	Short   bool   `param:"short" default:"true" doc:"Also sell short"`
}

// able does one thing whenever it is flat, and closes six candles later.
type able struct {
	Ability
	calls int64
}

func newAble(p AbleParams) (sdk.Strategy, error) {
	for _, a := range Abilities(p.Short) {
		if a.Name == p.Ability {
			return &able{Ability: a}, nil
		}
	}
	return nil, sdk.InvalidParam("ability", "is not one of them")
}

// Ability is something that orders and views of the SDK can do, and how a strategy does it.
type Ability struct {
	Name   string
	act    func(sdk.View) sdk.Intents
	again  func(sdk.View) sdk.Intents // three candles later
	filled func(sdk.Fill) sdk.Intents
	denied func(sdk.Rejection) sdk.Intents
}

// Abilities are what must be the same in all modes, with short also of selling short.
func Abilities(short bool) []Ability {
	all, turn, most := sdk.AllCash(), 0, 0.4
	if short {
		most = -0.4
	}
	return []Ability{
		{Name: "history", act: func(v sdk.View) sdk.Intents {
			h := v.History(6)
			seen := fmt.Sprint(h.Len(), h.Highs(), v.Close(3))
			return sdk.Buy(all).Limit((h.Low(0) + v.Close(5)) / 2).Tag(seen)
		}},
		{Name: "larger_timeframes", act: func(v sdk.View) sdk.Intents {
			six, day := v.At("6h"), v.At("1d")
			seen := fmt.Sprint(six.History(3).Closes(), six.Closed(), day.Candle(), day.Closed())
			return sdk.Buy(all).Tag(seen)
		}},
		{Name: "equity_fraction", act: func(sdk.View) sdk.Intents {
			return sdk.Buy(sdk.EquityFraction(0.3))
		}},
		{Name: "clamped", act: func(sdk.View) sdk.Intents { return sdk.Buy(sdk.EquityFraction(1)) }},
		{Name: "risk_fraction", act: func(sdk.View) sdk.Intents {
			return sdk.Buy(sdk.RiskFraction(0.01)).StopLoss(sdk.Percent(0.03))
		}},
		{Name: "target", act: func(sdk.View) sdk.Intents {
			turn++
			return sdk.Target([]float64{0.6, most}[turn%2]).Tag("target")
		}, again: func(sdk.View) sdk.Intents {
			return sdk.Target(0.2).Tag("target")
		}},
		{Name: "oco", act: func(v sdk.View) sdk.Intents {
			price := v.Close(0)
			buy, sell := sdk.Buy(sdk.EquityFraction(0.4)), sdk.Sell(sdk.EquityFraction(0.2))
			orders := sdk.OCO(buy.Limit(price*0.995), buy.Stop(price*1.005), sell.Limit(price*1.02))
			if !short {
				orders = orders[:2]
			}
			return orders
		}},
		{Name: "several_targets", act: func(sdk.View) sdk.Intents {
			return sdk.Buy(all).TakePart(0.5, sdk.Percent(0.003)).TakePart(0.3, sdk.Percent(0.006)).
				StopLoss(sdk.Percent(0.01))
		}},
		{Name: "move_legs", act: func(sdk.View) sdk.Intents {
			return sdk.Buy(sdk.EquityFraction(0.3)).StopLoss(sdk.Percent(0.4)).TakeProfit(sdk.Percent(0.4))
		}, again: func(v sdk.View) sdk.Intents {
			return sdk.MoveStop(v.Close(0) * 0.997).And(sdk.MoveTarget(v.Close(0) * 1.003))
		}},
		{Name: "post_only", act: func(v sdk.View) sdk.Intents {
			turn++
			return sdk.Buy(all).Limit(v.Close(0) * []float64{0.998, 1.01}[turn%2]).PostOnly()
		}},
		{Name: "on_fill", act: func(sdk.View) sdk.Intents { return sdk.Buy(all) },
			filled: func(f sdk.Fill) sdk.Intents {
				price, _ := f.Price.Float64()
				return sdk.Sell(sdk.WholePosition()).Limit(price * 1.004).Tag("after the fill")
			}},
		{Name: "on_reject", act: func(sdk.View) sdk.Intents { return sdk.Buy(sdk.Quantity(1e6)) },
			denied: func(sdk.Rejection) sdk.Intents {
				return sdk.Buy(sdk.EquityFraction(0.2)).Tag("after the rejection")
			}},
	}
}

func (*able) Lookback() sdk.Lookback { return sdk.Lookback{"": 6, "6h": 3, "1d": 1} }

// OnFill implements sdk.FillObserver.
func (s *able) OnFill(_ sdk.View, f sdk.Fill) sdk.Intents {
	if s.filled == nil || f.PositionAfter.IsZero() {
		return nil
	}
	return s.filled(f)
}

// OnReject implements sdk.RejectObserver.
func (s *able) OnReject(_ sdk.View, r sdk.Rejection) sdk.Intents {
	if s.denied == nil || r.Reason == "warmup" {
		return nil
	}
	return s.denied(r)
}

// OnCandle implements sdk.Strategy.
func (s *able) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Warmup() {
		return nil, nil
	}
	s.calls++
	switch s.calls % 7 { // so that it meets every hour of a day
	case 1:
		return s.act(v), nil
	case 4:
		if s.again != nil {
			return s.again(v), nil
		}
	case 0:
		return sdk.CancelAll().And(sdk.ClosePosition()), nil
	}
	return nil, nil
}

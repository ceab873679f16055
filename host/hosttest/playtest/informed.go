package playtest

import (
	"math"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// InformedInput is the input that the strategy informed reads.
const InformedInput = "rate"

func informedSpec() sdk.Spec {
	return sdk.Spec{Name: "informed", MaxSymbols: 4, Supports: sdk.Supports{MultiSymbol: true},
		Inputs: []sdk.Input{{Name: InformedInput, MaxAge: 24 * time.Hour}}}
}

// informed trades by an input, whose values are in the prices and sizes of its orders.
type informed struct{}

func newInformed(p informed) (sdk.Strategy, error) { return p, nil }

func (s informed) OnCandle(v sdk.View) (sdk.Intents, error) {
	in := v.Input(InformedInput)
	v.Publish("rate", in.Value())
	v.Publish("known", float64(in.Known().UnixMilli()))
	sum := 0.0
	for _, r := range in.History(5) {
		sum += r.Value
	}
	switch {
	case math.IsNaN(in.Value()), v.Warmup():
		return nil, nil
	case v.Flat() && in.Value() > 0:
		return sdk.Buy(sdk.CashFraction(0.2 + 0.1*min(1, math.Abs(sum)))), nil
	case !v.Flat() && (in.Value() < 0 || v.Time().Hour()%12 == 0):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

package playtest

import (
	"math"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

func framedSpec() sdk.Spec {
	return sdk.Spec{Name: "framed", MaxSymbols: 4, Supports: sdk.Supports{MultiSymbol: true},
		Extra: sdk.Timeframes("6h", "1d")}
}

// framed trades by earlier candles and larger timeframes, whose numbers are in its prices.
type framed struct {
	Wanted int `param:"wanted" default:"3" min:"3" max:"1000" doc:"Candles of six hours"`
}

func newFramed(p framed) (sdk.Strategy, error) { return p, nil }

func (f framed) Lookback() sdk.Lookback { return sdk.Lookback{"": 5, "6h": f.Wanted} }

func (f framed) OnCandle(v sdk.View) (in sdk.Intents, _ error) {
	for _, symbol := range v.Symbols() {
		s := v.For(symbol)
		six, day := s.At("6h"), s.At("1d")
		if !six.Closed() {
			continue
		}
		sum, n := 0.0, 0.0
		for _, x := range append(append([]float64{day.Close(0), s.Close(4)}, six.History(3).Highs()...),
			s.History(5).Lows()...) {
			if !math.IsNaN(x) {
				sum, n = sum+x, n+1
			}
		}
		if s.Flat() {
			in = append(in, sdk.Buy(sdk.CashFraction(0.3)).Limit(sum/n*1.01).ExpireAfter(5).On(symbol)...)
		} else if day.Closed() || six.Candle().Close > s.Candle().Open {
			in = append(in, sdk.ClosePosition().On(symbol)...)
		}
	}
	return in, nil
}

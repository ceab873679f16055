package candle_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// frames collects the candles of larger timeframes that a strategy sees.
type frames struct {
	extra []market.Timeframe
	seen  map[market.Symbol]map[market.Timeframe]*market.Series
}

func (f *frames) OnCandle(v sdk.View) (sdk.Intents, error) {
	for _, symbol := range v.Symbols() {
		for _, tf := range f.extra {
			at := v.For(symbol).At(tf.String())
			if !at.Closed() {
				continue
			}
			h := at.History(at.History(4).Len())
			s := f.seen[symbol][tf]
			for i := range h.Len() {
				if n := s.Len(); n == 0 || h.At(i).OpenTime > s.Time[n-1] {
					s.Append(h.At(i))
				}
			}
		}
	}
	return nil, nil
}

func (f *frames) Lookback() sdk.Lookback {
	all := sdk.Lookback{}
	for _, tf := range f.extra {
		all[tf.String()] = 4
	}
	return all
}

// TestViewEqualsResample: the larger candles that a strategy sees are those of the stored resample, over
// random gaps and with several symbols: all but the one in which the history begins.
func TestViewEqualsResample(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	compared := 0
	for _, base := range []string{"5m", "1h", "1d"} {
		extra := map[string][]string{"5m": {"15m", "4h", "1d"}, "1h": {"2h", "1d", "1w"},
			"1d": {"3d", "1w", "1M"}}
		for range 15 {
			f := &frames{extra: sdk.Timeframes(extra[base]...),
				seen: map[market.Symbol]map[market.Timeframe]*market.Series{}}
			var all []*market.Series
			for _, symbol := range []market.Symbol{"A/X", "B/X"} {
				s := holes(r, market.MustTimeframe(base), symbol)
				all = append(all, s)
				f.seen[symbol] = map[market.Timeframe]*market.Series{}
				for _, tf := range f.extra {
					f.seen[symbol][tf] = &market.Series{Symbol: symbol, Timeframe: tf}
				}
			}
			sdktest.Backtest(t, f, all[0], sdktest.More(all[1]))
			last := max(all[0].CloseTime(all[0].Len()-1), all[1].CloseTime(all[1].Len()-1))
			for _, s := range all {
				for _, tf := range f.extra {
					want, _, err := candle.Resample(s, tf, candle.AllDays)
					if err != nil {
						continue // too short for one
					}
					if s.Time[0] > want.Time[0] {
						want = want.Slice(1, want.Len())
					}
					got := f.seen[s.Symbol][tf]
					if n := got.Len(); n > want.Len() && got.At(n-1).CloseTime <= last {
						got = got.Slice(0, n-1) // the other symbol's steps closed it
					}
					if got.Len() != want.Len() {
						t.Fatalf("%s of %s: %d candles, want %d", tf, base, got.Len(), want.Len())
					}
					for i := range got.Len() {
						if compared++; got.At(i) != want.At(i) {
							t.Fatalf("%s of %s: %+v, want %+v", tf, base, got.At(i), want.At(i))
						}
					}
				}
			}
		}
	}
	if compared < 3000 {
		t.Errorf("only %d candles were compared", compared)
	}
}

// holes are candles of which some are missing.
func holes(r *rand.Rand, tf market.Timeframe, symbol market.Symbol) *market.Series {
	s := sdktest.Synth(r.Uint64(), 900, time.Date(2020, 1, 1+r.IntN(9), 0, 0, 0, 0, time.UTC), tf.Duration())
	out := &market.Series{Symbol: symbol, Timeframe: tf}
	for i := r.IntN(30); i < s.Len(); i++ {
		switch r.IntN(15) {
		case 0:
			i += r.IntN(40)
		case 1:
			continue
		}
		if i < s.Len() {
			out.Append(s.At(i))
		}
	}
	return out
}

package cheats

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// A rule of signs looks at so many of the last days, and knows whether to hold after each pattern.
const (
	signsBack = 6
	patterns  = 1 << signsBack
)

type signsParams struct {
	// Rule is a text: neighbours of a number would be other rules.
	Rule string `param:"rule" default:"1" doc:"Which of the random rules"`
}

// signs holds after patterns of rises and falls that a random number has chosen: noise that depends on prices
// only, so that no other date, level or name changes it. BestRule finds the luckiest.
type signs struct {
	held    uint64 // a bit for each pattern
	pattern int
	last    float64
	seen    int
}

func newSigns(p signsParams) (sdk.Strategy, error) {
	seed, err := strconv.ParseUint(p.Rule, 10, 64)
	if err != nil {
		return nil, sdk.InvalidParam("rule", "must be a whole number")
	}
	return &signs{held: ruleOf(seed)}, nil
}

// ruleOf are the patterns after which the rule of a seed holds.
func ruleOf(seed uint64) uint64 { return rand.NewPCG(seed, 0x7369676e73).Uint64() }

func (s *signs) Warmup() int { return 24 * (signsBack + 1) }

func (s *signs) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Time().UnixMilli()/hourMs%24 != 0 {
		return nil, nil
	}
	c := v.Candle().Close
	if s.seen++; s.last > 0 {
		s.pattern = following(s.pattern, s.last, c)
	}
	s.last = c
	if s.seen <= signsBack {
		return nil, nil
	}
	return hold(v, s.held>>s.pattern&1 == 1, sdk.AllCash())
}

// following is the pattern after one more close.
func following(pattern int, last, c float64) int {
	pattern = pattern << 1 % patterns
	if c > last {
		pattern |= 1
	}
	return pattern
}

// cost is what half a round trip costs, of what it turns over, with the default fees and slippage.
const cost = 0.0015

// finalists are the rules that are played in full, of all that were ranked by what follows each pattern.
const finalists = 200

// BestRule returns the rule of signs, of so many, that has earned most on the candles, net of the default
// costs: a search that no registry has seen.
func BestRule(s *market.Series, rules int) string {
	var closes []float64
	for i, t := range s.Time {
		if int64(t)/hourMs%24 == 0 {
			closes = append(closes, s.Close[i])
		}
	}
	returns, at := returnsOf(closes), make([]int, len(closes))
	var sums [patterns]float64
	for i := 1; i < len(closes); i++ {
		at[i] = following(at[i-1], closes[i-1], closes[i])
		if i+1 < len(closes) {
			sums[at[i]] += returns[i+1]
		}
	}
	type scored struct {
		seed uint64
		sum  float64
	}
	ranked := make([]scored, rules)
	for k := range ranked {
		seed := uint64(k) + 1
		held := ruleOf(seed)
		for p := range patterns {
			if held>>p&1 == 1 {
				ranked[k].sum += sums[p]
			}
		}
		ranked[k].seed = seed
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.sum, a.sum) })
	best, most := uint64(1), -1e9
	for _, r := range ranked[:min(finalists, rules)] {
		held := ruleOf(r.seed)
		if x := earned(returns, func(i int) bool { return held>>at[i]&1 == 1 }); x > most {
			best, most = r.seed, x
		}
	}
	return strconv.FormatUint(best, 10)
}

// Between returns the candles of a series that open in [from, to).
func Between(s *market.Series, from, to time.Time) *market.Series {
	i, _ := slices.BinarySearch(s.Time, market.FromTime(from))
	j, _ := slices.BinarySearch(s.Time, market.FromTime(to))
	return &market.Series{Symbol: s.Symbol, Timeframe: s.Timeframe, Time: s.Time[i:j], Open: s.Open[i:j],
		High: s.High[i:j], Low: s.Low[i:j], Close: s.Close[i:j], Volume: s.Volume[i:j]}
}

// earned is the sum of the returns net of costs of what holds after some candles.
func earned(returns []float64, held func(i int) bool) (sum float64) {
	was := false
	for i := range len(returns) - 1 {
		is := held(i)
		if is != was {
			sum -= cost
		}
		if was = is; is {
			sum += returns[i+1]
		}
	}
	return sum
}

// BestPair returns the lengths of two averages, the best of so many random pairs on the candles, net of the
// default costs.
func BestPair(s *market.Series, pairs int) string {
	returns := returnsOf(s.Close)
	sums := make([]float64, s.Len()+1) // of the closes before each candle
	for i, c := range s.Close {
		sums[i+1] = sums[i] + c
	}
	mean := func(i, n int) float64 { return (sums[i+1] - sums[i+1-n]) / float64(n) }
	random := rand.New(rand.NewPCG(1, uint64(pairs)))
	best, most := "", -1e9
	for range pairs {
		fast := 2 + random.IntN(40)
		slow := fast + 5 + random.IntN(160)
		x := earned(returns, func(i int) bool { return i >= slow && mean(i, fast) > mean(i, slow) })
		if x > most {
			best, most = fmt.Sprintf("%d/%d", fast, slow), x
		}
	}
	return best
}

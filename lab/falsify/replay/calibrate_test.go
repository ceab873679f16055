package replay_test

import (
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// momentum is the Sharpe ratio of holding for a candle what has risen over the last
// candles.
func momentum(s *market.Series, over int) *float64 {
	var returns []float64
	for i := over + 1; i < s.Len(); i++ {
		r := 0.0
		if s.Close[i-1] > s.Close[i-1-over] {
			r = s.Close[i]/s.Open[i] - 1
		}
		returns = append(returns, r)
	}
	x, why := sharpe.Ratio(returns, 0, 1)
	if why != "" {
		return nil
	}
	return &x
}

// On a random walk the verdict of permuted_candles is pass in one run of twenty; where
// candles follow each other it is pass always.
func TestPermutedCandlesAreCalibrated(t *testing.T) {
	const runs, replicas = 200, 39
	passed := func(follow float64) (n int) {
		for k := range uint64(runs) {
			set := synth(200, 1)
			s, stream := set[0].Series, random.New(k, random.Calibrate, 0)
			price, last := 100.0, 0.0
			for i := range s.Time {
				last = .03*stream.Normal() + follow*last
				s.Open[i], s.Close[i] = price, price*(1+last)
				s.High[i], s.Low[i] = max(price, s.Close[i]), min(price, s.Close[i])
				price = s.Close[i]
			}
			var list []judge.Replay
			for i := range uint64(replicas) {
				p, joint := replay.Permute(set, k, i)
				if !joint {
					t.Fatal("one symbol is joint with itself")
				}
				list = append(list, judge.Replay{Status: judge.Completed, Sharpe: momentum(p[0].Series, 3)})
			}
			j := judge.Judge{Policy: judge.DefaultPolicy(), Base: judge.Base{Sharpe: momentum(s, 3),
				Trades: 50, Fills: 100, T: 196, Cash: 1}}
			if permutedcandles.Judge(&j, j.Base.Sharpe, 50, true, list).Verdict == judge.Pass {
				n++
			}
		}
		return n
	}
	if n := passed(0); n < 2 || n > 18 { // 99 % of the binomial: 10 +- 7.9
		t.Errorf("%d of %d random walks pass", n, runs)
	}
	if n := passed(.5); n < 190 {
		t.Errorf("only %d of %d patterns pass", n, runs)
	}
}

// Of honest rules price_noise refutes none at the size that decides, not even of those that
// live from candle to candle.
func TestHonestMomentumKeepsItsProfitUnderNoise(t *testing.T) {
	const runs = 20
	for k := range uint64(runs) {
		set := synth(1500, 1)
		s, stream := set[0].Series, random.New(k, random.Calibrate, 0)
		price, last := 100.0, 0.0
		for i := range s.Time {
			last = .03*stream.Normal() + .2*last
			s.Open[i], s.Close[i] = price, price*(1+last)
			s.High[i], s.Low[i] = 1.005*max(price, s.Close[i]), .995*min(price, s.Close[i])
			price = s.Close[i]
		}
		var sizes []pricenoise.Noisy
		for _, percent := range []int{1, 3, 10, 30} {
			n := pricenoise.Noisy{Percent: percent}
			for i := range uint64(5) {
				series := replay.PriceNoise(set, percent, k, i)[0].Series
				n.Replays = append(n.Replays, judge.Replay{Status: judge.Completed,
					Sharpe: momentum(series, 1)})
			}
			sizes = append(sizes, n)
		}
		j := judge.Judge{Policy: judge.DefaultPolicy(), Base: judge.Base{Sharpe: momentum(s, 1), Trades: 500,
			Fills: 1000, T: 1500, Cash: 1}}
		if got := pricenoise.Judge(&j, sizes); got.Verdict != judge.Pass && got.Verdict != judge.Warn {
			t.Errorf("case %d: %s: %s", k, got.Verdict, got.Detail)
		}
	}
}

package tests_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// With no free candle there is one place for one holding: the replica is the run.
func TestRandomEntryWithoutRoomIsTheRun(t *testing.T) {
	candles := []*market.Series{walk("A/Q", 60, 1), walk("B/Q", 60, 2)}
	for _, holds := range [][]hold{
		{{0, 1, 59, 1, .9}},
		{{0, 1, 59, -1, .4}, {1, 1, 59, 1, .5}},
	} {
		r := play(t, candles, holds, .002)
		m, why, err := randomentry.NewRandomEntry(r)
		if why != "" || err != nil {
			t.Fatal(why, err)
		}
		for _, sr := range sharpes(m, 1, 3) {
			near(t, "Sharpe ratio", *sr, sharpeOf(t, r), 1e-6) // the books round to cents of cents
		}
	}
}

func TestNoRandomEntry(t *testing.T) {
	candles := []*market.Series{walk("A/Q", 60, 1)}
	if _, why, err := randomentry.NewRandomEntry(play(t, candles, nil, 0)); why != stat.NoTrades ||
		err != nil {
		t.Error(why, err)
	}
	r := play(t, candles, []hold{{0, 1, 59, 1, 1}}, 0)
	r.Input.Trades = append(slices.Clone(r.Input.Trades), r.Input.Trades[0])
	if _, why, err := randomentry.NewRandomEntry(r); why != stat.NotApplicable || err != nil {
		t.Error(why, err)
	}
	// A run that ended early has no step for the candles behind it; one between its steps
	// is not its own.
	whole := play(t, candles, []hold{{0, 1, 59, 1, 1}}, 0)
	want, _, err := randomentry.NewRandomEntry(whole)
	if err != nil {
		t.Fatal(err)
	}
	whole.Candles = []*market.Series{walk("A/Q", 80, 1)}
	got, _, err := randomentry.NewRandomEntry(whole)
	if err != nil || *sharpes(got, 1, 1)[0] != *sharpes(want, 1, 1)[0] {
		t.Error("candles behind the end matter: ", err)
	}
	strange := walk("A/Q", 60, 1)
	for i := range strange.Time {
		strange.Time[i] -= 7 * 3600 * 1000
	}
	r.Candles = []*market.Series{strange}
	if _, _, err := randomentry.NewRandomEntry(r); err == nil {
		t.Error("candles that the run has no step for")
	}
	r.Input.Curves = nil
	if _, _, err := randomentry.NewRandomEntry(r); err == nil {
		t.Error("a run without a curve")
	}
}

// Two holdings of one candle on five intervals can lie in twelve ways, told apart; each
// must come up as often. Drawn carelessly, neighbours would be half as likely.
func TestEveryArrangementIsEquallyLikely(t *testing.T) {
	candles := walk("A/Q", 7, 1)
	for i := range candles.Time { // each place has a return of its own
		candles.Open[i], candles.Close[i] = 100+math.Pow(1.7, float64(i)), 101+math.Pow(1.9, float64(i))
		candles.High[i], candles.Low[i] = 1000, 1
	}
	r := play(t, []*market.Series{candles}, []hold{{0, 1, 2, 1, .5}, {0, 3, 4, -1, .25}}, 0)
	m, why, err := randomentry.NewRandomEntry(r)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	const draws = 12000
	counts := map[float64]int{}
	for _, sr := range sharpes(m, 5, draws) {
		counts[math.Round(*sr*1e9)]++
	}
	// 5 intervals, 2 holdings: C(5, 2) places times 2 orders.
	const ways = 20
	if len(counts) != ways {
		t.Fatalf("%d arrangements, want %d", len(counts), ways)
	}
	chi := 0.0
	for _, n := range counts {
		d := float64(n) - draws/ways
		chi += d * d / (draws / ways)
	}
	if chi > 43.8 { // 99.9 % of chi-squared with 19 degrees of freedom
		t.Error("chi-squared ", chi)
	}
}

// Replicas depend on their number only, and shares and costs go with the holdings.
func TestReplicasStandAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		candles := []*market.Series{walk("A/Q", 120, seed), walk("B/Q", 120, seed+1)}
		r := play(t, candles, noise(candles, seed), .001)
		m, why, err := randomentry.NewRandomEntry(r)
		if why != "" || err != nil {
			rt.Skip(why, err)
		}
		many, few := sharpes(m, seed, 5), sharpes(m, seed, 2)
		for i := range few {
			if (few[i] == nil) != (many[i] == nil) || few[i] != nil && *few[i] != *many[i] {
				rt.Fatal("replica ", i)
			}
		}
	})
}

// On noise the p-value is uniform: 5 % are at most 0.05, half at most 0.5.
func TestRandomEntryIsCalibrated(t *testing.T) {
	const runs, replicas = 240, 99
	small, half := 0, 0
	for k := range uint64(runs) {
		candles := []*market.Series{walk("A/Q", 300, 2*k), walk("B/Q", 300, 2*k+1)}
		r := play(t, candles, noise(candles, k), .001)
		m, why, err := randomentry.NewRandomEntry(r)
		if why != "" || err != nil {
			t.Fatal(why, err)
		}
		reached, base := 0, sharpeOf(t, r)
		for _, sr := range sharpes(m, k, replicas) {
			if *sr >= base {
				reached++
			}
		}
		p := stat.ResampledP(reached, replicas)
		if p <= .05 {
			small++
		}
		if p <= .5 {
			half++
		}
	}
	// 99 % of the binomial: 12 +- 2.58 * 3.38 and 120 +- 2.58 * 7.75.
	if small < 4 || small > 20 || half < 100 || half > 140 {
		t.Errorf("%d p-values of %d at most 0.05, %d at most 0.5", small, runs, half)
	}
}

// BenchmarkRandomEntry is what the battery does: 199 replicas of 400 trades on hourly
// candles of five years.
func BenchmarkRandomEntry(b *testing.B) {
	s := &market.Series{Symbol: "A/Q", Timeframe: market.MustTimeframe("1h")}
	stream := random.New(1, random.Calibrate, 0)
	price := 100.0
	for i := range 46000 {
		c := price * (1 + .005*stream.Normal())
		s.Append(market.Candle{OpenTime: y2020.Add(time.Duration(i) * time.Hour), Open: price,
			High: price * 2, Low: price / 2, Close: c, Volume: 1})
		price = c
	}
	var holds []hold
	for i := range 400 {
		holds = append(holds, hold{0, 1 + i*110, 1 + i*110 + 50, 1, .9})
	}
	r := play(&testing.T{}, []*market.Series{s}, holds, .001)
	for b.Loop() {
		m, _, err := randomentry.NewRandomEntry(r)
		if err != nil {
			b.Fatal(err)
		}
		sharpes(m, 1, 199)
	}
}

package main

import (
	"math"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/stat/random"
)

func TestTheMarketIsThatOfThePage(t *testing.T) {
	const drift = 0.01
	s := series(symbol, 1, 7, drift)
	turns, loudDays, sum, squares := 0, 0, 0.0, 0.0
	for i := range s.Len() {
		open, high, low, last, volume := s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i]
		if i > 0 && open != s.Close[i-1] {
			t.Fatalf("day %d opens at %g after %g", i, open, s.Close[i-1])
		}
		if math.Abs(high/max(open, last)-1.005) > 1e-9 || math.Abs(low/min(open, last)-0.995) > 1e-9 {
			t.Fatalf("day %d: %g %g %g %g", i, open, high, low, last)
		}
		e := drift
		switch volume {
		case loud:
			loudDays++
		case quiet:
			e = -drift
		default:
			t.Fatalf("day %d has volume %g", i, volume)
		}
		if i > 0 && volume != s.Volume[i-1] {
			turns++
		}
		z := (last/open - 1 - e) / dailySigma
		sum, squares = sum+z, squares+z*z
	}
	// Each within four standard errors.
	if s.Len() != 1826 || turns < 54 || turns > 128 || math.Abs(sum)/math.Sqrt(days) > 4 ||
		math.Abs(squares/days-1) > 4*math.Sqrt(2.0/days) {
		t.Errorf("%d days, %d turns, %d loud, mean %g, variance %g", s.Len(), turns, loudDays, sum/days,
			squares/days)
	}
}

func TestEachCaseHasAMarketOfItsOwn(t *testing.T) {
	a, b, again := series(symbol, 1, 1, 0), series(symbol, 1, 2, 0), series(symbol, 1, 1, 0)
	if slices.Equal(a.Close, b.Close) || !slices.Equal(a.Close, again.Close) ||
		slices.Equal(a.Close, series(symbol, 2, 1, 0).Close) {
		t.Error("markets do not go by seed and number")
	}
	seen := map[uint64]string{}
	for _, s := range settings(fullSize()) {
		if s.isNoise() && !s.Free && !s.Sample {
			continue // on purpose those without costs
		}
		for i := range s.Cases {
			n := caseNumber(s, i)
			if other, taken := seen[n]; taken {
				t.Fatalf("%s and %s are on one market", other, s.Name)
			}
			seen[n] = s.Name
		}
	}
}

// On another stream than that which the drift was found on, the edge is as large as it
// should be, within four standard errors.
func TestTheEdgeIsAsLargeAsItShouldBe(t *testing.T) {
	ring.Undetected(t, "it plays millions of days in one goroutine")
	for _, want := range []float64{1, 3} {
		drift, err := driftFor(1, want)
		if err != nil {
			t.Fatal(err)
		}
		got := trueSharpe(2, drift, 0.0015)
		if math.Abs(got-want) > 4*math.Sqrt(2*daysInYear/float64(longDays)) {
			t.Errorf("%g is %g with e = %g", want, got, drift)
		}
	}
	if low, high := trueSharpe(1, 0.003, 0), trueSharpe(1, 0.003, 0.0015); low <= high {
		t.Errorf("costs do not cost: %g, %g", low, high)
	}
}

func TestNoiseHoldsHalfOfTheTime(t *testing.T) {
	made, err := newNoise(noiseParams{Coin: "3/1", Timeframe: "1d"})
	if err != nil {
		t.Fatal(err)
	}
	n := made.(noise)
	s := series(symbol, 1, 1, 0)
	held, holdings, was := 0, 0, false
	for i := range s.Len() {
		is := n.heads(s.CloseTime(i))
		if is {
			held++
		}
		if is && !was {
			holdings++
		}
		if is != n.heads(s.CloseTime(i)+coinPeriod*dayMs) {
			t.Fatal("the coins do not repeat")
		}
		was = is
	}
	if share := float64(held) / days; share < 0.35 || share > 0.65 || holdings < 100 {
		t.Errorf("it holds %.0f %% of the time in %d holdings", 100*share, holdings)
	}
	rests7 := 0
	stream := random.New(1, random.Calibrate, 0)
	from := int64(stream.IntN(20000))
	for day := from; day < from+7; day++ {
		if rests(day, restEvery) {
			rests7++
		}
	}
	if rests7 != 1 {
		t.Errorf("planted rests on %d days of a week", rests7)
	}
}

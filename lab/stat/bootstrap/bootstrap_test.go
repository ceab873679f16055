package bootstrap_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
)

func TestFollow(t *testing.T) {
	got := bootstrap.Follow(5, 2, []float64{0, .5, .49, .9, .9}, []int{4, 9, 1, 9, 9})
	if want := []int{4, 0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := bootstrap.Follow(0, 2, nil, nil); len(got) != 0 {
		t.Error(got)
	}
}

// The draws of a replica are a start, then per observation a uniform and, where a block
// begins, another start: the order that every other implementation must keep.
func TestIndicesDrawInOrder(t *testing.T) {
	const n, block = 50, 4
	s := random.New(9, random.Bootstrap, 3)
	want := []int{s.IntN(n)}
	for len(want) < n {
		if s.Float64() < 1.0/block {
			want = append(want, s.IntN(n))
		} else {
			want = append(want, (want[len(want)-1]+1)%n)
		}
	}
	if got := bootstrap.Replicas(9, 5, n, block)[3]; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The mean length of a block is what was asked for, and 1 for anything below.
func TestMeanBlock(t *testing.T) {
	for _, block := range []float64{0.2, 1, 3, 10} {
		steps, starts := 0, 0
		for _, drawn := range bootstrap.Replicas(1, 200, 300, block) {
			for i := 1; i < len(drawn); i++ {
				steps++
				if drawn[i] != (drawn[i-1]+1)%300 {
					starts++
				}
			}
		}
		near(t, "block", float64(steps)/float64(starts), max(block, 1), .05*max(block, 1))
	}
}

func TestReplicasDoNotDependOnTheirNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, block := rapid.IntRange(1, 40).Draw(t, "n"), rapid.Float64Range(1, 20).Draw(t, "block")
		many := bootstrap.Replicas(7, 6, n, block)
		few := bootstrap.Replicas(7, 3, n, block)
		for i, drawn := range few {
			if !slices.Equal(drawn, many[i]) {
				t.Fatal("replica", i)
			}
			for _, at := range drawn {
				if at < 0 || at >= n {
					t.Fatal(at)
				}
			}
		}
	})
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// ar is an autoregressive series of a stream.
func ar(seed uint64, n int, rho float64) []float64 {
	s := random.New(seed, random.Noise, 0)
	x := make([]float64, n)
	for i := range x {
		x[i] = s.Normal()
		if i > 0 {
			x[i] += rho * x[i-1]
		}
	}
	return x
}

func TestBlocksGrowWithDependence(t *testing.T) {
	last := 0.0
	for _, rho := range []float64{0, .3, .6, .9} {
		b, why := bootstrap.PolitisWhite(ar(1, 2000, rho))
		if why != "" || b.Stationary <= last {
			t.Errorf("rho %v: %+v after %v %s", rho, b, last, why)
		}
		// The circular bootstrap varies less, by the cube root of 3/2.
		near(t, "circular", b.Circular/b.Stationary, math.Cbrt(1.5), 1e-12)
		last = b.Stationary
	}
}

// The rule by hand, every step of it, on a series that is short enough to follow.
func TestPolitisWhiteByHand(t *testing.T) {
	x := []float64{1, 2, 3, 2, 1, 0, -1, -2, -1, 0, 1, 2, 3, 2, 1, 0}
	e := stat.Deviations(x)
	n := 16.0
	// 4 + 5 lags at most; the waves of the series stay above the bound, so all are used.
	const m = 9
	v, g := 0.0, 0.0
	for j := -m; j <= m; j++ {
		lag := max(j, -j)
		c := 0.0
		for i := lag; i < 16; i++ {
			c += e[i] * e[i-lag] / n
		}
		w := min(1, 2*(1-float64(lag)/m))
		v += w * c
		g += w * float64(lag) * c
	}
	want := math.Cbrt(g*g/(v*v)) * math.Cbrt(n)
	limit := math.Ceil(n / 3)
	b, why := bootstrap.PolitisWhite(x)
	if why != "" || b.Lags != m {
		t.Fatalf("%+v %s", b, why)
	}
	near(t, "block", b.Stationary, min(want, limit), 1e-9)
}

func TestNoBlockLength(t *testing.T) {
	for _, c := range []struct {
		x   []float64
		why stat.Reason
	}{
		{nil, stat.TooFewReturns}, {ar(1, 10, 0), stat.TooFewReturns},
		{make([]float64, 20), stat.ZeroVariance},
	} {
		if _, why := bootstrap.PolitisWhite(c.x); why != c.why {
			t.Errorf("%v: %q", c.x, why)
		}
	}
}

// The block stays between nothing and the cap, does not care about scale, and is never
// anything but a number.
func TestBlockLengthIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 11, 80).Draw(t, "x")
		b, why := bootstrap.PolitisWhite(x)
		if why != "" {
			return
		}
		n := float64(len(x))
		if limit := math.Ceil(min(3*math.Sqrt(n), n/3)); !(b.Stationary >= 0 && b.Stationary <= limit &&
			b.Circular <= limit && b.Circular >= b.Stationary) {
			t.Fatalf("%+v above %v", b, limit)
		}
		if b.Lags < 2 {
			t.Fatal(b.Lags)
		}
	})
}

// The formula is what drawing converges to.
func TestVarianceIsThatOfTheReplicas(t *testing.T) {
	x := ar(2, 60, .5)
	want, _, why := bootstrap.Variance(x, 5)
	if why != "" {
		t.Fatal(why)
	}
	means := bootstrap.Resample(x, bootstrap.Plan{Seed: 4, B: 20000, MeanBlock: 5}, stat.Mean)
	drawn, _ := stat.Variance(means, 1)
	near(t, "variance", drawn*float64(len(x))/want, 1, .04)
}

// Blocks of one are independent draws: only c_0 is left.
func TestVarianceOfIndependentDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 30).Draw(t, "x")
		v, kappa, why := bootstrap.Variance(x, 1)
		want, _ := stat.Variance(x, 0)
		if why != "" || math.Abs(v-want) > 1e-12 {
			t.Fatal(v, want, why)
		}
		// (i/n)(1-p)^(n-i) is 0^(n-1), which is 1 only for n = 1.
		if kappa != 0 {
			t.Fatal(kappa)
		}
	})
	_, kappa, _ := bootstrap.Variance([]float64{1, 2, 3, 5}, 2)
	near(t, "k_1", kappa, .75*.5+.25*.125, 1e-15)
	if _, _, why := bootstrap.Variance([]float64{1}, 2); why != stat.TooFewReturns {
		t.Error(why)
	}
}

func TestMeanInterval(t *testing.T) {
	x := ar(3, 200, 0)
	plan := bootstrap.Plan{Seed: 1, B: 999, MeanBlock: 2}
	i, why := bootstrap.MeanInterval(x, plan, .95)
	if why != "" {
		t.Fatal(why)
	}
	means := bootstrap.Resample(x, plan, stat.Mean)
	slices.Sort(means)
	if i.Value != stat.Mean(x) || i.Low != means[24] || i.High != means[974] || i.SmallestP != .001 {
		t.Errorf("%+v, between %v and %v", i, means[24], means[974])
	}
	if wider, _ := bootstrap.MeanInterval(x, plan, .99); !(wider.Low < i.Low && wider.High > i.High) ||
		wider.P != i.P {
		t.Errorf("%+v is not wider than %+v", wider, i)
	}
}

// The p-value is small when the mean is far from 0, and what is drawn does not depend on
// the sign.
func TestPOfAMean(t *testing.T) {
	x := ar(3, 200, 0)
	for i := range x {
		x[i] += 1
	}
	i, _ := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: 1, B: 199, MeanBlock: 2}, .95)
	if i.P != i.SmallestP || i.Low <= 0 {
		t.Errorf("%+v", i)
	}
	for k := range x {
		x[k] = -x[k]
	}
	if o, _ := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: 1, B: 199, MeanBlock: 2}, .95); o.P != i.P ||
		o.Value != -i.Value {
		t.Errorf("%+v and %+v", i, o)
	}
}

// Under the hypothesis the p-value is uniform: about every tenth is below a tenth.
func TestPUnderTheHypothesis(t *testing.T) {
	small := 0
	const trials = 300
	for k := range uint64(trials) {
		s := random.New(k, random.Noise, 1)
		x := make([]float64, 60)
		for i := range x {
			x[i] = s.Normal()
		}
		if i, _ := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: k, B: 99, MeanBlock: 1}, .9); i.P <= .1 {
			small++
		}
	}
	near(t, "share", float64(small)/trials, .1, .06)
}

func TestNoInterval(t *testing.T) {
	plan := bootstrap.Plan{B: 9, MeanBlock: 1}
	for _, c := range []struct {
		x    []float64
		plan bootstrap.Plan
		why  stat.Reason
	}{
		{[]float64{1}, plan, stat.TooFewReturns}, {[]float64{1, 2}, bootstrap.Plan{}, stat.TooFewReturns},
		{[]float64{1, 1}, plan, stat.ZeroVariance},
		{[]float64{1e308, 1.7e308, 1.7e308}, plan, stat.NotApplicable},
	} {
		if i, why := bootstrap.MeanInterval(c.x, c.plan, .95); why != c.why {
			t.Errorf("%v: %+v %q, want %q", c.x, i, why, c.why)
		}
	}
}

func TestIntervalsHoldTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 20).Draw(t, "x")
		i, why := bootstrap.MeanInterval(x,
			bootstrap.Plan{Seed: rapid.Uint64().Draw(t, "seed"), B: 99, MeanBlock: 3}, .9)
		if why == "" &&
			!(i.Low <= i.High && i.P > 0 && i.P <= 1 && i.Low >= slices.Min(x)-1e-12 &&
				i.High <= slices.Max(x)+1e-12) {
			t.Fatalf("%+v", i)
		}
	})
}

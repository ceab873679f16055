package deflate_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// drawn is replicas that were made before.
func drawn(replicas [][]int) func(int) []int { return func(i int) []int { return replicas[i] } }

// reachedByHand writes every replica down and takes its ratios by their definition.
func reachedByHand(columns [][]float64, ratio float64, replicas [][]int) int {
	reached := 0
	for _, rows := range replicas {
		most := math.Inf(-1)
		for _, x := range columns {
			mean := stat.Mean(x)
			var sample []float64
			for _, at := range rows {
				sample = append(sample, x[at]-mean)
			}
			if m, why := stat.Of(sample); why == "" {
				most = max(most, m.Mean/m.SD)
			}
		}
		if most >= ratio {
			reached++
		}
	}
	return reached
}

func TestMaximaByHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, b := rapid.IntRange(5, 40).Draw(t, "n"), rapid.IntRange(1, 23).Draw(t, "b")
		seed := rapid.Uint64().Draw(t, "seed")
		var columns [][]float64
		for k := range rapid.IntRange(1, 6).Draw(t, "trials") {
			s := random.New(seed, random.Noise, uint64(k))
			x := make([]float64, n)
			for i := range x {
				x[i] = .01 * (s.Normal() + float64(k)/5)
			}
			columns = append(columns, x)
		}
		rare := make([]float64, n) // has no ratio where its loss is not drawn
		rare[n/2] = -.01
		columns = append(columns, rare)
		replicas := bootstrap.Replicas(seed, b, n, 3)
		ratio := float64(
			rapid.IntRange(-300, 800).Draw(t, "ratio"),
		)/1000 + .0005 // 0 is the ratio of what was drawn whole
		want := reachedByHand(columns, ratio, replicas)
		m := deflate.NewMaxima(append(columns, make([]float64, n))) // one that never traded
		got, err := m.DSRMax(t.Context(), ratio, b, 0, drawn(replicas))
		p := float64(1+want) / float64(1+b)
		if err != nil || got.Reached != want || got.B != b || got.P != p || got.Probability != 1-p {
			t.Fatalf("%+v %v, by hand %d", got, err, want)
		}
	})
}

// Trials whose returns are unknown cost what independent ones do, and only those.
func TestTrialsWithoutReturnsCost(t *testing.T) {
	x := searched(3, 1, 400, 0, 0)[0]
	m := deflate.NewMaxima([][]float64{x})
	replicas := bootstrap.Replicas(1, 199, 400, 1)
	const ratio = .11
	alone, _ := m.DSRMax(t.Context(), ratio, 199, 0, drawn(replicas))
	with, _ := m.DSRMax(t.Context(), ratio, 199, 9, drawn(replicas))
	near(t, "p", with.P, 1-(1-alone.P)*math.Pow(stat.Phi(ratio*20), 9), 1e-12)
	if with.Reached != alone.Reached {
		t.Error(alone, with)
	}
}

// Copies of a trial change nothing, and a trial more never helps.
func TestMaximaOfMoreTrials(t *testing.T) {
	columns := searched(5, 12, 300, .6, 0)
	replicas := bootstrap.Replicas(1, 199, 300, 2)
	last := 0
	for k := 1; k <= len(columns); k++ {
		own := columns[:k:k]
		got, _ := deflate.NewMaxima(own).Reached(t.Context(), .1, 199, drawn(replicas), nil)
		padded, _ := deflate.NewMaxima(append(own, own...)).
			Reached(t.Context(), .1, 199, drawn(replicas), nil)
		if got < last || padded != got {
			t.Errorf("%d trials: %d, %d with copies, %d with one less", k, got, padded, last)
		}
		last = got
	}
	if last == 0 {
		t.Error("nothing reaches the ratio")
	}
}

func TestMaximaEndWhenEnoughIsKnown(t *testing.T) {
	m, asked := deflate.NewMaxima(searched(5, 4, 100, 0, 0)), 0
	replicas := bootstrap.Replicas(1, 400, 100, 1)
	draw := func(i int) []int { asked++; return replicas[i] }
	got, err := m.Reached(
		t.Context(),
		0,
		400,
		draw,
		func(reached, of int) bool { return reached > 9 && of == asked },
	)
	if err != nil || got < 10 || asked > 40 {
		t.Errorf("%d reached of %d drawn, %v", got, asked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.DSRMax(ctx, 0, 400, 0, drawn(replicas)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Trials that are alike pass no more often than others: what is counted is the best of a
// search without skill. With N_eff in the place of N, and all of the error narrowed by
// choosing, every fifth such search would pass.
func TestAlikeTrialsDoNotPass(t *testing.T) {
	const searches, trials, days, replicas = 300, 20, 150, 199
	for _, rho := range []float64{0, .7} {
		var resampled, formula, twice int
		for seed := range uint64(searches) {
			columns := searched(seed, trials, days, rho, 0)
			best := columns[0]
			for _, x := range columns {
				if ratio(x) > ratio(best) {
					best = x
				}
			}
			alike, _, err1 := deflate.AlikeOf(t.Context(), whole(columns), 0)
			variance, _, err2 := deflate.VarianceOf(t.Context(), whole(columns), days)
			draw := func(i int) []int {
				return bootstrap.Indices(random.New(seed, random.DSRMax, uint64(i)), days, 1)
			}
			reached, err3 := deflate.NewMaxima(columns).
				Reached(t.Context(), ratio(best), replicas, draw, func(reached, _ int) bool {
					return reached > 9
				})
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			if reached <= 9 { // p <= 0.05
				resampled++
			}
			d, _, _ := deflate.DSR2025(
				ratio(best),
				days,
				sharpe.Shape{Kurt: 3},
				deflate.Trials{Variance: variance, N: trials},
				alike.Correlation,
			)
			old, _, _ := deflate.DSR2025(
				ratio(best),
				days,
				sharpe.Shape{Kurt: 3},
				deflate.Trials{Variance: variance, N: alike.NEff},
				0,
			)
			if d.Probability >= .95 {
				formula++
			}
			if old.Probability >= .95 {
				twice++
			}
		}
		t.Logf(
			"rho %v: of %d, %d pass by dsr_max, %d by dsr_2025, %d with correlation counted twice",
			rho,
			searches,
			resampled,
			formula,
			twice,
		)
		if most := searches * 9 / 100; resampled > most || formula > most || rho > 0 && twice < most {
			t.Errorf("rho %v: at most %d may pass", rho, most)
		}
	}
}

func ratio(x []float64) float64 {
	m, _ := stat.Of(x)
	return m.Mean / m.SD
}

func BenchmarkMaxima(b *testing.B) {
	m := deflate.NewMaxima(searched(1, 100, 1218, .5, 0))
	replicas := bootstrap.Replicas(1, 100, 1218, 1)
	for b.Loop() {
		_, _ = m.Reached(b.Context(), 10, 100, drawn(replicas), nil)
	}
}

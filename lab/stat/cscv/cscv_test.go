package cscv_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/cscv"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestChoices(t *testing.T) {
	for s, want := range map[int]int64{2: 2, 4: 6, 16: 12870, 20: 184756, 66: 7219428434016265740, 68: 0,
		3: 0, 0: 0, -2: 0} {
		if got := cscv.Choices(s); got != want {
			t.Errorf("%d: %d, want %d", s, got, want)
		}
	}
}

func noise(seed uint64, rows, columns int) [][]float64 {
	s := random.New(seed, random.Noise, 0)
	out := make([][]float64, rows)
	for i := range out {
		for range columns {
			out[i] = append(out[i], s.Normal())
		}
	}
	return out
}

// The whole of it once more from the definition, without blocks and moments.
func TestAgainstTheDefinition(t *testing.T) {
	rows := noise(1, 26, 5)
	got, why, err := cscv.Run(rows, 4, cscv.Sharpe)
	if why != "" || err != nil || got.Dropped != 2 {
		t.Fatal(got, why, err)
	}
	rows = rows[2:]
	overfit, losses := 0, 0
	for c, choice := range [][]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}} {
		in, outside := make([]float64, 5), make([]float64, 5)
		for k := range 5 {
			var a, b []float64
			for i, row := range rows {
				if block := i / 6; block == choice[0] || block == choice[1] {
					a = append(a, row[k])
				} else {
					b = append(b, row[k])
				}
			}
			in[k], _ = sharpe.Ratio(a, 0, 1)
			outside[k], _ = sharpe.Ratio(b, 0, 1)
		}
		best := 0
		for k := range in {
			if in[k] > in[best] {
				best = k
			}
		}
		rank := 1.0
		for _, v := range outside {
			if v < outside[best] {
				rank++
			}
		}
		near(t, "omega", got.Omega[c], rank/6, 1e-15)
		near(t, "logit", got.Logits[c], math.Log(rank/6/(1-rank/6)), 1e-12)
		near(t, "in sample", got.Pairs[c][0], in[best], 1e-12)
		near(t, "out of sample", got.Pairs[c][1], outside[best], 1e-12)
		if rank <= 3 {
			overfit++
		}
		if outside[best] < 0 {
			losses++
		}
	}
	near(t, "pbo", got.PBO, float64(overfit)/6, 1e-15)
	near(t, "loss", got.ProbLoss, float64(losses)/6, 1e-15)
}

// A column that is best everywhere cannot be overfitted; when what is gained in one half
// is lost in the other, nothing else is possible.
func TestExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := 2*rapid.IntRange(1, 4).Draw(t, "half S"), rapid.IntRange(2, 6).Draw(t, "n")
		rows := noise(rapid.Uint64().Draw(t, "seed"), s*rapid.IntRange(2, 5).Draw(t, "block"), n)
		best := rapid.IntRange(0, n-1).Draw(t, "best")
		for i := range rows {
			for k := range rows[i] {
				if k != best {
					rows[i][k] = rows[i][best] - 1 - math.Abs(rows[i][k])
				}
			}
		}
		r, why, err := cscv.Run(rows, s, cscv.Mean)
		if r.PBO != 0 || why != "" || err != nil {
			t.Fatal(r.PBO, why, err)
		}
		for _, l := range r.Logits {
			if l != math.Log(float64(n)) {
				t.Fatal(l)
			}
		}
		rows = noise(rapid.Uint64().Draw(t, "other seed"), 4*s, n)
		for k := range n {
			mean := 0.0
			for i := range rows {
				mean += rows[i][k] / float64(len(rows))
			}
			for i := range rows {
				rows[i][k] -= mean
			}
		}
		if r, _, _ := cscv.Run(rows, s, cscv.Mean); r.PBO != 1 || r.Slope > -.9 {
			t.Fatalf("pbo %v slope %v", r.PBO, r.Slope)
		}
	})
}

func TestTies(t *testing.T) {
	rows := noise(4, 16, 1)
	for i := range rows {
		rows[i] = []float64{rows[i][0], rows[i][0], rows[i][0]}
	}
	r, _, err := cscv.Run(rows, 4, cscv.Sharpe)
	if err != nil || r.PBO != 1 {
		t.Fatal(r, err)
	}
	for i, o := range r.Omega {
		if o != .5 || r.Logits[i] != 0 {
			t.Error("three equal trials share the middle:", o, r.Logits[i])
		}
	}
}

// A trial that never trades has performance 0; any other constant has no Sharpe ratio.
func TestConstants(t *testing.T) {
	rows := noise(4, 16, 3)
	for i := range rows {
		rows[i][1] = 0
	}
	if r, why, err := cscv.Run(rows, 4, cscv.Sharpe); why != "" || err != nil || len(r.Omega) != 6 {
		t.Error(why, err)
	}
	for i := range rows {
		rows[i][1] = .1
	}
	if _, why, _ := cscv.Run(rows, 4, cscv.Sharpe); why != stat.ZeroVariance {
		t.Error(why)
	}
	r, why, _ := cscv.Run(rows, 4, cscv.Mean)
	if why != "" || len(r.Omega) != 6 {
		t.Error(why)
	}
	same := make([][]float64, 8)
	for i := range same {
		same[i] = []float64{0, 0}
	}
	if r, why, _ := cscv.Run(same, 4, cscv.Sharpe); why != "" || r.SlopeReason != stat.ZeroVariance {
		t.Error(why, r.SlopeReason)
	}
}

func TestRefused(t *testing.T) {
	ragged := noise(1, 16, 3)
	ragged[5] = ragged[5][:2]
	broken := noise(1, 16, 3)
	broken[5][1] = math.NaN()
	for _, c := range []struct {
		rows     [][]float64
		s        int
		argument string
	}{
		{noise(1, 16, 3), 3, cscv.ArgumentS}, {noise(1, 16, 3), 0, cscv.ArgumentS},
		{noise(1, 16, 3), -4, cscv.ArgumentS},
		{noise(1, 90, 3), 22, cscv.ArgumentS}, {noise(1, 7, 3), 4, cscv.ArgumentMatrix},
		{nil, 4, cscv.ArgumentMatrix},
		{noise(1, 16, 1), 4, cscv.ArgumentMatrix}, {ragged, 4, cscv.ArgumentMatrix},
		{broken, 4, cscv.ArgumentMatrix},
	} {
		_, _, err := cscv.Run(c.rows, c.s, cscv.Sharpe)
		var bad *cscv.ArgumentError
		if !errors.As(err, &bad) || bad.Argument != c.argument || bad.Error() == "" {
			t.Errorf("S %d, %d rows: %v", c.s, len(c.rows), err)
		}
	}
}

func BenchmarkCSCV(b *testing.B) {
	rows := noise(1, 1217, 200)
	for b.Loop() {
		_, _, _ = cscv.Run(rows, 10, cscv.Sharpe)
	}
}

// Columns are judged as the matrix of them is, and refused for the same.
func TestColumns(t *testing.T) {
	rows := [][]float64{{1, 2}, {3, 1}, {2, 5}, {4, 4}, {0, 1}, {7, 3}, {1, 1}, {5, 2}, {9, 9}}
	columns := make([][]float64, 2)
	for _, row := range rows {
		for k, v := range row {
			columns[k] = append(columns[k], v)
		}
	}
	a, whyA, errA := cscv.Run(rows, 4, cscv.Sharpe)
	b, whyB, errB := cscv.RunColumns(columns, 4, cscv.Sharpe)
	if errA != nil || errB != nil || whyA != whyB || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, by columns %+v", a, b)
	}
	for _, bad := range [][][]float64{nil, columns[:1], {columns[0], columns[1][:8]},
		{columns[0], {1, 2, 3, 4, 5, 6, 7, 8, math.NaN()}}} {
		var refused *cscv.ArgumentError
		if _, _, err := cscv.RunColumns(bad, 4, cscv.Sharpe); !errors.As(err, &refused) ||
			refused.Argument != cscv.ArgumentMatrix {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

package deflate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
)

func TestNEff(t *testing.T) {
	near(t, "independent", deflate.NEff(100, 0), 100, 0)
	near(t, "half", deflate.NEff(100, .5), 50.5, 0)
	near(t, "the same", deflate.NEff(100, 1), 1, 0)
	near(t, "opposed counts as independent", deflate.NEff(100, -.3), 100, 0)
}

// The short cut gives the mean over all pairs.
func TestNEffOfSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(3, 20).Draw(t, "n"), rapid.IntRange(2, 8).Draw(t, "m")
		rows := make([][]float64, n)
		for i := range rows {
			for range m {
				rows[i] = append(rows[i], float64(rapid.IntRange(-1000, 1000).Draw(t, "r"))/1000)
			}
		}
		sum := 0.0
		for a := range m {
			for b := range a {
				sum += correlation(rows, a, b)
			}
		}
		rho := sum / float64(m*(m-1)/2)
		got, why, err := deflate.AlikeOf(t.Context(), columnsOf(rows), 3)
		if want := deflate.NEff(
			float64(m),
			rho,
		) + 3; err != nil || why != "" || math.Abs(got.NEff-want) > 1e-9 ||
			math.Abs(got.Correlation-min(max(rho, 0), 1)) > 1e-9 {
			t.Fatalf("%v %s, want %v", got, why, want)
		}
	})
}

// columnsOf are trials at the same rows.
func columnsOf(rows [][]float64) []deflate.Column {
	if len(rows) == 0 {
		return nil
	}
	all := make([]int, len(rows))
	out := make([]deflate.Column, len(rows[0]))
	for i, row := range rows {
		all[i] = i
		for k, v := range row {
			out[k].Returns = append(out[k].Returns, v)
		}
	}
	for k := range out {
		out[k].Rows = all
	}
	return out
}

func correlation(rows [][]float64, a, b int) float64 {
	x, y := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		x[i], y[i] = r[a], r[b]
	}
	if stat.AllEqual(x) || stat.AllEqual(y) {
		return 0
	}
	x, y = stat.Deviations(x), stat.Deviations(y)
	return stat.Dot(x, y) / (math.Sqrt(stat.Dot(x, x)) * math.Sqrt(stat.Dot(y, y)))
}

func TestNEffWithoutSeries(t *testing.T) {
	for _, c := range []struct {
		rows    [][]float64
		without int
		want    float64
	}{
		{nil, 4, 4}, {[][]float64{{}, {}}, 4, 4}, {[][]float64{{1}, {2}}, 4, 5}, {[][]float64{{1, 1}, {1, 2}, {1, 3}}, 0, 2},
		{[][]float64{{1, 2}, {2, 4}, {3, 6}}, 1, 2},
	} {
		got, why, err := deflate.AlikeOf(t.Context(), columnsOf(c.rows), c.without)
		if near(t, "n_eff", got.NEff, c.want, 1e-12); why != "" || err != nil {
			t.Error(why, err)
		}
	}
	if _, why, err := deflate.AlikeOf(t.Context(), nil, 0); why != stat.TooFewReturns || err != nil {
		t.Error(why, err)
	}
}

func TestEffectiveRank(t *testing.T) {
	for _, c := range []struct {
		corr      [][]float64
		want, tol float64
	}{
		{[][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 3, 1e-14},
		{[][]float64{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1, 1e-12},
		// Lopez de Prado, Lipton and Zoonekynd (2025) test theirs with these two, the second
		// of which has an eigenvalue below 0.
		{[][]float64{{1, .1}, {.1, 1}}, 2, .02},
		{[][]float64{{1, .1, .7}, {.1, 1, .8}, {.7, .8, 1}}, 1.84, .01},
	} {
		got, why := deflate.EffectiveRank(c.corr)
		if near(t, "rank", got, c.want, c.tol); why != "" {
			t.Error(why)
		}
	}
	if _, why := deflate.EffectiveRank(nil); why != stat.NotApplicable {
		t.Error(why)
	}
	if _, why := deflate.EffectiveRank(make([][]float64, deflate.MostSeries+1)); why != stat.NotApplicable {
		t.Error(why)
	}
}

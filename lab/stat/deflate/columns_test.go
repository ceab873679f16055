package deflate_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/random"
)

// Copies stand for one column, also on other rows, and each column is of one class only.
func TestClasses(t *testing.T) {
	returns := searched(1, 3, 200, .5, 0)
	scaled := slices.Clone(returns[0])
	for i := range scaled {
		scaled[i] *= 3
	}
	rows := make([]int, 60)
	for i := range rows {
		rows[i] = i + 100
	}
	columns := append(whole(append(returns, scaled, make([]float64, 200))),
		deflate.Column{Rows: rows, Returns: returns[1][100:160]},
		deflate.Column{Rows: rows[:20], Returns: returns[1][100:120]})
	of, err := deflate.Classes(t.Context(), columns)
	if err != nil || of[0] != of[3] || of[5] != 1 || of[1] != 1 || of[2] != 2 || of[4] != 4 || of[6] != 6 {
		t.Fatal(of, err)
	}
	kept, err := deflate.Distinct(t.Context(), columns)
	if err != nil || len(kept) != 4 { // the flat one has no ratio
		t.Errorf("%d are distinct, %v", len(kept), err)
	}
	other := random.New(3, random.Noise, 0)
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	for i := range order {
		k := i + int(other.IntN(len(order)-i))
		order[i], order[k] = order[k], order[i]
	}
	mixed := make([]deflate.Column, len(columns))
	for i, k := range order {
		mixed[i] = columns[k]
	}
	again, err := deflate.Classes(t.Context(), mixed)
	for i, k := range order {
		if err != nil || columns[order[again[i]]].Returns[0] != columns[of[k]].Returns[0] {
			t.Fatalf("in another order column %d is of %d: %v, %v", k, order[again[i]], of, err)
		}
	}
}

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
		{nil, 4, 4}, {[][]float64{{}, {}}, 4, 4}, {[][]float64{{1}, {2}}, 4, 5},
		{[][]float64{{1, 1}, {1, 2}, {1, 3}}, 0, 2},
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

// searched is n trials over t rows whose returns share a part with the market, so that any
// two correlate by rho; the mean of trial k is k/n times spread.
func searched(seed uint64, n, t int, rho, spread float64) [][]float64 {
	market := random.New(seed, random.Noise, 0)
	common := make([]float64, t)
	for i := range common {
		common[i] = market.Normal()
	}
	out := make([][]float64, n)
	for k := range out {
		own := random.New(seed, random.Noise, uint64(k+1))
		for i := range t {
			out[k] = append(out[k],
				math.Sqrt(rho)*common[i]+math.Sqrt(1-rho)*own.Normal()+spread*float64(k)/float64(n))
		}
	}
	return out
}

// upTo are the rows [0, n).
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// whole are columns of all rows, rungs those of a search that has stopped each of the
// others after a fifth.
func whole(returns [][]float64) []deflate.Column { return rungs(returns, len(returns)) }

func rungs(returns [][]float64, finalists int) []deflate.Column {
	all := upTo(len(returns[0]))
	var out []deflate.Column
	for k, x := range returns {
		n := len(x)
		if k >= finalists {
			n /= 5
		}
		out = append(out, deflate.Column{Rows: all[:n], Returns: x[:n]})
	}
	return out
}

func variance(t testing.TB, columns []deflate.Column, rows int) float64 {
	t.Helper()
	v, why, err := deflate.VarianceOf(t.Context(), columns, rows)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	return v
}

func ratiosOf(returns [][]float64) []float64 {
	var out []float64
	for _, x := range returns {
		m, _ := stat.Of(x)
		out = append(out, m.Mean/m.SD)
	}
	return out
}

// For trials that have all seen the same it is the variance of their ratios.
func TestVarianceOfCompleteTrials(t *testing.T) {
	for seed := range uint64(20) {
		returns := searched(seed, 3+int(seed), 100, .5, .3)
		want, _ := stat.Variance(ratiosOf(returns), 1)
		near(t, "variance", variance(t, whole(returns), 100), want, 1e-15)
	}
}

// A search in rungs is not judged by the noise of its short ones: its variance is, on
// average, that of the same trials played in full or a little more, where that of the
// ratios as they are is several times as much; also when the market was good to all of them
// in the short rung.
func TestVarianceOfRungs(t *testing.T) {
	for _, c := range []struct {
		rho, spread, boom, most, naive float64
	}{{0, 0, 0, 1.9, 4}, {.8, 0, 0, 1.9, 4}, {.8, .1, 0, 1.1, 1.5}, {.8, 0, .2, 2.2, 20}} {
		var full, fair, naive float64
		const searches, days = 30, 1200
		for seed := range uint64(searches) {
			returns := searched(seed, 20, days, c.rho, c.spread)
			for _, x := range returns {
				for i := range days / 5 {
					x[i] += c.boom
				}
			}
			full += variance(t, whole(returns), days)
			columns := rungs(returns, 2)
			fair += variance(t, columns, days)
			var short [][]float64
			for _, x := range columns {
				short = append(short, x.Returns)
			}
			v, _ := stat.Variance(ratiosOf(short), 1)
			naive += v
		}
		if fair < .95*full || fair > c.most*full || naive < c.naive*full {
			t.Errorf("%+v: %v, in full %v, as they are %v", c, fair/searches, full/searches, naive/searches)
		}
	}
}

// Trials at other times are compared by what they have, less the noise of it.
func TestVarianceOfTrialsApart(t *testing.T) {
	returns := searched(3, 2, 400, 0, .5)
	columns := []deflate.Column{{Rows: upTo(400), Returns: returns[0]},
		{Rows: upTo(600)[500:600], Returns: returns[1][:100]}}
	x := ratiosOf([][]float64{columns[0].Returns, columns[1].Returns})
	want := (x[0]-x[1])*(x[0]-x[1])/2 - ((1./400+1./100)/2 - 1./400)
	near(t, "variance", variance(t, columns, 400), want, 1e-15)
	// Of ratios that happen to be close, what noise makes over all rows is left, or what
	// they differ by if that is less.
	columns = []deflate.Column{{Rows: upTo(100), Returns: returns[0][:100]},
		{Rows: upTo(600)[500:600], Returns: slices.Clone(returns[0][:100])}}
	for _, c := range []struct{ off, want float64 }{{.06, 1. / 1000}, {.01, .5 * .01 * .01}} {
		m, _ := stat.Of(columns[0].Returns)
		for i, r := range columns[0].Returns {
			columns[1].Returns[i] = r + c.off*m.SD
		}
		near(t, "noise", variance(t, columns, 1000), c.want, 1e-12)
	}
}

// Whatever the trials, there is a variance that is none below 0, the order of the trials
// does not show in it, and copies leave it as it was.
func TestVarianceIsThatOfTheSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, finalists := rapid.IntRange(2, 6).Draw(t, "n"), rapid.IntRange(0, 6).Draw(t, "finalists")
		columns := rungs(searched(rapid.Uint64().Draw(t, "seed"), n, 160,
			rapid.Float64Range(0, .9).Draw(t, "rho"), .3), finalists)
		v, why, err := deflate.VarianceOf(t.Context(), columns, 160)
		if err != nil || why != "" || v < 0 {
			t.Fatal(v, why, err)
		}
		more := slices.Clone(columns)
		for range rapid.IntRange(1, 5).Draw(t, "copies") {
			more = append(more, rapid.SampledFrom(columns).Draw(t, "copied"))
		}
		// A copy that was stopped earlier is one nevertheless.
		cut := columns[0]
		more = append(more, deflate.Column{Rows: cut.Rows[:32], Returns: cut.Returns[:32]})
		more = rapid.Permutation(more).Draw(t, "order")
		w, _, _ := deflate.VarianceOf(t.Context(), more, 160)
		if math.Abs(w-v) > 1e-12*v {
			t.Fatalf("%v, with copies %v", v, w)
		}
	})
}

func TestDistinct(t *testing.T) {
	returns := searched(1, 3, 200, .5, 0)
	scaled, nearly, close := slices.Clone(returns[0]), slices.Clone(returns[1]), slices.Clone(returns[2])
	other := random.New(9, random.Noise, 0)
	for i := range scaled {
		scaled[i] *= 3
		nearly[i] += .02 * other.Normal()
		close[i] += .1 * other.Normal()
	}
	flat := make([]float64, 200)
	columns := whole(append(returns, scaled, nearly, close, flat))
	got, err := deflate.Distinct(t.Context(), columns)
	if err != nil || len(got) != 4 {
		t.Fatalf("%d are distinct, %v", len(got), err)
	}
	if _, why, err := deflate.VarianceOf(t.Context(), []deflate.Column{columns[0], columns[3], columns[0]},
		200); why != stat.TooFewReturns || err != nil {
		t.Errorf("one trial and its copies: %q, %v", why, err)
	}
	if _, why, err := deflate.VarianceOf(t.Context(), nil, 200); why != stat.TooFewReturns || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}

func TestRowSets(t *testing.T) {
	columns := rungs(searched(1, 4, 100, 0, 0), 2)
	sets := deflate.RowSets(columns)
	if len(sets) != 2 || len(sets[0]) != 100 || len(sets[1]) != 20 {
		t.Fatal(sets)
	}
	if long, short := deflate.On(columns, sets[0]), deflate.On(columns, sets[1]); len(long) != 2 ||
		len(short) != 4 || !slices.Equal(short[1], long[1][:20]) {
		t.Error(long, short)
	}
}

// Everything that looks at all trials ends with its context.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	columns := rungs(searched(1, 4, 200, 0, 0), 2)
	if _, _, err := deflate.VarianceOf(ctx, columns, 200); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, _, err := deflate.AlikeOf(ctx, columns, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// However alike trials are, one more never makes fewer of them independent.
func TestNEffRisesWithTrials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := whole(searched(rapid.Uint64().Draw(t, "seed"), 8, 40,
			rapid.Float64Range(0, .99).Draw(t, "rho"), 0))
		var list []deflate.Column
		last := 0.0
		for range 12 {
			list = append(list, rapid.SampledFrom(columns).Draw(t, "trial"))
			got, _, err := deflate.AlikeOf(t.Context(), list, 0)
			if err != nil || got.NEff < last-1e-9 {
				t.Fatalf("%d trials count as %v, one less as %v", len(list), got.NEff, last)
			}
			last = got.NEff
		}
	})
}

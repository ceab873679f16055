package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/multiple"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// tail is how the returns of a search are distributed.
type tail int

const (
	normal tail = iota
	// ownTails are Student's t with three degrees of freedom, each return by itself.
	ownTails
	// sharedTails are the same with one mixing variable a day: a wild day is one for all.
	sharedTails
	// garch is a volatility that all trials share and that clusters.
	garch
)

// search is daily returns of trials with a known truth, in one of many cases.
type search struct {
	Name         string
	Trials, Days int
	// Rho is the correlation of two trials of one cluster; those of two clusters have none.
	Rho      float64
	Clusters int
	// Distinct is how many trials there are before they are copied; 0 is all.
	Distinct int
	Tail     tail
	// Sharpe is the true annual ratio of the first trial, which is judged then. The others
	// have no skill; where none has any, the best is judged.
	Sharpe float64
}

// fullDays are those of the walk-forward of the bundled candles. A search of mostSearched
// trials has a year: with more, its cases take as long as all others together.
const (
	fullDays     = 1218
	daysPerYear  = 365
	mostSearched = 500
	resamples    = 999
)

func gridTrials() []int  { return []int{10, 32, 100, mostSearched} }
func gridRho() []float64 { return []float64{0, .3, .5, .7, .9, .97} }

// gridSearches are those of the first table, others those of the second, edges the third.
func gridSearches() []search {
	var list []search
	for _, n := range gridTrials() {
		days := fullDays
		if n == mostSearched {
			days = daysPerYear
		}
		for _, rho := range gridRho() {
			list = append(
				list,
				search{Name: fmt.Sprintf("%d trials, rho %g", n, rho), Trials: n, Days: days, Rho: rho},
			)
		}
	}
	return list
}

func otherSearches() []search {
	list := []search{
		{Name: "two clusters of 50, rho 0.9 within, 0 between", Trials: 100, Rho: .9, Clusters: 2},
		{Name: "two clusters of 16, rho 0.97 within, 0 between", Trials: 32, Rho: .97, Clusters: 2},
		{Name: "10 independent trials and 90 copies of them", Trials: 100, Distinct: 10},
		{Name: "32 trials, rho 0.7, and 68 copies of them", Trials: 100, Distinct: 32, Rho: .7},
	}
	for _, t := range []struct {
		name string
		tail tail
	}{
		{"Student-t(3), each return by itself", ownTails},
		{"Student-t(3), wild days are shared", sharedTails}, {"GARCH(1,1), volatility is shared", garch},
	} {
		for _, rho := range []float64{0, .7} {
			for _, n := range []int{32, 100} {
				list = append(
					list,
					search{Name: fmt.Sprintf("%s, rho %g", t.name, rho), Trials: n, Rho: rho, Tail: t.tail},
				)
			}
		}
	}
	for i := range list {
		list[i].Days = fullDays
	}
	return list
}

func edgeSearches() []search {
	var list []search
	for _, ratio := range []float64{1, 2, 3} {
		for _, rho := range []float64{0, .5, .9} {
			list = append(
				list,
				search{
					Name:   fmt.Sprintf("Sharpe ratio %g, rho %g", ratio, rho),
					Trials: 32,
					Days:   fullDays,
					Rho:    rho,
					Sharpe: ratio,
				},
			)
		}
	}
	return list
}

// passed is in how many cases of a search each number was as good as a pass needs: DSRMax of
// N, DSR2025 and Sidak of the Formulas in which they were computed.
type passed struct{ DSRMax, N, DSR2025, Sidak, Formulas int }

// searched are the searches with what was counted.
type searched struct {
	Cases  int
	Seed   uint64
	Counts map[search]passed
}

// fullSearches is how many cases of each search there are in full size.
const fullSearches = 2000

// roundCases are made of every search before the first gets more. Only whole rounds count: a
// case that fails takes less time than one that passes, so that whatever was ready first
// would be counted too often.
const roundCases = 100

// playSearches makes so many cases of every search, or as many as fit into a time. A file
// is shown what there is after every round. The counts do not depend on the workers.
func playSearches(ctx context.Context, o options, show func(*searched) error, list ...search) error {
	out := &searched{Seed: o.seed, Counts: map[search]passed{}}
	began := time.Now()
	for out.Cases < o.searches && (o.limit == 0 || time.Since(began) < o.limit) {
		round := min(roundCases, o.searches-out.Cases)
		for number, s := range list {
			found, err := s.play(ctx, round, o.workers, o.seed, uint64(number)<<32+uint64(out.Cases))
			if err != nil {
				return err
			}
			out.Counts[s] = out.Counts[s].plus(found)
		}
		out.Cases += round
		fmt.Fprintf(
			os.Stderr,
			"%d of %d cases of %d searches in %s\n",
			out.Cases,
			o.searches,
			len(list),
			time.Since(began).Round(time.Second),
		)
		if o.out != "" {
			if err := show(out); err != nil {
				return err
			}
		}
	}
	if o.out == "" {
		return show(out)
	}
	return nil
}

// play makes the cases of one search; first is the number of the stream of the first.
func (s search) play(ctx context.Context, cases, workers int, seed, first uint64) (passed, error) {
	var next atomic.Int64
	found := make([]passed, max(1, workers))
	errs := make([]error, len(found))
	var wg sync.WaitGroup
	for w := range found {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(cases) && errs[w] == nil; i = next.Add(1) - 1 {
				var one passed
				one, errs[w] = s.judge(ctx, seed, first+uint64(i))
				found[w] = found[w].plus(one)
			}
		})
	}
	wg.Wait()
	var sum passed
	for w, one := range found {
		if errs[w] != nil {
			return sum, errs[w]
		}
		sum = sum.plus(one)
	}
	return sum, nil
}

func (p passed) plus(q passed) passed {
	return passed{
		p.DSRMax + q.DSRMax,
		p.N + q.N,
		p.DSR2025 + q.DSR2025,
		p.Sidak + q.Sidak,
		p.Formulas + q.Formulas,
	}
}

// formulasEvery is how many cases there are for each one in which the formulas are computed,
// too, which takes longer than the resampling.
const formulasEvery = 4

// judge makes one case and judges it.
func (s search) judge(ctx context.Context, seed, number uint64) (passed, error) {
	columns := s.returns(random.New(seed, random.Calibrate, number))
	at, ratio := 0, ratioOf(columns[0])
	for k, x := range columns {
		if r := ratioOf(x); s.Sharpe == 0 && r > ratio {
			at, ratio = k, r
		}
	}
	block, _ := bootstrap.PolitisWhite(columns[at])
	draw := func(i int) []int {
		return bootstrap.Indices(random.New(number, random.DSRMax, uint64(i)), s.Days, block.Stationary)
	}
	made := resamples
	reached, err := deflate.NewMaxima(columns).
		Reached(ctx, ratio, resamples, draw, func(reached, of int) bool {
			if !decided(reached, of) {
				return false
			}
			made = of
			return true
		})
	if err != nil {
		return passed{}, err
	}
	out := passed{N: 1}
	if float64(1+reached) <= level*float64(1+made) {
		out.DSRMax = 1
	}
	if number%formulasEvery != 0 {
		return out, nil
	}
	return s.byFormula(ctx, out, columns, ratio, columns[at])
}

// level is the p that a pass needs.
const level = 0.05

// decided reports whether so many of so many replicas leave no doubt on which side of level
// all of them will be: their number would have a probability below one in a million if a
// replica reached the ratio with just that probability.
func decided(reached, of int) bool {
	const doubt = 1e-6
	n, k := float64(of), float64(reached)
	// P(X >= k) = I_p(k, n-k+1), P(X <= k) = I_(1-p)(n-k, k+1), Abramowitz and Stegun 26.5.24.
	if k > n*level {
		return stat.IncompleteBeta(k, n-k+1, level, 1-level) < doubt
	}
	return stat.IncompleteBeta(n-k, k+1, 1-level, level) < doubt
}

// ratioOf returns the Sharpe ratio of a column with a deviation.
func ratioOf(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	return sum / n / math.Sqrt((squares-sum*sum/n)/(n-1))
}

// byFormula adds the verdicts of dsr_2025 and of Sidak's p.
func (s search) byFormula(
	ctx context.Context,
	out passed,
	columns [][]float64,
	ratio float64,
	judged []float64,
) (passed, error) {
	rows := make([]int, s.Days)
	for i := range rows {
		rows[i] = i
	}
	list := make([]deflate.Column, len(columns))
	for k, x := range columns {
		list[k] = deflate.Column{Rows: rows, Returns: x}
	}
	out.Formulas = 1
	alike, _, err := deflate.AlikeOf(ctx, list, 0)
	if err != nil {
		return out, err
	}
	variance, _, err := deflate.VarianceOf(ctx, list, s.Days)
	if err != nil {
		return out, err
	}
	m, _ := stat.Of(judged)
	t := float64(s.Days)
	d, _, _ := deflate.DSR2025(
		ratio,
		t,
		sharpe.ShapeOf(m),
		deflate.Trials{Variance: variance, N: float64(len(columns))},
		alike.Correlation,
	)
	if d.Probability >= selection.DSRPass {
		out.DSR2025 = 1
	}
	if multiple.SidakOfSharpe(ratio, t, alike.NEff) <= 1-selection.DSRPass {
		out.Sidak = 1
	}
	return out, nil
}

// returns are the columns of a case, with a variance of 1 a day but for the tails.
func (s search) returns(stream *random.Stream) [][]float64 {
	g := rand.New(rand.NewPCG(stream.Uint64(), stream.Uint64()))
	distinct, clusters := s.Distinct, max(1, s.Clusters)
	if distinct == 0 {
		distinct = s.Trials
	}
	volatility := s.volatility(g)
	common := make([][]float64, clusters)
	for c := range common {
		common[c] = s.draws(g)
	}
	columns := make([][]float64, 0, s.Trials)
	shared, own := math.Sqrt(s.Rho), math.Sqrt(1-s.Rho)
	for k := range distinct {
		x, market := s.draws(g), common[k%clusters]
		for t := range x {
			x[t] = volatility[t] * (shared*market[t] + own*x[t])
		}
		columns = append(columns, x)
	}
	for k := distinct; k < s.Trials; k++ {
		columns = append(columns, columns[k%distinct])
	}
	for t := range columns[0] {
		if s.Sharpe != 0 {
			columns[0][t] += s.Sharpe / math.Sqrt(daysPerYear)
		}
	}
	return columns
}

// draws are independent days of one thing.
func (s search) draws(g *rand.Rand) []float64 {
	x := make([]float64, s.Days)
	for t := range x {
		x[t] = g.NormFloat64()
		if s.Tail == ownTails {
			x[t] /= mixing(g)
		}
	}
	return x
}

// mixing makes three degrees of freedom of what is divided by it.
func mixing(g *rand.Rand) float64 {
	a, b, c := g.NormFloat64(), g.NormFloat64(), g.NormFloat64()
	return math.Sqrt((a*a + b*b + c*c) / 3)
}

// The coefficients of garch: a shock of volatility is half gone after 34 days.
const (
	garchNews, garchMemory = .10, .88
	garchGround            = 1 - garchNews - garchMemory
)

// volatility returns what all returns of a day are multiplied by.
func (s search) volatility(g *rand.Rand) []float64 {
	out := make([]float64, s.Days)
	variance := 1.0
	for t := range out {
		switch out[t] = 1; s.Tail {
		case sharedTails:
			out[t] = 1 / mixing(g)
		case garch:
			out[t] = math.Sqrt(variance)
			z := g.NormFloat64()
			variance = garchGround + variance*(garchNews*z*z+garchMemory)
		}
	}
	return out
}

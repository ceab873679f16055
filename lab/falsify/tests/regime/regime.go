// Package regime is the test regime: the profit by volatility and by year. One test, one
// folder.
package regime

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "regime"

var entry = judge.Entry{
	Number: 13, ID: ID, Version: 2, Class: judge.Warning,
	Claim:  "no single year or level of volatility carries the profit",
	Method: "thirds of the days by 30-day volatility, and calendar years",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		r, err := ByRegime(b.Run)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, r)}
		f.Add(fileOf(r))
		return f, nil
	})
}

// Judge judges regime: a profit in two thirds of the volatility, and not from one year.
func Judge(j *judge.Judge, r *Regimes) *judge.Test {
	p := j.Policy
	t := j.Begin(entry, 0, map[string]any{"terciles": p.Terciles, "year_share": p.YearShare})
	won := 0
	for _, x := range r.Terciles {
		if x.PnL > 0 {
			won++
		}
	}
	t.Measure("terciles_with_profit", judge.Ptr(float64(won)), "", ">=", judge.Ptr(float64(p.Terciles)))
	if j.Idle(t) {
		return t
	}
	if len(r.Terciles) == 0 {
		t.Measure("terciles_with_profit", nil, stat.TooFewReturns, ">=", judge.Ptr(float64(p.Terciles)))
		return t.End(judge.Inconclusive, string(stat.TooFewReturns),
			"there are fewer days than a volatility takes")
	}
	if won < p.Terciles {
		return t.Endf(judge.Fail, judge.Concentrated, "it earns money in %d of %d levels of volatility",
			won, len(r.Terciles))
	}
	if r.Total <= 0 {
		t.Measure("profit", &r.Total, "", ">", judge.Ptr(0))
		return t.End(judge.Fail, judge.NoProfit, "there is no profit to share")
	}
	if len(r.Years) < 2 {
		t.Measure("best_year_share", nil, stat.Insufficient, "<=", &p.YearShare)
		return t.End(judge.Inconclusive, string(stat.Insufficient), "all days are of one calendar year")
	}
	best := r.Years[0]
	for _, y := range r.Years[1:] {
		if y.PnL > best.PnL {
			best = y
		}
	}
	share := best.PnL / r.Total
	t.Params["best_year_share"] = judge.Rounded(&share)
	if share > p.YearShare {
		t.Measure("best_year_share", &share, "", "<=", &p.YearShare)
		return t.Endf(judge.Fail, judge.Concentrated, "%s of the profit comes from %s",
			judge.Percent(share), best.Name)
	}
	return j.Capped(t.End(judge.Pass, "", ""))
}

func fileOf(r *Regimes) judge.File {
	s := judge.NewSheet(entry.ID, "regimes.csv", "regime", "days", "pnl", "sharpe_ratio")
	for _, list := range [][]Regime{r.Terciles, r.Years} {
		for _, x := range list {
			s.Row(x.Name, strconv.Itoa(x.Days), judge.Plain(x.PnL), judge.Optional(x.Sharpe))
		}
	}
	return s.File()
}

// regimeWindow is how much of the past a day's volatility is measured over.
const regimeWindow = 30 * 24 * time.Hour

// The regimes of volatility, a third of the days each.
var terciles = [3]string{"volatility_low", "volatility_middle", "volatility_high"}

// Regime is what a run did on the days of one kind. Days counts returns of the main
// sample; Sharpe is annual, nil where it is undefined.
type Regime struct {
	Name   string
	Days   int
	PnL    float64
	Sharpe *float64
}

// Regimes are the days of a run by the volatility of the market and by calendar year.
type Regimes struct {
	// Terciles are low, middle and high volatility: the standard deviation of the holding
	// returns of the 30 days that end with the day. The days before there are 30 are in
	// none. Without enough days there are no terciles.
	Terciles []Regime
	Years    []Regime
	// Total is the profit of all days.
	Total float64
}

// ByRegime divides the days of a run. Days of equal volatility are told apart by time.
func ByRegime(r *account.Run) (*Regimes, error) {
	g, err := account.NewGrid(r)
	if err != nil {
		return nil, err
	}
	days := len(g.Returns.Return)
	pnl := make([]float64, days)
	for k := range pnl {
		pnl[k] = g.Curve.Equity[g.Levels[k+1]] - g.Curve.Equity[g.Levels[k]]
	}
	out := &Regimes{Total: stat.Sum(pnl)}
	collect := func(name string, of []int) Regime {
		own, money := make([]float64, len(of)), make([]float64, len(of))
		for i, k := range of {
			own[i], money[i] = g.Returns.Return[k], pnl[k]
		}
		return Regime{name, len(of), stat.Sum(money), g.Annual(own)}
	}
	ranked := byVolatility(g, days)
	if n := len(ranked); n >= len(terciles) {
		for i, name := range terciles {
			part := slices.Sorted(slices.Values(ranked[n*i/3 : n*(i+1)/3]))
			out.Terciles = append(out.Terciles, collect(name, part))
		}
	}
	for from := 0; from < days; {
		year, to := g.Returns.Time[from].Time().Year(), from
		var of []int
		for ; to < days && g.Returns.Time[to].Time().Year() == year; to++ {
			of = append(of, to)
		}
		out.Years = append(out.Years, collect(strconv.Itoa(year), of))
		from = to
	}
	return out, nil
}

// byVolatility is the returns with a full window behind them, calmest first.
func byVolatility(g *account.Grid, days int) []int {
	held := g.Holding()[:days]
	window := max(int(math.Ceil(float64(regimeWindow)/float64(g.Returns.Every))), 2)
	volatility := make([]float64, days)
	var out []int
	for k := window - 1; k < days; k++ {
		volatility[k], _ = stat.Variance(held[k+1-window:k+1], 1) // a window has at least two returns
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(volatility[a], volatility[b]) })
	return out
}

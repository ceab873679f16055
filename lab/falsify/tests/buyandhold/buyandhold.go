// Package buyandhold is the test buy_and_hold: the daily difference to holding the market at
// the same exposure. One test, one folder.
package buyandhold

import (
	"fmt"
	"strings"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "buy_and_hold"

var entry = judge.Entry{
	Number: 17, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "it is better than holding",
	Method: "daily difference to holding at equal exposure, 95 % interval",
	Holm:   true,
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		bench, why, err := AgainstHolding(b.Run, b.Seed, b.Profile.Bootstrap)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, bench, why)}
		if bench != nil {
			f.Add(fileOf(bench))
		}
		return f, nil
	})
}

// Judge judges buy_and_hold by the interval of the mean difference; why is the reason
// that AgainstHolding gave. A bound no further from 0 than the returns of two equal
// runs may be from each other is 0: the rest of a long sum of rounded products is no
// difference.
func Judge(j *judge.Judge, b *Benchmark, why stat.Reason) *judge.Test {
	t := j.Begin(entry, 0, nil)
	t.Params["confidence"] = Confidence
	if why == "" && j.Base.Fills == 0 {
		why = stat.NoTrades
	}
	if why != "" {
		t.Measure("mean_difference", nil, why, ">", judge.Ptr(0))
		t.Undefine("p_value", why)
		return t.End(judge.Inconclusive, string(why), "there is nothing to compare")
	}
	t.Params["b"], t.Params["mean_block"], t.Params["exposure"] = b.B, judge.Rounded(&b.MeanBlock),
		judge.Rounded(&b.Exposure)
	t.Params["ci_low"], t.Params["ci_high"], t.Params["smallest_p"] = judge.Rounded(&b.Low),
		judge.Rounded(&b.High), b.SmallestP
	t.Measure("mean_difference", &b.Mean, "", ">", judge.Ptr(0))
	p, dust := b.P, j.Policy.SameReturn
	if b.Low >= -dust && b.High <= dust {
		p = 1 // there is nothing that chance would have to reach
	}
	t.PValue = judge.Rounded(&p)
	detail := fmt.Sprintf("the mean daily difference lies between %s and %s", tiny(b.Low), tiny(b.High))
	switch {
	case b.Low > dust:
		t.ByInterval(detail)
		t.End(judge.Pass, "", "")
	case b.High < -dust:
		t.End(judge.Fail, judge.BelowZero, detail)
	default:
		t.End(judge.Warn, judge.ContainsZero, detail)
	}
	return j.Capped(t)
}

func tiny(x float64) string { return fmt.Sprintf("%.3f %%", 100*x) }

func fileOf(b *Benchmark) judge.File {
	s := judge.NewSheet(entry.ID, "benchmark.csv", "date", "strategy", "benchmark", "difference")
	for i := range b.Difference {
		s.Row(date(b.Time[i]), judge.Plain(b.Strategy[i]), judge.Plain(b.Holding[i]),
			judge.Plain(b.Difference[i]))
	}
	return s.File()
}

// date is the day of a return that ends with a day, else its time in full.
func date(t market.Time) string { return strings.TrimSuffix(t.String(), "T00:00:00.000Z") }

// Confidence of the interval of the mean difference.
const Confidence = 0.95

// Benchmark compares a run, return by return of its main sample, with holding all symbols
// in equal parts at the run's mean net exposure.
type Benchmark struct {
	Time                          []market.Time
	Strategy, Holding, Difference []float64
	Exposure                      float64 // mean of position value / equity over the steps of the returns
	Mean, Low, High, P, SmallestP float64
	B                             int
	MeanBlock                     float64 // of the resampling, at least 1
}

// AgainstHolding resamples the mean difference b times in blocks of the length of Politis
// and White. P is that of the hypothesis that the run is no better than holding, one-sided.
// The reason is TooFewReturns below 11 returns. Stream: bootstrap.
func AgainstHolding(r *account.Run, seed uint64, b int) (*Benchmark, stat.Reason, error) {
	g, err := account.NewGrid(r)
	if err != nil {
		return nil, "", err
	}
	out := &Benchmark{Time: g.Returns.Time, Strategy: g.Returns.Return, Exposure: exposure(g), B: b,
		SmallestP: stat.SmallestP(b)}
	for k, held := range g.Holding()[:len(out.Strategy)] {
		out.Holding = append(out.Holding, out.Exposure*held)
		out.Difference = append(out.Difference, out.Strategy[k]-out.Holding[k])
	}
	out.Mean = stat.Mean(out.Difference)
	block, why := bootstrap.PolitisWhite(out.Difference)
	switch why {
	case "":
		out.MeanBlock = max(block.Stationary, 1) // no block is shorter than a return
	case stat.TooFewReturns:
		return out, why, nil
	default: // nothing hangs together
		out.MeanBlock = 1
	}
	plan := bootstrap.Plan{Seed: seed, B: b, MeanBlock: out.MeanBlock}
	interval, why := bootstrap.MeanInterval(out.Difference, plan, Confidence)
	switch why {
	case "":
		out.Low, out.High = interval.Low, interval.High
	case stat.ZeroVariance:
		out.Low, out.High = out.Mean, out.Mean
	default:
		return out, why, nil
	}
	extreme := 0
	for _, m := range bootstrap.Resample(out.Difference, plan, stat.Mean) {
		if m-out.Mean >= out.Mean {
			extreme++
		}
	}
	out.P = stat.ResampledP(extreme, b)
	return out, "", nil
}

// exposure is the mean of position value over equity, short positions negative, over the
// steps at which the returns of the main sample are earned: not those before the first
// level, where a run that is always invested is not yet.
func exposure(g *account.Grid) float64 {
	c := &g.Run.Results.Equity
	if len(g.Levels) < 2 {
		return 0
	}
	first, last := g.Levels[0], g.Levels[len(g.Levels)-1]
	var sum stat.Accumulator
	for i := first; i < last; i++ {
		if e := c.Equity[i]; e > 0 {
			sum.Add(c.PositionValue[i] / e)
		}
	}
	return sum.Value() / float64(last-first)
}

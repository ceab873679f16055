// Package pricenoise is the test price_noise: prices that are a little beside the real ones. A
// strategy that looks up exact prices finds none of them. One test, one folder.
package pricenoise

import (
	"fmt"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/replay"
)

// ID names the test.
const ID = "price_noise"

var entry = judge.Entry{
	Number: 9, ID: ID, Version: 2, Class: judge.Gate,
	Claim: "it does not look up exact prices",
	Method: "noise of 3 % of the median true range decides, 10 % warns, 1 and 30 % inform; it finds exact " +
		"look-ups only",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

// plan plays on prices that are a little beside the real ones. The size that decides
// has all the series of the profile, that which warns half of them, those which inform a
// quarter.
func plan(b *battery.Bench) (battery.Check, error) {
	n := b.Profile.Noise
	sizes := []Noisy{{Percent: 3}, {Percent: 10}, {Percent: 1}, {Percent: 30}}
	var plays []*battery.Play
	for i, series := range []int{n, (n + 1) / 2, (n + 3) / 4, (n + 3) / 4} {
		percent := sizes[i].Percent
		list, more := b.PlanSeries(fmt.Sprintf("noise_%d%%", percent), series,
			func(s replay.Set, seed, replica uint64) replay.Set {
				return replay.PriceNoise(s, percent, seed, replica)
			})
		sizes[i].Replays, plays = list, append(plays, more...)
	}
	return battery.After(plays, func() *battery.Finding {
		f := &battery.Finding{Test: Judge(&b.Judge, sizes), Stressed: battery.Middle(sizes[0].Replays)}
		var all []judge.Replay
		for _, s := range sizes {
			all = append(all, s.Replays...)
		}
		f.Replays(all)
		f.Rows = sizes[0].Replays // what the page draws is what decides
		return f
	})
}

// Noisy is the series of one size of noise, in percent of the median true range.
type Noisy struct {
	Percent int
	Replays []judge.Replay
}

// The sizes of noise that decide: what fails at the gate's refutes, at the other warns.
const (
	noiseGate    = 3
	noiseWarning = 10
)

// Judge judges price_noise. Every size is there, each with a series at least.
func Judge(j *judge.Judge, sizes []Noisy) *judge.Test {
	p := j.Policy
	var all []judge.Replay
	medians, at := map[string]float64{}, map[int][]float64{}
	for _, s := range sizes {
		all = append(all, s.Replays...)
		at[s.Percent] = judge.Ratios(s.Replays)
	}
	t := j.Begin(entry, len(all), map[string]any{"keep": p.Keep, "noise_positive": p.NoisePositive})
	if j.Unready(t, all) {
		return t
	}
	if n := judge.CountFailed(all); n > 0 {
		t.Measure("median_sharpe_ratio", nil, "", ">=", nil)
		return t.Endf(judge.Fail, judge.PluginFailed, "the program failed on %d of %d series", n, len(all))
	}
	for _, s := range sizes {
		m := judge.Median(at[s.Percent])
		medians[fmt.Sprintf("%d%%", s.Percent)] = *judge.Rounded(&m)
	}
	t.Params["median_sharpe_ratios"] = medians
	far := j.Kept(entry.Blank(), at[noiseWarning], 0)
	j.Kept(t, at[noiseGate], p.NoisePositive)
	said := func(percent int, what string) string {
		return fmt.Sprintf("with noise of %d %% of the median true range %s", percent, what)
	}
	switch {
	case t.Verdict == judge.Fail:
		t.Detail = said(noiseGate, t.Detail)
		if t.Statistic.Name != far.Statistic.Name { // the share above 0 warns, the median refutes
			t.Verdict = judge.Warn
		}
	case t.Verdict == judge.Pass && far.Verdict == judge.Fail:
		t.Statistic = far.Statistic
		t.End(judge.Warn, far.ReasonCode, said(noiseWarning, far.Detail)).Reason = judge.NoiseBeyond
	}
	return t
}

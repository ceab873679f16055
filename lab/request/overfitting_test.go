package request

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const hour = market.Time(time.Hour / time.Millisecond)

// series is hourly candles over so many days, in windows, whose equity makes a step on
// every day: by mean plus what noise says.
func series(windows, days int, mean float64, noise func() float64) metric.Input {
	in := metric.Input{Timeframe: market.MustTimeframe("1h"), Calendar: metric.Calendar24x7}
	at := market.Time(1704067200000)
	for range windows {
		c := metric.Curve{}
		equity := 10000.0
		for d := range days {
			if d > 0 {
				equity *= 1 + mean + noise()
			}
			for range 24 {
				c.OpenTime, c.CloseTime = append(c.OpenTime, at), append(c.CloseTime, at+hour)
				c.Equity, c.Exposure = append(c.Equity, equity), append(c.Exposure, 0)
				at += hour
			}
		}
		in.Curves = append(in.Curves, c)
	}
	in.Trades = make([]market.Trade, artifact.SufficientTrades)
	return in
}

func coin(seed uint64, size float64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func() float64 { return size * (rng.Float64() - 0.5) }
}

func mustOverfit(t rapid.TB, in metric.Input) *artifact.Overfitting {
	t.Helper()
	o, err := overfit(in, 7)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func near(x *float64, want float64) bool {
	return x != nil && math.Abs(*x-want) <= 1e-9*math.Max(1, math.Abs(want))
}

// TestOverfitAgreesWithMetrics compares with metrics-v1, which computes the same three
// numbers by its own code, annualised.
func TestOverfitAgreesWithMetrics(t *testing.T) {
	in := series(5, 60, 0.002, coin(3, 0.04))
	rep, err := metric.Compute(in)
	if err != nil {
		t.Fatal(err)
	}
	o := mustOverfit(t, in)
	year := math.Sqrt(365)
	want := func(key string) float64 {
		x, defined := rep.Metrics.Get(key)
		if !defined {
			t.Fatal(key)
		}
		return x
	}
	if o.T != 5*59 || o.T != rep.Meta.NReturns || o.Basis != "walk_forward" || len(o.Undefined) != 0 {
		t.Errorf("%+v", o)
	}
	if !near(o.SR, want("sharpe_ratio")/year) || !near(o.SRSE, want("sharpe_stderr")/year) ||
		!near(o.PSR0, want("psr")) {
		t.Errorf("sr %v, sr_se %v, psr0 %v", *o.SR, *o.SRSE, *o.PSR0)
	}
	const z = 1.959963984540054
	if ci := o.SRCI95; !near(&ci[0], *o.SR-z**o.SRSE) || !near(&ci[1], *o.SR+z**o.SRSE) {
		t.Errorf("%v", *ci)
	}
	if b := o.Bootstrap; b == nil || b.B != 999 || b.Rule != "politis_white" || b.Seed != "7" ||
		!(b.MeanBlock >= 1) {
		t.Errorf("%+v", b)
	}
}

// TestOverfitOfTheExample takes the numbers that the page shows: T 1217, SR 0.05, skew 0.1,
// kurtosis 5.2.
func TestOverfitOfTheExample(t *testing.T) {
	o := &artifact.Overfitting{Undefined: map[string]metric.Reason{}}
	days := estimates{o}.days(metric.Returns{Every: 24 * time.Hour}, 0.05, sharpe.Shape{Skew: 0.1, Kurt: 5.2})
	if days == nil || *days != 1081 {
		t.Errorf("min_trl_days %v, want 1081", days)
	}
	weeks := estimates{o}.days(metric.Returns{Every: 7 * 24 * time.Hour}, 0.05,
		sharpe.Shape{Skew: 0.1, Kurt: 5.2})
	if weeks == nil || *weeks < 1080*7 || *weeks > 1081*7 {
		t.Errorf("of weekly returns %v", weeks)
	}
}

// TestMinTRLDaysIsEnough: with the ratio and shape that were found, psr0 is 0.95 at
// min_trl_days and less a day before.
func TestMinTRLDaysIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := series(2, rapid.IntRange(20, 60).Draw(t, "days"),
			0.001*float64(rapid.IntRange(-3, 5).Draw(t, "mean")), coin(rapid.Uint64().Draw(t, "seed"), 0.05))
		o := mustOverfit(t, in)
		if o.SR == nil || *o.SR <= 0 {
			if o.MinTRLDays != nil || o.Undefined["min_trl_days"] != stat.SharpeNotAboveBenchmark {
				t.Fatalf("%+v", o)
			}
			return
		}
		if o.MinTRLDays == nil {
			t.Fatalf("sr %v: %v", *o.SR, o.Undefined)
		}
		shape := sharpe.Shape{Skew: *o.Skew, Kurt: *o.KurtRaw}
		at, _ := sharpe.PSR2012(*o.SR, 0, float64(*o.MinTRLDays), shape)
		before, why := sharpe.PSR2012(*o.SR, 0, float64(*o.MinTRLDays-1), shape)
		if at < confidence-1e-9 || why == "" && before > confidence+1e-9 {
			t.Fatalf("%d days: %v, a day before %v", *o.MinTRLDays, at, before)
		}
	})
}

func TestOverfitUndefined(t *testing.T) {
	few := series(5, 60, 0.002, coin(3, 0.04))
	few.Trades = few.Trades[:artifact.SufficientTrades-1]
	flat := series(5, 60, 0, func() float64 { return 0 })
	losing := series(5, 60, -0.01, coin(3, 0.02))
	names := []string{"sr", "skew", "kurt_raw", "psr0", "sr_se", "sr_ci95", "eta_lag1", "min_trl_days",
		"bootstrap"}
	for _, c := range []struct {
		what  string
		in    metric.Input
		names []string
		why   metric.Reason
	}{
		{"too few trades", few, names, "insufficient"},
		{"too few candles", series(1, 10, 0.002, coin(3, 0.04)), names, "insufficient"},
		{"no movement", flat, names, "zero_variance"},
		{"a loss", losing, names[7:8], "sharpe_not_above_benchmark"},
	} {
		o := mustOverfit(t, c.in)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		if len(o.Undefined) != len(c.names) || o.T == 0 {
			t.Errorf("%s: %s", c.what, text)
		}
		for _, name := range names {
			reason, undefined := o.Undefined[name]
			if (fields[name] == nil) != undefined || undefined && reason != c.why {
				t.Errorf("%s: %s is %v, %q", c.what, name, fields[name], reason)
			}
		}
	}
}

// TestOverfittingShape: the fields of the report, in their order.
func TestOverfittingShape(t *testing.T) {
	text, err := json.Marshal(mustOverfit(t, series(5, 60, 0.002, coin(3, 0.04))))
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, key := range []string{"basis", "t", "sr", "skew", "kurt_raw", "psr0", "sr_se", "sr_ci95",
		"eta_lag1", "min_trl_days", "undefined", "bootstrap", "b", "mean_block", "rule", "seed",
		"selection"} {
		next := strings.Index(string(text), `"`+key+`":`)
		if next <= at {
			t.Errorf("%s is at %d, after %d: %s", key, next, at, text)
		}
		at = next
	}
	if !strings.HasSuffix(string(text), `"selection":null}`) {
		t.Errorf("%s", text)
	}
}

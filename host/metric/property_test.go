package metric

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// scaleFree are the metrics that do not know the currency.
func scaleFree() []string {
	var keys []string
	for _, m := range All() {
		if m.Unit != Quote {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// Ten times the money: the same ratios.
func TestScalingKeepsRatios(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := walk(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 1500).Draw(t, "n"), time.Hour)
		in := Input{Timeframe: market.MustTimeframe("1h"), Calendar: Calendar24x7, Curves: []Curve{c}}
		in.Totals.FillNotional.Add(dec("12345.678"))
		before, err := Compute(in)
		if err != nil {
			t.Fatal(err)
		}
		big := c
		big.Equity = make([]float64, len(c.Equity))
		for i, e := range c.Equity {
			big.Equity[i] = e * 10
		}
		in.Curves = []Curve{big}
		in.Totals.FillNotional = Sum{}
		in.Totals.FillNotional.Add(dec("123456.78"))
		after, err := Compute(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range scaleFree() {
			x, okX := before.Metrics.Get(key)
			y, okY := after.Metrics.Get(key)
			if okX != okY || math.Abs(x-y) > 1e-9*max(1, math.Abs(x)) {
				t.Fatalf("%s: %v became %v", key, x, y)
			}
		}
	})
}

// Any curve, however odd: an answer in which every metric is a finite number or has
// a reason, equal at the second asking, and an error only with a field.
func TestAnyCurveHasAnAnswer(t *testing.T) {
	frames := []string{"1s", "1m", "1h", "1d", "36h", "1w", "1M"}
	level := rapid.OneOf(
		rapid.Float64Range(-10, 1000), rapid.Float64(),
		rapid.SampledFrom([]float64{0, 1, 5e-324, math.MaxFloat64, math.Copysign(0, -1)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		tf := rapid.SampledFrom(frames).Draw(t, "timeframe")
		in := Input{
			Timeframe: market.MustTimeframe(tf),
			Calendar:  rapid.SampledFrom([]string{Calendar24x7, CalendarWeekdays}).Draw(t, "calendar"),
			Trades: tradesOf(rapid.SliceOfN(rapid.SampledFrom([]string{"1", "-1", "0", "12345678.9"}), 0,
				5).Draw(t, "pnl")...),
		}
		for range rapid.IntRange(0, 3).Draw(t, "curves") {
			equity := rapid.SliceOfN(level, 0, 40).Draw(t, "equity")
			if len(equity) > 0 {
				equity[0] = math.Abs(equity[0])
			}
			in.Curves = append(in.Curves, curveOf(tf, epoch, equity...))
		}
		r, err := Compute(in)
		if err != nil {
			if _, ok := err.(*InputError); !ok {
				t.Fatalf("error %v", err)
			}
			return
		}
		checkComplete(t, r)
		again, _ := Compute(in)
		a, errA := json.Marshal(r)
		b, errB := json.Marshal(again)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("%s (%v)\n%s (%v)", a, errA, b, errB)
		}
	})
}

func checkComplete(t *rapid.T, r Report) {
	for i, m := range All() {
		v := r.Metrics[i]
		if v.Key != m.Key || !finite(v.Number) || math.Signbit(v.Number) && v.Number == 0 {
			t.Fatalf("%+v stands where %s belongs", v, m.Key)
		}
		if v.Reason != r.Meta.Undefined[m.Key] || v.Reason != "" && v.Number != 0 {
			t.Fatalf("%+v, metrics_meta says %q", v, r.Meta.Undefined[m.Key])
		}
	}
	if d, _ := r.Metrics.Get("max_drawdown"); d < 0 {
		t.Fatalf("max_drawdown %v", d)
	}
}

// The peak and trough found are those of the drawdown reported.
func TestWorstDrawdownIsMaxDrawdown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SliceOfN(rapid.Float64Range(1, 10), 1, 60).Draw(t, "equity")
		r, err := Compute(inputOf("1d", e...))
		if err != nil {
			t.Fatal(err)
		}
		peak, trough := WorstDrawdown(e)
		if got, _ := r.Metrics.Get("max_drawdown"); got != Round(1-e[trough]/e[peak]) || peak > trough {
			t.Fatalf("max_drawdown %v, peak %d, trough %d", got, peak, trough)
		}
	})
}

package metric

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// epoch is Wednesday 2020-01-01 00:00 UTC.
const epoch = market.Time(1577836800000)

// curveOf lays equities on consecutive candles, without positions.
func curveOf(timeframe string, start market.Time, equity ...float64) Curve {
	tf := market.MustTimeframe(timeframe)
	c := Curve{Equity: equity, Exposure: make([]float64, len(equity))}
	for range equity {
		c.OpenTime = append(c.OpenTime, start)
		start = tf.Next(start)
		c.CloseTime = append(c.CloseTime, start)
	}
	return c
}

func inputOf(timeframe string, equity ...float64) Input {
	return Input{
		Timeframe: market.MustTimeframe(timeframe), Calendar: Calendar24x7,
		Curves: []Curve{curveOf(timeframe, epoch, equity...)},
	}
}

// walk returns a random curve with idle stretches, like that of a strategy that is not
// always in the market, and candles missing.
func walk(seed uint64, n int, step time.Duration) Curve {
	r := rand.New(rand.NewPCG(seed, 7))
	var c Curve
	e, open := 10000.0, epoch.Add(time.Duration(r.IntN(24))*time.Hour)
	in := false
	for range n {
		x := 0.0
		if in {
			e *= 1 + 0.01*r.NormFloat64()
			x = r.Float64()
		}
		c.Equity = append(c.Equity, e)
		c.Exposure = append(c.Exposure, x)
		c.OpenTime = append(c.OpenTime, open)
		c.CloseTime = append(c.CloseTime, open.Add(step))
		open = open.Add(step)
		if r.IntN(40) == 0 {
			open = open.Add(time.Duration(r.IntN(50)) * step)
		}
		if r.IntN(10) == 0 {
			in = !in
		}
	}
	return c
}

func tradesOf(pnl ...string) []market.Trade {
	var out []market.Trade
	for i, p := range pnl {
		d := decimal.MustParse(p)
		f, _ := d.Float64()
		out = append(out, market.Trade{PnL: d, Return: f / 1000, CandlesHeld: i})
	}
	return out
}

func compute(t testing.TB, in Input) Report {
	t.Helper()
	r, err := Compute(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantValue(t *testing.T, r Report, key string, want float64) {
	t.Helper()
	got, ok := r.Metrics.Get(key)
	if !ok {
		t.Errorf("%s is undefined (%q), want %v", key, r.Meta.Undefined[key], want)
		return
	}
	if !near(got, want, 2e-11) {
		t.Errorf("%s = %v, want %v", key, got, want)
	}
}

func wantReason(t *testing.T, r Report, key string, want Reason) {
	t.Helper()
	if got, ok := r.Metrics.Get(key); ok {
		t.Errorf("%s = %v, want undefined: %s", key, got, want)
	} else if why := r.Meta.Undefined[key]; why != want {
		t.Errorf("%s is undefined because of %q, want %q", key, why, want)
	}
}

// near compares relative to the larger magnitude.
func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b))
}

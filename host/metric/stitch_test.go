package metric

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Two windows of a walk-forward, each starting with 100: levels continue, returns
// do not cross, and the fall spans both.
func TestStitchedCurves(t *testing.T) {
	first := curveOf("1w", epoch, 100, 120, 90)
	next := first.CloseTime[2]
	second := curveOf("1w", next, 100, 80, 140)
	first.Closes = []Closes{{"A/USD", 10, 11}}
	second.Closes = []Closes{{"A/USD", 11, 22}}
	in := Input{Timeframe: market.MustTimeframe("1w"), Calendar: CalendarWeekdays,
		Curves: []Curve{first, second}}
	r := compute(t, in)
	if r.Meta.NReturns != 4 {
		t.Errorf("%d returns, want 4", r.Meta.NReturns)
	}
	wantValue(t, r, "total_return", 0.9*1.4-1)
	wantValue(t, r, "max_drawdown", 1-0.72/1.2)
	wantValue(t, r, "max_drawdown_duration_seconds", 4*7*86400)
	wantValue(t, r, "cagr", math.Pow(0.9*1.4, 52.0/4)-1)
	wantValue(t, r, "buy_hold_return", 1.2)

	mr, err := MainReturns(in)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0.2, -0.25, -0.2, 0.75}
	close := func(a, b float64) bool { return near(a, b, 1e-15) }
	if !slices.EqualFunc(mr.Return, want, close) {
		t.Errorf("returns %v, want %v", mr.Return, want)
	}
	if mr.Sample != SampleCandle || mr.PeriodsPerYear != 52 || mr.Time[2] != second.OpenTime[1] {
		t.Errorf("returns = %+v", mr)
	}
}

// A window that was ruined ends the chain of levels, not the list of returns; an
// empty one changes nothing; overlapping ones are laid end to end.
func TestStitchedOddities(t *testing.T) {
	in := inputOf("1d", 100, 50, 0)
	in.Curves = append(in.Curves, curveOf("1d", epoch, 100, 110))
	r := compute(t, in)
	wantValue(t, r, "total_return", -1)
	wantValue(t, r, "max_drawdown", 1)
	if r.Meta.NReturns != 3 {
		t.Errorf("%d returns, want 3", r.Meta.NReturns)
	}

	in.Curves = []Curve{{}, curveOf("1d", epoch, 100, 50), {}, curveOf("1d", epoch, 100, 110)}
	r = compute(t, in)
	wantValue(t, r, "total_return", 50*(110/100.0)/100-1)
	wantValue(t, r, "max_drawdown_duration_seconds", 2*86400)
}

func TestMainReturnsOfDays(t *testing.T) {
	in := Input{Timeframe: market.MustTimeframe("1h"), Calendar: Calendar24x7,
		Curves: []Curve{walk(1, 2000, time.Hour)}}
	mr, err := MainReturns(in)
	if err != nil {
		t.Fatal(err)
	}
	r := compute(t, in)
	if mr.Sample != SampleDay || len(mr.Return) != r.Meta.NReturns || len(mr.Time) != len(mr.Return) {
		t.Fatalf("%s, %d returns, %d times, report says %d", mr.Sample, len(mr.Return), len(mr.Time),
			r.Meta.NReturns)
	}
	for i, at := range mr.Time {
		if at%dayMillis != 0 || i > 0 && at <= mr.Time[i-1] {
			t.Errorf("time %d is %s", i, at)
		}
	}
	if _, err := MainReturns(Input{}); err == nil {
		t.Error("an empty input is accepted")
	}
}

func TestDays(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		every time.Duration
		n     float64
		want  int64
		why   Reason
	}{
		{day, 1080.65, 1081, ""}, {day, 3, 3, ""}, {7 * day, 2.5, 18, ""}, {time.Hour, 25, 2, ""},
		{time.Hour, 24, 1, ""},
		{day, 0x1p54, 0, NotApplicable}, {day, math.Inf(1), 0, NotApplicable},
		{day, math.NaN(), 0, NotApplicable},
	} {
		if got, why := (Returns{Every: c.every}).Days(c.n); got != c.want || why != c.why {
			t.Errorf("%v returns, one in %s: %d days, %q; want %d, %q", c.n, c.every, got, why, c.want, c.why)
		}
	}
	for tf, want := range map[string]time.Duration{"1h": day, "1d": day, "1w": 7 * day} {
		c := walk(1, 2000, market.MustTimeframe(tf).Duration())
		if mr, err := MainReturns(Input{Timeframe: market.MustTimeframe(tf), Calendar: Calendar24x7,
			Curves: []Curve{c}}); err != nil || mr.Every != want {
			t.Errorf("%s: one return in %s, want %s (%v)", tf, mr.Every, want, err)
		}
	}
}

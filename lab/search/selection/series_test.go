package selection_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const (
	hour  = market.Time(time.Hour / time.Millisecond)
	day   = 24 * hour
	start = market.Time(1704067200000) // 2024-01-01
)

// window draws an account over hourly candles, some of which are missing.
func window(t *rapid.T, name string, at market.Time, candles int, ruin bool) (selection.Curve, metric.Curve) {
	var c selection.Curve
	var m metric.Curve
	equity := 10000.0
	for range candles {
		if rapid.IntRange(0, 9).Draw(t, name+" gap") == 0 {
			at += hour * market.Time(rapid.IntRange(1, 30).Draw(t, name+" hours"))
		}
		c.Time, c.Equity = append(c.Time, at+hour), append(c.Equity, equity)
		c.Position = append(c.Position, equity*rapid.Float64Range(-1, 1).Draw(t, name+" position"))
		m.OpenTime, m.Exposure = append(m.OpenTime, at), append(m.Exposure, 0)
		equity *= 1 + rapid.Float64Range(-.05, .05).Draw(t, name+" return")
		if ruin && rapid.IntRange(0, 200).Draw(t, name+" ruin") == 0 {
			equity = -1
		}
		at += hour
	}
	m.CloseTime, m.Equity = c.Time, c.Equity
	return c, m
}

// compact is what is kept of a trial: the first row and the last of each UTC day.
func compact(c selection.Curve, open []market.Time) selection.Curve {
	rows := metric.DayEnds(open)
	if len(rows) > 0 && rows[0] != 0 {
		rows = append([]int{0}, rows...)
	}
	var out selection.Curve
	for _, i := range rows {
		out.Time, out.Equity, out.Position = append(out.Time, c.Time[i]), append(out.Equity, c.Equity[i]),
			append(out.Position, c.Position[i])
	}
	return out
}

// TestReturnsAreThoseOfTheMetrics, from full curves and from compact ones.
func TestReturnsAreThoseOfTheMetrics(t *testing.T) {
	tf := market.MustTimeframe("1h")
	rapid.Check(t, func(t *rapid.T) {
		in := metric.Input{Timeframe: tf, Calendar: metric.Calendar24x7}
		var full, thin []selection.Curve
		for k := range rapid.IntRange(1, 3).Draw(t, "windows") {
			c, m := window(t, "window",
				start+market.Time(k)*30*day+market.Time(rapid.IntRange(0, 23).Draw(t, "hour"))*hour,
				rapid.IntRange(0, 150).Draw(t, "candles"), true)
			full, thin, in.Curves = append(full, c), append(thin, compact(c, m.OpenTime)),
				append(in.Curves, m)
		}
		want, err := metric.MainReturns(in)
		if err != nil {
			t.Fatal(err)
		}
		s, why, err := selection.SeriesOf(tf, metric.Calendar24x7, full)
		short, whyShort, errShort := selection.SeriesOf(tf, metric.Calendar24x7, thin)
		if err != nil || errShort != nil || why != whyShort {
			t.Fatal(err, errShort, why, whyShort)
		}
		if why != "" {
			if why == stat.TooFewReturns && want.Sample == metric.SampleDay {
				t.Fatalf("%d returns: %s", len(want.Return), why)
			}
			return
		}
		if !slices.Equal(s.Return, want.Return) || !slices.Equal(s.Date, want.Time) ||
			want.Sample != metric.SampleDay {
			t.Fatalf("%v\nwant %v", s, want)
		}
		if !slices.Equal(short.Return, s.Return) || !slices.Equal(short.From, s.From) ||
			!slices.Equal(short.To, s.To) || short.NetExposure != s.NetExposure {
			t.Fatalf("compact %v\nfull %v", short, s)
		}
		if len(s.From) != len(s.Return) || len(s.To) != len(s.Return) || len(s.Date) != len(s.Return) {
			t.Fatal("columns differ in length")
		}
		for i := range s.From {
			if s.From[i] >= s.To[i] || s.To[i] <= s.Date[i] {
				t.Fatalf("from %s to %s on %s", s.From[i], s.To[i], s.Date[i])
			}
		}
	})
}

func steady(tf time.Duration, n int, equity, position func(i int) float64) selection.Curve {
	var c selection.Curve
	for i := range n {
		c.Time = append(c.Time, start.Add(tf*time.Duration(i+1)))
		c.Equity, c.Position = append(c.Equity, equity(i)), append(c.Position, position(i))
	}
	return c
}

func TestNetExposureIsTheMeanAtTheStarts(t *testing.T) {
	c := steady(24*time.Hour, 4, func(i int) float64 {
		return []float64{100, 200, 50, 100}[i]
	}, func(i int) float64 { return []float64{0, 100, -50, 90}[i] })
	s, why, err := selection.SeriesOf(market.MustTimeframe("1d"), metric.Calendar24x7, []selection.Curve{c})
	if err != nil || why != "" || !slices.Equal(s.Return, []float64{1, -.75, 1}) {
		t.Fatal(s, why, err)
	}
	if want := (0 + .5 - 1) / 3.0; math.Abs(s.NetExposure-want) > 1e-15 {
		t.Error(s.NetExposure, want)
	}
}

func TestNoSeries(t *testing.T) {
	one := func(int) float64 { return 1 }
	for _, c := range []struct {
		name   string
		tf     string
		curves []selection.Curve
		want   stat.Reason
	}{
		{"no windows", "1h", nil, stat.TooFewReturns},
		{"no rows", "1h", []selection.Curve{{}}, stat.TooFewReturns},
		{"ten days", "1h", []selection.Curve{steady(time.Hour, 240, one, one)}, stat.TooFewReturns},
		{"eleven days", "1h", []selection.Curve{steady(time.Hour, 241, one, one)}, ""},
		{"two weeks", "1w", []selection.Curve{steady(7*24*time.Hour, 2, one, one)}, ""},
		{"bankrupt on the first day", "1h",
			[]selection.Curve{steady(time.Hour, 500, func(i int) float64 { return 1 - float64(i) }, one)},
			stat.NotApplicable},
	} {
		s, why, err := selection.SeriesOf(market.MustTimeframe(c.tf), metric.Calendar24x7, c.curves)
		if why != c.want || err != nil || (s == nil) != (why != "") {
			t.Errorf("%s: %v, %q, %v", c.name, s, why, err)
		}
	}
	if _, _, err := selection.SeriesOf(market.MustTimeframe("1h"), "lunar",
		[]selection.Curve{steady(time.Hour, 300, one, one)}); err == nil {
		t.Error("any calendar will do")
	}
}

func TestOn(t *testing.T) {
	of := func(days ...int) *selection.Series {
		s := &selection.Series{NetExposure: .3}
		for k, d := range days {
			at := start + market.Time(d)*day
			s.Date, s.From, s.To = append(s.Date, at), append(s.From, at), append(s.To, at+day)
			s.Return = append(s.Return, float64(10*d+k))
		}
		return s
	}
	// The second 2 of one is the second 2 of the other.
	got, covers := of(1, 2, 3, 2, 4).On(of(2, 4, 2))
	if !covers || !slices.Equal(got.Return, []float64{21, 44, 23}) || got.NetExposure != .3 ||
		len(got.From) != 3 || got.To[1] != start+5*day {
		t.Errorf("%+v", got)
	}
	for _, other := range []*selection.Series{of(5), of(2, 2, 2), of(1, 2, 3, 4, 5)} {
		if _, covers := of(1, 2, 3, 2, 4).On(other); covers {
			t.Errorf("%v is covered", other.Date)
		}
	}
}

func TestHolding(t *testing.T) {
	store, err := candle.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var data []artifact.Dataset
	var all []*market.Series
	for i, symbol := range []market.Symbol{"A/USD", "B/USD"} {
		s := sdktest.Synth(uint64(i+1), 100, (start + market.Time(i)*24*hour).Time(), time.Hour)
		s.Symbol = symbol
		d, err := store.Put(t.Context(), candle.PutRequest{Exchange: "test", Series: s})
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, artifact.Dataset{Symbol: string(symbol), Timeframe: "1h", SHA256: d.SHA256})
		all = append(all, s)
	}
	c := selection.NewCandles(store)
	a, b := all[0], all[1]
	from := []market.Time{start, a.CloseTime(3), a.CloseTime(3), a.CloseTime(90), a.CloseTime(99) + day}
	to := []market.Time{start + 1, a.CloseTime(5), a.CloseTime(5) + hour - 1, a.CloseTime(95),
		a.CloseTime(99) + 2*day}
	got, err := c.Holding(t.Context(), "test", data, from, to)
	if err != nil {
		t.Fatal(err)
	}
	only := a.Close[5]/a.Close[3] - 1
	last := func(s *market.Series, at market.Time) float64 {
		x := math.NaN()
		for i := range s.Time {
			if s.CloseTime(i) <= at {
				x = s.Close[i]
			}
		}
		return x
	}
	both := (last(a, to[3])/last(a, from[3]) - 1 + last(b, to[3])/last(b, from[3]) - 1) / 2
	if want := []float64{0, only, only, both, 0}; !slices.EqualFunc(got, want, func(x, y float64) bool {
		return math.Abs(x-y) <= 1e-15
	}) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, bad := range []artifact.Dataset{{Symbol: "A/USD", Timeframe: "1h", SHA256: "other"},
		{Symbol: "A/USD", Timeframe: "h"}} {
		if _, err := c.Holding(context.Background(), "test", []artifact.Dataset{bad}, from, to); err == nil {
			t.Errorf("%+v is found", bad)
		}
	}
}

// TestShared: what another series has on these dates, by the nth repetition of each, in
// the order of these.
func TestShared(t *testing.T) {
	dated := func(dates ...market.Time) *selection.Series {
		s := &selection.Series{Date: dates}
		for i := range dates {
			s.Return = append(s.Return, float64(10*len(dates)+i))
		}
		return s
	}
	places := dated(1, 2, 3, 2, 4).Places()
	for _, c := range []struct {
		other   *selection.Series
		at      []int
		returns []float64
	}{
		{dated(1, 2, 3, 2, 4), []int{0, 1, 2, 3, 4}, []float64{50, 51, 52, 53, 54}},
		{dated(1, 2), []int{0, 1}, []float64{20, 21}},
		{dated(2, 2, 9, 1), []int{0, 1, 3}, []float64{43, 40, 41}},
		{dated(7, 8), nil, nil},
		{dated(), nil, nil},
	} {
		if at, returns := places.Shared(c.other); !slices.Equal(at, c.at) ||
			!slices.Equal(returns, c.returns) {
			t.Errorf("%v: %v, %v", c.other.Date, at, returns)
		}
	}
}

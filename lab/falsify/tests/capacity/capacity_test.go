package capacity

import (
	"math"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	const text = "time,symbol,quantity,volume,participation\n2020-01-01T00:00:00.000Z,A/Q,2,0,\n"
	got := fileOf(
		&Capacity{Fills: []Participation{{Time: 1577836800000, Symbol: "A/Q", Quantity: 2, Volume: 0}}})
	if got.Path != "falsify/capacity/capacity.csv" || got.Rows != 1 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}

// TestImpact: closes of 100, 110, 99 and 108.9 move by 0.1, -0.1 and 0.1. Two units of 800 before an
// equity of 4 times the cash are half a unit of 200, so that each fill costs sd * sqrt(0.5/200).
func TestImpact(t *testing.T) {
	from, err := market.ParseTime("2024-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	s := &market.Series{Symbol: "A/Q"}
	if s.Timeframe, err = market.ParseTimeframe("1d"); err != nil {
		t.Fatal(err)
	}
	var curve metric.Curve
	for i, c := range []float64{100, 110, 99, 108.9} {
		at := from.Add(time.Duration(i) * 24 * time.Hour)
		s.Append(market.Candle{OpenTime: at, Open: c, High: c, Low: c, Close: c, Volume: 200})
		curve.OpenTime, curve.CloseTime = append(curve.OpenTime, at), append(curve.CloseTime, at.Add(24*time.Hour))
		curve.Equity, curve.Exposure = append(curve.Equity, 40000), append(curve.Exposure, 0)
	}
	r := &account.Run{Candles: []*market.Series{s}, Input: metric.Input{Timeframe: s.Timeframe,
		Calendar: metric.Calendar24x7, Curves: []metric.Curve{curve}},
		Results: &artifact.Results{InitialCash: "10000", Fills: []market.Fill{
			{Symbol: "A/Q", Time: s.Time[1], Quantity: decimal.MustParse("2"), Price: decimal.MustParse("110")},
			{Symbol: "A/Q", Time: s.Time[3], Quantity: decimal.MustParse("2"), Price: decimal.MustParse("50")},
		}}}
	found := func() *Capacity {
		t.Helper()
		c, why, err := CapacityOf(r, .1)
		if err != nil || why != "" {
			t.Fatal(why, err)
		}
		if err := c.addImpact(r); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, want := found(), 10_000*math.Sqrt(.04/3)*math.Sqrt(.5/200)
	if c.Impact == nil || c.Impact.Capital != 10000 || math.Abs(c.Impact.Bps-want) > 1e-8 {
		t.Fatalf("%+v, not %v", c.Impact, want)
	}
	test := Judge(&judge.Judge{}, c, "")
	if p, ok := test.Params["impact"].(map[string]any); !ok || p["bps"] != c.Impact.Bps || p["capital"] != 10000.0 {
		t.Errorf("%v", test.Params)
	}
	s.Volume[3] = 0
	if c := found(); c.Impact != nil || Judge(&judge.Judge{}, c, "").Params["impact"] != nil {
		t.Error("a fill without volume has an impact")
	}
}

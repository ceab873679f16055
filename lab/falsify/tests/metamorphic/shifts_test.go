package metamorphic

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/lab/falsify/replay"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestShiftsMoveWholeCandles: a shift cuts the larger timeframes that a strategy reads as they were.
func TestShiftsMoveWholeCandles(t *testing.T) {
	s := &market.Series{Timeframe: market.MustTimeframe("1h")}
	s.Append(market.Candle{OpenTime: 1_577_836_800_000})
	set := replay.Set{{Series: s}}
	for _, c := range []struct {
		calendar sdk.Calendar
		extra    []string
		want     []int
	}{
		{"", nil, []int{364, 18_201}},
		{"", []string{"6h", "1d"}, []int{364, 18_201}},
		{"", []string{"3d"}, []int{1092, 18_201}},
		{"", []string{"1w"}, []int{364, 18_200}},
		{"", []string{"1M"}, []int{1461, 14_610}},
		{"", []string{"1M", "1w"}, []int{10_227}},
		{sdk.CalendarWeekday, []string{"1M"}, []int{10_227}},
		{sdk.CalendarDate, []string{"1w"}, []int{10_227}},
		{sdk.CalendarWeekday, []string{"5h"}, []int{1820, 18_200}},
	} {
		got := Shifts(c.calendar, set, sdk.Timeframes(c.extra...))
		if !slices.Equal(got, c.want) {
			t.Errorf("%q %v: %v, want %v", c.calendar, c.extra, got, c.want)
		}
		for _, name := range c.extra {
			tf := market.MustTimeframe(name)
			for _, days := range got {
				by := replay.Shift(days)
				if b := tf.Bucket(by.To(s.Time[0])); b.OpenTime != by.To(tf.Bucket(s.Time[0]).OpenTime) {
					t.Errorf("%s is cut elsewhere after %d days", name, days)
				}
			}
		}
	}
}

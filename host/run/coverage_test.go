package run

import (
	"reflect"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestCoverageSaysWhatIsSo: the window is said to be cut only where it is, and a symbol that joins late is
// named.
func TestCoverageSaysWhatIsSo(t *testing.T) {
	at := func(day int) market.Time { return market.FromTime(time.Date(2020, 1, day, 0, 0, 0, 0, time.UTC)) }
	symbol := func(name market.Symbol, first, last int) *source {
		s := &source{Dataset: candle.Dataset{Symbol: name},
			series: &market.Series{Symbol: name, Timeframe: market.MustTimeframe("1d")}}
		for day := first; day <= last; day++ {
			s.series.Append(market.Candle{OpenTime: at(day)})
		}
		s.to = s.series.Len()
		return s
	}
	for name, c := range map[string]struct {
		sources []*source
		start   int
		want    []string
	}{
		"one symbol": {[]*source{symbol("A/B", 3, 9)}, 3, nil},
		"one symbol, cut": {[]*source{symbol("A/B", 3, 9)}, 1,
			[]string{"WINDOW_CLIPPED There are candles from 2020-01-03T00:00:00.000Z to " +
				"2020-01-10T00:00:00.000Z: the window was cut to them."}},
		"one joins late": {[]*source{symbol("A/B", 3, 9), symbol("C/B", 5, 9)}, 3,
			[]string{"SYMBOL_PARTIAL C/B has no candles before 2020-01-05T00:00:00.000Z: it joins late, " +
				"the others trade from 2020-01-03T00:00:00.000Z."}},
		"one leaves early": {[]*source{symbol("A/B", 3, 9), symbol("C/B", 3, 8)}, 3,
			[]string{"SYMBOL_PARTIAL C/B has no candles from 2020-01-09T00:00:00.000Z on: it leaves " +
				"early, the others trade until 2020-01-10T00:00:00.000Z."}},
		"both, and cut": {[]*source{symbol("A/B", 3, 9), symbol("C/B", 4, 8)}, 2, []string{
			"WINDOW_CLIPPED There are candles from 2020-01-03T00:00:00.000Z to 2020-01-10T00:00:00.000Z: " +
				"the window was cut to them.",
			"SYMBOL_PARTIAL C/B has candles from 2020-01-04T00:00:00.000Z to 2020-01-09T00:00:00.000Z " +
				"only: it joins late and leaves early."}},
	} {
		start := at(c.start)
		var got []string
		for _, n := range coverage(c.sources, &start, nil) {
			got = append(got, n.Code+" "+n.Message)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package metric_test

import (
	"fmt"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func ExampleCompute() {
	day := market.Time(24 * 60 * 60 * 1000)
	report, err := metric.Compute(metric.Input{
		Timeframe: market.MustTimeframe("1d"),
		Calendar:  metric.Calendar24x7,
		Curves: []metric.Curve{{
			OpenTime:  []market.Time{0, day, 2 * day},
			CloseTime: []market.Time{day, 2 * day, 3 * day},
			Equity:    []float64{10000, 11000, 9900},
			Exposure:  []float64{0, 1, 1},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	total, _ := report.Metrics.Get("total_return")
	_, defined := report.Metrics.Get("win_rate")
	fmt.Println(total, defined, report.Meta.Undefined["win_rate"])
	// Output: -0.01 false no_trades
}

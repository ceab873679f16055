package artifact_test

import (
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func decimals(text string) decimal.Decimal { return decimal.MustParse(text) }

// TestConcerns: a wiped-out account, rejected orders, fees above the cash, dust and a ratio from few days
// are said.
func TestConcerns(t *testing.T) {
	fill := func(quantity, price, fee string) market.Fill {
		return market.Fill{Quantity: decimals(quantity), Price: decimals(price), Fee: decimals(fee)}
	}
	bad := &artifact.Results{
		InitialCash: "10000",
		Equity: artifact.EquityCurve{Time: []market.Time{0, 86_400_000, 172_800_000},
			Equity: []float64{10_000, 0.00017, 0.00017}},
		Orders: []market.Order{
			{Status: market.StatusRejected, Reason: "insufficient_cash"},
			{Status: market.StatusRejected, Reason: "below_step"},
			{Status: market.StatusRejected, Reason: "insufficient_cash"},
			{Status: market.StatusRejected, Reason: "warmup"}, {Status: market.StatusFilled},
		},
		Fills: []market.Fill{fill("1", "10000", "9000"), fill("0.00000001", "60000", "1001")},
		Metrics: &metric.Report{
			Metrics: metric.Values{{Key: "sharpe_ratio", Number: -133.98}},
			Meta:    metric.Meta{Sample: metric.SampleDay, NReturns: 3},
		},
	}
	want := []string{
		"EQUITY_BELOW_HALF Equity fell to 1.7e-06 % of the starting cash by 1970-01-02.",
		"FEES_ABOVE_CASH Fees add up to 1.0 times the starting cash.",
		"DUST_FILLS 1 of 2 fills were worth less than a hundred-thousandth of the starting cash: " +
			"exchanges refuse orders of that size.",
		"ORDERS_REJECTED 3 of 5 orders were rejected, most often for insufficient_cash.",
		"SHARPE_TOO_FEW_DAYS The Sharpe ratio is from 3 days: below 250 it says next to nothing.",
	}
	var got []string
	for _, n := range bad.Concerns() {
		got = append(got, n.Code+" "+n.Message)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestNothingToWorryAbout(t *testing.T) {
	for name, r := range map[string]*artifact.Results{
		"nothing": {},
		"good": {
			InitialCash: "10000",
			Equity:      artifact.EquityCurve{Time: []market.Time{0, 1}, Equity: []float64{10_000, 5_000}},
			Fills: []market.Fill{{Quantity: decimals("1"), Price: decimals("0.1"),
				Fee: decimals("10000")}},
			Metrics: &metric.Report{
				Metrics: metric.Values{{Key: "sharpe_ratio", Number: 1}},
				Meta:    metric.Meta{Sample: metric.SampleDay, NReturns: 250},
			},
		},
		"no ratio": {InitialCash: "1", Metrics: &metric.Report{
			Metrics: metric.Values{{Key: "sharpe_ratio", Reason: metric.ZeroVariance}},
			Meta:    metric.Meta{NReturns: 3},
		}},
	} {
		if list := r.Concerns(); len(list) > 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
}

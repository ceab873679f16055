package stress

import (
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/falsify/judge/account"
)

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	bps := 250.0
	const text = "multiplier,gross_pnl,costs,net_pnl,turnover,break_even_bps\n1.5,10,4,6,400,250\n2,0,0,0,0,\n"
	got := fileOf(
		[]account.Cost{{Multiplier: 1.5, Gross: decimal.MustParse("10.0"), Costs: decimal.MustParse("4"),
			Net: decimal.MustParse("6"), Turnover: 400, BreakEvenBps: &bps}, {Multiplier: 2}})
	if got.Path != "falsify/cost_stress/costs.csv" || got.Rows != 2 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}

package regime

import (
	"testing"
)

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	one := 1.0
	const text = "regime,days,pnl,sharpe_ratio\nvolatility_low,3,2000000000000000,\n2020,0,0,1\n"
	got := fileOf(&Regimes{Terciles: []Regime{{Name: "volatility_low", Days: 3, PnL: 2e15}},
		Years: []Regime{{Name: "2020", Sharpe: &one}}})
	if got.Path != "falsify/regime/regimes.csv" || got.Rows != 2 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}

package symbolholdout

import (
	"testing"

	"github.com/govalues/decimal"
)

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	third := 1.0 / 3
	const text = "symbol,pnl,share,sharpe_ratio_without\nA/Q,1.5,0.333333333333,\n"
	got := fileOf([]LeftOut{{Symbol: Symbol{Symbol: "A/Q", PnL: decimal.MustParse("1.500"), Share: &third}}})
	if got.Path != "falsify/symbol_holdout/symbols.csv" || got.Rows != 1 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}

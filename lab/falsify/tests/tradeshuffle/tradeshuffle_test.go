package tradeshuffle

import (
	"testing"
)

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	const text = "quantile,max_drawdown\n0.5,0.1\n0.95,0.2\n0.99,0.333333333333\n"
	got := fileOf(&Drawdowns{P50: .1, P95: .2, P99: 1.0 / 3})
	if got.Path != "falsify/trade_shuffle/drawdowns.csv" || got.Rows != 3 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}

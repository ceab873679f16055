package capacity

import (
	"testing"
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

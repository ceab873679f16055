package lines_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/lab/falsify/judge/lines"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// A view is the market as it was again: what then differs was decided otherwise.
func TestRestored(t *testing.T) {
	const plain = `{"kind":"intent","limit_price":"123.45","quantity":"0.5","seq":0,"stop_loss":{"percent":"2","price":"100.1"},"symbol":"BTC/USDT","tag":"<a>","time":"2020-01-02T01:00:00.000Z"}
{"fee":"0.06","kind":"fill","price":"123.45","quantity":"0.5","symbol":"BTC/USDT","time":"2020-01-02T02:00:00.000Z"}
{"kind":"order","order_id":"o1","status":"filled","time":"2020-01-02T02:00:00.000Z"}
`
	scaled := strings.NewReplacer(`"123.45"`, `"123450.00000000001"`, `"0.5"`, `"0.0005"`, `"100.1"`,
		`"100100"`, `"0.06"`, `"0.06000000000000001"`).Replace(plain)
	shifted := strings.ReplaceAll(plain, "2020-01-02", "2020-01-09")
	for what, c := range map[string]struct {
		view lines.View
		text string
	}{
		"scaled": {lines.View{Scale: 1000}, scaled},
		"shifted": {lines.View{Time: func(t market.Time) market.Time { return t.Add(-7 * 24 * time.Hour) }},
			shifted},
		"renamed": {lines.View{Names: map[market.Symbol]market.Symbol{"XA0/XQ": "BTC/USDT"}},
			strings.ReplaceAll(plain, "BTC/USDT", "XA0/XQ")},
		"plain":   {lines.View{}, plain},
		"counted": {lines.View{Scale: 1}, plain},
	} {
		got, err := c.view.Restored([]byte(c.text))
		if err != nil || string(got) != plain {
			t.Errorf("%s: %v\n%s\nwant\n%s", what, err, got, plain)
		}
	}
	// Another quantity stays another one.
	got, err := lines.View{Scale: 1000}.Restored([]byte(strings.Replace(scaled, "0.0005", "0.0006", 1)))
	if d, differ := lines.First([]byte(plain), got); err != nil || !differ || d.Line != 0 ||
		!strings.Contains(string(d.Got[0]), `"quantity":"0.6"`) {
		t.Errorf("%v, %s", err, got)
	}
	for _, bad := range []string{"{", `{"time":"never"}`, `{"price":"much"}`, `{"stop_loss":{"price":""}}`} {
		if _, err := (lines.View{Time: func(t market.Time) market.Time { return t },
			Scale: 2}).Restored([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// Prices and quantities of up to 12 digits, multiplied and divided, are what they were.
func TestRestoredUndoesTheScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := float64(rapid.Int64Range(1, 999_999_999_999).Draw(t, "price")) / 1e6
		quantity := float64(rapid.Int64Range(1, 999_999_999_999).Draw(t, "quantity")) / 1e7
		base, err := lines.View{Scale: 1}.Restored(priced(price, quantity))
		if err != nil {
			t.Fatal(err)
		}
		view, err := lines.View{Scale: 1000}.Restored(priced(price*1000, quantity/1000))
		if err != nil || string(base) != string(view) {
			t.Errorf("%s is %s (%v)", view, base, err)
		}
	})
}

func priced(price, quantity float64) []byte {
	return []byte(`{"price":"` + strconv.FormatFloat(price, 'f', -1,
		64) + `","quantity":"` + strconv.FormatFloat(quantity, 'f', -1, 64) + `"}`)
}

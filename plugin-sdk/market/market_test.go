package market

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/govalues/decimal"
	"time"
)

func TestIDs(t *testing.T) {
	for n, want := range map[int64]string{0: "", 1: "o-000001", 9: "o-000009", 10: "o-000010",
		143: "o-000143", 99_999: "o-099999", 100_000: "o-100000", 1_234_567: "o-1234567"} {
		if got := OrderID(n).String(); got != want {
			t.Errorf("order %d is %q, want %q", n, got, want)
		}
	}
	if FillID(201).String() != "f-000201" || TradeID(71).String() != "t-000071" {
		t.Error("fills and trades have their own letters")
	}
}

func TestTimeframes(t *testing.T) {
	for text, want := range map[string]time.Duration{"1s": time.Second, "15m": 15 * time.Minute,
		"4h": 4 * time.Hour, "1d": 24 * time.Hour, "2w": 336 * time.Hour, "9999m": 9999 * time.Minute,
		"1M": 0} {
		tf, err := ParseTimeframe(text)
		if err != nil || tf.Duration() != want || tf.String() != text {
			t.Errorf("%s: %v %s %s", text, err, tf.Duration(), tf)
		}
	}
	for _, bad := range []string{"", "h", "0h", "01h", "1", "1H", "10000m", "-1h", "1.5h", "1hh", "1y",
		" 1h"} {
		if _, err := ParseTimeframe(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	leap := FromTime(time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC))
	if got := MustTimeframe("1M").Next(
		FromTime(time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))); got.String() != "2024-03-01T00:00:00.000Z" {
		t.Errorf("a month after February 2024 is %s", got)
	}
	if MustTimeframe("1d").Next(leap) != leap.Add(24*time.Hour) {
		t.Error("a day is 24 hours")
	}
	if MustTimeframe("1M").Approx() <= MustTimeframe("4w").Approx() {
		t.Error("a month is longer than four weeks")
	}
}

// TestWarmupIsBounded checks that no timeframe is so long that its candles seem few.
func TestWarmupIsBounded(t *testing.T) {
	run := MustTimeframe("1m")
	for name, most := range map[string]int{
		"1d": MaxWarmup / 1440, "3444M": 0, "4000M": 0, "9999M": 0, "9999w": 0,
	} {
		w := Warmup{Larger: []Larger{{MustTimeframe(name), most}}}
		if err := w.Check(run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if w.Larger[0].Candles++; w.Check(run) == nil {
			t.Errorf("%d candles of %s are taken", w.Larger[0].Candles, name)
		}
	}
}

func TestSymbols(t *testing.T) {
	s, err := ParseSymbol("BTC/USDT")
	if err != nil || s.Base() != "BTC" || s.Quote() != "USDT" {
		t.Errorf("%v %s %s", err, s.Base(), s.Quote())
	}
	for _, bad := range []string{"", "BTCUSDT", "/USDT", "BTC/", "A/B/C", "A B/C", "A:B/C",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG/USD",
		"A\u00a0B/C", "A/\u2003", "\ufeffA/B", "A\vB/C"} {
		if _, err := ParseSymbol(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestSymbolsAgreeWithThePattern compares with the expression of the document, \s as in
// ECMA-262, over texts of letters, separators, blanks and bytes that are no UTF-8.
func TestSymbolsAgreeWithThePattern(t *testing.T) {
	const part = `[^/:\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]{1,32}`
	pattern := regexp.MustCompile("^" + part + "/" + part + "$")
	pieces := []string{"A", "BTC", "ABCDEFGH", "\u00e9", "\U0001f600", "\xff", "\ufffd", "1", "-", "/", "/",
		"/", ":", " ", "\n", "\u2009", "\u200b", "\x85"}
	r := rand.New(rand.NewPCG(1, 1))
	taken := 0
	for range 20_000 {
		text := ""
		for range r.IntN(9) {
			text += pieces[r.IntN(len(pieces))]
		}
		_, err := ParseSymbol(text)
		if pattern.MatchString(text) != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil {
			taken++
		}
	}
	if taken < 500 {
		t.Errorf("only %d of the texts were symbols", taken)
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2024-01-31": "2024-01-31T00:00:00.000Z", "2024-01-31T12:30:00": "2024-01-31T12:30:00.000Z",
		"2024-01-31T12:30:00+02:00":         "2024-01-31T10:30:00.000Z",
		"2024-01-31T12:30:00.123456Z":       "2024-01-31T12:30:00.123Z",
		"2024-01-31T12:30":                  "2024-01-31T12:30:00.000Z",
		"2024-01-31T12:30Z":                 "2024-01-31T12:30:00.000Z",
		"2024-01-31T12:30-01:30":            "2024-01-31T14:00:00.000Z",
		"2024-01-31t12:30:00z":              "2024-01-31T12:30:00.000Z",
		"2024-01-31t12:30":                  "2024-01-31T12:30:00.000Z",
		"2024-01-31T12:30:00.1234567890123": "2024-01-31T12:30:00.123Z",
	} {
		if got, err := ParseTime(text); err != nil || got.String() != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "yesterday", "2024-02-30", "31.01.2024", "1706659200",
		"2024-01-31T12:30:00,5Z", "2024-01-31T12:30:00,5", "2024-01-31T12:30:00.Z", "2024-01-31T1:30:00Z",
		"2024-01-31T24:00:00Z", "2024-01-31T12:30:00+24:00",
		"2024-01-31T12:30:00+02:60", "2024-01-31T12:30:00+0200", "2024-01-31 12:30:00", "2024-01-31Z",
		"2024-01-31T12Z", "0000-01-01T00:00:00+01:00",
		"9999-12-31T23:59:59-01:00", "２０２４-01-31"} {
		if got, err := ParseTime(bad); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
	b, err := json.Marshal([]Time{0, 1706659200123})
	if err != nil || string(b) != `[null,"2024-01-31T00:00:00.123Z"]` {
		t.Errorf("%s %v", b, err)
	}
	var back []Time
	if err := json.Unmarshal(b, &back); err != nil || back[0] != 0 || back[1] != 1706659200123 {
		t.Errorf("%v %v", back, err)
	}
}

func TestNamesGoThereAndBack(t *testing.T) {
	for i := range len(orderTypeNames.list) {
		if got, err := ParseOrderType(OrderType(i).String()); err != nil || int(got) != i {
			t.Errorf("order type %d: %v %v", i, got, err)
		}
	}
	for i := range len(orderStatusNames.list) {
		if got, err := ParseOrderStatus(OrderStatus(i).String()); err != nil || int(got) != i {
			t.Errorf("status %d: %v %v", i, got, err)
		}
	}
	for i := range len(roleNames.list) {
		if got, err := ParseRole(Role(i).String()); err != nil || int(got) != i {
			t.Errorf("role %d: %v %v", i, got, err)
		}
	}
	if _, err := ParseSide("hold"); err == nil {
		t.Error("hold is no side")
	}
	if got := Side(9).String(); got != "unknown(9)" {
		t.Error(got)
	}
	if Buy.Opposite() != Sell || Sell.Opposite() != Buy {
		t.Error("opposites")
	}
}

func TestSeriesClosesAtTheNextOpenIfThatIsEarlier(t *testing.T) {
	s := &Series{Symbol: "A/B", Timeframe: MustTimeframe("1h")}
	for _, open := range []Time{0, 3_600_000, 5_400_000, 12_600_000} {
		s.Append(Candle{OpenTime: open, Open: 1, High: 1, Low: 1, Close: 1})
	}
	for i, want := range []Time{3_600_000, 5_400_000, 9_000_000, 16_200_000} {
		if got := s.At(i).CloseTime; got != want {
			t.Errorf("candle %d closes at %d, want %d", i, got, want)
		}
	}
	if s.Search(3_600_001) != 2 || s.Search(99_000_000) != 4 || s.Search(0) != 0 {
		t.Error("search")
	}
	if cut := s.Slice(1, 3); cut.Len() != 2 || cut.At(0).OpenTime != 3_600_000 {
		t.Error("slice")
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"2024-01-31", "2024-01-31T12:30:00+02:00", "", "0000-01-01",
		"9999-12-31T23:59:59.999Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime(s)
		if err != nil {
			return
		}
		if again, err := ParseTime(at.String()); err == nil && again != at {
			t.Errorf("%q is %s, which reads as %s", s, at, again)
		}
	})
}

func ExampleParseTimeframe() {
	tf, err := ParseTimeframe("4h")
	fmt.Println(tf.Duration(), err)
	// Output: 4h0m0s <nil>
}

// TestAppendDecimal compares with the decimal's own text.
func TestAppendDecimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(coef int64, scale int) {
		d := decimal.MustNew(coef, scale)
		if got, want := string(AppendDecimal([]byte("x"), d)), "x"+d.Trim(0).String(); got != want {
			t.Fatalf("%d with %d decimals is %s, want %s", coef, scale, got, want)
		}
	}
	for scale := range decimal.MaxScale + 1 {
		for _, coef := range []int64{0, 1, -1, 10, 100, -1050, math.MaxInt64, math.MinInt64 + 1, 1e18, -1e18} {
			check(coef, scale)
		}
		for range 2000 {
			check(r.Int64()>>r.IntN(64), scale)
			check(-(r.Int64N(1000) * 1e15), scale)
		}
	}
}

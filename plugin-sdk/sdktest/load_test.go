package sdktest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const header = "time,open,high,low,close,volume\n"

// TestLoad: columns by name, every form of time, and the commonest step.
func TestLoad(t *testing.T) {
	for name, c := range map[string]struct{ text, timeframe string }{
		"plain": {header + "1704067200,1,3,1,2,5\n1704070800,2,2,1,1,0\n", "1h"},
		"order": {"Close;vol_base;low;HIGH;extra;open;<Date>\r\n2;5;1;3;x;1;2024-01-01\r\n" +
			"1;0;1;2;x;2;2024-01-02\r\n", "1d"},
		"no volume": {"open time\topen\thigh\tlow\tclose\n2024-01-01T00:00:00Z\t1\t3\t1\t2\n" +
			"2024-01-01 01:15:00+01:00\t2\t2\t1\t1\n", "15m"},
		"gaps": {header + "1704067200000,1,3,1,2,5\n1704067260000,2,2,1,1,0\n" +
			"1704067500000,2,2,1,1,0\n1704067560000,2,2,1,1,0\n", "1m"},
		"ccxt":   {"1704067200000,1,3,1,2,5\n1704070800000,2,2,1,1,0\n", "1h"},
		"kraken": {"1704067200,1,3,1,2,5,12\n1704068100,2,2,1,1,0,0\n", "15m"},
		"binance vision": {"1704067200000000,1.0,3.0,1.0,2.0,5,1704067259999999,9,4,2,3,0\n" +
			"1704067260000000,2.0,2.0,1.0,1.0,0,1704067319999999,0,0,0,0,0\n", "1m"},
		"months": {"\ufeff" + header + "2024-01-01,1,3,1,2,5\n2024-02-01,2,2,1,1,0\n" +
			"2024-04-01,2,2,1,1,0\n", "1M"},
	} {
		s, err := decodeCSV("a.csv", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		first := market.Candle{OpenTime: 1704067200000, Open: 1, High: 3, Low: 1, Close: 2,
			Volume: s.Volume[0], CloseTime: s.Timeframe.Next(1704067200000)}
		if s.At(0) != first || s.Timeframe.String() != c.timeframe || s.Symbol != SynthSymbol {
			t.Errorf("%s: %+v, %s", name, s.At(0), s.Timeframe)
		}
	}
	path := filepath.Join(t.TempDir(), "candles.csv")
	if err := os.WriteFile(path, []byte(header+"0,1,3,1,2,5\n60,2,2,1,1,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := Load(t, path); !slices.Equal(s.Close, []float64{2, 1}) {
		t.Errorf("%v", s.Close)
	}
}

// TestLoadNamesThePlace: a bad file is refused with its name, line and column.
func TestLoadNamesThePlace(t *testing.T) {
	const row = "1704067200,1,3,1,2,5\n"
	for text, want := range map[string]string{
		"":                                      "a.csv:1:1: the file is empty",
		"a,b\n":                                 "a.csv:1:1: the header has no column time",
		"0,1,3,1,2\n":                           "a.csv:1:1: the header has no column time",
		"9,1,3,1,2,5,8,0,0,0,0,0\n":             "a.csv:1:1: the header has no column time",
		"0,1,2,3,1,5\n60,1,2,3,1,5\n":           "a.csv:1:7: the low 3 is above", // another order
		header + row:                            "a.csv: has 1 candles",
		header + row + row:                      "a.csv:3:1: opens at 2024-01-01T00:00:00.000Z, not after",
		header + row + "1704070800,1,3\n":       "a.csv:3:1: wrong number of fields",
		header + row + "yesterday,1,3,1,2,5":    `a.csv:3:1: "yesterday" is no time`,
		header + row + "5000000000,1,3,1,2,5":   `a.csv:3:1: "5000000000" is not in the years`,
		header + row + "1704070800,1,3,1,x,5":   `a.csv:3:18: the close "x" is not a number`,
		header + row + "1704070800,1,3,0,2,5":   `a.csv:3:16: the low "0" is not a number above zero`,
		header + row + "1704070800,5,3,1,2,5":   "a.csv:3:14: the high 3 is below",
		header + row + "1704070800,1,3,2,3,5":   "a.csv:3:16: the low 2 is above",
		header + row + "1704070800,1,3,1,2,-1":  `a.csv:3:20: the volume "-1"`,
		header + row + "1704070800,1,3,1,NaN,1": `a.csv:3:18: the close "NaN"`,
		header + row + "\"1704070800,1":         `a.csv:3:14: extraneous or missing " in quoted-field`,
		header + row + "1704070800,1,3,1,2,5\n1704074400,1,3,1,2,5\n1704074500,1,3,1,2,5\n": "a.csv: the " +
			"candle that opens at 2024-01-01T02:01:40.000Z follows after 1m40s, no whole number of candles of 1h",
	} {
		if _, err := decodeCSV("a.csv", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzLoad: whatever a file has, it is refused with its name or gives candles that can be played.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(header + "0,1,3,1,2,5\n60,2,2,1,1,0\n"))
	f.Add([]byte("0,1,3,1,2,5\n60,2,2,1,1,0\n"))
	f.Add([]byte("0,1,3,1,2,5,59,0,0,0,0,0\n60,2,2,1,1,0,119,0,0,0,0,0\n"))
	f.Add([]byte("time;open;high;low;close\n2024-01-01;1;1;1;1\n2024-02-01;1;1;1;1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decodeCSV("a.csv", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "a.csv:") {
				t.Errorf("%v", err)
			}
			return
		}
		if s.Len() < 2 || s.Timeframe.Next(s.Time[0]) <= s.Time[0] {
			t.Errorf("%d candles of %s", s.Len(), s.Timeframe)
		}
	})
}

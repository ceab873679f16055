package importer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// head returns the head of a file of these lines.
func head(name string, lines ...string) Head {
	return NewHead(name, []byte(strings.Join(lines, "\n")))
}

// cells returns a layout as text: skip, then the positions.
func cells(l Layout) string {
	return fmt.Sprint(l.Skip, " ", l.At[timeCell], "+", l.At[clockCell], " ", l.At[openCell], l.At[highCell],
		l.At[lowCell], l.At[closeCell], " ", l.At[volumeCell], "|", l.At[tickCell], " ", l.At[tickerCell])
}

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		profile string
		layout  string
		lines   []string
	}{
		{"binance", "0 0+-1 1 2 3 4 5|-1 -1", []string{"1735678800000,1,2,1,2,9,1735682399999,3,4,5,6,0"}},
		{"binance-header", "1 0+-1 1 2 3 4 5|-1 -1",
			[]string{"open_time,open,high,low,close,volume,close_time,ignore", "1,1,1,1,1,1,1,1"}},
		{"kraken", "0 0+-1 1 2 3 4 5|-1 -1", []string{"1381017600,122.0,122.0,122.0,122.0,0.1,1"}},
		{"cryptodatadownload", "2 0+-1 2 3 4 5 6|-1 1", []string{"Timestamps are UTC timezone,https://www.CryptoDataDownload.com", "date,symbol,open,high,low,close,volume_btc,volume"}},
		{"cryptodatadownload", "2 1+-1 3 4 5 6 7|-1 2", []string{"https://www.cryptodatadownload.com", "Date,Unix,Symbol,Open,High,Low,Close,Volume BTC"}},
		{"tradingview", "1 0+-1 1 2 3 4 7|-1 -1", []string{"time,open,high,low,close,Plot,Plot,Volume"}},
		{"yahoo", "1 0+-1 1 2 3 4 6|-1 -1", []string{"Date,Open,High,Low,Close,Adj Close,Volume"}},
		{"yfinance", "3 0+-1 4 2 3 1 5|-1 -1",
			[]string{"Price,Close,High,Low,Open,Volume", "Ticker,NVDA,NVDA,NVDA,NVDA,NVDA", "Date,,,,,"}},
		{"yfinance", "3 0+-1 4 2 3 1 5|-1 -1",
			[]string{"Price,Close,High,Low,Open,Volume", "Ticker,NVDA,NVDA,NVDA,NVDA,NVDA", "Datetime,,,,,"}},
		{"stooq", "1 2+-1 4 5 6 7 8|-1 0",
			[]string{"<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
				"7203.JP,D,20260429,000000,1,1,1,1,1,0"}},
		{"stooq", "1 2+3 4 5 6 7 8|-1 0",
			[]string{"<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
				"7203.JP,5,20260429,090000,1,1,1,1,1,0"}},
		{"metatrader5", "1 0+1 2 3 4 5 7|6 -1",
			[]string{"<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>"}},
		{"metatrader5", "1 0+-1 1 2 3 4 5|-1 -1",
			[]string{"<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>"}},
		{"histdata", "0 0+-1 1 2 3 4 5|-1 -1",
			[]string{"20240102 170000;1.104270;1.104310;1.104260;1.104300;0"}},
		{"dukascopy", "1 0+-1 1 2 3 4 5|-1 -1", []string{"Gmt time,Open,High,Low,Close,Volume"}},
		{"dukascopy", "1 0+-1 1 2 3 4 5|-1 -1", []string{"Local time,Open,High,Low,Close,Volume"}},
		{"nasdaq", "1 0+-1 3 4 5 1 2|-1 -1", []string{"Date,Close/Last,Volume,Open,High,Low"}},
		{"investing", "1 0+-1 2 3 4 1 5|-1 -1",
			[]string{"\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\""}},
		{"coinmarketcap", "1 0+-1 5 6 7 8 9|-1 -1",
			[]string{"timeOpen;timeClose;timeHigh;timeLow;name;open;high;low;close;volume;marketCap;circulatingSupply;timestamp"}},
		{"polygon", "1 6+-1 2 4 5 3 1|-1 0",
			[]string{"ticker,volume,open,close,high,low,window_start,transactions"}},
		{"databento", "1 0+-1 4 5 6 7 8|-1 9",
			[]string{"ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol"}},
		{"databento", "1 0+-1 4 5 6 7 8|-1 3",
			[]string{"ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume"}},
		{"backtrader", "1 0+1 2 3 4 5 6|-1 -1",
			[]string{"Date,Open,High,Low,Close,Volume,OpenInterest",
				"2006-01-02,09:01:00,3602,3603,3597,3599,5699,0"}},
		{"lean", "0 0+-1 1 2 3 4 5|-1 -1", []string{"19980102 00:00,136300,162500,135000,162500,6315000"}},
		{"by_name", "1 0+-1 1 4 3 2 5|-1 -1", []string{"time,open,close,low,high,volume,trades,lsr"}},
		{"by_name", "1 1+-1 3 4 5 6 2|-1 0",
			[]string{"Symbol;Timestamp;Volume_(BTC);Open;High;Low;Close;Volume_(Currency)"}},
	} {
		name, l, err := Recognise(head("x.csv", c.lines...), "")
		if err != nil || name != c.profile || cells(l) != c.layout {
			t.Errorf("%s: %s, %q, want %q (%v)", c.profile, name, cells(l), c.layout, err)
		}
		// Named, a profile accepts what it would recognise.
		if name, again, err := Recognise(head("x.csv", c.lines...), c.profile); err != nil ||
			name != c.profile || cells(again) != c.layout {
			t.Errorf("--profile %s: %s, %q (%v)", c.profile, name, cells(again), err)
		}
	}
}

func TestNotRecognised(t *testing.T) {
	for _, c := range []struct {
		what    string
		profile string
		code    Code
		line    int
		lines   []string
	}{
		{"six numbers", "", ColumnsRequired, 1, []string{"1364774820000,93.25,93.3,93.3,93.25,93.3"}},
		{"twelve numbers whose 7th is earlier", "", ColumnsRequired, 1,
			[]string{"1735678800000,1,2,1,2,9,5,3,4,5,6,0"}},
		{"seven numbers that begin with a fraction", "", ColumnsRequired, 1, []string{"1.5,1,1,1,1,1,1"}},
		{"a header of other words", "", ColumnsMissing, 1, []string{"when,o,h,l,c"}},
		{"blank lines count", "", ColumnsMissing, 3, []string{"", " ", "time,open,close"}},
		{"an address without a header", "", ColumnsMissing, 1, []string{"https://www.cryptodatadownload.com", "1,2,3"}},
		{"cryptodatadownload without high", "", ColumnsMissing, 2, []string{"https://www.cryptodatadownload.com", "unix,symbol,open,low,close"}},
		{"yahoo without close", "", ColumnsMissing, 1, []string{"Date,Open,High,Low,Adj Close"}},
		{"two tickers side by side", "", MultipleTickers, 2,
			[]string{"Price,Close,Close,High,High,Low,Low,Open,Open", "Ticker,A,B,A,B,A,B,A,B", "Date"}},
		{"date beside time", "", ColumnsRequired, 2,
			[]string{"date,time,open,high,low,close", "2024-01-31,12:00:00,1,1,1,1"}},
		{"a nameless cell", "", ColumnsRequired, 2, []string{"time,open,high,low,close", "x,3600,1,2,1,2"}},
		{"another profile's file", "binance", ColumnsMissing, 1, []string{"time,open,high,low,close"}},
		{"no lines that profile knows", "by_name", ColumnsMissing, 1, []string{"3600,1,2,1,2,10"}},
		{"an index without name", "", ColumnsMissing, 1, []string{",Open,High,Low,Close,Volume"}},
		{"polygon without open", "", ColumnsMissing, 1, []string{"ticker,window_start,close,high,low"}},
		{"stooq without date", "", ColumnsMissing, 1, []string{"<TICKER>,<OPEN>,<HIGH>,<LOW>,<CLOSE>"}},
	} {
		_, _, err := Recognise(head("x.csv", c.lines...), c.profile)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || len(e.Cases) != 1 || e.Cases[0].Line != c.line {
			t.Errorf("%s: %v, want %s in line %d", c.what, err, c.code, c.line)
		}
	}
}

func TestIndexWithoutNameHasARemedy(t *testing.T) {
	for header, want := range map[string]string{
		",Open,High,Low,Close,Volume":  "--columns time,open,high,low,close,volume",
		",Close,Low,x,High,Open":       "--columns time,close,low,-,high,open",
		"Index,Open,High,Low,Close":    "rename the columns",
		",Open,High,Low,Last":          "rename the columns",
		",BTC:open,BTC:high,ETH:close": "rename the columns",
	} {
		_, _, err := Recognise(head("x.csv", header), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", header, err)
		}
	}
}

func TestNamesOfFiles(t *testing.T) {
	for name, want := range map[string]string{
		"BTC_USDT-1h.json":                      "BTC/USDT 1h",
		"BTC_USDT-1h.json.gz":                   "BTC/USDT 1h",
		"BTC_USDT-1h.feather":                   "BTC/USDT 1h",
		"all.zip/data/ETH_BTC-15m.json":         "ETH/BTC 15m",
		"1INCH_USDT-1Mo.feather":                "1INCH/USDT 1M",
		"BTC_USDT_USDT-5m-futures.feather":      "BTC/USDT 5m",
		"BTC_USDT_USDT-5m.feather":              " ",
		"BTC_USDT_USDT-5m-mark.feather":         " ",
		"BTC_USDT_USDT-8h-funding_rate.feather": " ",
		"BTCUSDT-1h.json":                       " ",
		"BTC_USDT.json":                         " ",
		"BTC_USDT-0h.json":                      " ",
		"BTC_USDT-1y.json":                      " ",
	} {
		s, tf := fromName(name)
		if got := fmt.Sprint(s, " ", tf); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestFreqtrade(t *testing.T) {
	rows := head("BTC_USDT-1h.json", "1502942400000,1,1,1,1,1")
	rows.JSON = true
	name, l, err := Recognise(rows, "")
	if err != nil || name != "freqtrade" || l.Symbol != "BTC/USDT" || l.Timeframe.String() != "1h" {
		t.Errorf("%s %+v, %v", name, l, err)
	}
	table := Head{Name: "x.feather", Names: []string{"date", "open", "high", "low", "close", "volume"}}
	if name, l, err = Recognise(table, ""); err != nil || name != "freqtrade" || l.Symbol != "" ||
		cells(l) != "1 0+-1 1 2 3 4 5|-1 -1" {
		t.Errorf("%s %+v, %v", name, l, err)
	}
	other := Head{Name: "x.parquet", Names: []string{"Close", "High", "Low", "Open", "Volume", "Date"}}
	if name, l, err = Recognise(other, ""); err != nil || name != "by_name" ||
		cells(l) != "1 5+-1 3 1 2 0 4|-1 -1" {
		t.Errorf("%s %s, %v", name, cells(l), err)
	}
	short := Head{Name: "x.parquet", Names: []string{"date", "close"}}
	var e *Error
	if _, _, err = Recognise(short, ""); !errors.As(err, &e) || e.Code != ColumnsMissing ||
		e.Cases[0].Text != "date,close" {
		t.Errorf("%v", err)
	}
	seven := head("x.json", "1502942400000,1,1,1,1,1,1,1")
	seven.JSON = true
	if _, _, err := Recognise(seven, ""); !errors.As(err, &e) || e.Code != ColumnsRequired {
		t.Errorf("%v", err)
	}
}

func TestSidesOfYfinance(t *testing.T) {
	lines := []string{"Price,Close,Close,High,High,Low,Low,Open,Open,Volume,Volume",
		"Ticker,AAPL,NVDA,AAPL,NVDA,AAPL,NVDA,AAPL,NVDA,AAPL,NVDA", "Date"}
	h := head("x.csv", lines...)
	h.Ticker = "nvda"
	name, l, err := Recognise(h, "")
	if err != nil || name != "yfinance" || cells(l) != "3 0+-1 8 4 6 2 10|-1 -1" || !l.Chosen {
		t.Errorf("%s %s, %v", name, cells(l), err)
	}
	h.Ticker = "MSFT"
	var e *Error
	if _, _, err = Recognise(h, ""); !errors.As(err, &e) || e.Code != NoRows ||
		!strings.Contains(e.Message, "AAPL, NVDA") {
		t.Errorf("%v", err)
	}
}

func TestWhatFormatsKnow(t *testing.T) {
	known := func(lines ...string) Layout {
		t.Helper()
		_, l, err := Recognise(head("x.csv", lines...), "")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := known("19980102 00:00,136300,162500,135000,162500,6315000"); l.Places != 4 ||
		l.Zone.String() != "America/New_York" || l.Notes != nil {
		t.Errorf("shares: %+v", l)
	}
	crypto := []string{"20141201 00:00,300,370,300,370,1", "20141202 00:00,377,378,377,378,15.0136"}
	if l := known(crypto...); l.Places != 0 || l.Zone.String() != "UTC" ||
		l.Notes[0].Code != "LEAN_DECIMALS" {
		t.Errorf("crypto: %+v", l)
	}
	feed := "ts_event,open,high,low,close,volume,symbol"
	if l := known(feed, "1700000000000000000,4750250000000,1,1,1,5,ESH4"); l.Places != 9 {
		t.Errorf("integers: %+v", l)
	}
	if l := known(feed, "2023-11-14T22:13:20.000000000Z,4750.250000000,1.0,1.0,1.0,5,ESH4"); l.Places != 0 {
		t.Errorf("decimals: %+v", l)
	}
	if l := known("timeOpen;open;high;low;close;volume"); l.VolumeUnit != "quote" {
		t.Errorf("coinmarketcap: %+v", l)
	}
	if l := known("1381017600,122.0,122.0,122.0,122.0,0.1,1"); l.Alias["XBT"] != "BTC" {
		t.Errorf("kraken: %+v", l)
	}
	if l := known("<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>"); l.VolumeUnit != "ticks" {
		t.Errorf("MetaTrader without VOL: %+v", l)
	}
	for per, want := range map[string]string{"D": "1d", "W": "1w", "M": "1M", "5": "5m", "60": "1h",
		"240": "4h", "x": "", "0": "", "99999": ""} {
		if got := period(per).String(); got != want {
			t.Errorf("period %s: %s", per, got)
		}
	}
}

// Marks that only tell a format from others may be missing where the user names it.
func TestForcedProfiles(t *testing.T) {
	for profile, lines := range map[string][]string{
		"cryptodatadownload": {"date,symbol,open,high,low,close,volume_btc"},
		"coinmarketcap":      {"timeOpen,open,high,low,close,volume"},
		"metatrader5":        {"<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<TICKVOL>"},
		"ccxt":               {"1704067200000,42283.58,42554.57,42261.02,42475.23,1271.68"},
	} {
		if name, _, err := Recognise(head("x.csv", lines...), profile); err != nil || name != profile {
			t.Errorf("%s: %v", profile, err)
		}
		if name, _, err := Recognise(head("x.csv", lines...), ""); err == nil && name == profile {
			t.Errorf("%s without its mark", profile)
		}
	}
}

func TestEveryProfileSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles() {
		if seen[p.Name] || !regexp.MustCompile(`^[a-z][a-z0-9_-]+$`).MatchString(p.Name) || p.Doc == "" ||
			strings.HasSuffix(p.Doc, ".") {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if _, ok, err := p.Layout(Head{Name: "empty"}); ok && err == nil {
			t.Errorf("%s takes an empty file", p.Name)
		}
	}
}

func TestColumns(t *testing.T) {
	names := strings.Split("x,time,Open, close ,low,high,-,volume", ",")
	l, err := ByColumns(head("x.csv", "a,b,c,d,e,f,g,h"), names)
	if err != nil || cells(l) != "1 1+-1 2 5 4 3 7|-1 -1" {
		t.Errorf("%s, %v", cells(l), err)
	}
	if l, err = ByColumns(head("x.csv", "0,1700000000,1,2,1,2,x,9"), names); err != nil || l.Skip != 0 {
		t.Errorf("%s, %v", cells(l), err)
	}
	if _, err = ByColumns(Head{Name: "x.parquet", Names: []string{"a", "b"}}, names); err == nil {
		t.Error("more columns than there are")
	}
	for _, bad := range []string{"time,open,high,low", "time,open,high,low,close,close", "", "time",
		strings.Repeat("x,", 2000) + "time,open,high,low,close"} {
		var e *OptionError
		if _, err := Columns(strings.Split(bad, ",")); !errors.As(err, &e) || e.Flag != "--columns" {
			t.Errorf("%.20s: %v", bad, err)
		}
	}
}

func TestLongHeads(t *testing.T) {
	h := NewHead("x.csv", []byte("\n \n"+strings.Repeat("a;b\r\n", 5000)))
	if len(h.Lines) != headLines || h.Blank != 2 || h.Comma != ';' || h.Lines[0] != "a;b" {
		t.Errorf("%d lines, %d blank, %q", len(h.Lines), h.Blank, h.Comma)
	}
	if got := h.Cells(9999); got != nil {
		t.Errorf("%v", got)
	}
	if got := quoteList(strings.Split("a,b,c,d,e,f,g,h,i,j",
		",")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Error(got)
	}
}

// FuzzRecognise wants a layout that fits the head, or a typed refusal.
func FuzzRecognise(f *testing.F) {
	f.Add([]byte("time,open,high,low,close,volume\n1,1,1,1,1,1\n"), "", false)
	f.Add([]byte("Price,Close,High\nTicker,A,B\nDate,,\n"), "A", false)
	f.Add([]byte("<TICKER>,<PER>,<DATE>\nA,D,20240101\n"), "", false)
	f.Add([]byte("1502942400000,1,1,1,1,1\n"), "", true)
	f.Fuzz(func(t *testing.T, block []byte, ticker string, json bool) {
		h := NewHead("x.csv", block)
		h.Ticker, h.JSON = ticker, json
		for _, name := range []string{"", "backtrader", "cryptodatadownload", "yfinance"} {
			_, l, err := Recognise(h, name)
			if err != nil {
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("untyped error %v", err)
				}
				continue
			}
			if slices.Min(l.At[:volumeCell]) < 0 || l.lastCell() > MaxColumns || l.Skip > len(h.Lines) {
				t.Fatalf("%+v", l)
			}
		}
	})
}

package importer_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func readFiles(o importer.Options, files ...importer.Input) (*importer.Result, error) {
	return importer.Read(context.Background(), files, o)
}

var anySymbol = importer.Options{Symbol: "X/USD"}

const threeJSON = "[[3600,1,3,1,2,10],[7200,2,4,2,3,20],[10800,3,5,3,4,30]]"

func TestJSON(t *testing.T) {
	for name, content := range map[string]string{
		"dense":     threeJSON,
		"airy":      " \n[ [3600, 1.0, 3e0, 1, 2, 10] ,\n [7200,2,4,2,3,20],\n\n[10800,3,5,3,4,30]\n]\n ",
		"BOM":       "\xef\xbb\xbf" + threeJSON,
		"text":      `[["3600","1","3","1","2","10"],[7200,"2",4,2,3,"20"],["1970-01-01T03:00:00Z",3,5,3,4,30]]`,
		"null rows": "[[3600,1,3,1,2,10],[5400,null,null,null,null,null],[7200,2,4,2,3,20],[10800,3,5,3,4,30]]",
	} {
		r, err := readFiles(anySymbol, text("x.json", content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rows(r.Series) != want3 || r.Report.Profile != "freqtrade" {
			t.Errorf("%s by %s:\n%s", name, r.Report.Profile, rows(r.Series))
		}
	}
	// Any order, as for CSV, and 12 columns.
	columns, err := importer.ParseColumns("time,open,close,high,low,volume")
	if err != nil {
		t.Fatal(err)
	}
	o := importer.Options{Symbol: "X/USD", Columns: columns}
	if r, err := readFiles(o,
		text("x.json", "[[3600,1,2,3,1,10],[7200,2,3,4,2,20],[10800,3,4,5,3,30]]")); err != nil ||
		rows(r.Series) != want3 {
		t.Errorf("columns: %v", err)
	}
	klines := `[[3600000,"1","3","1","2","10",7199999,"0",1,"0","0","0"],[7200000,"2","4","2","3","20",10799999,"0",1,"0","0","0"]]`
	if r, err := readFiles(anySymbol, text("x.json", klines)); err != nil || r.Report.Profile != "binance" ||
		r.Series.Len() != 2 {
		t.Errorf("klines: %v", err)
	}
}

func TestJSONNamesItsSeries(t *testing.T) {
	r, err := readFiles(importer.Options{}, text("BTC_USDT-1h.json", threeJSON))
	if err != nil || r.Series.Symbol != "BTC/USDT" || r.Series.Timeframe.String() != "1h" {
		t.Fatalf("%+v, %v", r, err)
	}
	// What the user says counts.
	if r, err = readFiles(anySymbol, text("BTC_USDT-1h.json", threeJSON)); err != nil ||
		r.Series.Symbol != "X/USD" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = readFiles(importer.Options{}, text("BTC_USDT-5m.json", threeJSON))
	if e := refused(t, err, importer.TimeframeMismatch); !strings.Contains(e.Message,
		"the file says 5m, but the commonest step between candles is 1h") {
		t.Error(e)
	}
	_, err = readFiles(importer.Options{}, text("candles.json", threeJSON))
	refused(t, err, importer.SymbolRequired)
	_, err = readFiles(importer.Options{}, text("BTC_USDT-1h.json", threeJSON),
		text("ETH_USDT-1h.json", threeJSON))
	refused(t, err, importer.MultipleTickers)
	_, err = readFiles(anySymbol, text("BTC_USDT-1h.json", threeJSON), text("BTC_USDT-5m.json", threeJSON))
	refused(t, err, importer.TimeframeMismatch)
	o := importer.Options{Symbol: "X/USD", Timeframe: market.MustTimeframe("1h")}
	if _, err = readFiles(o, text("BTC_USDT-1h.json", threeJSON),
		text("BTC_USDT-5m.json", threeJSON)); err != nil {
		t.Error(err)
	}
}

func TestJSONRefusals(t *testing.T) {
	long := "[[3600,1,3,1,2,10],[" + strings.Repeat("1,", 2<<20) + "1]]"
	for _, c := range []struct {
		name, content string
		code          importer.Code
		line          int
	}{
		{"object", `{"data":[]}`, importer.ColumnsRequired, 1},
		{"rows of objects", `[{"time":3600}]`, importer.ColumnsRequired, 1},
		{"numbers", `[1,2,3]`, importer.ColumnsRequired, 1},
		{"array in a row", `[[3600,1,3,1,2,10],[7200,[1],1,1,1,1]]`, importer.ColumnsRequired, 2},
		{"object in a row", `[[3600,1,3,1,2,{}]]`, importer.ColumnsRequired, 1},
		{"commas in text", `[["1,2",1,3,1,2,10]]`, importer.ColumnsRequired, 1},
		{"lines in text", `[["1\n2",1,3,1,2,10]]`, importer.ColumnsRequired, 1},
		{"seven columns of fractions", `[[3600.5,1,3,1,2,10,1]]`, importer.ColumnsRequired, 1},
		{"cut", threeJSON[:40], importer.Encoding, 3},
		{"cut behind a row", threeJSON[:len(threeJSON)-1], importer.Encoding, 4},
		{"more behind", threeJSON + "[]", importer.Encoding, 4},
		{"NaN", "[[3600,NaN,3,1,2,10]]", importer.Encoding, 1},
		{"no comma", "[[3600,1,3,1,2,10] [7200,2,4,2,3,20]]", importer.Encoding, 2},
		{"bad UTF-8", "[[\"\xff\",1,3,1,2,10]]", importer.Encoding, 1},
		{"endless row", long, importer.Encoding, 2},
		{"endless text", `[["` + strings.Repeat("x", 3<<20) + `",1,1,1,1,1]]`, importer.Encoding, 1},
		{"empty", "[]", importer.NoRows, 0},
		{"words", `[[3600,1,3,1,2,10],[7200,"two",4,2,3,20]]`, importer.BadNumber, 2},
		{"short row", `[[3600,1,3,1,2,10],[7200,2,4,2]]`, importer.BadNumber, 2},
		{"true", `[[3600,1,3,1,2,10],[7200,true,4,2,3,20]]`, importer.BadNumber, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readFiles(anySymbol, text("x.json", c.content))
			e := refused(t, err, c.code)
			if c.line > 0 && (len(e.Cases) == 0 || e.Cases[0].Line != c.line || e.Cases[0].File != "x.json") {
				t.Errorf("%v, want line %d", e, c.line)
			}
		})
	}
}

// packed returns a zip file of names and contents, one after the other.
func packed(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestZip(t *testing.T) {
	a, b := head+"3600,1,3,1,2,10\n7200,2,4,2,3,20\n", head+"7200,2,4,2,3,20\n10800,3,5,3,4,30\n"
	for name, c := range map[string]struct {
		files    []string
		warnings int
	}{
		"one":            {[]string{"x.csv", three}, 0},
		"without an end": {[]string{"x", three}, 0},
		"several":        {[]string{"b.csv", b, "a.csv", a}, 0},
		"CSV and JSON":   {[]string{"b.csv", b, "a.json", "[[3600,1,3,1,2,10]]"}, 0},
		"packed again":   {[]string{"b.csv.gz", gzipped(t, b), "a.csv", a}, 0},
		"folders":        {[]string{"data/", "", "data/a.csv", a, "data/b.CSV", b}, 0},
		"what a Mac adds": {[]string{"a.csv", three, "__MACOSX/._a.csv", "\x00\x05", ".DS_Store", "\x00"},
			0},
		"a note beside it": {[]string{"DAT_ASCII_M1.csv", three, "DAT_ASCII_M1.txt",
			"Gap of 61s found between"}, 1},
		"text": {[]string{"x.txt", three, "read.me", "hello"}, 1},
	} {
		content := packed(t, c.files...)
		r, err := readFiles(anySymbol, importer.Bytes("x.zip", content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := r.Report.Files
		if rows(r.Series) != want3 || len(r.Report.Warnings) != c.warnings || len(f) != 1 ||
			f[0].Name != "x.zip" ||
			f[0].Bytes != int64(len(content)) || f[0].SHA256 != fmt.Sprintf("%x", sha256.Sum256(content)) {
			t.Errorf("%s: %+v\n%s", name, r.Report, rows(r.Series))
		}
	}
}

func TestZipNamesItsMembers(t *testing.T) {
	content := packed(t, "a.csv", three, "sub/b.csv", head+"14400,1,1,1,x,1\n")
	_, err := readFiles(anySymbol, importer.Bytes("x.zip", content))
	if e := refused(t, err, importer.BadNumber); e.Cases[0].File != "x.zip/sub/b.csv" ||
		e.Cases[0].Line != 2 {
		t.Errorf("%+v", e.Cases)
	}
	content = packed(t, "a.csv", three, "b.csv", head+"7200,9,9,9,9,9\n")
	_, err = readFiles(anySymbol, importer.Bytes("x.zip", content))
	if e := refused(t, err, importer.ConflictingDuplicates); e.Cases[0].File != "x.zip/b.csv" {
		t.Errorf("%+v", e.Cases)
	}
	r, err := readFiles(importer.Options{}, importer.Bytes("x.zip", packed(t, "BTC_USDT-1h.json", threeJSON)))
	if err != nil || r.Series.Symbol != "BTC/USDT" {
		t.Errorf("%v", err)
	}
	// Several tickers, one a member, are several series.
	row := "<TICKER>,<PER>,<DATE>,<OPEN>,<HIGH>,<LOW>,<CLOSE>\n%s,D,20240102,1,1,1,1\n%[1]s,D,20240103,1,1,1,1\n"
	content = packed(t, "a.txt", fmt.Sprintf(row, "A.US"), "b.txt", fmt.Sprintf(row, "B.US"))
	_, err = readFiles(anySymbol, importer.Bytes("x.zip", content))
	if e := refused(t, err, importer.MultipleTickers); e.Cases[0].File != "x.zip/b.txt" ||
		!strings.Contains(e.Message, "--ticker") {
		t.Errorf("%v", e)
	}
	o := importer.Options{Symbol: "B/USD", Ticker: "b.us"}
	if r, err = readFiles(o, importer.Bytes("x.zip", content)); err != nil || r.Series.Len() != 2 ||
		r.Report.Skipped != 2 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestZipRefusals(t *testing.T) {
	good := packed(t, "x.csv", three)
	encrypted := bytes.Clone(good)
	encrypted[6] |= 1                                              // the flag of the member
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1 // and in the directory
	lzma := bytes.Clone(good)                                      // a method that Go does not know
	lzma[8], lzma[bytes.Index(lzma, []byte("PK\x01\x02"))+10] = 14, 14
	flipped := bytes.Clone(good)
	flipped[bytes.Index(flipped, []byte("x.csv"))+8] ^= 0xff
	many := make([]string, 0, 40_000)
	for i := range 10_001 {
		many = append(many, fmt.Sprintf("%d.csv", i), "")
	}
	for _, c := range []struct {
		name    string
		content []byte
		code    importer.Code
		hint    string
	}{
		{"empty", packed(t), importer.NoRows, "no file"},
		{"folders only", packed(t, "a/", ""), importer.NoRows, "no file"},
		{"an empty member", packed(t, "a.csv", ""), importer.NoRows, "no candle"},
		{"cut", good[:len(good)-10], importer.Encoding, "damaged"},
		{"header only", good[:10], importer.Encoding, "damaged"},
		{"flipped", flipped, importer.Encoding, "damaged"},
		{"password", encrypted, importer.Encoding, "password"},
		{"unknown method", lzma, importer.Encoding, "unpack it"},
		{"zip in zip", packed(t, "x.csv", string(good)), importer.Encoding, "inside a packed file"},
		{"spreadsheet", packed(t, "[Content_Types].xml", "<x/>", "xl/workbook.xml", "<x/>"),
			importer.Encoding, "spreadsheet"},
		{"Feather in zip", packed(t, "x.feather", "ARROW1\x00\x00"), importer.Encoding, "unpack it"},
		{"ten thousand members", packed(t, many...), importer.TooLarge, "10001 members"},
	} {
		_, err := readFiles(anySymbol, importer.Bytes("x.zip", c.content))
		if e := refused(t, err, c.code); !strings.Contains(e.Message, c.hint) {
			t.Errorf("%s: %v", c.name, e)
		}
	}
	// A source that cannot be read out of order.
	in := importer.Input{Name: "x.zip", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewBuffer(good)), nil
	}}
	var e *importer.Error
	if _, err := readFiles(anySymbol, in); err == nil || errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}

func TestPackedText(t *testing.T) {
	if r, err := readFiles(anySymbol, text("x.json.gz", gzipped(t, threeJSON))); err != nil ||
		rows(r.Series) != want3 {
		t.Errorf("%v", err)
	}
	// Two gzip streams, one behind the other, are one file.
	twice := gzipped(t, head+"3600,1,3,1,2,10\n") + gzipped(t, "7200,2,4,2,3,20\n10800,3,5,3,4,30\n")
	if r, err := readFiles(anySymbol, text("x.csv.gz", twice)); err != nil || rows(r.Series) != want3 {
		t.Errorf("%v", err)
	}
	for content, hint := range map[string]string{
		gzipped(t, gzipped(t, three)):                             "packed twice",
		gzipped(t, "PAR1"):                                        "Parquet",
		gzipped(t, "\xff\xfet\x00"):                               "UTF-16",
		"PAR1\x00\x00\x00\x00":                                    "lab data import",
		"FEA1\x00\x00\x00\x00":                                    "version 1",
		"\xd0\xcf\x11\xe0\xa1\xb1":                                "spreadsheet",
		"SQLite format 3\x00":                                     "database",
		gzipped(t, threeJSON)[:40]:                                "cut short",
		gzipped(t, three)[:30]:                                    "cut short",
		gzipped(t, three)[:12]:                                    "cut short",
		strings.Replace(gzipped(t, three), "\x1f", "\x1f", 1)[:9]: "cut short",
	} {
		_, err := readFiles(anySymbol, text("x", content))
		if e := refused(t, err, importer.Encoding); !strings.Contains(e.Message, hint) {
			t.Errorf("%q: %v", hint, e)
		}
	}
}

func TestTickers(t *testing.T) {
	flat := "ticker,volume,open,close,high,low,window_start,transactions\n" +
		"AAPL,10,1,2,3,1,1744792500000000000,1\nMSFT,11,9,9,9,9,1744792500000000000,1\nAAPL,20,2,3,4,2,1744792560000000000,1\nNVDA,11,9,9,9,9,1744792560000000000,1\nMSFT,11,9,9,9,9,1744792560000000000,1\n"
	_, err := readFiles(anySymbol, text("x.csv", flat))
	e := refused(t, err, importer.MultipleTickers)
	if len(e.Cases) != 2 || e.Cases[0].Line != 3 || e.Cases[1].Line != 5 ||
		!strings.Contains(e.Message, "AAPL, MSFT") {
		t.Errorf("%v %+v", e, e.Cases)
	}
	r, err := readFiles(importer.Options{Symbol: "AAPL/USD", Ticker: "AAPL"}, text("x.csv", flat))
	if err != nil || r.Series.Len() != 2 || r.Series.Volume[1] != 20 || r.Report.Skipped != 3 ||
		r.Report.Warnings[0].Code != "OTHER_TICKERS" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = readFiles(importer.Options{Symbol: "TSLA/USD", Ticker: "TSLA"}, text("x.csv", flat))
	if e := refused(t, err, importer.NoRows); !strings.Contains(e.Message, "AAPL, MSFT, NVDA") {
		t.Error(e)
	}
	// A column for the ticker counts in any format with names.
	named := "Symbol," + strings.ReplaceAll(three, "\n", "\nBTC,")
	named = strings.TrimSuffix(named, "BTC,")
	if r, err := readFiles(anySymbol, text("x.csv", named)); err != nil || rows(r.Series) != want3 {
		t.Errorf("%v", err)
	}
	_, err = readFiles(anySymbol, text("x.csv", strings.Replace(named, "BTC,7200", "ETH,7200", 1)))
	refused(t, err, importer.MultipleTickers)
	many := head[:len(head)-1] + ",symbol\n"
	for i := range 20 {
		many += fmt.Sprintf("3600,1,1,1,1,1,T%d\n", i)
	}
	_, err = readFiles(anySymbol, text("x.csv", many))
	if e := refused(t, err, importer.MultipleTickers); len(e.Cases) != 5 || e.Cases[4].Line != 7 {
		t.Errorf("%+v", e.Cases)
	}
}

func investing(dates ...string) string {
	s := `"Date","Price","Open","High","Low","Vol.","Change %"` + "\n"
	for _, d := range dates {
		s += `"` + d + `","1,050.5","1,000","1,100","990.25","1.5K","1%"` + "\n"
	}
	return s
}

func TestDateOrder(t *testing.T) {
	for _, c := range []struct {
		order string
		dates []string
		want  string
	}{
		{"", []string{"06/13/2026", "06/12/2026", "06/11/2026"}, "[2026-06-11 2026-06-12 2026-06-13]"},
		{"", []string{"06/11/2026", "06/12/2026", "06/13/2026"}, "[2026-06-11 2026-06-12 2026-06-13]"},
		{"", []string{"11/06/2026", "12/06/2026", "13/06/2026"}, "[2026-06-11 2026-06-12 2026-06-13]"},
		{"mdy", []string{"06/10/2026", "06/11/2026", "06/12/2026"}, "[2026-06-10 2026-06-11 2026-06-12]"},
		{"dmy", []string{"10/06/2026", "11/06/2026", "12/06/2026"}, "[2026-06-10 2026-06-11 2026-06-12]"},
		{"", []string{"Jun 10, 2026", "Jun 11, 2026"}, "[2026-06-10 2026-06-11]"},
		// one order or the other
		{"", []string{"01/01/2026", "02/02/2026", "03/03/2026"}, "[2026-01-01 2026-02-02 2026-03-03]"},
	} {
		o := importer.Options{Symbol: "X/USD", DateOrder: c.order}
		r, err := readFiles(o, text("x.csv", investing(c.dates...)))
		if err != nil {
			t.Errorf("%v %s: %v", c.dates, c.order, err)
			continue
		}
		var got []string
		for _, at := range r.Series.Time {
			got = append(got, at.String()[:10])
		}
		if fmt.Sprint(got) != c.want || r.Series.Volume[0] != 1500 || r.Series.High[0] != 1100 ||
			r.Report.TimeUnits["date"] != len(got) {
			t.Errorf("%v %s: %v", c.dates, c.order, got)
		}
	}
	_, err := readFiles(anySymbol, text("x.csv", investing("06/10/2026", "06/11/2026", "06/12/2026")))
	e := refused(t, err, importer.DateOrderAmbiguous)
	if len(e.Cases) != 3 || e.Cases[0].Line != 2 || e.Cases[0].Text != "2026-06-10 or 2026-10-06" ||
		!strings.Contains(e.Message, "--date-order") {
		t.Errorf("%+v", e)
	}
	_, err = readFiles(anySymbol, text("x.csv", investing("06/13/2026", "14/06/2026")))
	if e := refused(t, err, importer.BadNumber); e.Cases[0].Line != 3 {
		t.Errorf("%+v", e)
	}
	// Each file has an order of its own.
	_, err = readFiles(anySymbol, text("a.csv", investing("06/13/2026", "06/14/2026")),
		text("b.csv", investing("06/10/2026", "06/11/2026")))
	if e := refused(t, err, importer.DateOrderAmbiguous); e.Cases[0].File != "b.csv" {
		t.Errorf("%+v", e)
	}
	// Nasdaq's is fixed.
	nasdaq := "Date,Close/Last,Volume,Open,High,Low\n%s,$1.5,100,$1,$2,$1\n06/12/2026,$1.5,N/A,$1,$2,$1\n"
	r, err := readFiles(anySymbol, text("x.csv", fmt.Sprintf(nasdaq, "06/11/2026")))
	if err != nil || r.Series.Time[0].String()[:10] != "2026-06-11" || r.Series.Close[0] != 1.5 ||
		r.Series.Volume[1] != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = readFiles(anySymbol, text("x.csv", fmt.Sprintf(nasdaq, "13/06/2026")))
	refused(t, err, importer.BadNumber)
}

func TestStamps(t *testing.T) {
	for _, c := range []struct{ timeframe, times, want string }{
		{"1h", "2024-01-01T01:00:00Z 2024-01-01T02:00:00Z", "2024-01-01T00:00 2024-01-01T01:00"},
		{"", "2024-01-02 2024-01-03 2024-01-04", "2024-01-01T00:00 2024-01-02T00:00 2024-01-03T00:00"},
		{"1M", "2012-01-31 2012-02-29 2012-03-31", "2011-12-31T00:00 2012-01-31T00:00 2012-02-29T00:00"},
		{"1M", "2012-02-01 2012-03-01 2012-04-01", "2012-01-01T00:00 2012-02-01T00:00 2012-03-01T00:00"},
		{"1M", "2012-01-30 2012-03-30 2012-04-30", "2011-12-30T00:00 2012-02-29T00:00 2012-03-30T00:00"},
	} {
		o := importer.Options{Symbol: "X/USD", Stamp: "close"}
		if c.timeframe != "" {
			o.Timeframe = market.MustTimeframe(c.timeframe)
		}
		r, err := readFiles(o,
			text("x.csv", head+strings.ReplaceAll(c.times, " ", ",1,1,1,1,1\n")+",1,1,1,1,1\n"))
		if err != nil {
			t.Errorf("%s: %v", c.times, err)
			continue
		}
		var got []string
		for _, at := range r.Series.Time {
			got = append(got, at.String()[:16])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v", c.times, got)
		}
	}
	o := importer.Options{Symbol: "X/USD", Stamp: "close"}
	_, err := readFiles(o, text("x.csv", head+"1970-01-01,1,1,1,1,1\n1970-01-02,1,1,1,1,1\n"))
	if e := refused(t, err, importer.TimeOutOfRange); e.Cases[0].Line != 2 {
		t.Errorf("%+v", e)
	}
	o.Timeframe = market.MustTimeframe("1M")
	_, err = readFiles(o,
		text("x.csv",
			head+"2024-03-30,1,1,1,1,1\n2024-03-31,1,1,1,1,1\n2024-04-30,1,1,1,1,1\n2024-05-30,1,1,1,1,1\n"))
	refused(t, err, importer.TimeframeMismatch)
	o.Stamp = "open"
	if r, err := readFiles(importer.Options{Symbol: "X/USD", Stamp: "open"},
		text("x.csv", three)); err != nil || rows(r.Series) != want3 {
		t.Errorf("%v", err)
	}
}

const mt5 = "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" +
	"2024.01.02\t00:00:00\t1\t2\t1\t2\t412\t0\t28\n2024.01.02\t01:00:00\t1\t2\t1\t2\t%s\t%s\t28\n"

func TestTickVolume(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	o := importer.Options{Symbol: "X/USD", Zone: berlin}
	r, err := readFiles(o, text("x.csv", fmt.Sprintf(mt5, "413", "0")))
	if err != nil || fmt.Sprint(r.Series.Volume) != "[412 413]" || r.VolumeUnit != "ticks" ||
		r.Series.Time[0].String() != "2024-01-01T23:00:00.000Z" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = readFiles(o, text("x.csv", fmt.Sprintf(mt5, "413", "7")))
	if err != nil || fmt.Sprint(r.Series.Volume) != "[0 7]" || r.VolumeUnit != "" ||
		len(r.Report.Warnings) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// Another file with a volume says that 0 is meant.
	plain := head + "2024-01-02T02:00:00+01:00,1,2,1,2,9\n"
	for _, files := range [][]importer.Input{
		{text("x.csv", fmt.Sprintf(mt5, "413", "0")), text("y.csv", plain)},
		{text("y.csv", plain), text("x.csv", fmt.Sprintf(mt5, "413", "0"))},
	} {
		r, err = readFiles(o, files...)
		if err != nil || fmt.Sprint(r.Series.Volume) != "[0 0 9]" || r.VolumeUnit != "" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	_, err = readFiles(o, text("x.csv", fmt.Sprintf(mt5, "many", "0")))
	refused(t, err, importer.BadNumber)
	_, err = readFiles(o, text("x.csv", fmt.Sprintf(mt5, "-1", "0")))
	refused(t, err, importer.BadNumber)
}

func TestScaledPrices(t *testing.T) {
	feed := "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n" +
		"1700000000000000000,33,1,5,4750250000000,4750500000000,4750000000000,4750250000001,10,ESH4\n" +
		"1700000060000000000,33,1,5,9223372036854775807,9223372036854775807,9223372036854775807,9223372036854775807,0,ESH4\n" +
		"1700000120000000000,33,1,5,4750250000000,4750500000000,4750000000000,4750250000000,11,ESH4\n"
	o := importer.Options{Symbol: "ES/USD", Timeframe: market.MustTimeframe("2m")}
	r, err := readFiles(o, text("x.csv", feed))
	if err != nil || r.Series.Close[0] != 4750.250000001 || r.Series.Len() != 2 || r.Report.Skipped != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	pretty := "ts_event,open,high,low,close,volume\n2023-11-14T22:13:20.000000000Z,1.250000000,2.0,1.0,1.5,3\n2023-11-14T22:14:20.000000000Z,1.250000000,2.0,1.0,1.5,3\n"
	if r, err = readFiles(anySymbol, text("x.csv", pretty)); err != nil || r.Series.Open[0] != 1.25 {
		t.Errorf("%+v, %v", r, err)
	}
	// A price with a point behind a thousand lines without would be another price.
	lean := strings.Repeat("19980102 00:00,136300,162500,135000,162500,6315000\n",
		1100) + "19980105 00:00,13.63,16.25,13.5,16.25,1\n"
	_, err = readFiles(anySymbol, text("x.csv", lean))
	if e := refused(t, err, importer.BadNumber); e.Cases[0].Line != 1101 ||
		!strings.Contains(e.Message, "decimal point") {
		t.Errorf("%v", e)
	}
}

func TestRenamedCurrency(t *testing.T) {
	kraken := "1381017600,1,1,1,1,0.1,1\n1381104000,1,1,1,1,0.1,1\n"
	for given, want := range map[market.Symbol]market.Symbol{"XBT/EUR": "BTC/EUR", "ETH/XBT": "ETH/BTC",
		"ETH/EUR": "ETH/EUR", "XBTC/EUR": "XBTC/EUR"} {
		r, err := readFiles(importer.Options{Symbol: given}, text("XBTEUR_1440.csv", kraken))
		if err != nil || r.Series.Symbol != want || (len(r.Report.Warnings) == 1) != (given != want) {
			t.Errorf("%s: %+v, %v", given, r, err)
		}
	}
	if r, err := readFiles(importer.Options{Symbol: "XBT/EUR"}, text("x.csv", three)); err != nil ||
		r.Series.Symbol != "XBT/EUR" {
		t.Errorf("%v: only Kraken's XBT is known to be BTC", err)
	}
}

func TestVolumeUnits(t *testing.T) {
	cmc := "timeOpen;timeClose;timeHigh;timeLow;name;open;high;low;close;volume;timestamp\n" +
		"\"2025-10-20T00:00:00.000Z\";x;x;x;\"2781\";108667,44;111711,03;107485,01;110588,93;63507791530,06;\"2025-10-20T23:59:59.999Z\"\n" +
		"\"2025-10-19T00:00:00.000Z\";x;x;x;\"2781\";108667,44;111711,03;107485,01;110588,93;63507791530,06;\"2025-10-19T23:59:59.999Z\"\n"
	r, err := readFiles(anySymbol, text("x.csv", cmc))
	if err != nil || r.VolumeUnit != "quote" || r.Series.Open[0] != 108667.44 ||
		r.Series.Volume[0] != 63507791530.06 || r.Report.Reordered != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = readFiles(anySymbol, text("x.csv", cmc), text("y.csv", head+"2025-10-21,1,1,1,1,1\n"))
	if err != nil || r.VolumeUnit != "quote" || r.Report.Warnings[0].Code != "VOLUME_UNITS" ||
		r.Report.Profile != "coinmarketcap,tradingview" {
		t.Errorf("%+v, %v", r, err)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(threeJSON))
	f.Add([]byte(`[["3600",null,1e5,-0,true]]`))
	f.Add([]byte("\xef\xbb\xbf[[],[[]]]"))
	f.Add([]byte(`{"a":[[1,2]]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		checkFuzzed(t, importer.Bytes("BTC_USDT-1h.json", append([]byte("["), content...)))
		checkFuzzed(t, importer.Bytes("x.json", content))
	})
}

func FuzzZip(f *testing.F) {
	for _, files := range [][]string{{"x.csv", three}, {"a.csv", three, "b.json", threeJSON},
		{"data/", "", "data/x.txt", "\xff"}} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			w, err := z.Create(files[i])
			if err == nil {
				_, err = io.WriteString(w, files[i+1])
			}
			if err != nil {
				f.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		checkFuzzed(t, importer.Bytes("x.zip", append([]byte("PK\x03\x04"), content...)))
		checkFuzzed(t, importer.Bytes("x.zip", content))
	})
}

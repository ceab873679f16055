package importer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// text returns a file in memory.
func text(name, content string) importer.Input { return importer.Bytes(name, []byte(content)) }

func read(content string, o importer.Options) (*importer.Result, error) {
	if o.Symbol == "" {
		o.Symbol = "BTC/USD"
	}
	return importer.Read(context.Background(), []importer.Input{text("x.csv", content)}, o)
}

func mustRead(t *testing.T, content string, o importer.Options) *importer.Result {
	t.Helper()
	r, err := read(content, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rows returns a series as text: time open high low close volume, one candle a line.
func rows(s *market.Series) string {
	var b strings.Builder
	for i := range s.Len() {
		fmt.Fprintln(&b, int64(s.Time[i]), s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i])
	}
	return b.String()
}

const (
	head  = "time,open,high,low,close,volume\n"
	three = head + "3600,1,3,1,2,10\n7200,2,4,2,3,20\n10800,3,5,3,4,30\n"
	want3 = "3600000 1 3 1 2 10\n7200000 2 4 2 3 20\n10800000 3 5 3 4 30\n"
)

func TestSpellingsOfTheSameCandles(t *testing.T) {
	columns := func(s string) importer.Options {
		c, err := importer.ParseColumns(s)
		if err != nil {
			t.Fatal(err)
		}
		return importer.Options{Columns: c}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	cases := map[string]struct {
		content string
		options importer.Options
	}{
		"plain": {three, importer.Options{}},
		"CRLF":  {strings.ReplaceAll(three, "\n", "\r\n"), importer.Options{}},
		"BOM and blank lines": {"\xef\xbb\xbf\n \n" + strings.ReplaceAll(three, "\n", "\n\n"),
			importer.Options{}},
		"no last newline": {strings.TrimSuffix(three, "\n"), importer.Options{}},
		"semicolons":      {strings.ReplaceAll(three, ",", ";"), importer.Options{}},
		"tabs":            {strings.ReplaceAll(three, ",", "\t"), importer.Options{}},
		"quotes": {
			"\"Time\",\"Open\",high,low,close,\"volume, " +
				"\"\"base\"\"\"\n\"3600\",\"1\",\"3\",1,2,10\n7200,2,4,2,3,\"20\"\n10800,3,5,3,4,30\n",
			importer.Options{}},
		"names": {"x,< CLOSE >,Low, high ,OPEN,Volume BTC,volume usd,Open_Time,close\n" +
			"a,2,1,3,1,10,0,3600,9\n,3,2,4,2,20,0,7200,9\n,4,3,5,3,30,0,10800,9\n", importer.Options{}},
		"comma behind": {strings.ReplaceAll(strings.Replace(three, "10\n", "10,\n", 1), "20\n", "20,,\n"),
			importer.Options{}},
		"blanks around": {strings.ReplaceAll(three, ",", " , "), importer.Options{}},
		"number forms": {
			head + "3600,1.0,3e0,1.00000000000000000000,2,1E1\n7200,2,+4,2.,3,20\n10800,3,5,3,4,0.3e2\n",
			importer.Options{}},
		"columns": {"1,3600,x,2,1,3,10\n2,7200,x,3,2,4,20\n3,10800,x,4,3,5,30\n",
			columns("open,time,-,close,low,high,volume")},
		"columns and a header": {"a,b,c,d,e,f\n3600,1,3,1,2,10\n7200,2,4,2,3,20\n10800,3,5,3,4,30\n",
			columns("time,open,high,low,close,volume")},
		"ISO": {head +
			"1970-01-01T01:00:00Z,1,3,1,2,10\n1970-01-01 " +
			"03:00+01:00,2,4,2,3,20\n1970-01-01T00:00:00.000-0300,3,5,3,4,30\n", importer.Options{}},
		"zone": {head +
			"1970-01-01 02:00:00,1,3,1,2,10\n1970-01-01T03:00,2,4,2,3,20\n1970-01-01 04:00:00.5,3,5,3,4,30\n",
			importer.Options{Zone: berlin}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := mustRead(t, c.content, c.options)
			want := want3
			if name == "zone" {
				want = strings.Replace(want, "10800000", "10800500", 1)
			}
			if got := rows(r.Series); got != want {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

func TestUnitsByMagnitude(t *testing.T) {
	content := head + strings.Join([]string{
		"1700000000,1,1,1,1,1", "1700003600000,1,1,1,1,1", "1700007200000000,1,1,1,1,1",
		"1700010800000000000,1,1,1,1,1", "2023-11-15T02:13:20Z,1,1,1,1,1", "1700020800.00,1,1,1,1,1",
	}, "\n")
	r := mustRead(t, content, importer.Options{Timeframe: market.MustTimeframe("1h")})
	want := []market.Time{1700000000000, 1700003600000, 1700007200000, 1700010800000, 1700014400000,
		1700020800000}
	if !slices.Equal(r.Series.Time, want) {
		t.Errorf("got %d", r.Series.Time)
	}
	if got := fmt.Sprint(r.Report.TimeUnits); got != "map[iso:1 ms:1 ns:1 s:2 us:1]" {
		t.Errorf("units %s", got)
	}
	dates := mustRead(t, head+"2024-02-28,1,1,1,1,1\n2024-02-29,1,1,1,1,1\n2024-03-01,1,1,1,1,1\n",
		importer.Options{})
	if dates.Series.Time[1].String() != "2024-02-29T00:00:00.000Z" ||
		dates.Series.Timeframe.String() != "1d" {
		t.Errorf("%s %s", dates.Series.Time[1], dates.Series.Timeframe)
	}
}

func TestRefusals(t *testing.T) {
	row := func(times string) string { return head + times + ",1,1,1,1,1\n" }
	good := "3600,1,2,1,2,10\n"
	cases := []struct {
		name, content string
		options       importer.Options
		code          importer.Code
		line          int
	}{
		{"exponent", row("1.70027E+12"), importer.Options{}, importer.TimeNotInteger, 2},
		{"fraction", row("1700000000.5"), importer.Options{}, importer.TimeNotInteger, 2},
		{"far future", row("99999999999"), importer.Options{}, importer.TimeOutOfRange, 2},
		{"year 2101", row("2101-01-01"), importer.Options{}, importer.TimeOutOfRange, 2},
		{"negative", row("-3600"), importer.Options{}, importer.TimeOutOfRange, 2},
		{"20 digits", row("17000000000000000000"), importer.Options{}, importer.TimeOutOfRange, 2},
		{"compact date", row("20240131"), importer.Options{}, importer.TimeOutOfRange, 2},
		{"no offset", row("2024-01-31 12:00:00"), importer.Options{}, importer.TimezoneRequired, 2},
		{"30 February", row("2024-02-30"), importer.Options{}, importer.BadNumber, 2},
		{"other date", row("31.01.2024"), importer.Options{}, importer.BadNumber, 2},
		{"no time", head + ",1,1,1,1,1\n", importer.Options{}, importer.BadNumber, 2},
		{"no header", good + good, importer.Options{}, importer.ColumnsRequired, 1},
		{"split time", "date,time,open,high,low,close\n2024-01-31,12:00:00,1,1,1,1\n", importer.Options{},
			importer.ColumnsRequired, 2},
		{"nameless column", "time,open,high,low,close\nx,3600,1,2,1,2\n", importer.Options{},
			importer.ColumnsRequired, 2},
		{"missing close", "time,open,high,low,volume\n3600,1,2,1,10\n", importer.Options{},
			importer.ColumnsMissing, 1},
		{"missing time", "when,open,high,low,close\n3600,1,2,1,10\n", importer.Options{},
			importer.ColumnsMissing, 1},
		{"words", head + "3600,1,2,1,two,10\n", importer.Options{}, importer.BadNumber, 2},
		{"hexadecimal", head + "3600,0x1p3,9,1,2,10\n", importer.Options{}, importer.BadNumber, 2},
		{"underscore", head + "3600,1_0,20,1,2,10\n", importer.Options{}, importer.BadNumber, 2},
		{"infinite", head + "3600,1,Inf,1,2,10\n", importer.Options{}, importer.BadNumber, 2},
		{"too large", head + "3600,1,1e999,1,2,10\n", importer.Options{}, importer.BadNumber, 2},
		{"price zero", head + "3600,1,2,0,2,10\n", importer.Options{}, importer.BadNumber, 2},
		{"price negative", head + "3600,1,2,-1,2,10\n", importer.Options{}, importer.BadNumber, 2},
		{"volume negative", head + "3600,1,2,1,2,-10\n", importer.Options{}, importer.BadNumber, 2},
		{"short row", head + good + "7200,1,2,1\n", importer.Options{}, importer.BadNumber, 3},
		{"timeframe", three, importer.Options{Timeframe: market.MustTimeframe("1m")},
			importer.TimeframeMismatch, 0},
		{"one candle", head + good, importer.Options{}, importer.TimeframeMismatch, 0},
		{"sub-second", head + "1700000000000,1,1,1,1,1\n1700000000250,1,1,1,1,1\n", importer.Options{},
			importer.TimeframeMismatch, 0},
		{"conflict", head + good + "3600,1,2,1,2,11\n", importer.Options{}, importer.ConflictingDuplicates,
			3},
		{"high below close", head + "3600,1,1.5,1,2,10\n" + "7200,1,1,1,1,1\n", importer.Options{},
			importer.OHLCViolations, 2},
		{"low above open", head + "3600,1,3,1.5,2,10\n" + "7200,1,1,1,1,1\n", importer.Options{},
			importer.OHLCViolations, 2},
		{"all dropped", head + "3600,1,1.5,1,2,10\n", importer.Options{Violations: "drop"}, importer.NoRows,
			0},
		{"UTF-16", "\xff\xfet\x00i\x00", importer.Options{}, importer.Encoding, 1},
		{"Latin-1", head + good + "7200,1,2,1,2,10,M\xfcnchen\n", importer.Options{}, importer.Encoding, 3},
		{"binary", head + "3600,1,2\x00,1,2,10\n", importer.Options{}, importer.Encoding, 2},
		{"endless line", head + strings.Repeat("1", 2<<20), importer.Options{}, importer.Encoding, 2},
		{"broken gzip", "\x1f\x8b nothing packed", importer.Options{}, importer.Encoding, 1},
		{"empty", "", importer.Options{}, importer.NoRows, 0},
		{"blank", "\n\n \n", importer.Options{}, importer.NoRows, 0},
		{"header only", head, importer.Options{}, importer.NoRows, 0},
		{"nothing but NaN", head + "3600,NaN,NaN,NaN,NaN,NaN\n", importer.Options{}, importer.NoRows, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := read(c.content, c.options)
			var e *importer.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v, %v", r, err)
			}
			if e.Code != c.code {
				t.Fatalf("%s, want %s: %s", e.Code, c.code, e.Message)
			}
			if c.line == 0 {
				return
			}
			if len(e.Cases) == 0 {
				t.Fatal("no case")
			}
			if got := e.Cases[0]; got.Line != c.line || got.File != "x.csv" || len(got.Text) > 200 {
				t.Errorf("case %+v, want line %d", got, c.line)
			}
		})
	}
}

func TestFiveCasesOfOneKind(t *testing.T) {
	content := head + "3600,1,2,1,2,10\n"
	for i := range 9 {
		content += fmt.Sprintf("1.7%dE+12,1,2,1,2,10\n7200,x,2,1,2,10\n", i)
	}
	_, err := read(content, importer.Options{})
	var e *importer.Error
	if !errors.As(err, &e) || e.Code != importer.TimeNotInteger || len(e.Cases) != 5 {
		t.Fatalf("%v", err)
	}
	for i, c := range e.Cases {
		if c.Line != 3+2*i || c.Text != fmt.Sprintf("1.7%dE+12,1,2,1,2,10", i) {
			t.Errorf("case %d: %+v", i, c)
		}
	}
}

func TestSymbolAndOptions(t *testing.T) {
	_, err := importer.Read(context.Background(), []importer.Input{text("x.csv", three)}, importer.Options{})
	var e *importer.Error
	if !errors.As(err, &e) || e.Code != importer.SymbolRequired {
		t.Errorf("got %v", err)
	}
	for flag, o := range map[string]importer.Options{
		"--stamp":           {Stamp: "middle"},
		"--date-order":      {DateOrder: "ymd"},
		"--ticker":          {Ticker: "AAPL"}, // there is no column for it
		"--ohlc-violations": {Violations: "ignore"},
		"--duplicates":      {Duplicates: "both"},
		"--profile":         {Profile: "paper"},
	} {
		var oe *importer.OptionError
		if _, err := read(three, o); !errors.As(err, &oe) || oe.Flag != flag {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for _, list := range []string{"time,open,high,low", "time,open,high,low,close,close", "time",
		strings.Repeat("x,", 2000) + "time,open,high,low,close"} {
		if _, err := importer.ParseColumns(list); err == nil {
			t.Errorf("--columns %.30s accepted", list)
		}
	}
	if r := mustRead(t, three, importer.Options{Profile: "by_name"}); r.Report.Profile != "by_name" {
		t.Errorf("profile %q", r.Report.Profile)
	}
	if _, err := read("3600,1,2,1,2,10\n", importer.Options{Profile: "by_name"}); !errors.As(err, &e) ||
		e.Code != importer.ColumnsMissing {
		t.Errorf("got %v", err)
	}
}

func TestDisorderAndDuplicates(t *testing.T) {
	r := mustRead(t, head+"10800,3,5,3,4,30\n7200,2,4,2,3,20\n3600,1,3,1,2,10\n", importer.Options{})
	if rows(r.Series) != want3 || r.Report.Reordered != 2 {
		t.Errorf("newest first: %d reordered\n%s", r.Report.Reordered, rows(r.Series))
	}
	mixed := head +
		"7200,2,4,2,3,20\n3600,1,3,1,2,10\nnan,,,,,\n7200,2,4,2,3,20\n10800,3,5,3,4,30\n3600,1,3,1,2,10\n"
	r = mustRead(t, mixed, importer.Options{})
	p := r.Report
	if rows(r.Series) != want3 || p.Reordered != 2 || p.DuplicatesDropped != 2 || p.RowsRead != 6 ||
		p.Skipped != 1 || p.RowsKept != 3 {
		t.Errorf("mixed: %+v\n%s", p, rows(r.Series))
	}
	conflict := three + "7200,2,9,2,3,21\n7200,2,8,2,3,22\n"
	for which, high := range map[string]float64{"first": 4, "last": 8} {
		r := mustRead(t, conflict, importer.Options{Duplicates: which})
		if r.Series.High[1] != high || r.Series.Len() != 3 || r.Report.DuplicatesDropped != 2 ||
			r.Report.Warnings[0].Code != "DUPLICATES_RESOLVED" {
			t.Errorf("%s: %+v\n%s", which, r.Report, rows(r.Series))
		}
	}
}

func TestViolations(t *testing.T) {
	content := head + "3600,1,3,1,2,10\n7200,2,1,3,4,20\n10800,3,5,3,4,30\n14400,3,5,3,4,30\n"
	for how, want := range map[string]string{
		"widen": "7200000 2 4 2 4 20\n", "keep": "7200000 2 1 3 4 20\n", "drop": "",
	} {
		r := mustRead(t, content, importer.Options{Violations: how})
		expect := "3600000 1 3 1 2 10\n" + want + "10800000 3 5 3 4 30\n14400000 3 5 3 4 30\n"
		if rows(r.Series) != expect || r.Report.OHLCViolations != 1 || len(r.Report.Warnings) != 1 {
			t.Errorf("%s: %+v\n%s", how, r.Report, rows(r.Series))
		}
	}
}

func TestMissingValues(t *testing.T) {
	r := mustRead(t,
		head+"3600,1,3,1,2,\n5400,null,null,null,null,null\n7200,2,4,2,3,-0\n9000,-,-,-,-,-\n10800,3,5,3,4,NaN\n", importer.Options{})
	if want := "3600000 1 3 1 2 0\n7200000 2 4 2 3 0\n10800000 3 5 3 4 0\n"; rows(r.Series) != want ||
		r.Report.Skipped != 2 {
		t.Errorf("%+v\n%s", r.Report, rows(r.Series))
	}
	if math.Signbit(r.Series.Volume[1]) {
		t.Error("-0 stayed")
	}
	if r.Report.Warnings[0].Code != "VOLUME_MISSING" {
		t.Errorf("warnings %v", r.Report.Warnings)
	}
	r = mustRead(t, "time,open,high,low,close\n3600,1,3,1,2\n7200,2,4,2,3\n", importer.Options{})
	if r.Series.Volume[0] != 0 || len(r.Report.Warnings) != 1 {
		t.Errorf("%+v", r.Report)
	}
}

func TestTimeframes(t *testing.T) {
	series := func(times ...string) string {
		return head + strings.Join(times, ",1,1,1,1,1\n") + ",1,1,1,1,1\n"
	}
	cases := []struct{ content, given, want string }{
		{series("0", "60", "120", "3600"), "", "1m"},
		{series("0", "86400", "172800"), "", "1d"},
		{series("0", "604800", "1209600"), "", "1w"},
		{series("0", "90", "180"), "", "90s"},
		{series("0", "14400", "28800"), "240m", "240m"},
		{series("2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01"), "", "1M"},
		{series("2024-01-31", "2024-02-29", "2024-03-31"), "1M", "1M"},
		{series("2024-01-01", "2024-04-01", "2024-07-01"), "", "3M"},
		{series("2024-01-01", "2024-01-31", "2024-03-01"), "", "30d"},
		{series("2010-10-29T13:30:00Z", "2010-10-30T13:30:00Z", "2010-10-31T14:30:00Z",
			"2010-11-01T14:30:00Z"), "", "1d"},
		{series("0", "259200"), "1d", "1d"},
		{series("0"), "1d", "1d"},
	}
	for _, c := range cases {
		o := importer.Options{}
		if c.given != "" {
			o.Timeframe = market.MustTimeframe(c.given)
		}
		r, err := read(c.content, o)
		if err != nil || r.Series.Timeframe.String() != c.want {
			t.Errorf("%q: %v, %v; want %s", c.content, r, err, c.want)
		}
	}
	r := mustRead(t, series("0", "3600", "7200", "7260", "10800"), importer.Options{})
	if len(r.Report.Warnings) != 1 || r.Report.Warnings[0].Code != "SHORT_STEPS" {
		t.Errorf("warnings %v", r.Report.Warnings)
	}
}

func TestSeveralFilesAndGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(head + "10800,3,5,3,4,30\n7200,2,4,2,3,20\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files := []importer.Input{text("b.csv.gz", packed.String()),
		text("a.csv", head+"3600,1,3,1,2,10\n7200,2,4,2,3,20\n")}
	var heard int64
	o := importer.Options{Symbol: "BTC/USD", Progress: func(done, total int64) {
		if done > total || done < heard {
			t.Errorf("%d of %d after %d", done, total, heard)
		}
		heard = done
	}}
	r, err := importer.Read(context.Background(), files, o)
	if err != nil {
		t.Fatal(err)
	}
	if rows(r.Series) != want3 || r.Report.DuplicatesDropped != 1 || heard == 0 {
		t.Errorf("%+v\n%s", r.Report, rows(r.Series))
	}
	f := r.Report.Files[0]
	if f.Name != "b.csv.gz" || f.Bytes != int64(packed.Len()) ||
		f.SHA256 != fmt.Sprintf("%x", sha256.Sum256(packed.Bytes())) {
		t.Errorf("%+v", f)
	}
	heard = 0
	conflict := []importer.Input{text("a.csv", three), text("b.csv", head+"7200,2,4,2,3,21\n")}
	_, err = importer.Read(context.Background(), conflict, o)
	var e *importer.Error
	if !errors.As(err, &e) || e.Cases[0].File != "b.csv" || e.Cases[0].Line != 2 {
		t.Errorf("%v", err)
	}
	cut := packed.Bytes()[:packed.Len()-6]
	if _, err := read(string(cut), importer.Options{}); !errors.As(err, &e) || e.Code != importer.Encoding {
		t.Errorf("cut gzip: %v", err)
	}
}

func TestMerge(t *testing.T) {
	stored := mustRead(t, three, importer.Options{}).Series
	fresh := func() *importer.Result {
		return mustRead(t, head+"10800,3,5,3,4,31\n14400,4,6,4,5,40\n18000,4,6,4,5,40\n", importer.Options{})
	}
	var e *importer.Error
	if err := fresh().Merge(stored, ""); !errors.As(err, &e) || e.Code != importer.ConflictingDuplicates ||
		e.Cases[0].Line != 2 {
		t.Errorf("got %v", err)
	}
	for which, volume := range map[string]float64{"first": 30, "last": 31} {
		r := fresh()
		if err := r.Merge(stored, which); err != nil {
			t.Fatal(err)
		}
		if r.Series.Len() != 5 || r.Series.Volume[2] != volume || r.Report.Merged != 3 {
			t.Errorf("%s: %+v\n%s", which, r.Report, rows(r.Series))
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := importer.Read(ctx, []importer.Input{text("x.csv", three)}, importer.Options{Symbol: "BTC/USD"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFile(t *testing.T) {
	if _, err := importer.File(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := importer.File(t.TempDir()); err == nil {
		t.Error("a folder was accepted")
	}
}

// A large file takes the same way as a small one, through many blocks.
func TestLargeFileEqualsItsSeries(t *testing.T) {
	s := sdktest.Synth(7, 30000, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC), time.Minute)
	r := mustRead(t, string(csvOf(s)), importer.Options{})
	if rows(r.Series) != rows(s) || r.Series.Timeframe != s.Timeframe {
		t.Error("candles differ")
	}
}

func TestCanonicalFiles(t *testing.T) {
	for name, want := range map[string]string{"BTCUSDT_1h.csv": "58419 1h", "ETHUSDT_1d.csv": "1991 1d",
		"GOOG_1d.csv": "2148 1d", "SYNTH42_1h.csv": "20000 1h"} {
		in, err := importer.File(filepath.Join("..", "..", "..", "..", "shared", "data", "canonical", name))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("needs the folder shared, with the reference data, beside the checkout")
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := importer.Read(context.Background(), []importer.Input{in}, importer.Options{Symbol: "X/USD"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Series.Len(), r.Series.Timeframe); got != want ||
			r.Report.RowsKept != r.Report.RowsRead {
			t.Errorf("%s: %s, %+v", name, got, r.Report)
		}
	}
}

// FuzzRead wants typed errors, and candles that a candle file accepts.
func FuzzRead(f *testing.F) {
	f.Add([]byte(three), "")
	f.Add([]byte("\xef\xbb\xbfDate;Open;High;Low;Close;Vol\r\n\"2024-01-31\";1;2;1;2;NaN\r\n"), "")
	f.Add([]byte("3600,1,2,1,2,10\n7200,1,2,1,2,10\n"), "time,open,high,low,close,volume")
	f.Add([]byte("time,open,high,low,close\n\"1\"\"2\",\"\n"), "")
	f.Fuzz(func(t *testing.T, content []byte, columns string) {
		names, err := importer.ParseColumns(columns)
		if err != nil {
			return
		}
		checkFuzzed(t, importer.Bytes("x.csv", content), names...)
	})
}

// checkFuzzed reads a file that may be anything: the error is typed, the candles are
// such as a candle file accepts.
func checkFuzzed(t *testing.T, in importer.Input, columns ...string) {
	t.Helper()
	o := importer.Options{Symbol: "X/USD", Columns: columns, Zone: time.UTC, Violations: "widen",
		Duplicates: "last", Stamp: "close"}
	r, err := importer.Read(context.Background(), []importer.Input{in}, o)
	if err != nil {
		var refused *importer.Error
		if !errors.As(err, &refused) || len(refused.Cases) > 5 {
			t.Fatalf("untyped error %v", err)
		}
		return
	}
	s := r.Series
	if s.Len() == 0 || s.Len() != r.Report.RowsKept {
		t.Fatalf("%d candles, %+v", s.Len(), r.Report)
	}
	for i := range s.Len() {
		if s.High[i] < max(s.Open[i], s.Close[i]) || s.Low[i] > min(s.Open[i], s.Close[i]) ||
			!(s.Low[i] > 0) || !(s.Volume[i] >= 0) ||
			math.IsInf(s.High[i], 0) || math.IsInf(s.Volume[i], 0) || i > 0 && s.Time[i] <= s.Time[i-1] {
			t.Fatalf("candle %d: %+v", i, s.At(i))
		}
	}
}

func ExampleRead() {
	csv := "Date,Open,High,Low,Close,Volume\n2024-01-31,42.0,43.5,41.0,43.0,1200\n2024-02-01,43.0,44.0,42.5,42.5,900\n"
	in := importer.Bytes("daily.csv", []byte(csv))
	r, err := importer.Read(context.Background(), []importer.Input{in}, importer.Options{Symbol: "ACME/USD"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println(r.Series.Len(), "candles of", r.Series.Symbol, r.Series.Timeframe, "read as",
		r.Report.Profile)
	// Output: 2 candles of ACME/USD 1d read as by_name
}

// TestPandasIndexIsTheTime: DataFrame.to_csv writes an index of times without a name. It is read as the time
// and said so; an index that counts the rows is none.
func TestPandasIndexIsTheTime(t *testing.T) {
	const header = ",Open,High,Low,Close,Volume\n"
	for name, text := range map[string]string{
		"dates": header + "2024-01-01,1,2,0.5,1.5,10\n2024-01-02,1.5,2,1,1.5,11\n",
		"times": header +
			"2024-01-01 00:00:00+00:00,1,2,0.5,1.5,10\n2024-01-02 00:00:00+00:00,1.5,2,1,1.5,11\n",
		"seconds": header + "1704067200,1,2,0.5,1.5,10\n1704153600,1.5,2,1,1.5,11\n",
		"read_csv": "Unnamed: " +
			"0,Open,High,Low,Close,Volume\n2024-01-01,1,2,0.5,1.5,10\n2024-01-02,1.5,2,1,1.5,11\n",
		"with a date": ",Date,Open,High,Low,Close,Volume\n0,2024-01-01,1,2,0.5,1.5,10\n1,2024-01-02,1.5,2,1,1.5,11\n",
	} {
		r := mustRead(t, text, importer.Options{})
		said := len(r.Report.Warnings) == 1 && r.Report.Warnings[0].Code == "UNNAMED_TIME"
		if r.Series.Len() != 2 || r.Series.Time[0] != 1704067200000 || r.Series.Volume[1] != 11 ||
			said != (name != "with a date") {
			t.Errorf("%s: %+v %+v", name, r.Series, r.Report.Warnings)
		}
	}
	for name, text := range map[string]string{
		"row numbers": header + "0,1,2,0.5,1.5,10\n1,1.5,2,1,1.5,11\n",
		"mixed":       header + "2024-01-01,1,2,0.5,1.5,10\nlater,1.5,2,1,1.5,11\n",
		"two levels":  ",,Open,High,Low,Close,Volume\nBTC,2024-01-01,1,2,0.5,1.5,10\nBTC,2024-01-02,1.5,2,1,1.5,11\n",
	} {
		var e *importer.Error
		if r, err := read(text, importer.Options{}); !errors.As(err, &e) ||
			e.Code != importer.ColumnsMissing {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

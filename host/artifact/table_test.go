package artifact

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestAppendNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -1: "-1", 0.1: "0.1", 1.0 / 3: "0.333333333333",
		-2.0 / 3: "-0.666666666667",
		1e-9:     "0.000000001", 123456789012345: "123456789012000", 1e21: "1000000000000000000000",
		999999999999.96:  "1000000000000",
		0.09999999999999: "0.1", 1234.5678: "1234.5678", math.Inf(1): "", math.NaN(): "", 12: "12",
		1e11:   "100000000000",
		5e-324: "0." + strings.Repeat("0", 323) + "494065645841",
	} {
		if got := string(appendNumber(nil, x)); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

func FuzzAppendNumber(f *testing.F) {
	for _, x := range []float64{0, 1, -0.1, 1e300, 1e-300, 123456.789, math.MaxFloat64} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		got := string(appendNumber(nil, x))
		want, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 11, 64), 64)
		if back, err2 := strconv.ParseFloat(got, 64); back != want || errors.Join(err, err2) != nil {
			t.Fatalf("%v: %s, want %v", x, got, want)
		}
		if strings.ContainsAny(got, "eE") || strings.Contains(got, ".") && strings.HasSuffix(got, "0") {
			t.Fatalf("%v: %s", x, got)
		}
	})
}

func TestAppendAmount(t *testing.T) {
	for x, want := range map[float64]string{
		math.Copysign(0, -1): "0", 14617.56: "14617.56", 1e15: "1000000000000000", 1e-7: "0.0000001",
		math.Inf(-1): "",
	} {
		if got := string(appendAmount(nil, x)); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	var c clockWriter
	for _, at := range []market.Time{1, 999, 1000, 86399999, 86400000, 1704067200000, 1704067200001,
		1732104001234, -1, -86400000, 253402300799999, 5} {
		if got := string(c.append(nil, at)); got != at.String() {
			t.Errorf("%d: %s, want %s", at, got, at)
		}
	}
	if got := c.append(nil, 0); len(got) != 0 {
		t.Errorf("no time is %s", got)
	}
}

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "plain", "a,b", `"`, "two\nlines", "\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := append(appendText(nil, s), ",x\n"...)
		row, err := csv.NewReader(bytes.NewReader(line)).Read()
		want := strings.ReplaceAll(s, "\r\n", "\n") // encoding/csv reads them so
		if err != nil || len(row) != 2 || row[0] != want {
			t.Fatalf("%q is written %q and read %q, %v", s, line, row, err)
		}
	})
}

func curve(n int) *EquityCurve {
	c := &EquityCurve{}
	for i := range n {
		x := 10000 + math.Sin(float64(i))*1234.56789
		c.Time = append(c.Time, market.Time(1502942400000+int64(i)*60000))
		c.Equity, c.Cash = append(c.Equity, x), append(c.Cash, x/3)
		c.PositionValue = append(c.PositionValue, x-x/3)
		c.Drawdown, c.Exposure = append(c.Drawdown, float64(i%97)/1000), append(c.Exposure, 2.0/3)
	}
	return c
}

func TestWriteEquity(t *testing.T) {
	var b bytes.Buffer
	c := curve(5000)
	if err := WriteEquity(&b, c); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5001 || strings.Join(rows[0], ",")+"\n" != equityHeader {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows[1:] {
		equity, err := strconv.ParseFloat(row[1], 64)
		if row[0] != c.Time[i].String() || equity != c.Equity[i] || err != nil {
			t.Fatalf("row %d: %v", i, row)
		}
	}
	broken := iotest.TruncateWriter(&b, 0)
	if err := WriteEquity(broken, curve(3)); err != nil {
		t.Error(err)
	}
	if err := WriteEquity(failing{}, curve(5000)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := WriteTrades(failing{}, make([]market.Trade, 3)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
	c.Drawdown = c.Drawdown[:7]
	if err := WriteEquity(&b, c); err == nil {
		t.Error("columns of different length are accepted")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteTrades(t *testing.T) {
	trades := slices.Repeat([]market.Trade{{
		ID: 7, Symbol: "A,B/C", Quantity: decimal.MustParse("1.500"), EntryTag: `x"y`, ExitReason: "signal",
		EntryTime: 1704067200000, ExitTime: 1704067200500, OrderIDs: []market.OrderID{1, 2, 3},
	}}, 1000)
	var b bytes.Buffer
	if err := WriteTrades(&b, trades); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1001 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := []string{"t-000007", "A,B/C", "long", "1.5", "2024-01-01T00:00:00.000Z", "0",
		"2024-01-01T00:00:00.500Z", "0", "0", "0", "0", "0", "0",
		"signal", "0", "0.5", "0", "0", `x"y`, "", "o-000001;o-000002;o-000003", "false"}
	if len(rows[0]) != len(want) || !slices.Equal(rows[1000], want) {
		t.Errorf("%q", rows[1000])
	}
}

func BenchmarkWriteEquity(b *testing.B) {
	c := curve(100_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteEquity(discard{}, c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "rows/s")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

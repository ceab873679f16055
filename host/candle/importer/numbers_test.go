package importer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestStyles(t *testing.T) {
	for _, c := range []struct {
		style Style
		text  string
		want  float64
		state State
	}{
		{Plain, "1234.5", 1234.5, Good},
		{Plain, " -0.25 ", -0.25, Good},
		{Plain, "1,234", 0, Bad},
		{Plain, "$1", 0, Bad},
		{Plain, "12K", 0, Bad},
		{Plain, "NaN", 0, Missing},
		{Plain, "#N/A", 0, Missing},
		{Plain, "", 0, Missing},
		{Plain, "0x10", 0, Bad},
		{Plain, "1_0", 0, Bad},
		{Plain, "Inf", 0, Bad},
		{Plain, "1e999", 0, Bad},
		{Money, "$191.38", 191.38, Good},
		{Money, "51,994.63", 51994.63, Good},
		{Money, "$1,234,567", 1234567, Good},
		{Money, "-1,234", -1234, Good},
		{Money, "395.86M", 395860000, Good},
		{Money, "12.5k", 12500, Good},
		{Money, "1.1B", 1100000000, Good},
		{Money, "2T", 2e12, Good},
		{Money, "0.07M", 70000, Good}, // 0.07 x 1e6 rounded twice is 70000.00000000001
		{Money, "-", 0, Missing},
		{Money, "N/A", 0, Missing},
		{Money, "$", 0, Missing},
		{Money, "K", 0, Bad},
		{Money, "1,23", 0, Bad}, // a decimal comma, perhaps
		{Money, "1,2345", 0, Bad},
		{Money, "1234,567", 0, Bad},
		{Money, ",123", 0, Bad},
		{Money, "1.2,345", 0, Bad},
		{Money, "1.234.567", 0, Bad},
		{Money, "12%", 0, Bad},
		{Money, "1e5", 1e5, Good},
		{Money, "1e5M", 0, Bad},
		{DecimalComma, "108667,44", 108667.44, Good},
		{DecimalComma, "108667.44", 108667.44, Good},
		{DecimalComma, "108.667,44", 0, Bad},
		{DecimalComma, "1,2,3", 0, Bad},
		{DecimalComma, "abc", 0, Bad},
		{DecimalComma, "", 0, Missing},
	} {
		if got, state := c.style.Number([]byte(c.text)); got != c.want || state != c.state {
			t.Errorf("style %d, %q: %v %d, want %v %d", c.style, c.text, got, state, c.want, c.state)
		}
	}
}

func TestNumbersAreTheNearest(t *testing.T) {
	for _, n := range []string{
		"0.1", "123456.789012", "9007199254740991", "9007199254740993", "9899.999999999998", "1e-7",
		"0.00000001", "4.35",
		"41704.083758412635", "1e22", "1e23", "123456789012345678901234567890", "0.3000000000000000166",
		"2.2250738585072014e-308",
	} {
		want, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, state := Number([]byte(n)); got != want || state != Good {
			t.Errorf("%s: %v, want %v", n, got, want)
		}
	}
}

func TestWholePrices(t *testing.T) {
	for _, c := range []struct {
		text   string
		places int
		want   float64
		state  State
	}{
		{"136300", 4, 13.63, Good},
		{" 1231146 ", 4, 123.1146, Good},
		{"4750250000000", 9, 4750.25, Good},
		{"123456789012345678", 9, 123456789.012345678, Good},
		{"9223372036854775807", 9, 0, Missing},
		{"", 9, 0, Missing},
		{"nan", 9, 0, Missing},
		{"13.63", 4, 0, Bad},
		{"-1", 4, 0, Bad},
		{"12x", 4, 0, Bad},
		{strings.Repeat("9", 400), 4, 0, Bad},
	} {
		if got, state := Whole([]byte(c.text), c.places); got != c.want || state != c.state {
			t.Errorf("%q: %v %d, want %v %d", c.text, got, state, c.want, c.state)
		}
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Skip(err)
	}
	return z
}

func TestIntegersByMagnitude(t *testing.T) {
	for n, want := range map[int64]string{
		1700000000:          "2023-11-14T22:13:20.000Z s ",
		1700000000000:       "2023-11-14T22:13:20.000Z ms ",
		1700000000000123:    "2023-11-14T22:13:20.000Z us ",
		1700000000000123456: "2023-11-14T22:13:20.000Z ns ",
		99999999999:         "1970-01-01T00:00:00.000Z s TIME_OUT_OF_RANGE",
		20240131:            "1970-01-01T00:00:00.000Z s TIME_OUT_OF_RANGE",
		-5:                  "1970-01-01T00:00:00.000Z s TIME_OUT_OF_RANGE",
		0:                   "1970-01-01T00:00:00.000Z s ",
	} {
		at, u, code := Integer(n)
		if got := fmt.Sprint(at, " ", u, " ", code); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
		if n < 0 {
			continue
		}
		if again, _, c := Moment(strconv.AppendInt(nil, n, 10), nil); again != at || c != code {
			t.Errorf("%d as text: %s %s", n, again, c)
		}
	}
}

func TestClock(t *testing.T) {
	newYork := zone(t, "America/New_York")
	for _, c := range []struct {
		layouts []string
		zone    *time.Location
		order   Order
		text    string
		want    string // time, unit, code
	}{
		{nil, nil, "", "1700000000", "2023-11-14T22:13:20.000Z s "},
		{nil, nil, "", "2024-01-31", "2024-01-31T00:00:00.000Z date "},
		{nil, nil, "", "2024/01/31", "2024-01-31T00:00:00.000Z date "},
		{nil, nil, "", "2024-01/31", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, nil, "", "2024-01-31 12:00", "1970-01-01T00:00:00.000Z iso TIMEZONE_REQUIRED"},
		{nil, newYork, "", "2024-01-31 12:00", "2024-01-31T17:00:00.000Z iso "},
		{nil, newYork, "", "2024-07-31 12:00", "2024-07-31T16:00:00.000Z iso "},
		{nil, newYork, "", "2024-03-10 01:59", "2024-03-10T06:59:00.000Z iso "},
		// the clock skips it
		{nil, newYork, "", "2024-03-10 02:30", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, newYork, "", "2024-03-10 03:00", "2024-03-10T07:00:00.000Z iso "},
		{nil, newYork, "", "3/10/2024 02:30", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{[]string{"20060102 15:04"}, newYork, "", "20240310 02:30",
			"1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, newYork, "", "2024-07-31T12:00:00Z", "2024-07-31T12:00:00.000Z iso "},
		{nil, newYork, "", "2024-07-31", "2024-07-31T00:00:00.000Z date "}, // a date is a date
		{[]string{"2006-01-02 03-PM"}, time.UTC, "", "2019-10-17 09-AM", "2019-10-17T09:00:00.000Z iso "},
		{[]string{"2006-01-02 03-PM"}, time.UTC, "", "2019-10-17 12-AM", "2019-10-17T00:00:00.000Z iso "},
		{[]string{"2006-01-02 03-PM"}, time.UTC, "", "2019-10-17 12-PM", "2019-10-17T12:00:00.000Z iso "},
		{[]string{"2006-01-02 03-PM"}, time.UTC, "", "2019-10-17", "2019-10-17T00:00:00.000Z date "},
		{[]string{"20060102 150405"}, time.FixedZone("", -5*3600), "", "20240102 170000",
			"2024-01-02T22:00:00.000Z iso "},
		{[]string{"20060102 1504", "20060102"}, nil, "", "20240102", "2024-01-02T00:00:00.000Z date "},
		{[]string{"20060102 1504", "20060102"}, nil, "", "20240102 0930",
			"2024-01-02T09:30:00.000Z iso TIMEZONE_REQUIRED"},
		{[]string{"20060102"}, nil, "", "21500102", "2150-01-02T00:00:00.000Z date TIME_OUT_OF_RANGE"},
		{[]string{"20060102"}, nil, "", "20240230", "1970-01-01T00:00:00.000Z s TIME_OUT_OF_RANGE"},
		{[]string{"02.01.2006 15:04:05.000 GMT-0700"}, nil, "", "26.03.2025 00:00:00.000 GMT+0100",
			"2025-03-25T23:00:00.000Z iso "},
		{[]string{"Jan 2, 2006"}, nil, "", "Jun 04, 2026", "2026-06-04T00:00:00.000Z date "},
		{nil, nil, MonthFirst, "06/04/2026", "2026-06-04T00:00:00.000Z date "},
		{nil, nil, DayFirst, "06/04/2026", "2026-04-06T00:00:00.000Z date "},
		{nil, nil, DayFirst, "6/4/2026", "2026-04-06T00:00:00.000Z date "},
		{nil, nil, MonthFirst, "19/06/2025", "1970-01-01T00:00:00.000Z date BAD_NUMBER"},
		{nil, nil, "", "19/06/2025", "2025-06-19T00:00:00.000Z date "},
		{nil, nil, "", "06/19/2025", "2025-06-19T00:00:00.000Z date "},
		{nil, nil, "", "19/19/2025", "1970-01-01T00:00:00.000Z date BAD_NUMBER"},
		{nil, nil, "", "05/05/2025", "2025-05-05T00:00:00.000Z date "},
		{nil, nil, "", "5/5/25", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, nil, "", "1/31/2024 09:30", "1970-01-01T00:00:00.000Z iso TIMEZONE_REQUIRED"},
		{nil, newYork, "", "1/31/2024 09:30", "2024-01-31T14:30:00.000Z iso "},
		{nil, time.UTC, "", "1/31/2024 09:30:15 PM", "2024-01-31T21:30:15.000Z iso "},
		{nil, time.UTC, "", "1/31/2024 12:30 am", "2024-01-31T00:30:00.000Z iso "},
		{nil, time.UTC, "", "1/31/2024 13:30 PM", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, time.UTC, "", "1/31/2024 09:30 XM", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, time.UTC, "", "1/31/2024 09:30 PX", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, time.UTC, "", "1/31/2024x", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
		{nil, time.UTC, "", "yesterday", "1970-01-01T00:00:00.000Z iso BAD_NUMBER"},
	} {
		r := NewClock(c.layouts, c.zone, c.order).Read([]byte(c.text))
		if got := fmt.Sprint(r.Time, " ", r.Unit, " ", r.Code); got != c.want || r.Ambiguous {
			t.Errorf("%v %s %s %q: %s, want %s", c.layouts, c.zone, c.order, c.text, got, c.want)
		}
	}
}

func TestAmbiguousDates(t *testing.T) {
	c := NewClock(nil, nil, UnknownOrder)
	r := c.Read([]byte("06/11/2026"))
	if !r.Ambiguous || r.Time.String()[:10] != "2026-06-11" || r.Other.String()[:10] != "2026-11-06" ||
		c.Order != UnknownOrder {
		t.Errorf("%+v, order %q", r, c.Order)
	}
	if r = c.Read([]byte("14/06/2026")); r.Ambiguous || r.Code != "" || c.Order != DayFirst {
		t.Errorf("%+v, order %q", r, c.Order)
	}
	if r = c.Read([]byte("06/11/2026")); r.Ambiguous || r.Time.String()[:10] != "2026-11-06" {
		t.Errorf("%+v", r)
	}
	if r = c.Read([]byte("06/14/2026")); r.Code != BadNumber {
		t.Errorf("%+v: no month has the number 14", r)
	}
}

func TestRange(t *testing.T) {
	for at, want := range map[market.Time]bool{-1: false, 0: true, 4133980799999: true,
		4133980800000: false} {
		if InRange(at) != want {
			t.Errorf("%d: %v", at, !want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		line string
		want int
		out  string
	}{
		{"a,b,c", 9, "a|b|c"},
		{"a,b,c", 2, "a|b"},
		{"", 3, ""},
		{",,", 9, "||"},
		{`"a,b",c`, 9, "a,b|c"},
		{`x,"say ""hi""",y`, 9, `x|say "hi"|y`},
		{`"open`, 9, "open"},
		{`"a"b,c`, 9, "ab|c"},
		{`a"b,c`, 9, `a"b|c`},
		{`"a","b","c"`, 2, "a|b"},
	} {
		cells := Split(nil, []byte(c.line), ',', c.want)
		var got []string
		for _, cell := range cells {
			got = append(got, string(cell))
		}
		if strings.Join(got, "|") != c.out {
			t.Errorf("%q: %q", c.line, got)
		}
	}
}

func TestComma(t *testing.T) {
	for line, want := range map[string]byte{
		"a,b,c": ',', "a;b;c": ';', "a\tb\tc": '\t', "abc": ',', `"a,b,c,d";e;f`: ';', "1,5;2,5;3,5;4": ',',
		"": ',',
	} {
		if got := Comma(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// FuzzCells wants no panic, and no number or time that is none.
func FuzzCells(f *testing.F) {
	for _, s := range []string{"1.5", "$1,234.5M", "1,5", "2024-01-31T12:00:00+01:00", "31/01/2024 12:00 PM",
		"20240131 1200", "9223372036854775807"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range []Style{Plain, Money, DecimalComma} {
			if x, state := s.Number(text); state == Good && (math.IsNaN(x) || math.IsInf(x, 0)) {
				t.Errorf("%q is %v", text, x)
			}
		}
		if x, state := Whole(text, 9); state == Good && !(x >= 0 && x < math.MaxFloat64) {
			t.Errorf("%q is %v", text, x)
		}
		for _, c := range []*Clock{
			NewClock(nil, nil, UnknownOrder),
			NewClock([]string{"20060102 1504", "02.01.2006"}, time.UTC, DayFirst),
		} {
			if r := c.Read(text); r.Code == "" &&
				(!InRange(r.Time) || r.Unit >= Units || r.Ambiguous && !InRange(r.Other)) {
				t.Errorf("%q is %+v", text, r)
			}
		}
		if cells := Split(nil, text, ',', 5); len(cells) == 0 || len(cells) > 5 {
			t.Errorf("%q has %d cells", text, len(cells))
		}
	})
}

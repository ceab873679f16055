package candle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// at makes flat candles of price 1, 2, 3... and volume 1 at the given times.
func at(t *testing.T, timeframe string, times ...string) *market.Series {
	t.Helper()
	s := &market.Series{Symbol: "X/USD", Timeframe: tf(timeframe)}
	for i, text := range times {
		when, err := market.ParseTime(text)
		if err != nil {
			t.Fatal(err)
		}
		p := float64(i + 1)
		s.Append(market.Candle{OpenTime: when, Open: p, High: p, Low: p, Close: p, Volume: 1})
	}
	return s
}

// steps is n candles of one timeframe without a gap.
func steps(t *testing.T, timeframe, start string, n int) *market.Series {
	t.Helper()
	s := at(t, timeframe, start)
	for i := 1; i < n; i++ {
		c := s.At(i - 1)
		c.OpenTime = s.Timeframe.Next(c.OpenTime)
		c.Open, c.High, c.Low, c.Close = c.Open+1, c.High+1, c.Low+1, c.Close+1
		s.Append(c)
	}
	return s
}

// businessDays is n daily candles on weekdays.
func businessDays(t *testing.T, start string, n int) *market.Series {
	t.Helper()
	all := steps(t, "1d", start, 2*n+4)
	s := &market.Series{Symbol: all.Symbol, Timeframe: all.Timeframe}
	for i := 0; s.Len() < n; i++ {
		if day := all.Time[i].Time().Weekday(); day != time.Saturday && day != time.Sunday {
			s.Append(all.At(i))
		}
	}
	return s
}

func TestGaps(t *testing.T) {
	s := at(t, "1h", "2024-01-01T00:00", "2024-01-01T01:00", "2024-01-01T05:00", "2024-01-01T06:00",
		"2024-01-01T08:00", "2024-01-01T08:40")
	s.Volume[1], s.High[2] = 0, 9
	g := candle.Gaps(s, candle.AllDays)
	got := fmt.Sprint(g.Rows, g.Expected, g.Missing, g.GapCount, g.Longest, g.ZeroVolume, g.Flat, g.First,
		g.Last)
	if want := "6 10 4 2 3 1 5 2024-01-01T00:00:00.000Z 2024-01-01T08:40:00.000Z"; got != want {
		t.Errorf("got %s", got)
	}
	if want := "[{2024-01-01T02:00:00.000Z 2024-01-01T05:00:00.000Z 3} {2024-01-01T07:00:00.000Z " +
		"2024-01-01T08:00:00.000Z 1}]"; fmt.Sprint(g.Gaps) != want {
		t.Errorf("got %v", g.Gaps)
	}
	if g := candle.Gaps(s.Slice(0, 0), candle.AllDays); g.Rows != 0 || g.Gaps == nil {
		t.Errorf("no candles: %+v", g)
	}
}

func TestGapsOverWeekends(t *testing.T) {
	cases := []struct {
		name     string
		s        *market.Series
		calendar candle.Calendar
		missing  int
	}{
		{"Friday to Monday", at(t, "1d", "2024-01-05", "2024-01-08"), candle.Weekdays, 0},
		{"Friday to Monday, all days", at(t, "1d", "2024-01-05", "2024-01-08"), candle.AllDays, 2},
		{"Friday to Tuesday", at(t, "1d", "2024-01-05", "2024-01-09"), candle.Weekdays, 1},
		{"session stamps", at(t, "1d", "2024-03-08T14:30", "2024-03-11T13:30"), candle.Weekdays, 0},
		{"two weeks", at(t, "1d", "2024-01-05", "2024-01-22"), candle.Weekdays, 10},
		{"hours over a weekend", at(t, "1h", "2024-01-05T23:00", "2024-01-08T00:00"), candle.Weekdays, 0},
		{"hours and one more", at(t, "1h", "2024-01-05T22:00", "2024-01-08T01:00"), candle.Weekdays, 2},
		{"weeks", at(t, "1w", "2024-01-01", "2024-01-08", "2024-01-22"), candle.Weekdays, 1},
		{"months", at(t, "1M", "2024-01-01", "2024-02-01", "2024-03-01", "2024-06-01"), candle.AllDays, 2},
	}
	for _, c := range cases {
		if got := candle.Gaps(c.s, c.calendar).Missing; got != c.missing {
			t.Errorf("%s: %d missing, want %d", c.name, got, c.missing)
		}
	}
}

func TestGapReportKeepsTheThousandLongest(t *testing.T) {
	s := &market.Series{Timeframe: tf("1m")}
	when := y2020
	for i := range 1500 {
		s.Append(market.Candle{OpenTime: when, Open: 1, High: 1, Low: 1, Close: 1})
		when = when.Add(time.Duration(2+i%3) * time.Minute)
	}
	g := candle.Gaps(s, candle.AllDays)
	if g.GapCount != 1499 || len(g.Gaps) != 1000 || g.Gaps[0].Candles != 3 {
		t.Errorf("%d gaps, %d listed", g.GapCount, len(g.Gaps))
	}
	if !slices.IsSortedFunc(g.Gaps, func(a, b candle.Gap) int { return b.Candles - a.Candles }) {
		t.Error("not the longest first")
	}
}

func TestDetectCalendar(t *testing.T) {
	cases := []struct {
		name string
		s    *market.Series
		want candle.Calendar
	}{
		{"business days", businessDays(t, "2024-01-01", 60), candle.Weekdays},
		{"too few", businessDays(t, "2024-01-01", 40), candle.AllDays},
		{"every day", steps(t, "1d", "2024-01-01", 90), candle.AllDays},
		{"weeks from Mondays", steps(t, "1w", "2024-01-01", 90), candle.AllDays},
		{"hours", steps(t, "1h", "2024-01-01", 24*90), candle.AllDays},
	}
	for _, c := range cases {
		if got := candle.DetectCalendar(c.s); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	saturday := businessDays(t, "2024-01-01", 60)
	saturday.Append(steps(t, "1d", "2024-03-30", 1).At(0))
	if got := candle.DetectCalendar(saturday); got != candle.AllDays {
		t.Errorf("with one Saturday: %s", got)
	}
}

func TestPriceStep(t *testing.T) {
	for price, want := range map[float64]string{
		1: "1", 1200: "1", 0.5: "0.1", 61234.57: "0.01", 1.07894: "0.00001", 0.00000123: "0.00000001",
		0.123456789: "0.00000001", 1e15: "1", 123456789.25: "0.01",
	} {
		s := at(t, "1h", "2024-01-01", "2024-01-02")
		s.Low[1] = price
		if got := candle.PriceStep(s).String(); got != want {
			t.Errorf("%v: %s, want %s", price, got, want)
		}
	}
}

func resample(t *testing.T, s *market.Series, timeframe string,
	calendar candle.Calendar) (*market.Series, candle.Resampling) {
	t.Helper()
	out, info, err := candle.Resample(s, tf(timeframe), calendar)
	if err != nil {
		t.Fatal(err)
	}
	return out, info
}

func TestResample(t *testing.T) {
	s := at(t, "1h", "2024-01-01T02:00", "2024-01-01T03:00", "2024-01-01T04:00", "2024-01-01T05:00",
		"2024-01-01T06:00", "2024-01-01T07:00", "2024-01-01T13:00", "2024-01-01T15:00", "2024-01-01T16:00")
	s.High[3], s.Low[4] = 50, 0.5
	out, info := resample(t, s, "4h", candle.AllDays)
	var got []string
	for i := range out.Len() {
		c := out.At(i)
		got = append(got,
			fmt.Sprint(c.OpenTime.Time().Format("15:04"), " ", c.Open, c.High, c.Low, c.Close, c.Volume))
	}
	want := "00:00 1 2 1 2 2|04:00 3 50 0.5 6 4|12:00 7 8 7 8 2"
	if strings.Join(got, "|") != want || info.IncompleteBuckets != 2 || !info.DroppedLast ||
		info.SourceTimeframe != tf("1h") {
		t.Errorf("%s, %+v", strings.Join(got, "|"), info)
	}
	if out, info = resample(t, s.Slice(0, 6), "4h", candle.AllDays); out.Len() != 2 || info.DroppedLast {
		t.Errorf("ends with a bucket: %d, %+v", out.Len(), info)
	}
}

func TestResampleBuckets(t *testing.T) {
	cases := []struct {
		s         *market.Series
		timeframe string
		calendar  candle.Calendar
		first     string
		n         int
		dropped   bool
	}{
		{steps(t, "1d", "2024-01-01", 14), "1w", candle.AllDays, "2024-01-01", 2, false}, // a Monday
		{steps(t, "1d", "2024-01-03", 14), "1w", candle.AllDays, "2024-01-01", 2, true},
		// Friday closes the week
		{steps(t, "1d", "2024-01-01", 12), "1w", candle.Weekdays, "2024-01-01", 2, false},
		{businessDays(t, "2024-01-01", 10), "1w", candle.Weekdays, "2024-01-01", 2, false},
		{businessDays(t, "2024-01-01", 9), "1w", candle.Weekdays, "2024-01-01", 1, true},
		{steps(t, "1d", "2024-01-31", 30), "1M", candle.AllDays, "2024-01-01", 2, false},
		{steps(t, "1d", "2024-01-31", 29), "1M", candle.AllDays, "2024-01-01", 1, true},
		{steps(t, "1M", "2024-01-01", 7), "1M", candle.AllDays, "", 0, false},
		{steps(t, "1M", "2024-01-01", 7), "3M", candle.AllDays, "2024-01-01", 2, true},
		{steps(t, "4h", "2024-02-01", 6*29), "1M", candle.AllDays, "2024-02-01", 1, false},
		// counted from 1970-01-01
		{steps(t, "1d", "2024-01-02", 10), "2d", candle.AllDays, "2024-01-02", 5, false},
		{steps(t, "1w", "2024-01-01", 4), "2w", candle.AllDays, "2023-12-25", 2, true},
		{at(t, "1d", "2024-01-01T14:30", "2024-01-02T14:30", "2024-01-31T14:30"), "1M", candle.Weekdays,
			"2024-01-01", 1, false},
	}
	for i, c := range cases {
		if c.n == 0 {
			if _, _, err := candle.Resample(c.s, tf(c.timeframe), c.calendar); err == nil {
				t.Errorf("case %d: accepted", i)
			}
			continue
		}
		out, info := resample(t, c.s, c.timeframe, c.calendar)
		if got := out.Time[0].String()[:10]; got != c.first || out.Len() != c.n ||
			info.DroppedLast != c.dropped {
			t.Errorf("case %d: %d from %s, %+v; want %d from %s", i, out.Len(), got, info, c.n, c.first)
		}
	}
}

func TestResampleRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		s         *market.Series
		timeframe string
	}{
		"no divisor":        {steps(t, "3h", "2024-01-01", 20), "4h"},
		"downwards":         {steps(t, "4h", "2024-01-01", 20), "1h"},
		"weeks to months":   {steps(t, "1w", "2024-01-01", 20), "1M"},
		"months to days":    {steps(t, "1M", "2024-01-01", 20), "60d"},
		"across the border": {steps(t, "1h", "2024-01-01T00:30", 20), "4h"},
		"too short":         {steps(t, "1h", "2024-01-01", 3), "4h"},
	} {
		if out, _, err := candle.Resample(c.s, tf(c.timeframe), candle.AllDays); err == nil {
			t.Errorf("%s: %d candles", name, out.Len())
		}
	}
}

func TestLookupResamplesFromTheLargestDivisor(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "test", sdktest.Synth(1, 3000, y2020.Time(), time.Minute))
	hours := put(t, s, "test", sdktest.Synth(2, 500, y2020.Time(), time.Hour))
	put(t, s, "test", sdktest.Synth(3, 100, y2020.Time(), 3*time.Hour))
	four := lookup(t, s, "test", "SYNTH/USD", "4h")
	if four.DerivedFrom != hours.SHA256 || four.Report.Resampled.SourceSHA256 != hours.SHA256 ||
		four.Report.Importer != "resample-v1" {
		t.Errorf("%+v", four)
	}
	if again := lookup(t, s, "test", "SYNTH/USD", "4h"); again.SHA256 != four.SHA256 ||
		again.CreatedAt != four.CreatedAt {
		t.Error("resampled again")
	}
	// 8h divides by 4h, too, but that one was resampled itself.
	if eight := lookup(t, s, "test", "SYNTH/USD", "8h"); eight.DerivedFrom != hours.SHA256 {
		t.Errorf("8h from %s", eight.DerivedFrom)
	}
	newer := put(t, s, "test", sdktest.Synth(9, 500, y2020.Time(), time.Hour))
	if four = lookup(t, s, "test", "SYNTH/USD", "4h"); four.DerivedFrom != newer.SHA256 {
		t.Error("resampled candles outlive their source")
	}
	exact := sdktest.Synth(5, 100, y2020.Time(), 4*time.Hour)
	put(t, s, "test", exact)
	if four = lookup(t, s, "test", "SYNTH/USD", "4h"); four.DerivedFrom != "" ||
		!slices.Equal(series(t, s, four).Open, exact.Open) {
		t.Error("imported candles come before resampled ones")
	}
}

func TestSampleResamples(t *testing.T) {
	s := open(t, t.TempDir())
	d := lookup(t, s, "sample", "BTC/USDT", "4h")
	c := series(t, s, d)
	first := c.At(0)
	if first.OpenTime.String() != "2017-08-17T04:00:00.000Z" || first.Open != 4261.48 ||
		d.Report.Resampled.IncompleteBuckets == 0 || !d.Report.Resampled.DroppedLast {
		t.Errorf("%+v, %+v", first, d.Report.Resampled)
	}
	source := series(t, s, lookup(t, s, "sample", "BTC/USDT", "1h"))
	volume := 0.0
	for i := range 4 {
		volume += source.Volume[i]
	}
	if first.Volume != volume || first.Close != source.Close[3] {
		t.Errorf("volume %v, want %v", first.Volume, volume)
	}
}

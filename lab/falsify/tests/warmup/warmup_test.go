package warmup

import (
	"bytes"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge/lines"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestDecisionsAreToldFromWhatBecomesOfThem(t *testing.T) {
	text := []byte(`{"candle":1,"kind":"intent","seq":0,"side":"buy","time":"2020-01-01T01:00:00.000Z"}
{"candle":1,"kind":"order","seq":1,"time":"2020-01-01T01:00:00.000Z"}
{"candle":2,"kind":"fill","seq":2,"time":"2020-01-01T01:00:00.000Z"}
{"candle":2,"kind":"reject","seq":3,"time":"2020-01-01T02:00:00.000Z"}
{"candle":3,"kind":"intent","seq":4,"time":"2020-01-01T03:00:00.000Z"}
`)
	cut, _ := market.ParseTime("2020-01-01T02:00:00.000Z")
	got, err := lines.Until(text, cut)
	if err != nil || bytes.Count(got, []byte("\n")) != 2 || bytes.Contains(got, []byte(`"order"`)) ||
		bytes.Contains(got, []byte(`"candle":3`)) {
		t.Errorf("%s, %v", got, err)
	}
	got, err = lines.Bare(text, cut)
	want := `{"kind":"reject","time":"2020-01-01T02:00:00.000Z"}` + "\n" +
		`{"kind":"intent","time":"2020-01-01T03:00:00.000Z"}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSeriesAreComparedAtTheirTimes(t *testing.T) {
	a := run.Points{Time: []market.Time{1, 2}, Values: []float64{100, 200}}
	if d := relative(a, run.Points{Time: []market.Time{1, 2}, Values: []float64{100, 199}}); d != 0.005 {
		t.Error(d)
	}
	if d := relative(a, run.Points{Time: []market.Time{1, 3}, Values: []float64{100, 200}}); d != 1 {
		t.Error(d)
	}
	if d := relative(a, run.Points{}); d != 1 {
		t.Error(d)
	}
	if n := names(map[string]run.Points{"b": {}}, map[string]run.Points{"a": {}, "b": {}}); len(n) != 2 ||
		n[0] != "a" {
		t.Error(n)
	}
	if n := names(nil, nil); len(n) != 0 {
		t.Error(n)
	}
}

// The file byte by byte: 12 digits, null empty.
func TestFile(t *testing.T) {
	const text = "variant,series,max_relative,decisions_differing\n1x,\"a,b\",0.333333333333,2\n4x,,,0\n"
	got := fileOf(
		[]Drift{{Multiple: 1, Differing: 2, Series: []SeriesDrift{{Name: "a,b", MaxRelative: 1.0 / 3}}},
			{Multiple: 4}})
	if got.Path != "falsify/warmup_recursive/drift.csv" || got.Rows != 2 || string(got.Content) != text {
		t.Errorf("%s, %d rows:\n%s\nwant\n%s", got.Path, got.Rows, got.Content, text)
	}
}

package artifact

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func written(t testing.TB, p Published) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSeries(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSeries: what was written is read again, and equal series are equal bytes.
func TestSeries(t *testing.T) {
	for _, want := range []Published{
		{},
		{LeftOut: 7, Annotations: []Annotation{
			{Name: "fast", Time: []market.Time{3_600_000, 7_200_000, 18_000_000},
				Values: []float64{1, -2.5, 1e300}},
			{Name: "größe", Time: []market.Time{1}, Values: []float64{0}},
		}},
		{Annotations: []Annotation{
			{Name: "rsi", Symbol: "BTC/USDT", Time: []market.Time{1}, Values: []float64{1}},
			{Name: "rsi", Symbol: "ETH/USDT", Time: []market.Time{1}, Values: []float64{2}},
			{Name: "rsi", Time: []market.Time{1}, Values: []float64{3}},
		}},
	} {
		text := written(t, want)
		got, err := ReadSeries(text)
		if err != nil || !reflect.DeepEqual(got, want) || !bytes.Equal(text, written(t, got)) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		for cut := range len(text) - 1 {
			if _, err := ReadSeries(text[:cut]); err == nil {
				t.Errorf("cut at %d of %d: no error", cut, len(text))
			}
		}
	}
}

// TestSeriesWithoutSymbols: they are written as before there were symbols.
func TestSeriesWithoutSymbols(t *testing.T) {
	const before = "4153534159534331626064494b2c2e6162fab7733b3303187cb087d02c0700010000ffff"
	p := Published{Annotations: []Annotation{{Name: "fast", Time: []market.Time{1, 3_600_000},
		Values: []float64{1, -2.5}}}}
	if got := hex.EncodeToString(written(t, p)); got != before {
		t.Errorf("%s, want %s", got, before)
	}
}

// TestSeriesOfAWindow: the points of the warm-up are left out, and of several of a step the last stays.
func TestSeriesOfAWindow(t *testing.T) {
	p := Published{LeftOut: 1, Annotations: []Annotation{
		{Name: "a", Symbol: "B/C", Time: []market.Time{1, 2, 3, 3, 4}, Values: []float64{1, 2, 3, 33, 4}},
		{Name: "early", Time: []market.Time{1}, Values: []float64{1}},
	}}
	want := Published{LeftOut: 1, Annotations: []Annotation{
		{Name: "a", Symbol: "B/C", Time: []market.Time{3, 4}, Values: []float64{33, 4}}}}
	if got := p.inside(2); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// FuzzReadSeries: whatever a file has, it is refused or is what WriteSeries writes.
func FuzzReadSeries(f *testing.F) {
	f.Add(written(f, Published{}))
	f.Add(written(f, Published{Annotations: []Annotation{{Name: "a", Time: []market.Time{1, 5},
		Values: []float64{1, 2}}}}))
	f.Add(written(f, Published{Annotations: []Annotation{{Name: "a", Symbol: "B/C", Time: []market.Time{1},
		Values: []float64{1}}, {Name: "a"}}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadSeries(text)
		if err != nil {
			return
		}
		again, err := ReadSeries(written(t, p))
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%+v, %v, want %+v", again, err, p)
		}
	})
}

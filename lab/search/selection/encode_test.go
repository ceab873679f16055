package selection_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func sampleSeries(t *rapid.T, days int) *selection.Series {
	s := &selection.Series{NetExposure: rapid.Float64Range(-3, 3).Draw(t, "exposure")}
	at := market.Time(rapid.Int64Range(0, 2e12).Draw(t, "start"))
	for range days {
		to := at + market.Time(rapid.Int64Range(-9e7, 9e7).Draw(t, "step"))
		s.Date, s.From, s.To = append(s.Date, at), append(s.From, at), append(s.To, to)
		s.Return = append(s.Return, rapid.Float64Range(-1, 1).Draw(t, "return"))
		at = to
	}
	return s
}

// What is kept comes back bit by bit, and series on equal days share them.
func TestEncodedSeriesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sampleSeries(t, rapid.IntRange(1, 40).Draw(t, "days"))
		other := *s
		other.Return = slices.Clone(s.Return)
		other.Return[0] /= 3
		var d selection.Decoder
		a, err := d.Decode(s.Encode())
		b, err2 := d.Decode(other.Encode())
		if err != nil || err2 != nil || !reflect.DeepEqual(a, s) || !reflect.DeepEqual(b, &other) ||
			&a.Date[0] != &b.Date[0] {
			t.Fatalf("%+v, %v; want %+v", a, err, s)
		}
	})
}

// The form that is stored: a day costs eleven bytes beside what begins it.
func TestEncodedForm(t *testing.T) {
	const day = 86400000
	s := &selection.Series{NetExposure: 0.5}
	for i := range 3 {
		at := market.Time(1577836800000 + i*day)
		s.Date, s.From, s.To, s.Return = append(s.Date, at), append(s.From, at), append(s.To, at+day),
			append(s.Return, 0.25)
	}
	const want = "01280380a0b7e6eb5bffaf8494eb5b0080a0b7e6eb5bffaf8494eb5b008090eab8ec5bff9fb7e6eb5b003fe00000000000003fd00000000000003fd00000000000003fd0000000000000"
	if got := hex.EncodeToString(s.Encode()); got != want {
		t.Errorf("%s", got)
	}
}

func TestColumnsShareACalendar(t *testing.T) {
	of := func(dates ...market.Time) *selection.Series {
		s := &selection.Series{Date: dates}
		for _, d := range dates {
			s.Return = append(s.Return, float64(d))
		}
		return s
	}
	// The windows of the third overlap: 3 and 4 come twice.
	_, columns := selection.Columns([]*selection.Series{of(1, 2, 3, 4), of(1, 2, 3, 4), of(2, 3, 4, 3, 4, 5),
		of(9)})
	if &columns[0].Rows[0] != &columns[1].Rows[0] || !slices.Equal(columns[0].Rows, []int{0, 1, 2, 4}) ||
		!slices.Equal(columns[3].Rows, []int{7}) {
		t.Errorf("%+v", columns)
	}
	if c := columns[2]; !slices.Equal(c.Rows, []int{1, 2, 3, 4, 5, 6}) ||
		!slices.Equal(c.Returns, []float64{2, 3, 3, 4, 4, 5}) {
		t.Errorf("%+v", c)
	}
}

func FuzzDecode(f *testing.F) {
	s := &selection.Series{Date: []market.Time{1, 2}, From: []market.Time{1, 2}, To: []market.Time{2, 3},
		Return: []float64{.5, math.SmallestNonzeroFloat64}}
	f.Add(s.Encode())
	f.Add((&selection.Series{}).Encode())
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		var d selection.Decoder
		s, err := d.Decode(text)
		if err != nil {
			return
		}
		again, err := d.Decode(s.Encode())
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%+v, %v; want %+v", again, err, s)
		}
	})
}

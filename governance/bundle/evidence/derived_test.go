package evidence

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// TestSharpeLow holds the bound against moments that are worked out in another way, and against
// its size: of returns without mean at most some 5 % have a lower bound above 0.
func TestSharpeLow(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	above, n := 0, 4000
	for range n {
		x := make([]float64, 300)
		for i := range x {
			x[i] = 0.02 * draw.NormFloat64()
		}
		sharpe, low, ok := SharpeLow(x, z95)
		if !ok || low >= sharpe {
			t.Fatal(sharpe, low, ok)
		}
		if low > 0 {
			above++
		}
	}
	if share := float64(above) / float64(n); share < 0.04 || share > 0.06 {
		t.Errorf("%.3f of noise have a lower bound above 0", share)
	}
	x := []float64{0.01, -0.02, 0.03, 0.005, -0.01, 0.02, 0, 0.015, -0.005, 0.04, 0.01, -0.03}
	raw := make([]float64, 5) // raw moments
	for _, v := range x {
		for k := range raw {
			raw[k] += math.Pow(v, float64(k)) / float64(len(x))
		}
	}
	m := raw[1]
	m2, m3 := raw[2]-m*m, raw[3]-3*m*raw[2]+2*m*m*m
	m4 := raw[4] - 4*m*raw[3] + 6*m*m*raw[2] - 3*m*m*m*m
	size := float64(len(x))
	sr := m / math.Sqrt(m2*size/(size-1))
	se := math.Sqrt((1 - m3/math.Pow(m2, 1.5)*sr + (m4/(m2*m2)-1)/4*sr*sr) / (size - 1))
	sharpe, low, ok := SharpeLow(x, z95)
	if !ok || math.Abs(sharpe-sr) > 1e-12 || math.Abs(low-(sr-z95*se)) > 1e-9 {
		t.Error(sharpe, sr, low, sr-z95*se)
	}
	scaled := slices.Clone(x)
	for i := range scaled {
		scaled[i] *= 4 // a power of two changes no digit
	}
	if s, l, _ := SharpeLow(scaled, z95); s != sharpe || l != low {
		t.Error("leverage changes the bound", s, l)
	}
	for _, none := range [][]float64{nil, x[:10], make([]float64, 20)} {
		if _, _, ok := SharpeLow(none, z95); ok {
			t.Error(none)
		}
	}
}

// curve is an equity curve with a close each six hours, whose equity at the end of day i is
// levels[i].
func curve(from time.Time, levels []float64) []byte {
	var b strings.Builder
	b.WriteString("timestamp,equity,cash\n")
	for i, e := range levels {
		for k := 1; k <= 4; k++ {
			at := from.AddDate(0, 0, i).Add(time.Duration(k) * 6 * time.Hour)
			x := e + float64(4-k)
			fmt.Fprintf(&b, "%s,%v,0\n", at.UTC().Format("2006-01-02T15:04:05.000Z"), x)
		}
	}
	return []byte(b.String())
}

func TestOutOfSampleDays(t *testing.T) {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	levels := []float64{100, 110, 99, 120, 130, 125, 140, 150, 149, 160, 170, 180, 175}
	files := map[string][]byte{
		"splits/wf-00/equity_curve.csv": curve(start, levels),
		// The last two days of the window are in the test, too: they count once.
		"splits/test/equity_curve.csv":  curve(start.AddDate(0, 0, 11), levels),
		"splits/train/equity_curve.csv": curve(start, []float64{1, 2, 4}),
	}
	rep := &report{Splits: []reportSplit{
		{ID: "test", Role: roleTest, From: 44}, {ID: "train", Role: "train"},
		{ID: "wf-00", Role: roleWalkForward},
	}}
	read := func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return text, nil
	}
	run := &Run{Kind: kindRun}
	if err := run.derive(rep, nil, read); err != nil {
		t.Fatal(err)
	}
	days := run.Derived.Days
	if len(days) != 2 || days[0].Kind != "walk_forward" || days[0].From != "2024-01-02" ||
		len(days[0].Returns) != 12 ||
		days[1].Kind != "test" || days[1].From != "2024-01-14" || len(days[1].Returns) != 11 {
		t.Fatalf("%+v", days)
	}
	if x := days[0].Returns[0]; x != levels[1]/levels[0]-1 {
		t.Error(x)
	}
	if run.Derived.Figures[FigureDays] != 23 ||
		run.Derived.Figures[FigureSharpeLow] >= run.Derived.Figures[FigureSharpe] {
		t.Errorf("%v", run.Derived.Figures)
	}
	// A window that begins before the end of the training data does not count, and is counted.
	end, at := start.AddDate(0, 0, 11), func(days int) *time.Time {
		t := start.AddDate(0, 0, days)
		return &t
	}
	trained := &Run{Kind: kindRun}
	trained.request.TrainedUntil = &end
	later := &report{Splits: []reportSplit{{ID: "test", Role: roleTest, TSFrom: at(11)},
		{ID: "train", Role: "train", TSFrom: at(0)}, {ID: "wf-00", Role: roleWalkForward, TSFrom: at(0)}}}
	if trained.leaveOutTrained(later) || len(later.Splits) != 2 {
		t.Errorf("%+v", later.Splits)
	}
	if err := trained.derive(later, nil, read); err != nil || len(trained.Derived.Days) != 1 ||
		trained.Derived.Days[0].Kind != "test" || trained.Derived.Figures[FigureTrained] != 1 {
		t.Errorf("%+v, %v", trained.Derived, err)
	}
	end = end.Add(time.Hour)
	if !trained.leaveOutTrained(later) || len(later.Splits) != 1 {
		t.Errorf("%+v", later.Splits)
	}
	// Without the curve of one window there is no number at all.
	delete(files, "splits/test/equity_curve.csv")
	if err := run.derive(rep, nil, read); err != nil || run.Derived.Days != nil ||
		len(run.Derived.Figures) != 0 {
		t.Error(err, run.Derived)
	}
	for _, bad := range []string{"", "a,b\n1,2\n", "timestamp,equity\nx,1\n",
		"timestamp,equity\n2024-01-01T06:00:00.000Z,NaN\n",
		"timestamp,equity\n2024-01-03T06:00:00.000Z,1\n2024-01-01T06:00:00.000Z,1\n"} {
		files["splits/test/equity_curve.csv"] = []byte(bad)
		if err := run.derive(rep, nil, read); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestReservesBehindARefutation: what a verdict of fail hides is counted where plausibility alone refutes,
// and nowhere else, so that what else is derived keeps its hash.
func TestReservesBehindARefutation(t *testing.T) {
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	for _, c := range []struct {
		failed  []string
		reasons string
		want    float64
		known   bool
	}{
		{[]string{"plausibility"}, "[]", 0, true},
		{[]string{"plausibility"}, `[{"code":"looser_threshold"},{"code":"trained_until"}]`, 2, true},
		{[]string{"plausibility", "tails"}, "[]", 0, false},
		{[]string{"tails"}, "[]", 0, false},
		{nil, "[]", 0, false},
	} {
		a := &attack{}
		if err := json.Unmarshal([]byte(`{"reasons":`+c.reasons+`}`), a); err != nil {
			t.Fatal(err)
		}
		r := &Run{Kind: kindFalsification}
		r.Falsification = &bundle.Falsification{}
		for _, id := range c.failed {
			r.Falsification.Tests = append(r.Falsification.Tests,
				bundle.TestVerdict{ID: id, Class: bundle.TestGate, Verdict: "fail"})
		}
		if err := r.derive(nil, a, none); err != nil {
			t.Fatal(err)
		}
		if got, known := r.Derived.Figures[FigureReserves]; got != c.want || known != c.known {
			t.Errorf("%q, %s: %v", c.failed, c.reasons, r.Derived.Figures)
		}
		// Candles that the program was made with are known where they begin before the end of those.
		start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		for after, want := range map[time.Duration]float64{0: 0, time.Hour: 1} {
			end := start.Add(after)
			r.request.Start, r.request.TrainedUntil = start, &end
			if err := r.derive(nil, a, none); err != nil || r.Derived.Figures[FigureKnown] != want {
				t.Errorf("%v after their begin: %v, %v", after, r.Derived.Figures, err)
			}
		}
	}
}

func TestHolding(t *testing.T) {
	d := &bundle.Derived{Figures: map[string]float64{}}
	table := "date,strategy,benchmark,difference\n" + strings.Repeat(
		"2024-01-01,0,0,-0.01\n2024-01-02,0,0,0.01\n", 50)
	if err := holding(func(string) ([]byte, error) { return []byte(table), nil }, d); err != nil {
		t.Fatal(err)
	}
	want := z90 * math.Sqrt(100*0.0001/99/100)
	if got := d.Figures[FigureHolding]; math.Abs(got-want) > 1e-15 {
		t.Error(got, want)
	}
}

func FuzzDayLevels(f *testing.F) {
	f.Add(curve(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), []float64{1, 2, 3}))
	f.Add([]byte("timestamp,equity\n1969-12-31T06:00:00Z,1e308\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		levels, err := dayLevels("x", text)
		if err == nil && !slices.IsSortedFunc(levels, func(a, b level) int { return int(a.day - b.day) }) {
			t.Error(levels)
		}
	})
}

package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const curveHead = "timestamp,equity,cash,position_value,drawdown,exposure\n"

// TestEquityIsReadAsItWasWritten draws amounts that have a value and fractions that may have none.
func TestEquityIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		want := &EquityCurve{}
		at := market.Time(rapid.Int64Range(-1e12, 4e12).Draw(t, "start"))
		amount := rapid.Float64Range(-1e9, 1e9)
		fraction := rapid.SampledFrom([]float64{0, 0.25, 1, -0.5, math.NaN()})
		for range n {
			at += market.Time(rapid.Int64Range(1, 1e9).Draw(t, "step"))
			if at == 0 {
				at++ // which stands for no time
			}
			want.Time = append(want.Time, at)
			want.Equity = append(want.Equity, amount.Draw(t, "equity"))
			want.Cash = append(want.Cash, amount.Draw(t, "cash"))
			want.PositionValue = append(want.PositionValue, amount.Draw(t, "position"))
			want.Drawdown = append(want.Drawdown, fraction.Draw(t, "drawdown"))
			want.Exposure = append(want.Exposure, fraction.Draw(t, "exposure"))
		}
		var b bytes.Buffer
		if err := WriteEquity(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadEquity(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !slices.Equal(got.Time, want.Time) || !slices.Equal(got.Equity, want.Equity) ||
			!slices.Equal(got.Cash, want.Cash) || !slices.Equal(got.PositionValue, want.PositionValue) ||
			!slices.EqualFunc(got.Drawdown, want.Drawdown, same) ||
			!slices.EqualFunc(got.Exposure, want.Exposure, same) {
			t.Fatalf("read %v, wrote %v", got, want)
		}
	})
}

func TestBadCurves(t *testing.T) {
	const good = "2024-01-01T00:00:00.000Z,1,1,0,0,0\n"
	for text, want := range map[string]string{
		"":                                  "line 1: ",
		"time,value\n":                      "line 1: ",
		curveHead + "yesterday,1,1,0,0,0\n": `line 2: "yesterday" is no time`,
		curveHead + good + "2024-01-01,1,1,0,0,0":              "line 3: ",
		curveHead + strings.Replace(good, "00:", "25:", 1):     "is no time",
		curveHead + strings.Replace(good, "01-01", "13-01", 1): "is no time",
		curveHead + strings.Replace(good, "00:00", "0x:00", 1): "is no time",
		curveHead + strings.Replace(good, ".000Z", ".000+", 1): "is no time",
		curveHead + "2024-01-01T00:00:00.000Z,,1,0,0,0\n":      "is no equity",
		curveHead + "2024-01-01T00:00:00.000Z,NaN,1,0,0,0\n":   "is no equity",
		curveHead + "2024-01-01T00:00:00.000Z,1,,0,0,0\n":      "is no cash",
		curveHead + "2024-01-01T00:00:00.000Z,1,1,1e999,0,0":   "is no position value",
		curveHead + "2024-01-01T00:00:00.000Z,1,1,0,x,0\n":     "is no drawdown",
		curveHead + "2024-01-01T00:00:00.000Z,1,1,0,0,Inf\n":   "is no exposure",
		curveHead + "2024-01-01T00:00:00.000Z,1,1,0\n":         "line 2: it has 4 fields",
		curveHead + "2024-01-01T00:00:00.000Z,1,1,0,0,0,0\n":   "line 2: it has more fields",
		// The times ascend.
		curveHead + good + good:                "line 3: 2024-01-01T00:00:00.000Z is not after",
		curveHead + strings.Repeat("9", 1<<17): "line 2: it has 1 fields",
	} {
		_, err := ReadEquity([]byte(text))
		var bad *CurveError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

// TestDaysAreThoseOfTheCalendar reads every combination of a year, a month and a day of
// two digits as the rest of the product does.
func TestDaysAreThoseOfTheCalendar(t *testing.T) {
	taken := 0
	for _, year := range []string{"0000", "0004", "1900", "2000", "2023", "2024", "9999", "20x4", "+024",
		"-024"} {
		for md := range 10_000 {
			text := fmt.Sprintf("%s-%02d-%02d", year, md/100, md%100)
			want, bad := market.ParseTime(text)
			c, err := ReadEquity([]byte(curveHead + text + "T00:00:00.000Z,1,1,0,0,0"))
			if (bad == nil) != (err == nil) || err == nil && c.Time[0] != want {
				t.Fatalf("%s: %v, not %v (%v)", text, c, want, bad)
			}
			if err == nil {
				taken++
			}
		}
	}
	if want := 7*365 + 4; taken != want { // 0000, 0004, 2000 and 2024 are leap years
		t.Errorf("%d days were read, not %d", taken, want)
	}
}

func FuzzReadEquity(f *testing.F) {
	f.Add([]byte(curveHead + "2024-01-01T00:00:00.000Z,10000,5000,5000,0,0.5\n" +
		"2024-01-01T04:00:00.000Z,9999.5,1,2,3,4\n"))
	f.Add([]byte(curveHead + ",,,,,\n"))
	f.Add([]byte("timestamp,equity,x\n2024-02-30T00:00:00.000Z,1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ReadEquity(text)
		if err != nil {
			return
		}
		if !slices.IsSorted(c.Time) {
			t.Fatalf("%q gives %v", text, c)
		}
		for _, column := range [][]float64{c.Equity, c.Cash, c.PositionValue} {
			undefined := func(x float64) bool { return x-x != 0 }
			if len(column) != len(c.Time) || slices.ContainsFunc(column, undefined) {
				t.Fatalf("%q gives %v", text, c)
			}
		}
	})
}

// TestOpenIsCheckedByTheRow gives nothing that differs from what the row lists.
func TestOpenIsCheckedByTheRow(t *testing.T) {
	s := NewStore(t.TempDir())
	const text = "kept\n"
	put := func(name, text string) string {
		file := filepath.Join(s.Dir("run_a"), name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	m := &Metadata{RunID: "run_a"}
	hash, size := digest.SHA256Hex([]byte(text)), int64(len(text))
	for _, name := range []string{"good", "longer", "changed", "gone", "link", "splits", "../run_a/good"} {
		m.Artifacts = append(m.Artifacts, File{Name: name, SHA256: hash, Size: size})
	}
	good := put("good", text)
	put("longer", text+text)
	put("changed", "KEPT\n")
	put("splits/x", text)
	if err := os.Symlink(good, filepath.Join(s.Dir("run_a"), "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"longer": "longer has other content", "changed": "changed has other content",
		"gone": "gone is missing", "link": "link: is not a plain file",
		"splits": "splits: is not a plain file",
		"other":  "other is not listed", "../run_a/good": "is no place inside the folder of a run",
	} {
		body, err := s.Open(m, name)
		var bad *MismatchError
		if body != nil || !errors.As(err, &bad) || bad.RunID != "run_a" ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	body, err := s.Open(m, "good")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); err != nil || string(got) != text || body.Close() != nil {
		t.Errorf("%q, %v", got, err)
	}
	m.RunID = "../" + filepath.Base(s.Root()) + "/run_a"
	if _, err := s.Read(m, "good"); err == nil {
		t.Error("a run outside of the store was read")
	}
}

package compare

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestCurveIsReadAsItWasWritten by the package that writes the artifacts.
func TestCurveIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		curve := &artifact.EquityCurve{}
		at := market.Time(rapid.Int64Range(-1e12, 4e12).Draw(t, "start"))
		for range n {
			at += market.Time(rapid.Int64Range(1, 1e9).Draw(t, "step"))
			if at == 0 {
				at++ // which stands for no time
			}
			curve.Time = append(curve.Time, at)
			curve.Equity = append(curve.Equity, rapid.Float64Range(-1e9, 1e9).Draw(t, "equity"))
		}
		zeros := make([]float64, n)
		curve.Cash, curve.PositionValue, curve.Drawdown, curve.Exposure = zeros, zeros, zeros, zeros
		var b bytes.Buffer
		if err := artifact.WriteEquity(&b, curve); err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(0, n).Draw(t, "limit")
		c, err := readCurve(&b, 1000, limit)
		if err != nil {
			t.Fatal(err)
		}
		if limit == 0 {
			limit = n
		}
		if !slices.Equal(c.CloseTime, curve.Time[:limit]) || !slices.Equal(c.Equity, curve.Equity[:limit]) ||
			len(c.Exposure) != limit {
			t.Fatalf("read %v, wrote %v", c, curve)
		}
		for i := range c.OpenTime {
			if c.OpenTime[i] != c.CloseTime[i]-1000 {
				t.Fatalf("open %s, close %s", c.OpenTime[i], c.CloseTime[i])
			}
		}
	})
}

func TestBadCurves(t *testing.T) {
	const head = "timestamp,equity,cash\n"
	for text, want := range map[string]string{
		"":                                          "line 0: the file is empty",
		"time,value\n":                              "line 1: ",
		head + "yesterday,1,1\n":                    `line 2: "yesterday" is no time`,
		head + "2024-01-01,1,1\n":                   "is no time",
		head + "2024-01-01T25:00:00.000Z,1,1\n":     "is no time",
		head + "2024-01-01T0x:00:00.000Z,1,1\n":     "is no time",
		head + "2024-13-01T00:00:00.000Z,1,1\n":     "is no time",
		head + "2024-01-01T00:00:00.000Z,,1\n":      "is no equity",
		head + "2024-01-01T00:00:00.000Z\n":         "is no equity",
		head + "2024-01-01T00:00:00.000Z,NaN,1\n":   "is no equity",
		head + "2024-01-01T00:00:00.000Z,1e999,1\n": "is no equity",
		head + "2024-01-01T00:00:00.000Z,1,1\n2024-01-01T00:00:00.000Z,1,1\n": "line 3: " +
			"2024-01-01T00:00:00.000Z is not after",
		head + strings.Repeat("9", 1<<17): "line 2: bufio.Scanner: token too long",
	} {
		_, err := readCurve(strings.NewReader(text), 0, 0)
		var bad *CurveError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadCurve(f *testing.F) {
	f.Add("timestamp,equity,cash\n2024-01-01T00:00:00.000Z,10000,1\n2024-01-01T04:00:00.000Z,9999.5,1\n")
	f.Add("timestamp,equity,\n,\n")
	f.Add("timestamp,equity,x\n2024-02-30T00:00:00.000Z,1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readCurve(strings.NewReader(text), hour, 0)
		if err != nil {
			return
		}
		if len(c.CloseTime) != len(c.Equity) || len(c.OpenTime) != len(c.Equity) ||
			!slices.IsSorted(c.CloseTime) {
			t.Fatalf("%q gives %v", text, c)
		}
		for _, e := range c.Equity {
			if math.IsNaN(e) || math.IsInf(e, 0) {
				t.Fatalf("%q gives %v", text, e)
			}
		}
	})
}

// TestReturnsAreThoseOfTheMetrics: as many as the report counts, and with its Sharpe
// ratio, though read from files.
func TestReturnsAreThoseOfTheMetrics(t *testing.T) {
	w := three(t)
	l := &loader{store: w.store, reg: w.reg, o: Options{Slug: "sma_cross"}}
	runs, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{walkForward, "train", "wf-01"} {
		r, why, err := runs[1].returns(id)
		if why != "" || err != nil {
			t.Fatalf("%s: %s, %v", id, why, err)
		}
		m, _ := runs[1].measured(id)
		want := m.get("sharpe_ratio").Number
		var x moments
		for _, v := range r.Return {
			x.add(v)
		}
		n := x.n
		if got := x.ratio() * math.Sqrt((n-1)/n) * math.Sqrt(365); math.Abs(got-want) > 1e-9*math.Abs(want) ||
			r.Sample != metric.SampleDay {
			t.Errorf("%s: Sharpe ratio %v of the returns, %v of the report", id, got, want)
		}
	}
	if _, why, err := runs[1].returns("test"); why != locked || err != nil {
		t.Errorf("%q, %v", why, err)
	}
	if _, why, err := runs[1].returns("nothing"); why != metric.NotApplicable || err != nil {
		t.Errorf("%q, %v", why, err)
	}
	path := filepath.Join(w.store.Dir("run_better"), "splits", "wf-00", "equity_curve.csv")
	if err := errors.Join(os.Remove(path),
		os.WriteFile(path, []byte("timestamp,equity,\nnow,1,\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var refused *request.Error
	if _, err := w.try(Options{}); !errors.As(err, &refused) || refused.Code != "ARTIFACT_MISMATCH" ||
		!strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

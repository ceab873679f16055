package compare

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/request"
)

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
		os.WriteFile(path, []byte("timestamp,equity,cash,position_value,drawdown,exposure\nnow,1,1,0,0,0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var refused *request.Error
	if _, err := w.try(Options{}); !errors.As(err, &refused) || refused.Code != "ARTIFACT_MISMATCH" ||
		!strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

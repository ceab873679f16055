package shadow

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestExecutions reads the files of a run as a host writes them: a fill belongs to the candle in
// which it happened, and files with another hash than the bundle's count for nothing.
func TestExecutions(t *testing.T) {
	s := &Stage{opts: Options{Root: t.TempDir()}}
	b := &bundle.Bundle{}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(s.opts.Root, "runs", "svc_1", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.Artifacts = append(b.Artifacts, bundle.Artifact{Name: "runs/svc_1/" + name, RunID: "svc_1",
			SHA256: digest.SHA256Hex([]byte(text)), Size: int64(len(text))})
	}
	put("splits/full/decisions.jsonl", strings.Join([]string{
		`{"kind":"intent","side":"buy","symbol":"A/B","time":"2026-11-25T02:00:00.000Z"}`,
		`{"kind":"fill","fee":"0.1","price":"10.5","quantity":"1.50000000","side":"buy","symbol":"A/B",` +
			`"time":"2026-11-25T03:00:01.250Z"}`,
		`{"kind":"fill","price":"11","quantity":"1.5","side":"sell","symbol":"A/B","time":"2026-11-25T05:00:00.000Z"}`,
		``,
	}, "\n"))
	put("splits/full/equity_curve.csv", "timestamp,equity\n2026-11-25T03:00:00.000Z,100\n2026-11-26T00:00:00.000Z,101\n")
	tf := market.MustTimeframe("1h")
	found, err := s.executions(b, "svc_1", tf)
	if err != nil {
		t.Fatal(err)
	}
	ran, err := s.curveOf(b, "svc_1", tf)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ran.opens, []market.Time{at(2), at(23)}) || !slices.Equal(ran.equity, []float64{100, 101}) {
		t.Errorf("its curve is %+v", ran)
	}
	for _, e := range []execution{{at(3), "A/B", "buy", "1.5"}, {at(5), "A/B", "sell", "1.5"}} {
		if found[e] != 1 || len(found) != 2 {
			t.Errorf("%+v is not among %+v", e, found)
		}
	}
	// The same files are read where they are not below the root.
	far := &Stage{opts: Options{Root: t.TempDir(), Artifacts: os.DirFS(s.opts.Root)}}
	if got, err := far.executions(b, "svc_1", tf); err != nil || !maps.Equal(got, found) {
		t.Errorf("%v: %v", err, got)
	}
	if _, _, err := far.baseline(aBaseline()); err == nil || !strings.Contains(err.Error(), "not in --artifacts") {
		t.Errorf("%v", err)
	}
	b.Strategy.Plugin.SHA256 = digest.SHA256Hex(nil)
	if _, err := far.program(t.Context(), b); err == nil || !strings.Contains(err.Error(), "not in --artifacts") {
		t.Errorf("%v", err)
	}
	if _, err := s.executions(b, "svc_2", tf); err == nil || !strings.Contains(err.Error(), "decisions.jsonl") {
		t.Errorf("%v", err)
	}
	b.Artifacts[0].SHA256 = strings.Repeat("0", 64)
	if _, err := s.executions(b, "svc_1", tf); err == nil || !strings.Contains(err.Error(), "pins") {
		t.Errorf("%v", err)
	}
}

// TestByDay: the days on which a run began and ended are named, not compared, and so is one with other
// candles; of the others both returns are there, also where nothing was done.
func TestByDay(t *testing.T) {
	tf := market.MustTimeframe("6h")
	account := func(from, to int, equity func(hour int) float64) *curve {
		c := &curve{cash: 100}
		for h := from; h < to; h += 6 {
			c.opens, c.equity = append(c.opens, at(h)), append(c.equity, equity(h))
		}
		return c
	}
	own := account(6, 24*5+12, func(h int) float64 { return 100 + float64(h) })
	shadow := account(6, 24*5+12, func(h int) float64 { return 100 + 2*float64(h) })
	shadow.opens[9], shadow.opens[10] = shadow.opens[9]+1, shadow.opens[10]+1 // on the third day
	out := pair(map[execution]int64{{at(30), "A/B", "buy", "1"}: 1}, map[execution]int64{})
	byDay(out, tf, own, shadow)
	want := []struct {
		partial         string
		run, its        float64
		fills, diverges int64
	}{
		{partial: "begin"}, {run: 142./118 - 1, its: 184./136 - 1, fills: 1, diverges: 1}, {partial: "candles"},
		{run: 190./166 - 1, its: 280./232 - 1}, {run: 214./190 - 1, its: 328./280 - 1}, {partial: "end"},
	}
	if len(out.Days) != len(want) {
		t.Fatalf("%+v", out.Days)
	}
	for i, w := range want {
		d := out.Days[i]
		whole := w.partial == ""
		if d.Date != bundle.FormatDay(first.AddDate(0, 0, i)) || d.Partial != w.partial || d.Fills != w.fills ||
			d.Diverging != w.diverges || (d.Return != nil) != whole || (d.ShadowReturn != nil) != whole ||
			whole && (math.Abs(*d.Return-w.run) > 1e-12 || math.Abs(*d.ShadowReturn-w.its) > 1e-12) {
			t.Errorf("day %d: %+v, want %+v", i, d, w)
		}
	}
	b := out.Beside()
	if b.Whole != 3 || len(b.Partial) != 3 || b.Largest == nil || b.Largest.Date != "2026-11-26" ||
		math.Abs(*b.Return-(142./118*190/166*214/190-1)) > 1e-12 {
		t.Errorf("%+v", b)
	}
	text := "3 whole days: "
	if s := b.String(); !strings.HasPrefix(s, text) ||
		!strings.HasSuffix(s, "; partial, not compared: 2026-11-25, 2026-11-27, 2026-11-30") {
		t.Error(s)
	}
	// A run that began at midnight has its first day whole.
	same, again := account(0, 48, func(h int) float64 { return 101 }), account(0, 48, func(h int) float64 { return 101 })
	idle := pair(nil, nil)
	byDay(idle, tf, same, again)
	if b := idle.Beside(); b.Whole != 2 || len(b.Partial) != 0 || math.Abs(*b.Return-0.01) > 1e-12 || b.Largest != nil {
		t.Errorf("%+v", b)
	}
}

func aBaseline() *bundle.Bundle {
	return &bundle.Bundle{Runs: []bundle.Run{{Role: bundle.RoleBaseline, RunID: "run_1"}}}
}

// FuzzExecutions: whatever a file of decisions holds, reading it does not end the worker.
func FuzzExecutions(f *testing.F) {
	f.Add(`{"kind":"fill","quantity":"1","side":"buy","symbol":"A/B","time":"2026-11-25T05:00:00.000Z"}`, "t\n2026-11-25T05:00:00.000Z,1")
	f.Add("{}\n\n", "t\n,")
	f.Add("{}", "timestamp,equity\n2026-11-25T05:00:00.000Z,1\n2026-11-25T06:00:00.000Z,0\n")
	f.Fuzz(func(t *testing.T, decisions, curve string) {
		s, b := &Stage{opts: Options{Root: t.TempDir()}}, &bundle.Bundle{}
		dir := filepath.Join(s.opts.Root, "runs", "r")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"decisions.jsonl": decisions, "equity_curve.csv": curve} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b.Artifacts = append(b.Artifacts, bundle.Artifact{Name: "runs/r/" + name, RunID: "r",
				SHA256: digest.SHA256Hex([]byte(text))})
		}
		tf := market.MustTimeframe("1h")
		found, err := s.executions(b, "r", tf)
		if err != nil {
			return
		}
		out := pair(found, found)
		if out.Diverging != 0 {
			t.Error("a run differs from itself")
		}
		ran, err := s.curveOf(b, "r", tf)
		if err != nil || ran.opens[len(ran.opens)-1]-ran.opens[0] > market.Time(1000*24*time.Hour/time.Millisecond) {
			return
		}
		same := *ran
		byDay(out, tf, ran, &same)
		if s := out.Beside(); s.Largest != nil {
			t.Errorf("a run differs from itself: %+v", s.Largest)
		}
	})
}

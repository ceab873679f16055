package shadow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	found, from, to, err := s.executions(b, "svc_1", tf)
	if err != nil {
		t.Fatal(err)
	}
	if from != at(2) || to != at(23) {
		t.Errorf("its candles open from %s to %s", from, to)
	}
	for _, e := range []execution{{at(3), "A/B", "buy", "1.5"}, {at(5), "A/B", "sell", "1.5"}} {
		if found[e] != 1 || len(found) != 2 {
			t.Errorf("%+v is not among %+v", e, found)
		}
	}
	if _, _, _, err := s.executions(b, "svc_2", tf); err == nil || !strings.Contains(err.Error(), "decisions.jsonl") {
		t.Errorf("%v", err)
	}
	b.Artifacts[0].SHA256 = strings.Repeat("0", 64)
	if _, _, _, err := s.executions(b, "svc_1", tf); err == nil || !strings.Contains(err.Error(), "pins") {
		t.Errorf("%v", err)
	}
}

// FuzzExecutions: whatever a file of decisions holds, reading it does not end the worker.
func FuzzExecutions(f *testing.F) {
	f.Add(`{"kind":"fill","quantity":"1","side":"buy","symbol":"A/B","time":"2026-11-25T05:00:00.000Z"}`, "t\n2026-11-25T05:00:00.000Z,1")
	f.Add("{}\n\n", "t\n,")
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
		found, _, _, err := s.executions(b, "r", market.MustTimeframe("1h"))
		if err == nil && pair(found, found).Diverging != 0 {
			t.Error("a run differs from itself")
		}
	})
}

package artifact

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/metric"
)

// TestLockedMetrics stand in their own file and nowhere else, and are read from there.
func TestLockedMetrics(t *testing.T) {
	store := NewStore(t.TempDir())
	run := fixtureRun(t, 260)
	run.Splits[0].Locked = true
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	dir := store.Dir(run.ID)
	got, err := ReadLocked(dir, FullSplitID)
	if err != nil || got.SplitID != FullSplitID || got.Status != splitInsufficient {
		t.Fatalf("%+v, %v", got, err)
	}
	want, _ := run.Splits[0].Results.Metrics.Metrics.Get("total_return")
	if x, defined := got.Metrics.Get("total_return"); !defined || x != want || got.Meta.Undefined["sharpe_ratio"] != "insufficient" {
		t.Errorf("total_return %v, want %v; %v", x, want, got.Meta.Undefined)
	}
	rep, err := ReadReport(dir)
	if err != nil || rep.Splits[0].Status != splitLocked || len(rep.Splits[0].Metrics) != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	if _, err := ReadLocked(dir, "train"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a split without locked metrics: %v", err)
	}
	path := filepath.Join(dir, "splits", FullSplitID, "metrics.json")
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLocked(dir, FullSplitID); err == nil || !strings.Contains(err.Error(), run.ID) {
		t.Errorf("broken metrics: %v", err)
	}
}

// TestOverfittingIsReadAsItWasWritten, with what is undefined, and null without any.
func TestOverfittingIsReadAsItWasWritten(t *testing.T) {
	sr, days := 0.05, int64(1081)
	for _, want := range []*Overfitting{nil, {
		Basis: "walk_forward", T: 1217, SR: &sr, SRCI95: &[2]float64{-0.006, 0.106}, MinTRLDays: &days,
		Undefined: map[string]metric.Reason{"psr0": "zero_variance"}, Bootstrap: &Bootstrap{B: 999, MeanBlock: 7.02, Rule: "politis_white", Seed: "1"},
	}} {
		store, run := NewStore(t.TempDir()), fixtureRun(t, 5)
		run.Evaluation = &Evaluation{Overfitting: want, PostPeek: true, Warnings: []ReportWarning{{Code: "PURGE_SHORT", Pointer: "/splits"}}}
		if _, err := store.Write(run); err != nil {
			t.Fatal(err)
		}
		rep, err := ReadReport(store.Dir(run.ID))
		if err != nil || !slices.Contains(rep.Warnings, run.Evaluation.Warnings[0]) {
			t.Fatalf("%v, %v", rep.Warnings, err)
		}
		a, _ := json.Marshal(want)
		if b, _ := json.Marshal(rep.Overfitting); string(a) != string(b) {
			t.Errorf("wrote %s, read %s", a, b)
		}
		if m, _, err := Verify(store.Dir(run.ID)); err != nil || !m.PostPeek {
			t.Errorf("post_peek is lost: %v", err)
		}
	}
}

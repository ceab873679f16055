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

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
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
	if x, defined := got.Metrics.Get("total_return"); !defined || x != want ||
		got.Meta.Undefined["sharpe_ratio"] != "insufficient" {
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
		Undefined: map[string]metric.Reason{"psr0": "zero_variance"},
		Bootstrap: &Bootstrap{B: 999, MeanBlock: 7.02, Rule: "politis_white", Seed: "1"},
	}} {
		store, run := NewStore(t.TempDir()), fixtureRun(t, 5)
		run.Evaluation = &Evaluation{Overfitting: want, PostPeek: true,
			Warnings: []ReportWarning{{Code: "PURGE_SHORT", Pointer: "/splits"}}}
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

// steps are those of a writer, on a store that holds an earlier attempt with a capsule.
func steps(t *testing.T, how string) []string {
	t.Helper()
	var list []string
	store := attempted(t, t.TempDir())
	store.checkpoint = func(s string) { list = append(list, s) }
	if _, err := writers[how](store, fixtureRun(t, 5)); err != nil {
		t.Fatal(err)
	}
	return list
}

// attempted returns a store with a failed attempt and its capsule.
func attempted(t *testing.T, root string) *Store {
	t.Helper()
	store := NewStore(root)
	run := fixtureRun(t, 5)
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	if err := store.AddCapsule(run.ID, "fc_a.json", []byte("a")); err != nil {
		t.Fatal(err)
	}
	return store
}

// TestCrashInReplace: wherever it is cut short, the folder of one of the two attempts is
// whole, and whoever replaces the run next has the capsules of the first.
func TestCrashInReplace(t *testing.T) {
	list := steps(t, "replace")
	if want := []string{"metadata.json", "synced", "cleared", "renamed"}; !slices.Equal(list[len(list)-4:],
		want) {
		t.Fatalf("steps: %v", list)
	}
	for _, step := range list {
		t.Run(strings.ReplaceAll(step, "/", "_"), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			run, store := fixtureRun(t, 5), attempted(t, root)
			crash(t, "replace", step, root)
			var whole []int
			folders, err := store.Sweep()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range folders {
				if m, _, err := f.Verify(); err == nil {
					whole = append(whole, m.Attempt)
				}
				if err := f.Release(); err != nil {
					t.Error(err)
				}
			}
			if len(whole) == 0 {
				t.Error("no attempt is left")
			}
			run.Attempt = 3
			if _, err := store.Replace(run); err != nil {
				t.Fatal(err)
			}
			capsules, err := store.Capsules(run.ID)
			if err != nil || len(capsules) != 1 || string(capsules["fc_a.json"]) != "a" {
				t.Errorf("capsules %q, %v", capsules, err)
			}
			if m, _, err := Verify(store.Dir(run.ID)); err != nil || m.Attempt != 3 {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

// TestRescueSpares what is there already and what belongs to a run whose id begins alike.
func TestRescueSpares(t *testing.T) {
	root := t.TempDir()
	store, run := attempted(t, root), fixtureRun(t, 5)
	if err := os.Rename(store.Dir(run.ID), filepath.Join(root, file.TempPrefix+run.ID+"-1")); err != nil {
		t.Fatal(err)
	}
	other := strings.TrimSuffix(run.ID, run.ID[len(run.ID)-2:])
	if err := errors.Join(store.Rescue(other), store.AddCapsule(run.ID, "fc_a.json", []byte("mine")),
		store.Rescue(run.ID)); err != nil {
		t.Fatal(err)
	}
	if list, err := store.Capsules(run.ID); err != nil || string(list["fc_a.json"]) != "mine" {
		t.Errorf("%q, %v", list, err)
	}
	if list, err := store.Capsules(other); err != nil || len(list) != 0 {
		t.Errorf("%q, %v", list, err)
	}
	if err := NewStore(filepath.Join(root, "none")).Rescue(run.ID); err != nil {
		t.Error(err)
	}
}

// TestCrashInRenew: metadata.json is the old one or the new one, and nothing else.
func TestCrashInRenew(t *testing.T) {
	for _, step := range steps(t, "renew") {
		t.Run(step, func(t *testing.T) {
			root := t.TempDir()
			run, store := fixtureRun(t, 5), attempted(t, root)
			crash(t, "renew", step, root)
			m, _, err := Verify(store.Dir(run.ID))
			if err != nil || m.Volatile.CompletedAt == fixtureCompleted(t) != (step != "renewed") {
				t.Errorf("%+v, %v", m, err)
			}
			left, err := os.ReadDir(root)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				if !e.IsDir() {
					t.Errorf("no sweep finds %s", e.Name())
				}
			}
		})
	}
}

func fixtureCompleted(t *testing.T) market.Time { return market.FromTime(fixtureRun(t, 1).CompletedAt) }

// TestOrphanLeavesCapsules: what is moved out of the way because it was changed keeps its
// capsules with the run.
func TestOrphanLeavesCapsules(t *testing.T) {
	store, run := attempted(t, t.TempDir()), fixtureRun(t, 5)
	f := &Folder{Name: run.ID, store: store}
	to, err := f.Orphan()
	if err != nil {
		t.Fatal(err)
	}
	if list, err := store.Capsules(run.ID); err != nil || string(list["fc_a.json"]) != "a" {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(to, "report.json")); err != nil {
		t.Error(err)
	}
	if !f.onlyCapsules() {
		t.Error("more than capsules came back")
	}
}

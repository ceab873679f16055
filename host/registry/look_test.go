package registry

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func days(from, to int64) []Days { return []Days{{market.Time(from), market.Time(to)}} }

// Whoever shows days of a test looks at it, whichever came first, once, and on the same
// symbol only.
func TestLooks(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	look := func(w Windows) {
		t.Helper()
		if w.Symbols == nil {
			w.Symbols = []string{"BTC/USDT"}
		}
		for range 2 {
			if err := r.Look(ctx, w); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := func(family string, want ...string) {
		t.Helper()
		peeks, err := r.Peeks(ctx, family)
		var got []string
		for _, p := range peeks {
			got = append(got, p.RunID+", "+p.Command+", "+p.Author)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q, %v", family, got, want, err)
		}
	}
	// The demonstration came first, the run whose test it shows after it.
	look(Windows{ID: "svc_1", FamilyID: "demo", Shown: days(0, 100), Command: LookBacktest,
		Author: "service"})
	look(Windows{ID: "run_a", FamilyID: "one", Shown: days(0, 79), Locked: days(80, 100), Command: LookRun,
		Author: "eve"})
	seen("one", "svc_1, days of a backtest, service")
	// Equal splits do not touch each other's test; the same window on another symbol does not.
	look(Windows{ID: "run_b", FamilyID: "one", Shown: days(0, 79), Locked: days(80, 100), Command: LookRun,
		Author: "eve"})
	look(Windows{ID: "svc_2", FamilyID: "one", Symbols: []string{"ETH/USDT"}, Shown: days(0, 100),
		Command: LookBacktest})
	seen("one", "svc_1, days of a backtest, service")
	// A window that was shifted so that the test is training now.
	look(Windows{ID: "run_c", FamilyID: "one", Shown: days(80, 140), Locked: days(141, 150), Command: LookRun,
		Author: "bob"})
	seen("one", "svc_1, days of a backtest, service", "run_c, days of a run, bob")
	// A plan has a test before anything of it is played.
	look(Windows{ID: "plan_1", FamilyID: "two", Locked: days(90, 99), Command: LookFamily, Author: "eve"})
	seen("two", "run_c, days of a run, bob", "svc_1, days of a backtest, service")
	look(Windows{ID: "svc_3", FamilyID: "one", Shown: days(99, 99), Command: LookBacktest, Author: "service"})
	seen("two", "run_c, days of a run, bob", "svc_1, days of a backtest, service",
		"svc_3, days of a backtest, service")
	ids, err := r.Lookers(ctx)
	if err != nil || len(ids) != 3 || !ids["svc_1"] || !ids["run_c"] || !ids["svc_3"] {
		t.Error(ids, err)
	}
}

// A look through a trial itself does not make it one that came after a look.
func TestOwnLooksAreNotPostPeek(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	for _, w := range []Windows{
		{ID: "run_a", FamilyID: "one", Symbols: []string{"A/B"}, Locked: days(80, 100)},
		{ID: "run_b", FamilyID: "one", Symbols: []string{"A/B"}, Shown: days(80, 140), Command: LookRun},
	} {
		if err := r.Look(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	for own, want := range map[string]bool{"run_b": false, "run_c": true} {
		if post, err := r.PostPeek(ctx, "one", "key", own); err != nil || post != want {
			t.Errorf("%s is post_peek %v, %v", own, post, err)
		}
	}
	if post, err := r.PostPeek(ctx, "one", "key", "run_c", "run_b"); err != nil || post {
		t.Errorf("of a plan: %v, %v", post, err)
	}
}

// What was made before there was a table of days is recalled from the files, once.
func TestWindowsAreRecalled(t *testing.T) {
	ctx, root := t.Context(), t.TempDir()
	r := open(t, root)
	splits := artifact.Splits{Schema: "splits/v1", Splits: []artifact.SplitRange{
		{ID: "search", Role: "search", TSFrom: 1, TSTo: 80},
		{ID: "test", Role: "test", TSFrom: 81, TSTo: 100},
	}}
	run := newTrial("run_a", "1", func(m *artifact.Manifest) { m.Splits = splits })
	backtest := newTrial("svc_1", "2", func(m *artifact.Manifest) {
		m.Request.Kind, m.Splits = artifact.KindService,
			artifact.FullSplit(slices.Values([]market.Time{1, 50, 100}))
	})
	backtest.Service = &artifact.ServiceNote{Mode: "backtest"}
	for _, x := range []*artifact.Run{run, backtest} {
		store(t, r, x)
		text, err := x.Manifest.Splits.Canonical()
		if err == nil {
			err = os.WriteFile(filepath.Join(r.store.Dir(x.ID), "splits.json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM registry_info WHERE key = 'windows_recalled'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if peeks, err := open(t, root).Peeks(ctx, "sma-cross"); err != nil || len(peeks) != 1 ||
			peeks[0].RunID != "svc_1" || peeks[0].Command != LookBacktest {
			t.Fatalf("%+v, %v", peeks, err)
		}
	}
}

// Daily returns are kept by run and replaced, not added to; "none" is an answer as well.
func TestDailyReturnsAreKept(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	for _, list := range [][]Daily{{{"run_a", "s1", []byte{1}}, {"run_b", "s2", nil}},
		{{"run_a", "s3", []byte{2, 3}}}} {
		if err := r.KeepDaily(ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := r.KeptDaily(ctx)
	if err != nil || len(kept) != 2 || kept["run_a"].Source != "s3" || len(kept["run_a"].Content) != 2 ||
		len(kept["run_b"].Content) != 0 {
		t.Errorf("%+v, %v", kept, err)
	}
}

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/causal"
	"github.com/assay-run/assay/lab/falsify/tests/metamorphic"
	"github.com/assay-run/assay/lab/falsify/tests/warmup"
)

// tiny returns a calibration of a few cases in one folder.
func tiny(t *testing.T, workers int) *calibration {
	t.Helper()
	c, err := run(context.Background(),
		options{sizes: sizes{Noise: 1, Seeds: 1}, replays: 19, workers: workers, seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A whole calibration, twice: how many cases are made side by side changes nothing that is
// no cheat's own doing, and the cheats are refuted by the tests that are there for them.
func TestATinyCalibration(t *testing.T) {
	ring.Proof(t, "it calibrates twice")
	a, b := tiny(t, 1), tiny(t, 4)
	want := map[string]string{"clocked": causal.Determinism.ID, "summer": causal.Determinism.ID,
		"counter": causal.Prefix.ID, "since": warmup.ID}
	for at, s := range a.Settings {
		v := a.Verdicts[at][0]
		if len(v.Tests) != len(tests.All()) {
			t.Fatalf("%s: %d tests", s.Name, len(v.Tests))
		}
		if id, cheat := want[s.Strategy]; cheat &&
			(v.Overall != judge.Fail || v.of(id).Verdict != judge.Fail) {
			t.Errorf("%s: %s, %s %s", s.Name, v.Overall, id, v.of(id).Verdict)
		}
		for _, id := range []string{causal.Determinism.ID, causal.Lockstep.ID, causal.Prefix.ID,
			causal.DataEnd.ID, warmup.ID, metamorphic.ID} {
			if x := v.of(id); s.isNoise() && x.Verdict != judge.Pass {
				t.Errorf("%s: honest noise, %s %s %s", s.Name, id, x.Verdict, x.ReasonCode)
			}
		}
		one, two := text(t, v), text(t, b.Verdicts[at][0])
		if s.isNoise() && one != two {
			t.Errorf("%s: %s\nwith four workers %s", s.Name, one, two)
		}
	}
	for _, p := range a.bounds() {
		if strings.HasPrefix(p.what, "cheat") && !p.met {
			t.Errorf("%s: %d of %d", p.what, p.k, p.n)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Runs of strategies that are attached are marked, so that nobody packs them, and named by
// the file that was given.
func TestAttachedRunsAreMarked(t *testing.T) {
	dir := t.TempDir()
	o := options{sizes: sizes{Noise: 1}, seed: 1}
	w, err := newWorld(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	served, err := serveAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer served.stop()
	w.reattach = served.reattach
	if err := os.Mkdir(filepath.Join(dir, "candles"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := settings(o.sizes)[0]
	h, err := w.open(context.Background(), s, dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Registry.Close()
	defer h.Candles.Close()
	a, err := answer(context.Background(), h, w.question(s, noiseName, 0, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Metadata.Debug || a.Metadata.Plugin.SHA256 != w.plugin.SHA256 {
		t.Errorf("debug %v, plugin %s", a.Metadata.Debug, a.Metadata.Plugin.SHA256)
	}
}

// made returns a calibration that nobody has played.
func made(overall ...judge.Verdict) *calibration {
	c := &calibration{Settings: settings(sizes{Noise: len(overall), Planted: len(overall)})}
	for range c.Settings {
		var list []*verdict
		for i, o := range overall {
			v := &verdict{Overall: o}
			for _, e := range tests.All() {
				x := tests.Skip(e.ID, "")
				x.Verdict = judge.Pass
				p := float64(i) / 100
				x.PValue = &p
				v.Tests = append(v.Tests, x)
			}
			list = append(list, v)
		}
		c.Verdicts = append(c.Verdicts, list)
	}
	return c
}

func TestBoundsAreCounted(t *testing.T) {
	verdicts := make([]judge.Verdict, 100)
	for i := range verdicts {
		verdicts[i] = judge.Fail
	}
	verdicts[0], verdicts[1], verdicts[2] = judge.Pass, judge.Warn, judge.Inconclusive
	c := made(verdicts...)
	byName := map[string]bound{}
	for _, b := range c.bounds() {
		byName[b.what] = b
	}
	for what, want := range map[string]struct {
		k, n int
		met  bool
	}{
		"noise with overall `pass`, zero costs, best of 1": {1, 100, true},
		// families of 100 have no cases here
		"noise with overall `pass`, zero costs, all families":       {2, 200, true},
		"random_entry alone, p <= 0.05 of noise, zero costs":        {6, 100, true},
		"planted, Sharpe ratio 3, N = 10, selection_bias `pass`":    {100, 100, true},
		"planted, Sharpe ratio 3, N = 10, overall `pass` or `warn`": {2, 100, false},
		"cheat summer refuted":                                      {0, 0, false},
	} {
		b, ok := byName[what]
		if !ok || b.k != want.k || b.n != want.n || b.met != want.met {
			t.Errorf("%s: %d of %d, met %v (%v)", what, b.k, b.n, b.met, ok)
		}
	}
}

func TestThePageSaysHowLargeItIs(t *testing.T) {
	c := made(judge.Pass, judge.Fail)
	c.Sizes, c.Seed, c.Replays, c.Profile = sizes{Noise: 2, Planted: 2}, 1, 19, "short"
	page := c.page()
	for _, want := range []string{
		"**14 cases**",
		"every test at version 1, but determinism, warmup_recursive, price_noise, " +
			"param_neighbourhood, symbol_holdout, regime, random_entry, permuted_candles, " +
			"buy_and_hold, selection_bias, trade_shuffle, metamorphic at version 2.",
		"-noise 2 -hundred 0 -sample 0 -numbered 0 -planted 2 -seeds 0 -replays 19 -seed 1",
		"It is smaller here",
		"| noise, best of 1, zero costs | 2 | 1 | 0 | 1 | 0 | 50.0 % | 1.3 % to 98.7 % |", "not measured",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	var again calibration
	if err := json.Unmarshal([]byte(text(t, c)), &again); err != nil || again.page() != page {
		t.Errorf("from the saved verdicts the page is another (%v)", err)
	}
}

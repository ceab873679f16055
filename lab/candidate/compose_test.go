package candidate

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	strategybundle "github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

// Every field of the bundle comes from where the page says.
func TestEveryFieldHasItsSource(t *testing.T) {
	b := composed(t, func(e *collected) {
		e.base.meta.PlanID = new(string)
		*e.base.meta.PlanID = "plan_abc"
	})
	lineage(&b, nil)
	b.SealRequest = (&packer{Options: Options{Author: "olga", Now: fixed}}).request()
	doc, err := sealed(b)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(doc.Canonical, &got); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"schema": "candidate-bundle/v1", "candidate.candidate_id": "sma-cross.btc-usdt-1h",
		"candidate.family_id": "sma-cross", "candidate.slug": "sma_cross",
		"candidate.owner": "olga", "candidate.title": "SMA cross", "candidate.description": "Trends last.",
		"candidate.lineage.parent_revision_id": nil,
		"candidate.lineage.change_class":       "initial", "candidate.lineage.family_run_id": "plan_abc",
		"strategy.name": "sma_cross", "strategy.version": "2.0.0", "strategy.plugin.sha256": sum("plugin"),
		"strategy.plugin.size": 9123456.0,
		"strategy.plugin.os":   "linux", "strategy.plugin.arch": "amd64",
		"strategy.plugin.protocol_version": 1.0, "strategy.plugin.sdk_version": "1.0.0",
		"strategy.plugin.go_version": "go1.26", "strategy.plugin.source_sha256": sum("source"),
		"strategy.params.fast": 10.0, "strategy.params_sha256": sum(`{"fast":10}`),
		"strategy.symbols.0": "BTC/USDT", "strategy.timeframes.0": "1h", "strategy.exchanges.0": "sample",
		"engine.name": "lab", "engine.version": "1.2.3",
		"data.0.dataset_id": "sample-btc-usdt-1h-" + sum("candles")[:12], "data.0.sha256": sum("candles"),
		"data.0.rows":  4344.0,
		"data.0.start": "2023-01-01T00:00:00.000Z", "data.0.end": "2023-07-01T00:00:00.000Z",
		"runs.0.run_id": "run_base", "runs.0.role": "baseline",
		"runs.0.request_hash": sum("request run_base"), "runs.0.report_sha256": sum("report run_base"),
		"runs.0.metadata_sha256": sum("metadata"), "runs.0.started_at": "2026-11-19T10:00:00.000Z",
		"runs.0.completed_at":         "2026-11-19T10:00:05.000Z",
		"runs.0.summary.total_trades": 40.0, "runs.0.summary.max_drawdown": 0.05,
		"runs.0.summary.stress_failed": 1.0,
		"runs.0.splits.0.split_id":     "train", "runs.0.splits.0.kind": "train",
		"runs.0.splits.0.metrics.total_trades": 100.0,
		"runs.0.splits.1.kind":                 "test", "runs.0.splits.1.metrics.total_trades": 40.0,
		"runs.0.splits.2.kind": "walk_forward",
		"runs.1.role":          "falsification", "runs.1.summary.gates_failed": 0.0, "runs.2.role": "canary",
		"runs.2.covered_seconds":         3.0,
		"runs.2.summary.diverging_fills": 2.0, "runs.2.summary.total_trades": 9.0,
		"trials.family_trials": 128.0,
		"artifacts.0.name":     "runs/run_base/report.json", "artifacts.0.sha256": sum("report run_base"),
		"artifacts.0.size": 10.0, "artifacts.0.run_id": "run_base",
		"artifacts.0.media_type": "application/json",
		"artifacts.1.name":       "runs/run_base/splits/test/trades.csv",
		"known_limitations.0":    "NO_BORROW_COSTS: Shorts are free.",
		"extensions.result_hash": sum("result run_base"), "extensions.n_eff": 31.5,
		"extensions.test_peeks": 2.0, "extensions.post_peek": false, "extensions.deviation": false,
		"extensions.runs.run_attack.profile_id": "falsify-profile/1",
		"extensions.runs.run_attack.overall":    "warn", "seal_request.requested_by": "olga",
		"seal_request.requested_stage": "paper",
		"seal_request.requested_at":    "2026-11-20T12:30:00Z",
		"seal_request.expires_at":      "2026-12-20T12:30:00Z", "seal_request.log_origin": "governance.local",
	} {
		if have := pick(t, got, path); have != want {
			t.Errorf("%s is %v, want %v", path, have, want)
		}
	}
	for path, want := range map[string][]string{
		"runs.0.summary": {"max_drawdown", "stress_failed", "total_trades"}, // null is left out
		"runs.1.summary": {"gates_failed"},
		"runs.2.summary": {"diverging_fills", "max_drawdown", "total_trades"},
	} {
		if have := slices.Sorted(maps.Keys(pick(t, got, path).(map[string]any))); !slices.Equal(have, want) {
			t.Errorf("%s has %v, want %v", path, have, want)
		}
	}
	if n := len(pick(t, got, "artifacts").([]any)); n != 6 {
		t.Errorf("%d artifacts", n)
	}
	if n := len(pick(t, got, "data").([]any)); n != 1 {
		t.Errorf("equal candles stand %d times", n)
	}
}

func pick(t *testing.T, v any, path string) any {
	t.Helper()
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(x) {
				t.Fatalf("%s: %d items", path, len(x))
			}
			v = x[i]
		default:
			t.Fatalf("%s: nothing at %s", path, name)
		}
	}
	return v
}

func TestCandidateIDs(t *testing.T) {
	for _, c := range []struct{ family, symbol, timeframe, want string }{
		{"sma-cross", "BTC/USDT", "1h", "sma-cross.btc-usdt-1h"}, {"f", "eth/eur", "15m", "f.eth-eur-15m"},
		{"f", "A/B", "1M", "f.a-b-1mo"},
	} {
		if got := candidateID(c.family, []string{c.symbol, "X/Y"}, c.timeframe); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestAnInconclusiveFalsificationHasNoCount(t *testing.T) {
	b := composed(t, func(e *collected) { e.items[1] = falsification("inconclusive") })
	if len(b.Runs[1].Summary) != 0 {
		t.Error(b.Runs[1].Summary)
	}
	b = composed(t, func(e *collected) { e.items[1] = falsification("fail") })
	if b.Runs[1].Summary["gates_failed"] != 1 {
		t.Error(b.Runs[1].Summary)
	}
}

func TestARunWithoutTestIsSummedUpByWhatItHas(t *testing.T) {
	x := baseline()
	x.report.Splits, x.report.WalkForward = x.report.Splits[2:],
		&artifact.WalkForward{Metrics: values(77, 0.4)}
	if s := read(x, nil).found.Summary; s["total_trades"] != 77 {
		t.Errorf("%v", s)
	}
	x.report.WalkForward = nil
	if s := read(x, nil).found.Summary; len(s) != 1 || s["stress_failed"] != 1 {
		t.Errorf("%v", s)
	}
}

func TestCoveredSeconds(t *testing.T) {
	x := paperRun()
	for _, c := range []struct {
		measured *float64
		want     float64
	}{{nil, 5}, {number(3.9), 3}, {number(60), 5}, {number(-1), 0}} {
		x.meta.Service.CoveredSeconds = c.measured
		if got := read(x, nil).found.CoveredSeconds; *got != c.want {
			t.Errorf("%v seconds, want %v", *got, c.want)
		}
	}
	x.meta.Volatile.CompletedAt = x.meta.Volatile.StartedAt - 1
	if got := read(x, nil).found.CoveredSeconds; *got != 0 {
		t.Errorf("a run that ended before it began covers %v", *got)
	}
}

// listOf is a list of so many trials.
func listOf(n int) *selection.TrialList {
	l := &selection.TrialList{}
	for i := range n {
		l.Trials = append(l.Trials, selection.Trial{Key: digest.SHA256Hex([]byte{byte(i)}), RunID: "run_a"})
	}
	return l
}

// The number of trials is never below what a falsification has counted, whatever the ledger
// of another state directory says.
func TestTrialsAreNotFewerThanCounted(t *testing.T) {
	if got := trialsOf(gathered(), listOf(1)).FamilyTrials; got != 4 {
		t.Error(got)
	}
	if got := trialsOf(gathered(), listOf(9)).FamilyTrials; got != 9 {
		t.Error(got)
	}
}

func TestChangeClasses(t *testing.T) {
	parent := composed(t)
	lineage(&parent, nil)
	parent.SealRequest = (&packer{Options: Options{Author: "olga", Now: fixed}}).request()
	doc, err := sealed(parent)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		edit func(*bundle.Bundle)
		want string
	}{
		"the same":      {func(*bundle.Bundle) {}, "non_material"},
		"lower limits":  {func(b *bundle.Bundle) { b.Limits.MaxCapital = "9999.5" }, "non_material"},
		"higher limits": {func(b *bundle.Bundle) { b.Limits.MaxOrdersPerMinute++ }, "material"},
		"no day loss":   {func(b *bundle.Bundle) { b.Limits.MaxDailyLoss = "" }, "material"},
		"parameters": {func(b *bundle.Bundle) {
			b.Strategy.Params = json.RawMessage(`{"fast":11}`)
		}, "material"},
		"spelling": {func(b *bundle.Bundle) {
			b.Strategy.Params = json.RawMessage(`{ "fast": 1e1 }`)
		}, "non_material"},
		"symbols": {func(b *bundle.Bundle) {
			b.Strategy.Symbols = []string{"BTC/USDT", "ETH/USDT"}
		}, "material"},
		"plugin, same trades": {func(b *bundle.Bundle) {
			b.Strategy.Plugin.SHA256 = sum("other")
		}, "non_material"},
		"plugin, other trades": {func(b *bundle.Bundle) {
			b.Strategy.Plugin.SHA256, b.Artifacts = sum("other"), slices.Clone(b.Artifacts)
			b.Artifacts[1].SHA256 = sum("other trades")
		}, "material"},
	} {
		b := composed(t)
		c.edit(&b)
		if lineage(&b, doc); b.Candidate.Lineage.ChangeClass != c.want ||
			*b.Candidate.Lineage.ParentRevisionID != doc.Bundle.CandidateRevisionID {
			t.Errorf("%s: %+v", name, b.Candidate.Lineage)
		}
	}
}

func TestManifestOfABundle(t *testing.T) {
	state := t.TempDir()
	plugins := filepath.Join(state, "plugins")
	sum := strings.Repeat("a", 64)
	text, err := strategybundle.Encode(&strategybundle.Manifest{
		Schema: strategybundle.ManifestSchema, Name: "x", Runtime: strategybundle.RuntimePython,
		Entry: "strategy:X", Interpreter: "bin/python3", System: []strategybundle.File{},
		Files:  []strategybundle.File{{Path: "a.py", SHA256: sum, Size: 1}},
		Layers: []strategybundle.Layer{{Name: "python", Version: "3.11", SHA256: sum}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := digest.SHA256Hex(text)
	put := func(name, text string) {
		if err := errors.Join(os.MkdirAll(plugins, 0o700),
			os.WriteFile(filepath.Join(plugins, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := manifestOf(state, id); got != nil || err != nil {
		t.Errorf("without a copy: %s, %v", got, err)
	}
	put("b", "\x7fELF")
	if got, err := manifestOf(state, "b"); got != nil || err != nil {
		t.Errorf("of a program: %s, %v", got, err)
	}
	put(id, string(text))
	got, err := manifestOf(state, id)
	if err != nil || string(got) != string(text) {
		t.Errorf("%s, %v", got, err)
	}
	b := bundle.Bundle{Extensions: json.RawMessage(`{"plugin_manifest":` + string(text) + `}`)}
	b.Strategy.Plugin.SHA256 = id
	if err := checkManifest(&b); err != nil {
		t.Error(err)
	}
	b.Strategy.Plugin.SHA256 = sum
	has(t, checkManifest(&b), request.CodeArtifactMismatch, "other files at /extensions/plugin_manifest")
	put(id, string(text)+" ")
	_, err = manifestOf(state, id)
	has(t, err, request.CodeArtifactMismatch, "was changed")
}

package evidence_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

func good(edit ...func(*bundle.Bundle)) *bundle.Bundle {
	now := planetest.Start
	return &planetest.Good(now, append([]func(*bundle.Bundle){planetest.WithSoaks(now)}, edit...)...).Bundle
}

// check holds a bundle against files.
func check(b *bundle.Bundle, files map[string][]byte) ([]bundle.RunEvidence, error) {
	return evidence.Check(b, func(at string) string {
		return "/bundle" + at
	}, func(name, sum string) ([]byte, error) {
		if text, ok := files[name]; ok && digest.SHA256Hex(text) == sum {
			return text, nil
		}
		return nil, fs.ErrNotExist
	})
}

func TestWhatFilesComeTo(t *testing.T) {
	b := good()
	list, err := check(b, planetest.Files(b))
	if err != nil || len(list) != len(b.Runs) {
		t.Fatal(list, err)
	}
	if f := list[1].Falsification; f == nil || f.BaseRunID != "base" || f.Overall != "pass" ||
		f.Trials != 12 || len(f.Tests) != 1 {
		t.Errorf("%+v", f)
	}
	again, err := check(b, planetest.Files(b))
	if err != nil || again[0].InputsSHA256 != list[0].InputsSHA256 ||
		list[0].InputsSHA256 == list[1].InputsSHA256 {
		t.Error(err)
	}
}

// TestReasonsAreThoseOfTheFile: why a test warns is read of the bytes, and of nothing else; without it
// the numbers have the hash that they had.
func TestReasonsAreThoseOfTheFile(t *testing.T) {
	const old = `"verdict":"pass"}`
	reasons := func(with string) (string, string, error) {
		b, files := rewritten(t, "runs/false/falsify/summary.json", old, with)
		list, err := check(b, files)
		if err != nil || len(list) < 2 {
			return "", "", err
		}
		return strings.Join(list[1].Falsification.Reasons(), " "), list[1].InputsSHA256, nil
	}
	got, sum, err := reasons(`"verdict":"pass","reason":"no_literals"}`)
	if err != nil || strings.TrimSpace(got) != "" {
		t.Errorf("a test that passes has the reason %q: %v", got, err)
	}
	for _, why := range []string{"no_literals", "dsr_max_below_0.95", "pbo_above_0.2"} {
		if got, _, err := reasons(`"verdict":"warn","reason":"` + why + `"}`); err != nil ||
			!strings.Contains(got, why) {
			t.Errorf("a test that warns has the reason %q: %v", got, err)
		}
	}
	b := good(planetest.Earning)
	if list, err := check(b, planetest.Files(b)); err != nil || list[1].InputsSHA256 != sum {
		t.Errorf("the hash of the numbers is another one: %v", err)
	}
	for _, bad := range []string{`"A"`, `"no literals"`, `"x\ny"`, `"` + strings.Repeat("a", 65) + `"`, `1`} {
		_, _, err := reasons(`"verdict":"warn","reason":` + bad + `}`)
		var refused *bundle.Error
		if !errors.As(err, &refused) || refused.Code != bundle.ArtifactInvalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	warned := []bundle.TestVerdict{{ID: "x", Class: "G", Verdict: "warn", Reason: "no_literals"}}
	with := bundle.Inputs{Falsification: &bundle.Falsification{Tests: warned}}
	without := bundle.Inputs{Falsification: &bundle.Falsification{Tests: []bundle.TestVerdict{
		{ID: "x", Class: "G", Verdict: "warn"}}}}
	one, _ := with.SHA256()
	two, _ := without.SHA256()
	if one != two || warned[0].Reason == "" {
		t.Error(one, two, warned)
	}
}

// TestDeclaredNumbersAreNotBelieved: whatever of a run is declared otherwise is refused, with
// the place and both values.
func TestDeclaredNumbersAreNotBelieved(t *testing.T) {
	files := planetest.Files(good())
	for name, c := range map[string]struct {
		edit               func(*bundle.Bundle)
		pointer            string
		declared, computed any
	}{
		"a refuted falsification": {func(b *bundle.Bundle) {
			b.Runs[1].Summary["gates_failed"] = 1
		}, "/runs/1/summary/gates_failed", 1.0, 0.0},
		"a stress test": {func(b *bundle.Bundle) {
			b.Runs[0].Summary["stress_failed"] = 2
		}, "/runs/0/summary/stress_failed", 2.0, 0.0},
		"the drawdown": {func(b *bundle.Bundle) {
			b.Runs[0].Summary["max_drawdown"] = 0.11
		}, "/runs/0/summary/max_drawdown", 0.11, 0.2},
		"a metric more": {func(b *bundle.Bundle) {
			b.Runs[0].Summary["sharpe_ratio"] = 99
		}, "/runs/0/summary/sharpe_ratio", 99.0, nil},
		"a metric less": {func(b *bundle.Bundle) {
			delete(b.Runs[0].Summary, "total_trades")
		}, "/runs/0/summary/total_trades", nil, 100.0},
		"a metric of a split": {func(b *bundle.Bundle) {
			b.Runs[0].Splits[0].Metrics["total_trades"] = 7
		}, "/runs/0/splits/0/metrics/total_trades", 7.0, 100.0},
		"the kind of a split": {func(b *bundle.Bundle) {
			b.Runs[0].Splits[0].Kind = "walk_forward"
		}, "/runs/0/splits/0/kind", "walk_forward", "test"},
		"another split": {func(b *bundle.Bundle) {
			b.Runs[0].Splits[0].SplitID = "wf-00"
		}, "/runs/0/splits/0/split_id", "wf-00", nil},
		"no splits": {func(b *bundle.Bundle) {
			b.Runs[0].Splits = nil
		}, "/runs/0/splits", 0, 1},
		"the role of a lab run": {func(b *bundle.Bundle) {
			b.Runs[0].Role = bundle.RolePaper
		}, "/runs/0/role", "paper", "run"},
		"in-sample as out": {func(b *bundle.Bundle) {
			b.Runs[0].Role = bundle.RoleOOS
			b.Runs[0].Summary["stress_failed"] = 0
		}, "/runs/0/summary/stress_failed", 0.0, nil},
		"paper as canary": {func(b *bundle.Bundle) {
			b.Runs[2].Role = bundle.RoleCanary
		}, "/runs/2/role", "canary", "service"},
		"a longer soak": {func(b *bundle.Bundle) {
			x := 9e9
			b.Runs[2].CoveredSeconds = &x
		}, "/runs/2/covered_seconds", 9e9, 15 * 86400.0},
		"a later end": {func(b *bundle.Bundle) {
			b.Runs[0].CompletedAt = "2026-11-20T12:00:00Z"
		}, "/runs/0/completed_at", "2026-11-20T12:00:00Z", "2026-11-19T12:30:00Z"},
		"another question": {func(b *bundle.Bundle) {
			b.Artifacts[1].SHA256 = digest.SHA256Hex(nil)
		}, "/runs/0/request_hash", "", ""},
		"fewer trials": {func(b *bundle.Bundle) {
			b.Trials.FamilyTrials = 1
		}, "/trials/family_trials", int64(1), int64(12)},
		"no trials": {func(b *bundle.Bundle) { b.Trials = nil }, "/trials", nil, int64(12)},
		"another plugin": {func(b *bundle.Bundle) {
			b.Strategy.Plugin.SHA256 = digest.SHA256Hex([]byte("x"))
		}, "/strategy/plugin/sha256", "", ""},
		"other parameters": {func(b *bundle.Bundle) {
			b.Strategy.Params = json.RawMessage(`{"fast":11}`)
		}, "/strategy/params_sha256", "", ""},
		"another market": {func(b *bundle.Bundle) {
			b.Strategy.Symbols = []string{"ETH/USDT"}
		}, "/strategy/symbols", "ETH/USDT", "BTC/USDT"},
		"another timeframe": {func(b *bundle.Bundle) {
			b.Strategy.Timeframes = []string{"1d"}
		}, "/strategy/timeframes", "1d", "1h"},
		"the baseline left out": {func(b *bundle.Bundle) {
			b.Runs = b.Runs[1:]
		}, "/runs/0/run_id", nil, "base"},
		"a run under another's id": {func(b *bundle.Bundle) {
			b.Runs[1].RequestHash = b.Runs[0].RequestHash
		}, "/runs/1/request_hash", "", ""},
	} {
		b := good()
		c.edit(b)
		_, err := check(b, files)
		var refused *bundle.Error
		if !errors.As(err, &refused) || refused.Code != bundle.SummaryMismatch ||
			refused.Pointer != "/bundle"+c.pointer {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.declared != "" && (refused.Declared != c.declared || refused.Computed != c.computed) {
			t.Errorf("%s: declared %v, computed %v", name, refused.Declared, refused.Computed)
		}
	}
}

// TestWithoutAFileNothingIsKnown: neither an error nor a number, whichever is away or has
// other bytes than the bundle says.
func TestWithoutAFileNothingIsKnown(t *testing.T) {
	b := good()
	for name := range planetest.Files(b) {
		for _, edit := range []func(map[string][]byte){
			func(f map[string][]byte) {
				delete(f, name)
			}, func(f map[string][]byte) { f[name] = append(f[name], ' ') },
		} {
			files := planetest.Files(b)
			edit(files)
			if list, err := check(b, files); list != nil || err != nil {
				t.Errorf("%s: %v, %v", name, list, err)
			}
		}
	}
	b.Runs[0].MetadataSHA256 = ""
	if list, err := check(b, planetest.Files(b)); list != nil || err != nil {
		t.Error("without metadata_sha256:", list, err)
	}
}

// rewritten is a bundle whose file was changed, with the hash of its new bytes.
func rewritten(t *testing.T, name, old, with string) (*bundle.Bundle, map[string][]byte) {
	t.Helper()
	b := good(planetest.Earning)
	files := planetest.Files(b)
	text := bytes.Replace(files[name], []byte(old), []byte(with), 1)
	if bytes.Equal(text, files[name]) {
		t.Fatalf("%s has no %s: %s", name, old, text)
	}
	files[name] = text
	sum := digest.SHA256Hex(text)
	for i := range b.Artifacts {
		if b.Artifacts[i].Name == name {
			b.Artifacts[i].SHA256 = sum
		}
	}
	for i := range b.Runs {
		switch name {
		case "runs/" + b.Runs[i].RunID + "/report.json":
			b.Runs[i].ReportSHA256 = sum
		case "runs/" + b.Runs[i].RunID + "/metadata.json":
			b.Runs[i].MetadataSHA256 = sum
		case "runs/" + b.Runs[i].RunID + "/request.json":
			b.Runs[i].RequestHash = sum
		}
	}
	return b, files
}

// TestFilesThatContradict themselves, one another or the contract are refused, each by name.
func TestFilesThatContradict(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, with string
		code            field.Code
		words           string
	}{
		"not a number": {"runs/base/splits/test/metrics.json", "0.2", "NaN",
			bundle.ArtifactInvalid, "metrics.json"},
		"beyond all numbers": {"runs/base/splits/test/metrics.json", "0.2", "1e999",
			bundle.ArtifactInvalid, "metrics.json"},
		"null": {"runs/base/splits/test/metrics.json", "0.2", "null",
			bundle.SummaryMismatch, ""},
		"a name twice": {"runs/base/splits/test/metrics.json", `"max_drawdown":0.2`,
			`"max_drawdown":0.2,"max_drawdown":0.1`, bundle.ArtifactInvalid, "metrics.json"},
		"a count of its own": {"runs/base/report.json", `"stress_failed":0`, `"stress_failed":3`,
			bundle.ArtifactInvalid, "stress_failed"},
		"a verdict of its own": {"runs/false/falsify/summary.json", `"overall":"pass"`,
			`"overall":"warn"`, bundle.ArtifactInvalid, "falsification of report.json"},
		"an unknown verdict": {"runs/false/falsify/summary.json", `"overall":"pass"`,
			`"overall":"great"`, bundle.ArtifactInvalid, "overall"},
		"a failed gate that passed": {"runs/false/falsify/summary.json", `"verdict":"pass"`,
			`"verdict":"fail"`, bundle.ArtifactInvalid, "overall"},
		"of another run": {"runs/false/falsify/summary.json", `"base_run_id":"base"`,
			`"base_run_id":"else"`, bundle.ArtifactInvalid, "falsification of report.json"},
		"of another question": {"runs/false/falsify/summary.json", `"base_request_hash":"`,
			`"base_request_hash":"00`, bundle.SummaryMismatch, "not in the bundle"},
		"a report of another run": {"runs/base/report.json", `"run_id":"base"`, `"run_id":"else"`,
			bundle.ArtifactInvalid, "metadata.json"},
		"a row of another run": {"runs/base/metadata.json", `"run_id":"base"`, `"run_id":"else"`,
			bundle.ArtifactInvalid, "metadata.json"},
		"another schema": {"runs/base/metadata.json", `run-metadata/v1`, `run-metadata/v9`,
			bundle.ArtifactInvalid, "schema"},
		"a failed run": {"runs/base/report.json", `"status":"completed"`, `"status":"failed"`,
			bundle.ArtifactInvalid, "metadata.json"},
		"no JSON": {"runs/base/report.json", `{`, ``, bundle.ArtifactInvalid,
			"report.json"},
		"a time that is none": {"runs/base/metadata.json", `"completed_at":"2`, `"completed_at":"x2`,
			bundle.ArtifactInvalid, "times"},
		"fewer trials than none": {"runs/false/falsify/summary.json", `"n_trials":12`, `"n_trials":-1`,
			bundle.ArtifactInvalid, "trials"},
		"a question of another kind": {"runs/base/request.json", `"kind":"run"`, `"kind":"trial"`,
			bundle.ArtifactInvalid, "request.json"},
		"a question on other candles": {"runs/base/request.json", `"sha256":"a`, `"sha256":"b`,
			bundle.SummaryMismatch, ""},
		"a window that ends before its candles": {"runs/base/request.json", `"end_date":"2024-01-01`,
			`"end_date":"2023-12-01`, bundle.SummaryMismatch, "window"},
		"candles of another symbol": {"runs/base/request.json", `"symbol":"BTC/USDT"`,
			`"symbol":"ETH/USDT"`, bundle.SummaryMismatch, "symbols and timeframe"},
		"candles of another timeframe": {"runs/base/request.json", `"symbol":"BTC/USDT","timeframe":"1h"`,
			`"symbol":"BTC/USDT","timeframe":"1d"`, bundle.SummaryMismatch, "symbols and timeframe"},
		"a test that begins elsewhere": {"runs/base/report.json", `"role":"test"`,
			`"role":"test","ts_from":"2024-01-01T00:00:00Z"`, bundle.SummaryMismatch, "out of sample"},
		"a test of other days": {"runs/base/splits/test/equity_curve.csv", "\n2024-01-01T",
			"\n2024-02-01T", bundle.SummaryMismatch, "out of sample"},
	} {
		b, files := rewritten(t, c.file, c.old, c.with)
		if strings.HasSuffix(c.file, "request.json") {
			for _, f := range []string{"report.json", "metadata.json"} { // they name the question by its hash
				at := "runs/base/" + f
				files[at] = bytes.Replace(files[at], []byte(good(planetest.Earning).Runs[0].RequestHash),
					[]byte(b.Runs[0].RequestHash), 1)
			}
			b.Runs[0].ReportSHA256,
				b.Runs[0].MetadataSHA256 = digest.SHA256Hex(files["runs/base/report.json"]),
				digest.SHA256Hex(files["runs/base/metadata.json"])
			b.Artifacts[0].SHA256 = b.Runs[0].ReportSHA256
		}
		_, err := check(b, files)
		var refused *bundle.Error
		if !errors.As(err, &refused) || refused.Code != c.code ||
			!strings.Contains(refused.Message, c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReportsOfTheVersionBefore have no counts of their own: they are counted from the tests.
func TestReportsOfTheVersionBefore(t *testing.T) {
	b := good(func(b *bundle.Bundle) {
		b.Runs[0].Summary["stress_failed"], b.Runs[1].Summary["gates_failed"] = 1, 2
	})
	files := planetest.Files(b)
	for i, cut := range []string{`"stress_failed":1,`, `"gates_failed":2,`} {
		name := "runs/" + b.Runs[i].RunID + "/report.json"
		old := files[name]
		if files[name] = bytes.Replace(old, []byte(cut), nil, 1); len(files[name]) == len(old) {
			t.Fatalf("%s", old)
		}
		b.Runs[i].ReportSHA256 = digest.SHA256Hex(files[name])
		for k := range b.Artifacts {
			if b.Artifacts[k].Name == name {
				b.Artifacts[k].SHA256 = b.Runs[i].ReportSHA256
			}
		}
	}
	if list, err := check(b, files); err != nil || len(list) == 0 ||
		len(list[1].Falsification.Failed()) != 2 {
		t.Error(list, err)
	}
	b.Runs[1].Summary["gates_failed"] = 0
	if _, err := check(b, files); err == nil {
		t.Error("the declared number was believed")
	}
}

// TestAnInconclusiveFalsificationHasNoCount, so that no gate can pass on it.
func TestAnInconclusiveFalsificationHasNoCount(t *testing.T) {
	b := good(func(b *bundle.Bundle) { delete(b.Runs[1].Summary, "gates_failed") })
	files := planetest.Files(b)
	if list, err := check(b, files); err != nil || list[1].Falsification.Overall != "inconclusive" {
		t.Fatal(list, err)
	}
	b.Runs[1].Summary["gates_failed"] = 0
	if _, err := check(b, files); err == nil {
		t.Error("a count was declared and believed")
	}
}

// TestEmptyListsAreLists: what a replay signs of a run without splits is read as the same.
func TestEmptyListsAreLists(t *testing.T) {
	nothing := bundle.Inputs{Summary: map[string]float64{},
		Falsification: &bundle.Falsification{Overall: "inconclusive"}}
	empty := bundle.Inputs{Summary: map[string]float64{}, Splits: []bundle.Split{}}
	empty.Falsification = &bundle.Falsification{Overall: "inconclusive", Tests: []bundle.TestVerdict{}}
	a, err := nothing.SHA256()
	if b, err2 := empty.SHA256(); err != nil || err2 != nil || a != b {
		t.Error(a, b, err, err2)
	}
}

func TestDrills(t *testing.T) {
	now := planetest.Start
	for name, c := range map[string]struct {
		edit   func(*bundle.Drill)
		reason string
	}{
		"a killed paper run": {func(*bundle.Drill) {}, ""},
		"killed by the registry": {func(d *bundle.Drill) {
			d.Metadata = strings.NewReplacer(`"failed"`, `"completed"`, `{"code":"RISK_KILL"}`, `null`,
				`"mode":"paper"`,
				`"message":"Stopped by the deployment policy: The deployment was killed: odd fills.","mode":"live"`).Replace(d.Metadata)
		}, ""},
		"a failed drill": {func(d *bundle.Drill) {
			d.Result, d.Metadata = "fail", strings.Replace(d.Metadata, "RISK_KILL", "OTHER", 1)
		}, ""},
		"no record":             {func(d *bundle.Drill) { d.Metadata = "" }, "no_record"},
		"a record that is none": {func(d *bundle.Drill) { d.Metadata = "{" }, "record"},
		"another run's":         {func(d *bundle.Drill) { d.RunID = "other" }, "record"},
		"a backtest": {func(d *bundle.Drill) {
			d.Metadata = strings.NewReplacer(`"kind":"service"`, `"kind":"run"`).Replace(d.Metadata)
		}, "mode"},
		"a backtest of the service": {func(d *bundle.Drill) {
			d.Metadata = strings.NewReplacer(`"mode":"paper"`, `"mode":"backtest"`).Replace(d.Metadata)
		}, "mode"},
		"another program": {func(d *bundle.Drill) {
			d.Metadata = strings.Replace(d.Metadata, `"fast":10`, `"fast":11`, 1)
		}, "other_program"},
		"still running": {func(d *bundle.Drill) {
			d.Metadata = strings.Replace(d.Metadata, `"status":"failed"`, `"status":"running"`, 1)
		}, "not_over"},
		"no end": {func(d *bundle.Drill) {
			d.Metadata = strings.Replace(d.Metadata, `"completed_at":"2026-11-20T12:29:00Z"`,
				`"completed_at":null`, 1)
		}, "not_over"},
		"an end to come": {func(d *bundle.Drill) {
			d.Metadata = strings.Replace(d.Metadata, `"completed_at":"2026-11-20T12:29:00Z"`,
				`"completed_at":"2027-01-01T00:00:00Z"`, 1)
		}, "ahead"},
		"dated ahead":    {func(d *bundle.Drill) { d.DoneAt = "2026-11-25T12:30:00Z" }, "ahead"},
		"after the run":  {func(d *bundle.Drill) { d.DoneAt = "2026-11-20T12:29:30Z" }, "outside"},
		"before the run": {func(d *bundle.Drill) { d.DoneAt = "2026-10-20T12:30:00Z" }, "outside"},
		"ended by itself": {func(d *bundle.Drill) {
			d.Metadata = strings.Replace(d.Metadata, "RISK_KILL", "PLUGIN_CRASHED", 1)
		}, "not_killed"},
	} {
		doc := planetest.Good(now)
		d := planetest.Drill(doc, now, "pass")
		c.edit(&d)
		refused := evidence.CheckDrill(&d, &doc.Bundle, "/x", now)
		switch {
		case c.reason == "" && refused != nil:
			t.Errorf("%s: %v", name, refused)
		case c.reason != "" &&
			(refused == nil || refused.Code != bundle.InvalidDrill || refused.Reason != c.reason ||
				refused.Pointer != "/x"):
			t.Errorf("%s: %+v", name, refused)
		}
	}
	// Where the bundle pins the run, its record is that one.
	b := good()
	d := planetest.Drill(planetest.Good(now), now.Add(-time.Minute), "pass")
	b.Runs[2].RunID = d.RunID
	if refused := evidence.CheckDrill(&d, b, "", now); refused == nil ||
		refused.Reason != bundle.ReasonRecord {
		t.Errorf("%+v", refused)
	}
}

// FuzzRead: whatever the files hold, reading them ends, and what they come to has a hash.
func FuzzRead(f *testing.F) {
	b := good()
	files := planetest.Files(b)
	for _, run := range b.Runs {
		at := "runs/" + run.RunID + "/"
		extra := files[at+evidence.AttackName]
		if extra == nil {
			extra = files[at+evidence.LockedName]
		}
		f.Add(string(run.Role), files[at+evidence.ReportName], files[at+evidence.RequestName],
			files[at+evidence.MetadataName], extra)
	}
	f.Fuzz(func(t *testing.T, role string, report, request, metadata, extra []byte) {
		run, err := evidence.Read(bundle.Role(role), func(name string) ([]byte, error) {
			switch name {
			case evidence.ReportName:
				return report, nil
			case evidence.RequestName:
				return request, nil
			case evidence.MetadataName:
				return metadata, nil
			}
			return extra, nil
		})
		if err != nil {
			return
		}
		if _, err := run.SHA256(); err != nil {
			t.Error(err)
		}
	})
}

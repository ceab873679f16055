package candidate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/request"
)

func TestOutcomes(t *testing.T) {
	b := composed(t)
	run := b.Runs[0]
	for name, c := range map[string]struct {
		edit    func(*request.Result)
		verdict Verdict
		code    string
		words   string
	}{
		"the same": {func(*request.Result) {}, Equal, "", ""},
		"another report": {func(a *request.Result) {
			a.Metadata.Artifacts[0].SHA256 = sum("x")
		}, Different, "NOT_REPRODUCED", "report.json"},
		"other trades": {func(a *request.Result) {
			a.Metadata.Artifacts[1].SHA256 = sum("x")
		}, Different, "NOT_REPRODUCED", "splits/test/trades.csv"},
		"a file less": {func(a *request.Result) {
			a.Metadata.Artifacts = a.Metadata.Artifacts[:1]
		}, Different, "NOT_REPRODUCED", "trades.csv"},
		"failed": {func(a *request.Result) {
			a.Failure = &request.Failure{SplitID: "train",
				Failure: &artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone"}}
		}, Different, "RUN_FAILED", "split train failed: PLUGIN_CRASHED"},
	} {
		answer := &request.Result{Metadata: metadata("run_base")}
		c.edit(answer)
		out := Outcome{RunID: run.RunID, Trades: []bundle.SplitTrades{}}
		out.compare(&b, run, answer)
		if out.Verdict != c.verdict || out.Code != c.code || !strings.Contains(out.Reason, c.words) ||
			(c.verdict == Equal) != (out.Reason == "") {
			t.Errorf("%s: %+v", name, out)
		}
		if name == "the same" &&
			(len(out.Trades) != 1 ||
				out.Trades[0] != bundle.SplitTrades{SplitID: "test", SHA256: sum("trades run_base")}) {
			t.Errorf("%+v", out.Trades)
		}
	}
}

func TestDifferencesAreCut(t *testing.T) {
	b := composed(t)
	m := metadata("run_base")
	for range 9 {
		b.Artifacts = append(b.Artifacts,
			bundle.Artifact{Name: "runs/run_base/more", RunID: "run_base", SHA256: sum("more")})
	}
	if list := differing(&b, b.Runs[0], m); len(list) != 6 || list[5] != "and more" {
		t.Error(list)
	}
}

// A request is taken from a folder only if it is the one that the bundle pins.
func TestPinnedRequests(t *testing.T) {
	h := &request.Host{Artifacts: artifact.NewStore(t.TempDir())}
	dir := h.Artifacts.Dir("run_base")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	splits := []byte(`{"scheme":"none"}`)
	request := []byte(
		`{"schema":"evaluation-request/v1","splits":{"sha256":"` + digest.SHA256Hex(splits) + `"}}`)
	run := bundle.Run{RunID: "run_base", RequestHash: digest.SHA256Hex(request)}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := pinned(h, run)
	has(t, err, "INPUTS_MISSING", "request.json")
	write("request.json", append(request[:len(request)-1:len(request)-1], ',', '"', 'x', '"', ':', '1', '}'))
	_, _, err = pinned(h, run)
	has(t, err, "ARTIFACT_MISMATCH", "request.json")
	write("request.json", request)
	_, _, err = pinned(h, run)
	has(t, err, "INPUTS_MISSING", "splits.json")
	write("splits.json", []byte(`{"scheme":"default"}`))
	_, _, err = pinned(h, run)
	has(t, err, "ARTIFACT_MISMATCH", "splits.json")
	write("splits.json", splits)
	if r, s, err := pinned(h, run); err != nil || s.Scheme != "none" || r.Schema != "evaluation-request/v1" {
		t.Error(err)
	}
	// A run of another lab is not asked again, one at a venue never.
	h.Engine.SHA256 = sum("this lab")
	list, err := Replay(t.Context(), h, &bundle.Bundle{Runs: []bundle.Run{
		{RunID: "run_base", Role: bundle.RoleBaseline, RequestHash: run.RequestHash},
		{RunID: "svc", Role: bundle.RolePaper},
	}}, ReplayOptions{})
	if err != nil || len(list) != 2 || list[0].Code != "INPUTS_MISSING" ||
		!strings.Contains(list[0].Reason, "another build of lab") || list[1].Code != "SKIPPED" {
		t.Errorf("%+v, %v", list, err)
	}
	if left := Unrepeated(list); len(left) != 1 || left[0].RunID != "run_base" {
		t.Errorf("%+v", left)
	}
	if codeOf(errors.New("x")) != "INTERNAL" {
		t.Error("an error without a code has one")
	}
}

// TestOtherDatesAreNotSigned: a replay that was played on other candles than the bundle lists, at
// other times, in another order, or on fewer, signs nothing.
func TestOtherDatesAreNotSigned(t *testing.T) {
	p := packing(t, Options{Key: key("packer")})
	doc := settle(t, p, composed(t)).Document
	m := metadata("run_base")
	list := []Outcome{
		{RunID: "run_base", Role: bundle.RoleBaseline, Verdict: Equal, data: m.Data, ReportSHA256: sum("x"),
			hash: sum("request run_base"), Trades: []bundle.SplitTrades{},
			came: []bundle.CandleSource{{SHA256: sum("candles"), Source: "imported", From: sum("file")}}},
		{RunID: "svc_paper", Role: bundle.RoleCanary, Verdict: NotRun, Code: request.CodeSkipped},
	}
	sign := func() error {
		_, err := Attest(doc, list, nil, "log.example", key("replayer"), now)
		return err
	}
	if err := sign(); err != nil {
		t.Fatal(err)
	}
	if got := CandlesOf(append(list, list...)); len(got) != 1 || got[0] != list[0].came[0] {
		t.Errorf("%+v", got)
	}
	listed := slices.Clone(doc.Bundle.Data)
	for name, edit := range map[string]func(){
		"dated away":   func() { doc.Bundle.Data[0].Start = "2012-01-01T00:00:00.000Z" },
		"a later end":  func() { doc.Bundle.Data[0].End = "2024-01-01T00:00:00.000Z" },
		"another file": func() { doc.Bundle.Data[0].SHA256 = sum("others") },
		"others first": func() { doc.Bundle.Data = append([]bundle.Dataset{{DatasetID: "x"}}, listed...) },
		"one more":     func() { doc.Bundle.Data = append(doc.Bundle.Data, bundle.Dataset{DatasetID: "x"}) },
		"none":         func() { doc.Bundle.Data = nil },
	} {
		edit()
		err := sign()
		if codeOf(err) != CodeNotAnswered || !strings.Contains(err.Error(), "/data") {
			t.Errorf("%s: %v", name, err)
		}
		doc.Bundle.Data = slices.Clone(listed)
	}
}

func TestValidity(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "12h": 12 * time.Hour,
		"90d": 90 * 24 * time.Hour, "1s": time.Second} {
		if got, err := ParseValid(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "d", "91d", "0d", "-1d", "1.5d", "99999d", "500ms", "2161h", "a week",
		"30"} {
		if got, err := ParseValid(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

// What people read has every part of what --json prints.
func TestPrinted(t *testing.T) {
	p := packing(t, Options{Key: key("packer")})
	out := settle(t, p, composed(t))
	var b strings.Builder
	ResultOf(out, nil).Print(&b)
	path := "candidates/" + out.Bundle.CandidateRevisionID + "/replay-0.dsse.json"
	(&Replayed{CandidateRevisionID: out.Bundle.CandidateRevisionID, Equal: 1, NotRun: 1, Path: &path,
		Runs: []Outcome{
			{RunID: "run_base", Role: bundle.RoleBaseline, Verdict: Equal},
			{RunID: "svc", Role: bundle.RolePaper, Verdict: NotRun, Code: request.CodeSkipped,
				Reason: "no venue"},
		}, Receipt: &Submitted{Duplicate: true, LogOrigin: "log.example", LogIndex: 7,
			Assurance: "signed"}}).Print(&b)
	for _, want := range []string{
		out.Bundle.CandidateRevisionID + "  packed, signed\n",
		"sma-cross.btc-usdt-1h, initial, for paper until 2026-12-20T12:30:00Z",
		"  canary         svc_paper\n",
		"6 artifacts, 128 trials on its days", "1 equal, 0 different, 1 not run", "SKIPPED: no venue",
		"signed: " + path, "sealed by log.example as entry 7, known before",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

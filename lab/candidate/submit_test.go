package candidate

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/request"
)

func plane(t *testing.T, o planetest.Options) (*planetest.Plane, *client.Client) {
	t.Helper()
	o.Dir = t.TempDir()
	p, err := planetest.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Options{URL: p.URL, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func TestSubmitKeepsACheckedAnswer(t *testing.T) {
	_, c := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	p := packing(t,
		Options{LogOrigin: planetest.Origin, Key: planetest.Key("packer"), Now: func() time.Time {
			return planetest.Start
		}})
	out := settle(t, p, composed(t))
	receipt, err := Submit(t.Context(), c, out)
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Assurance != "signed" || receipt.Duplicate {
		t.Errorf("%+v", receipt)
	}
	for _, name := range []string{ReceiptName, SigstoreName, ProofName, EnvelopeName} {
		if info, err := os.Stat(filepath.Join(out.Dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := SubmittedOf(receipt); s.LogOrigin != planetest.Origin || s.Stage == "" ||
		SubmittedOf(nil) != nil {
		t.Errorf("%+v", s)
	}
	// An answer about bytes that somebody has replaced meanwhile is not put beside the new.
	p.Stage = bundle.Live
	settle(t, p, composed(t))
	if _, err := Submit(t.Context(), c, out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out.Dir, ReceiptName)); err == nil {
		t.Error("a receipt of other bytes was kept")
	}
	// From the plane, where the store does not have it.
	found, err := Find(t.Context(), NewStore(t.TempDir()), c, out.Bundle.CandidateRevisionID)
	if err != nil || found.FileSHA256 != out.FileSHA256 {
		t.Error(err)
	}
	_, err = Find(t.Context(), NewStore(t.TempDir()), c, "cr-"+strings.Repeat("0", 64))
	has(t, err, "RUN_NOT_FOUND")
	_, err = Find(t.Context(), p.candidates, nil, "cr-"+strings.Repeat("0", 64))
	has(t, err, "RUN_NOT_FOUND", "--control-url")
	_, err = Find(t.Context(), p.candidates, nil, "../"+out.Bundle.CandidateRevisionID)
	has(t, err, "USAGE")
}

// TestUnreadIsAskedAgain: a request that a plane has taken without reading the files is not
// used once more, because the plane takes the same file only once.
func TestUnreadIsAskedAgain(t *testing.T) {
	control, c := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	now := planetest.Start
	p := packing(t,
		Options{LogOrigin: planetest.Origin, Key: planetest.Key("packer"), Now: func() time.Time {
			return now
		}})
	core := planetest.Good(planetest.Start).Bundle
	out := settle(t, p, core)
	if receipt, err := Submit(t.Context(), c, out); err != nil || receipt.Assurance != "signed" ||
		receipt.State.Stage != "research" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if err := planetest.Put(control.Root, planetest.Files(&out.Bundle)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	again := settle(t, p, core)
	if again.Reused || again.FileSHA256 == out.FileSHA256 {
		t.Fatal("the request was used again")
	}
	if receipt, err := Submit(t.Context(), c, again); err != nil || receipt.State.Stage != "paper" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if !settle(t, p, core).Reused {
		t.Error("a request that was read is asked once more")
	}
}

// TestSubmitTakesWhatServicesSigned: what a service has signed of a run goes with the bundle, if the plane trusts
// its key as a host's; else the bundle goes alone.
func TestSubmitTakesWhatServicesSigned(t *testing.T) {
	for by, want := range map[string]bool{"host": true, "otto": false, "a stranger": false} {
		control, c := plane(t, planetest.Options{Trust: planetest.Trust(1)})
		p := packing(t, Options{LogOrigin: planetest.Origin, Key: planetest.Key("packer"), Now: func() time.Time {
			return planetest.Start
		}})
		out := settle(t, p, planetest.Good(planetest.Start, planetest.WithSoaks(planetest.Start)).Bundle)
		files := planetest.Files(&out.Bundle)
		if err := planetest.Put(control.Root, files); err != nil {
			t.Fatal(err)
		}
		env, err := bundle.SignRun("soak-paper", files["runs/soak-paper/report.json"], files["runs/soak-paper/metadata.json"],
			planetest.Start, planetest.Key(by))
		if err != nil {
			t.Fatal(err)
		}
		text, err := digest.JCS(env)
		if err != nil {
			t.Fatal(err)
		}
		path := bundle.HostedPath(filepath.Dir(p.candidates.dir), "soak-paper")
		if err := planetest.Put(filepath.Dir(path), map[string][]byte{filepath.Base(path): text}); err != nil {
			t.Fatal(err)
		}
		receipt, err := Submit(t.Context(), c, out)
		if err != nil {
			t.Fatalf("%s: %v", by, err)
		}
		if got := slices.ContainsFunc(receipt.Facts, func(f client.FactName) bool {
			return f.Type == "run_hosted"
		}); got != want {
			t.Errorf("%s: %v, %+v", by, got, receipt.Facts)
		}
	}
}

func TestARefusedSubmitKeepsNoAnswer(t *testing.T) {
	_, c := plane(t, planetest.Options{})
	p := packing(t, Options{LogOrigin: "elsewhere.example", Now: func() time.Time { return planetest.Start }})
	out := settle(t, p, composed(t))
	_, err := Submit(t.Context(), c, out)
	has(t, err, "INGEST_REFUSED", "SEAL_AUDIENCE_MISMATCH")
	var own *request.Error
	if errors.As(err, &own); own.Details["code"] != "SEAL_AUDIENCE_MISMATCH" ||
		own.Details["status"] != 400 || own.Details["pointer"] != "/seal_request/log_origin" {
		t.Errorf("%v", own.Details)
	}
	for _, name := range []string{ReceiptName, SigstoreName, ProofName} {
		if _, err := os.Stat(filepath.Join(out.Dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	away, err := client.New(client.Options{URL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Submit(t.Context(), away, out)
	has(t, err, "CONTROL_UNREACHABLE", "governance serve")
	if got := PlaneError(errors.New("x")); got.Error() != "x" {
		t.Error(got)
	}
}

// A replay by another principal reproduces, one that came to something else refutes.
func TestReplaysAreRecorded(t *testing.T) {
	control, c := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	p := packing(t,
		Options{LogOrigin: planetest.Origin, Key: planetest.Key("packer"), Now: func() time.Time {
			return planetest.Start
		}})
	out := settle(t, p, planetest.Good(planetest.Start, planetest.WithSoaks(planetest.Start)).Bundle)
	if err := planetest.Put(control.Root, planetest.Files(&out.Bundle)); err != nil {
		t.Fatal(err)
	}
	if _, err := Submit(t.Context(), c, out); err != nil {
		t.Fatal(err)
	}
	var list []Outcome
	read := planetest.Evidence(&out.Bundle)
	for i, r := range out.Bundle.Runs {
		o := Outcome{RunID: r.RunID, Role: r.Role, Verdict: Equal, ReportSHA256: r.ReportSHA256,
			hash:   r.RequestHash,
			Trades: []bundle.SplitTrades{{SplitID: "test", SHA256: sum("trades " + r.RunID)}}}
		o.Inputs = &bundle.Inputs{Summary: r.Summary, Splits: r.Splits, Falsification: read[i].Falsification,
			Derived: read[i].Derived}
		if r.Role == bundle.RoleCanary || r.Role == bundle.RolePaper {
			o.Verdict, o.Code = NotRun, request.CodeSkipped
		}
		list = append(list, o)
	}
	if len(Unrepeated(list)) != 0 || Count(list, Equal) != 2 {
		t.Errorf("%+v", list)
	}
	for _, by := range []struct{ who, assurance string }{{"packer", "signed"}, {"replayer", "reproduced"}} {
		env, err := Attest(out.Document, list, nil, planetest.Origin, planetest.Key(by.who), planetest.Start)
		if err != nil {
			t.Fatal(err)
		}
		name, err := p.candidates.KeepReplay(out.Document, env, planetest.Key(by.who))
		if _, missing := os.Stat(filepath.Join(out.Dir, name)); err != nil || missing != nil {
			t.Errorf("%v, %v", err, missing)
		}
		receipt, err := SubmitReplay(t.Context(), c, out.Document, env)
		if err != nil || receipt.Assurance != by.assurance {
			t.Errorf("%s: %s %v, %v", by.who, receipt.Assurance, receipt.Warnings, err)
		}
	}
	list[0].Verdict, list[0].ReportSHA256 = Different, sum("other")
	env, err := Attest(out.Document, list, nil, planetest.Origin, planetest.Key("replayer"),
		planetest.Start.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if receipt, err := SubmitReplay(t.Context(), c, out.Document, env); err != nil ||
		receipt.Assurance != "signed" {
		t.Errorf("%+v, %v", receipt, err)
	}
	for i := range list {
		list[i].Verdict, list[i].Code = NotRun, "INPUTS_MISSING"
	}
	_, err = Attest(out.Document, list, nil, planetest.Origin, planetest.Key("replayer"), planetest.Start)
	has(t, err, "INPUTS_MISSING")
}

package candidate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
)

func fixed() time.Time { return now }

// packing is a packer on an empty store, as Pack makes it after the evidence is found.
func packing(t *testing.T, o Options) *packer {
	t.Helper()
	if o.Now == nil {
		o.Now = fixed
	}
	if o.Author == "" {
		o.Author = "olga"
	}
	p := &packer{candidates: NewStore(t.TempDir()), Options: o}
	lock, err := p.candidates.lock() // which makes the folder
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	return p
}

func settle(t *testing.T, p *packer, b bundle.Bundle) *Packed {
	t.Helper()
	out, err := p.settle(b)
	if err != nil {
		t.Fatal(err)
	}
	have, err := p.candidates.Load(out.Bundle.CandidateRevisionID)
	if err != nil || have.FileSHA256 != out.FileSHA256 {
		t.Fatalf("in the store is something else: %v", err)
	}
	return out
}

// TestSomebodyAnswers: a bundle of nobody is refused before anything is looked at.
func TestSomebodyAnswers(t *testing.T) {
	h := &request.Host{StateDir: t.TempDir()}
	_, err := Pack(t.Context(), h, Options{Slug: "crosser", Now: fixed})
	var refused *request.Error
	if !errors.As(err, &refused) || refused.Code != "USAGE" || refused.Details["flag"] != "--owner" {
		t.Fatalf("%v", err)
	}
	if entries, err := os.ReadDir(h.StateDir); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestPackingTwiceGivesOneID(t *testing.T) {
	p := packing(t, Options{Author: "olga"})
	first := settle(t, p, composed(t))
	path := filepath.Join(first.Dir, bundle.FileName)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p.Now = func() time.Time { return now.Add(29 * 24 * time.Hour) }
	p.Author = "otto" // who packs is not part of what is packed
	again := settle(t, p, composed(t))
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if first.Reused || !again.Reused || again.FileSHA256 != first.FileSHA256 || !os.SameFile(before, after) {
		t.Errorf("%+v\n%+v", first.Bundle.SealRequest, again.Bundle.SealRequest)
	}
	// Once the request has expired there is another one for the same revision.
	p.Now = func() time.Time { return now.Add(31 * 24 * time.Hour) }
	renewed := settle(t, p, composed(t))
	if renewed.Reused || renewed.Bundle.CandidateRevisionID != first.Bundle.CandidateRevisionID ||
		renewed.FileSHA256 == first.FileSHA256 {
		t.Errorf("%+v", renewed.Bundle.SealRequest)
	}
}

func TestAnotherStageIsAnotherRequest(t *testing.T) {
	p := packing(t, Options{})
	first := settle(t, p, composed(t))
	p.Stage = bundle.Live
	live := settle(t, p, composed(t))
	if live.Reused || live.Bundle.CandidateRevisionID != first.Bundle.CandidateRevisionID ||
		live.Bundle.SealRequest.RequestedStage != bundle.Live {
		t.Errorf("%+v", live.Bundle.SealRequest)
	}
	p.Stage = "" // whoever does not say leaves it
	if same := settle(t, p, composed(t)); !same.Reused || same.FileSHA256 != live.FileSHA256 {
		t.Errorf("%+v", same.Bundle.SealRequest)
	}
	p.LogOrigin = "other.example"
	moved := settle(t, p, composed(t))
	if s := moved.Bundle.SealRequest; moved.Reused || s.LogOrigin != "other.example" ||
		s.RequestedStage != bundle.Live {
		t.Errorf("%+v", s)
	}
}

func TestParents(t *testing.T) {
	p := packing(t, Options{})
	other := func(trades int64) bundle.Bundle {
		b := composed(t)
		b.Trials = &bundle.Trials{FamilyTrials: trades}
		return b
	}
	var chain []string
	for n := range int64(4) {
		out := settle(t, p, other(n+1))
		l := out.Bundle.Candidate.Lineage
		if n == 0 && (l.ParentRevisionID != nil || l.ChangeClass != bundle.ChangeInitial) || n > 0 &&
			*l.ParentRevisionID != chain[n-1] {
			t.Errorf("%d: %+v", n, l)
		}
		chain = append(chain, out.Bundle.CandidateRevisionID)
	}
	// What was packed before is that, wherever it stands.
	for n := range int64(4) {
		if out := settle(t, p, other(n+1)); !out.Reused || out.Bundle.CandidateRevisionID != chain[n] {
			t.Errorf("%d became %s", n, out.Bundle.CandidateRevisionID)
		}
	}
	// Another candidate has no parent here.
	b := composed(t)
	b.Candidate.CandidateID = "sma-cross.eth-usdt-1h"
	if out := settle(t, p, b); out.Bundle.Candidate.Lineage.ParentRevisionID != nil {
		t.Errorf("%+v", out.Bundle.Candidate.Lineage)
	}
}

func TestSignatures(t *testing.T) {
	p := packing(t, Options{})
	if out := settle(t, p, composed(t)); out.Envelope != nil {
		t.Error("signed without a key")
	}
	p.Key = key("packer")
	signed := settle(t, p, composed(t))
	text, err := os.ReadFile(filepath.Join(signed.Dir, EnvelopeName))
	if err != nil || !signed.Reused || signed.Envelope == nil {
		t.Fatalf("%v, %+v", err, signed)
	}
	p.Key = nil
	if out := settle(t, p, composed(t)); out.Envelope == nil ||
		out.Envelope.Payload != signed.Envelope.Payload {
		t.Error("the signature was forgotten")
	}
	p.Key = key("packer")
	settle(t, p, composed(t))
	if again, err := os.ReadFile(filepath.Join(signed.Dir, EnvelopeName)); err != nil ||
		string(again) != string(text) {
		t.Errorf("signed again it differs: %v", err)
	}
	// Another request has another signature, and nothing of the old one's answers.
	if err := os.WriteFile(filepath.Join(signed.Dir, ReceiptName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Key, p.Stage = nil, bundle.Canary
	if out := settle(t, p, composed(t)); out.Envelope != nil {
		t.Error("a signature over other bytes")
	}
	for _, name := range derived {
		if _, err := os.Stat(filepath.Join(signed.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// A secret among the parameters is neither packed nor printed.
func TestSecretsAreNotPacked(t *testing.T) {
	for _, params := range []string{`{"api_key":"hunter2"}`, `{"nested":{"Password":"hunter2"}}`,
		`{"note":"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"}`} {
		p := packing(t, Options{})
		_, err := p.settle(composed(t, func(e *collected) { e.base.meta.Params = json.RawMessage(params) }))
		has(t, err, "RUN_NOT_PACKABLE")
		var own *request.Error
		if errors.As(err, &own); own.Details["reason"] != "SECRET_IN_BUNDLE" ||
			own.Details["pointer"] == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, %v", err, own.Details)
		}
		if ids, err := p.candidates.IDs(); err != nil || len(ids) > 0 {
			t.Errorf("%v, %v", ids, err)
		}
	}
}

func TestRefusalsNameTheOption(t *testing.T) {
	for flag, edit := range map[string]func(*bundle.Bundle){
		"--owner":  func(b *bundle.Bundle) { b.Candidate.Owner = "" },
		"--limits": func(b *bundle.Bundle) { b.Limits.MaxCapital = "-1" },
		"--family": func(b *bundle.Bundle) { b.Candidate.FamilyID = "Not An Id" },
	} {
		b := composed(t)
		edit(&b)
		_, err := packing(t, Options{}).settle(b)
		has(t, err, "USAGE")
		var own *request.Error
		if errors.As(err, &own); own.Details["flag"] != flag {
			t.Errorf("%s: %v %v", flag, err, own.Details)
		}
	}
	b := composed(t)
	b.Strategy.Name = "Not An Id"
	_, err := packing(t, Options{}).settle(b)
	has(t, err, "RUN_NOT_PACKABLE", "/strategy/name")
}

func TestWhatIsPackable(t *testing.T) {
	m := metadata("run_x")
	if err := packable(registry.Run{RunID: "run_x", Status: artifact.StatusCompleted}, m); err != nil {
		t.Error(err)
	}
	for _, status := range []string{artifact.StatusFailed, artifact.StatusRunning} {
		has(t, packable(registry.Run{RunID: "run_x", Status: status}, m), "RUN_NOT_PACKABLE", status)
	}
	m.Debug = true
	has(t, packable(registry.Run{RunID: "run_x", Status: artifact.StatusCompleted}, m), "RUN_NOT_PACKABLE",
		"debugger")
	c := &collector{slug: "sma_cross"}
	for _, kind := range []string{artifact.KindTrial, artifact.KindFalsification, artifact.KindService,
		registry.KindLegacy} {
		_, err := c.openBase(registry.Run{RunID: "run_x", Kind: kind, Status: artifact.StatusCompleted})
		has(t, err, "RUN_NOT_PACKABLE", kind)
	}
}

func TestRolesOfRows(t *testing.T) {
	base := metadata("run_base")
	c := &collector{slug: "sma_cross"}
	for name, x := range map[string]struct {
		edit func(*artifact.Metadata)
		want bundle.Role
	}{
		"another of the same time": {func(*artifact.Metadata) {}, ""},
		"later data": {func(m *artifact.Metadata) {
			m.StartDate = base.EndDate
		}, bundle.RoleOOS},
		"later data that overlaps": {func(m *artifact.Metadata) { m.StartDate = base.EndDate - 1 }, ""},
		"other parameters": {func(m *artifact.Metadata) {
			m.StartDate, m.Params = base.EndDate, json.RawMessage(`{"fast":1}`)
		}, ""},
		"another plugin": {func(m *artifact.Metadata) {
			m.StartDate, m.Plugin.SHA256 = base.EndDate, "x"
		}, ""},
		"another timeframe": {func(m *artifact.Metadata) {
			m.StartDate, m.Timeframe = base.EndDate, "4h"
		}, ""},
		"another exchange": {func(m *artifact.Metadata) {
			m.StartDate, m.Exchange = base.EndDate, "x"
		}, ""},
		"of a debugger": {func(m *artifact.Metadata) {
			m.StartDate, m.Debug = base.EndDate, true
		}, ""},
		"failed": {func(m *artifact.Metadata) {
			m.StartDate, m.Status = base.EndDate, artifact.StatusFailed
		}, ""},
		"a trial": {func(m *artifact.Metadata) {
			m.StartDate, m.Kind = base.EndDate, artifact.KindTrial
		}, ""},
		"an attack": {func(m *artifact.Metadata) {
			m.Kind = artifact.KindFalsification
		}, bundle.RoleFalsification},
		"paper":                {service("paper", "", artifact.StatusCompleted), bundle.RolePaper},
		"live":                 {service("live", "", artifact.StatusCompleted), bundle.RoleLive},
		"live as canary":       {service("live", "canary", artifact.StatusCompleted), bundle.RoleCanary},
		"a stage that is none": {service("paper", "research", artifact.StatusCompleted), bundle.RolePaper},
		"a backtest":           {service("backtest", "", artifact.StatusCompleted), ""},
		"paper that failed":    {service("paper", "", artifact.StatusFailed), ""},
		"paper that runs":      {service("paper", "", artifact.StatusRunning), ""},
	} {
		m := metadata("run_x")
		x.edit(m)
		payload, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		row := registry.Run{RunID: m.RunID, Slug: m.Slug, Kind: m.Kind, Status: m.Status, Payload: payload}
		out := &collected{}
		role, err := c.roleOf(row, base, nil, out)
		if err != nil || role != x.want || (name == "paper that failed") != (len(out.skipped) == 1) {
			t.Errorf("%s: %q, %v, skipped %v", name, role, err, out.skipped)
		}
		// Of a revision that is packed again, a run keeps its role.
		if role, _ := c.roleOf(row, base, map[string]bundle.Role{"run_x": bundle.RoleStress},
			out); role != bundle.RoleStress {
			t.Errorf("%s: pinned it is %q", name, role)
		}
	}
	again := metadata("run_x")
	again.Volatile.CompletedAt = base.Volatile.CompletedAt + 1
	payload, err := again.Encode()
	if err != nil {
		t.Fatal(err)
	}
	row := registry.Run{RunID: "run_x", Slug: "sma_cross", Kind: artifact.KindRun,
		Status: artifact.StatusCompleted, Payload: payload}
	if role, _ := c.roleOf(row, base, map[string]bundle.Role{"run_base": bundle.RoleBaseline},
		&collected{}); role != bundle.RoleBaseline {
		t.Errorf("what was run since is %q", role)
	}
}

func service(mode, stage, status string) func(*artifact.Metadata) {
	return func(m *artifact.Metadata) {
		m.Kind, m.Status, m.Service = artifact.KindService, status,
			&artifact.ServiceNote{Mode: mode, Stage: stage}
	}
}

// All falsifications that have come to something stay; of the others only the newest, and
// only where there is nothing else.
func TestConclusiveFalsifications(t *testing.T) {
	attack := func(id, base string, gates *int64) *item {
		x := falsification("pass")
		x.meta.RunID, x.meta.Summary.GatesFailed, x.summary.BaseRunID = id, gates, base
		return x
	}
	for name, c := range map[string]struct {
		items []*item
		kept  map[string]bundle.Role
		want  string
	}{
		"refuting ones stay": {[]*item{attack("a", "run_base", count(2)), attack("b", "run_base", count(0))},
			nil, "base a b"},
		"of another run": {[]*item{attack("a", "run_other", count(0))}, nil, "base"},
		"the newest open one": {[]*item{attack("a", "run_base", nil), attack("b", "run_base", nil)}, nil,
			"base b"},
		"open gives way": {[]*item{attack("a", "run_base", nil), attack("b", "run_base", count(1)),
			attack("c", "run_base", nil)}, nil, "base b"},
		"packed before": {[]*item{attack("a", "run_base", nil), attack("b", "run_base", nil)},
			map[string]bundle.Role{"a": bundle.RoleFalsification}, "base a b"},
	} {
		var got []string
		for _, x := range conclusive(append([]*item{baseline()}, c.items...),
			map[string]bool{"run_base": true}, c.kept) {
			got = append(got, strings.TrimPrefix(x.meta.RunID, "run_"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

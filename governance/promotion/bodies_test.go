package promotion_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// TestBodies holds the four bodies of one scenario to texts that people can review.
func TestBodies(t *testing.T) {
	p := trusted(t)
	id := p.canary(func(b *bundle.Bundle) {
		b.Runs = slices.DeleteFunc(b.Runs, func(r bundle.Run) bool { return r.Role == bundle.RoleCanary })
		b.Strategy.Exchanges = []string{"binance"}
	})
	p.idle(31 * day)
	p.say(id, incident("otto", "i-1", "open", "critical"))
	var text strings.Builder
	show := func(body any, err *bundle.Error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		raw, failure := json.Marshal(body)
		if failure != nil {
			t.Fatal(failure)
		}
		var out bytes.Buffer
		_ = json.Indent(&out, raw, "", " ") // of valid JSON
		text.WriteString(out.String() + "\n")
	}
	state, err := p.w.State(bundle.SubjectRevision, id, p.now.Add(50*time.Second))
	show(state, err)
	plan, err := p.w.Plan(bundle.SubjectStrategy, "sma_cross", "live", p.now)
	show(plan, err)
	pending, err := p.w.Experiments(bundle.SubjectCandidate, "sma-cross.btc-usdt-1h", "", p.now)
	show(pending, err)
	registry, err := p.w.Registry("sma-cross", p.now)
	show(registry, err)
	golden(t, "bodies.json", text.String())
}

func TestPlanDigestAsThePageSaysIt(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good(), signature("packer"))
	plan := p.plan(id, bundle.Canary)
	type gate struct {
		GateID   string   `json:"gate_id"`
		Verdict  string   `json:"verdict"`
		Evidence []string `json:"evidence"`
	}
	gates := []gate{}
	for _, g := range plan.Gates {
		sums := []string{}
		for _, e := range g.Evidence {
			sums = append(sums, e.SHA256)
		}
		slices.Sort(sums)
		gates = append(gates, gate{g.GateID, string(g.Verdict), sums})
	}
	sum, err := digest.Of(map[string]any{
		"schema": "promotion-plan-digest/v1", "candidate_revision_id": id, "stage": "canary",
		"policy_digest": plan.Policy.Digest, "gates": gates,
	})
	if err != nil || plan.PlanDigest != "sha256:"+sum {
		t.Errorf("%s, not %s (%v)", plan.PlanDigest, sum, err)
	}
	if plan.Digest() != plan.PlanDigest {
		t.Errorf("from the body: %s", plan.Digest())
	}
	for what, change := range map[string]func(*promotion.Plan){
		"verdict":  func(p *promotion.Plan) { p.Gates[0].Verdict = "fail" },
		"evidence": func(p *promotion.Plan) { p.Gates[0].Evidence = nil },
		"gate":     func(p *promotion.Plan) { p.Gates = p.Gates[1:] },
		"stage":    func(p *promotion.Plan) { p.Stage = bundle.Live },
		"revision": func(p *promotion.Plan) { p.ResolvedRevisionID = "cr-x" },
		"policy":   func(p *promotion.Plan) { p.Policy.Digest = "x" },
	} {
		other := *plan
		other.Gates = slices.Clone(plan.Gates)
		change(&other)
		if other.Digest() == plan.PlanDigest {
			t.Errorf("another %s has the same digest", what)
		}
	}
}

func TestRefusedReads(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good())
	unknown := "cr-" + strings.Repeat("0", 64)
	for _, c := range []struct{ kind, id, stage, code string }{
		{"strategy-family", "sma-cross", "paper", "INVALID_SUBJECT_TYPE"},
		{"candidate_revision", "sma-cross", "paper", "INVALID_IDENTIFIER"},
		{"family", "sma%2Dcross", "paper", "INVALID_IDENTIFIER"},
		{"family", "", "paper", "INVALID_IDENTIFIER"},
		{"candidate_revision", unknown, "paper", "SUBJECT_NOT_FOUND"},
		{"family", "other", "paper", "SUBJECT_NOT_FOUND"},
		{"candidate_revision", id, "prod", "INVALID_STAGE"},
		{"candidate_revision", id, "retired", "INVALID_STAGE"},
		{"strategy", "sma_cross", "", "INVALID_STAGE"},
	} {
		if _, err := p.w.Plan(c.kind, c.id, c.stage, p.now); err == nil || string(err.Code) != c.code {
			t.Errorf("%+v: %v", c, err)
		}
		if c.stage == "prod" {
			if _, err := p.w.Experiments(c.kind, c.id, c.stage, p.now); err == nil ||
				string(err.Code) != c.code {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	if _, err := p.w.Registry("other", p.now); err == nil || err.Code != promotion.FamilyNotFound {
		t.Error(err)
	}
	if _, err := p.w.Registry("../x", p.now); err == nil || err.Code != "INVALID_IDENTIFIER" {
		t.Error(err)
	}
	q := trusted(t)
	q.submit(q.good(target(bundle.Research)))
	if reg, err := q.w.Registry("sma-cross", q.now); err != nil || reg.Entries == nil ||
		len(reg.Entries) != 0 {
		t.Errorf("%+v, %v", reg, err)
	}
}

func TestAsOfIsTheMinute(t *testing.T) {
	p := newPlane(t)
	id := p.submit(p.good())
	p.now = start.Add(119 * time.Second)
	if s := p.state(id); s.AsOf != "2026-11-20T12:31:00Z" || s.AsOfSeq != p.seq-1 {
		t.Error(s.AsOf, s.AsOfSeq)
	}
	p.say(id, suspension("", false))
	if s := p.state(id); s.AsOf != "2026-11-20T12:31:59Z" {
		t.Error(s.AsOf)
	}
}

func TestAggregates(t *testing.T) {
	p := trusted(t)
	a := p.canary()
	b := p.submit(p.good(params(`{"fast":11}`)))
	c := p.submit(p.good(params(`{"fast":12}`),
		func(b *bundle.Bundle) { b.Candidate.CandidateID = "sma-cross.eth" }))
	p.say(c, rejection())
	family, err := p.w.State(bundle.SubjectFamily, "sma-cross", p.now)
	if err != nil || family.Stage != bundle.Canary || family.CandidateRevisionID != a ||
		len(family.Revisions) != 3 || len(family.Champions) != 2 {
		t.Errorf("%+v, %v", family, err)
	}
	if family.CandidateID != nil || *family.FamilyID != "sma-cross" {
		t.Error("whose state is it?")
	}
	plan, err := p.w.Plan(bundle.SubjectFamily, "sma-cross", "canary", p.now)
	if err != nil || plan.ResolvedRevisionID != b || plan.SubjectID != "sma-cross" {
		t.Errorf("%+v, %v", plan, err)
	}
	pending, err := p.w.Experiments(bundle.SubjectFamily, "sma-cross", "", p.now)
	if err != nil || pending.Count != len(pending.Experiments) || pending.Stage != nil {
		t.Fatalf("%v", err)
	}
	of := map[string]bool{}
	for _, x := range pending.Experiments {
		of[x.CandidateRevisionID] = true
	}
	if !of[b] || of[c] {
		t.Errorf("%v", of)
	}
	one, err := p.w.Experiments(bundle.SubjectFamily, "sma-cross", "live", p.now)
	if err != nil || *one.Stage != "live" ||
		slices.ContainsFunc(one.Experiments, func(x promotion.Experiment) bool {
			return x.Stage != bundle.Live
		}) {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestHistoryIsCutToTheNewest(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good())
	for range 250 {
		p.say(id, suspension("", false))
	}
	s := p.state(id)
	if len(s.History) != 200 || !s.HistoryTruncated || s.History[199].Seq != p.seq-1 {
		t.Errorf("%d events, the last at %d", len(s.History), s.History[len(s.History)-1].Seq)
	}
}

// TestCommands: for each gate that does not pass, the command that helps.
func TestCommands(t *testing.T) {
	p := newPlane(t)
	id := p.submit(p.good(func(b *bundle.Bundle) {
		b.Runs = b.Runs[:1]
		b.Runs[0].Summary = map[string]float64{"stress_failed": 1}
		b.Runs[0].CompletedAt = p.now.Add(-100 * day).Format(time.RFC3339)
		b.Trials = nil
		b.Strategy.Exchanges = []string{"binance"}
	}))
	pack := func(s bundle.Stage) string {
		return "lab candidate pack sma-cross --candidate " + id + " --stage " + string(s) + " --submit"
	}
	want := map[string][3]string{ // status, command, then
		"paper evidence.age": {"missing", "lab falsify sma-cross --candidate " + id,
			pack("paper")},
		"paper falsification.survived": {"missing", "lab falsify sma-cross --candidate " + id,
			pack("paper")},
		"paper stress.survived":   {"failed", "lab run sma-cross --candidate " + id, pack("paper")},
		"paper trades.enough":     {"missing", "lab run sma-cross --candidate " + id, pack("paper")},
		"paper trials.disclosed":  {"missing", pack("paper"), ""},
		"canary assurance.signed": {"missing", pack("canary"), ""},
		"canary replay.independent": {"missing",
			"lab candidate replay sma-cross --candidate " + id + " --sign-key FILE --submit", ""},
		"canary soak.paper":             {"missing", pack("canary"), ""},
		"canary paper.matches_backtest": {"missing", pack("canary"), ""},
		"canary drill.kill_switch": {"missing",
			"governance incident " + id + " --drill kill_switch --run ID --result RESULT", ""},
		"live soak.canary": {"missing", pack("live"), ""},
		"live evidence.age": {"missing", "lab falsify sma-cross --candidate " + id,
			pack("live")},
		"canary falsification.survived ": {},
	}
	x, err := p.w.Experiments(bundle.SubjectRevision, id, "", p.now)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range x.Experiments {
		w, ok := want[string(e.Stage)+" "+e.GateID]
		if !ok {
			continue
		}
		seen++
		then := ""
		if e.Then != nil {
			then = *e.Then
		}
		if got := [3]string{e.Status, e.Command, then}; got != w {
			t.Errorf("%s %s: %q", e.Stage, e.GateID, got)
		}
		if soak := e.Kind == policy.Soak; soak != (e.HTTP != nil) || soak &&
			(e.HTTP.Body.Exchange != "binance" || e.HTTP.Body.Timeframe != "1h") {
			t.Errorf("%s: %+v", e.GateID, e.HTTP)
		}
		sum, _ := digest.Of([]string{id, string(e.Stage), e.GateID})
		if e.ExperimentID != "pe-"+sum[:16] {
			t.Error(e.ExperimentID)
		}
	}
	if seen != len(want)-1 {
		t.Errorf("%d of %d", seen, len(want)-1)
	}

	q := trusted(t)
	id = q.submit(q.good())
	q.idle(90 * day)
	x, _ = q.w.Experiments(bundle.SubjectRevision, id, "paper", q.now)
	if x.Count != 1 || x.Experiments[0].Command != "lab run sma-cross --candidate "+id+" --force" ||
		x.Experiments[0].Status != "expired" || x.Experiments[0].RequestHash == nil {
		t.Errorf("%+v", x.Experiments)
	}
	q.say(id, incident("otto", "i-7", "open", "warning"))
	x, _ = q.w.Experiments(bundle.SubjectRevision, id, "paper", q.now)
	if last := x.Experiments[len(x.Experiments)-1]; last.Command != "governance incident "+id+" --close i-7" {
		t.Errorf("%+v", last)
	}
}

func TestRegistry(t *testing.T) {
	entry := func(p *plane) promotion.RegistryEntry {
		t.Helper()
		reg, err := p.w.Registry("sma-cross", p.now)
		if err != nil || len(reg.Entries) != 1 || reg.Version != p.seq {
			t.Fatalf("%+v, %v", reg, err)
		}
		return reg.Entries[0]
	}
	is := func(e promotion.RegistryEntry, status string, modes int, kill bool) {
		t.Helper()
		if e.Status != status || len(e.Modes) != modes || e.Kill != kill {
			t.Errorf("%+v", e)
		}
	}
	p := trusted(t)
	id := p.canary()
	e := entry(p)
	is(e, "active", 2, false)
	if e.Limits.MaxCapital != "1000" || e.Limits.MaxPositionValue != "250" ||
		e.Limits.MaxOrderValue != "250" || e.Limits.MaxDailyLoss != "30" || e.Limits.MaxDrawdown != "0.25" {
		t.Errorf("%+v", e.Limits)
	}
	if !slices.Equal(e.ApprovedBy, []string{"anna", "rita"}) || e.ApprovedAt == nil ||
		*e.ExpiresAt != start.Add(30*day).Format(time.RFC3339) {
		t.Errorf("%+v", e)
	}
	p.say(id, p.approve("rita", "risk", id, bundle.Live), p.approve("ruth", "approver", id, bundle.Live))
	if e = entry(p); e.Limits.MaxCapital != "10000" || e.Stage != bundle.Live {
		t.Errorf("%+v", e)
	}
	p.say(id, suspension("", false))
	is(entry(p), "suspended", 2, false)
	p.say(id, suspension(bundle.Canary, true))
	is(entry(p), "revoked", 2, true)
	p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
	is(entry(p), "active", 2, false)
	p.say(id, suspension(bundle.Paper, false))
	is(entry(p), "revoked", 1, false)
	p.say(id, incident("host-1", "i", "open", "critical"))
	is(entry(p), "revoked", 1, true)
	p.say(id, retirement())
	is(entry(p), "revoked", 0, true)
	p.idle(31 * day)
	if reg, _ := p.w.Registry("sma-cross", p.now); len(reg.Entries) != 0 {
		t.Errorf("%+v", reg.Entries)
	}

	q := trusted(t)
	id = q.submit(q.good())
	is(entry(q), "active", 1, false)
	q.say(id, rejection())
	q.idle(400 * day)
	is(entry(q), "revoked", 1, false)
}

func TestTheSignedPayloadHasNoSignature(t *testing.T) {
	p := trusted(t)
	p.submit(p.good())
	reg, _ := p.w.Registry("sma-cross", p.now)
	before, err := reg.Payload()
	if err != nil {
		t.Fatal(err)
	}
	reg.Attestation = &dsse.Envelope{PayloadType: bundle.PayloadRegistry, Payload: "eA==",
		Signatures: []dsse.Signature{{Sig: "eA=="}}}
	if after, _ := reg.Payload(); !bytes.Equal(before, after) ||
		bytes.Contains(before, []byte("attestation")) {
		t.Errorf("%s", after)
	}
}

func TestAPolicyThatIsLoadedJudgesAgain(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.good())
	p.stands(id, "paper/active")
	text := strings.Replace(string(policy.First().Text),
		`"metric":"total_trades","op":">=","roles":["baseline"],"value":30`,
		`"metric":"total_trades","op":">=","roles":["baseline"],"value":3000`, 1)
	p.text(bundle.TypePolicy, 2, []byte(strings.Replace(text, `"version":1`, `"version":2`, 1)))
	p.stands(id, "research/pending")
	s := p.state(id)
	if last := s.History[len(s.History)-1]; last.By != "policy:default-v2" ||
		last.Reason != "the plan of its stage fails" || s.PolicyDigest != p.w.Policy().Digest {
		t.Errorf("%+v", last)
	}
}

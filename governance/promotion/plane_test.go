package promotion_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// tb is what tests and properties have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

const origin = "governance.test"

var start = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// people are the principals of the tests, and their roles.
var people = map[string][]string{
	"packer": {"lab"}, "replayer": {"replay"}, "rita": {"risk"}, "ruth": {"risk", "approver"},
	"anna": {"approver"},
	"otto": {"operator"}, "host-1": {"host"}, "shadow-1": {"shadow"}, "owner@example.com": {"risk", "approver"},
}

// keys are the same in each run, so that ids in golden files are.
var keys = func() map[string]bundle.TrustKey {
	list := map[string]bundle.TrustKey{}
	for name, roles := range people {
		sum := sha256.Sum256([]byte("TEST ONLY " + name))
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
		if err != nil {
			panic(err)
		}
		pem, _ := dsse.PublicPEM(key.Public())
		id, _ := dsse.KeyID(key.Public())
		list[name] = bundle.TrustKey{
			KeyID: id, PublicKey: string(pem), Principal: name, Roles: roles,
			ValidFrom: "2020-01-01T00:00:00Z", ValidUntil: "2040-01-01T00:00:00Z", Status: bundle.KeyActive,
		}
	}
	return list
}()

// plane is a control plane without anything around it: what is said becomes entries, and
// these facts.
type plane struct {
	t     tb
	w     *promotion.World
	facts []promotion.Fact
	now   time.Time
	seq   int64
	files map[string]*bundle.Document // by revision
	// quiet leaves out the decisions: what is said is only folded.
	quiet bool
	// reads reports whether the files of runs are there, leaves whether the log knows its own leaves.
	reads, leaves bool
}

func newPlane(t tb) *plane {
	p := &plane{t: t, w: promotion.New(), now: start, files: map[string]*bundle.Document{}}
	p.append(&promotion.Entry{Type: bundle.TypeLogStart,
		Predicate: &promotion.LogStart{Origin: origin, RecordedAt: p.stamp()}})
	return p
}

// strict is a plane with everybody's keys whose gates judge what was read. The others judge by
// the first rules, as logs of earlier versions are judged for ever.
func strict(t tb) *plane {
	p := trusted(t)
	p.adopt()
	return p
}

// adopt is the start of a program that knows the rules of what was read.
func (p *plane) adopt() { p.adoptRules(promotion.RulesVerified) }

func (p *plane) adoptRules(rules int64) {
	p.t.Helper()
	def := policy.First()
	p.append(&promotion.Entry{Type: bundle.TypePolicy, Predicate: &promotion.LoadedText{
		Digest: def.Digest, Version: def.Version, Text: string(def.Text), Rules: rules,
		RecordedAt: p.stamp(),
	}})
	p.reads = true
	p.settle()
}

// inputs are what the files of a run come to; the plane here believes what is declared.
func inputs(r bundle.Run) *bundle.Inputs {
	in := &bundle.Inputs{Summary: r.Summary, Splits: r.Splits}
	if r.Role == bundle.RoleFalsification {
		in.Falsification = &bundle.Falsification{
			BaseRunID: "base", Overall: "pass", Trials: 12,
			Tests: []bundle.TestVerdict{{ID: "determinism", Class: "G", Verdict: "pass"}},
		}
	}
	return in
}

// readings are the evidence of all runs of a bundle.
func readings(b *bundle.Bundle) []bundle.RunEvidence {
	var list []bundle.RunEvidence
	for _, r := range b.Runs {
		in := inputs(r)
		sum, err := in.SHA256()
		if err != nil {
			panic(err)
		}
		list = append(list,
			bundle.RunEvidence{RunID: r.RunID, InputsSHA256: sum, Falsification: in.Falsification})
	}
	return list
}

// trusted is a plane with everybody's keys.
func trusted(t tb) *plane {
	p := newPlane(t)
	p.trust(1, "2039-01-01T00:00:00Z", nil)
	return p
}

func (p *plane) trust(version int64, expires string, edit func(name string, k *bundle.TrustKey)) {
	p.t.Helper()
	tr := bundle.Trust{Schema: bundle.SchemaTrust, Version: version, ExpiresAt: expires,
		Keys: []bundle.TrustKey{}}
	for name := range people {
		k := keys[name]
		if edit != nil {
			edit(name, &k)
		}
		tr.Keys = append(tr.Keys, k)
	}
	slices.SortFunc(tr.Keys, func(a, b bundle.TrustKey) int {
		return strings.Compare(a.Principal, b.Principal)
	})
	text, err := tr.Encode()
	if err != nil {
		p.t.Fatalf("trust: %v", err)
	}
	p.text(bundle.TypeTrust, version, text)
}

func (p *plane) text(kind string, version int64, text []byte) {
	p.t.Helper()
	p.append(&promotion.Entry{Type: kind, Predicate: &promotion.LoadedText{
		Digest: bundle.DigestPrefix + digest.SHA256Hex(text), Version: version, Text: string(text),
		RecordedAt: p.stamp(),
	}})
	p.settle()
}

func (p *plane) stamp() string { return p.now.Format(time.RFC3339Nano) }

func (p *plane) append(e *promotion.Entry) []promotion.Fact {
	p.t.Helper()
	e.Seq = p.seq
	if p.leaves {
		e.Leaf = digest.SHA256Hex(fmt.Append(nil, e.Seq))
	}
	p.seq++
	facts, err := promotion.FactsOf(e)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	if err := p.w.Apply(facts...); err != nil {
		p.t.Fatalf("%v", err)
	}
	p.facts = append(p.facts, facts...)
	return facts
}

func (p *plane) settle() {
	p.t.Helper()
	if p.quiet {
		return
	}
	for range 1000 {
		d, ok := p.w.Next(p.now)
		if !ok {
			return
		}
		p.append(d.Entry(p.seq))
	}
	p.t.Fatalf("the decisions do not come to an end")
}

// idle lets time pass.
func (p *plane) idle(d time.Duration) { p.now = p.now.Add(d) }

const day = 24 * time.Hour

// run is a run for a bundle, completed some time before now.
func (p *plane) run(id string, role bundle.Role, age time.Duration, summary map[string]float64) bundle.Run {
	done := p.now.Add(-age).Truncate(time.Second)
	return bundle.Run{
		RunID: id, Role: role, RequestHash: digest.SHA256Hex([]byte("question " + id)),
		ReportSHA256: digest.SHA256Hex([]byte("report " + id)),
		StartedAt:    done.Add(-time.Hour).Format(time.RFC3339), CompletedAt: done.Format(time.RFC3339),
		Summary: summary,
		Splits: []bundle.Split{{SplitID: "test", Kind: "test",
			Metrics: map[string]float64{"sharpe_ratio": 1}}},
	}
}

// soaked is a run that went on for some days until just before now.
func (p *plane) soaked(role bundle.Role, days float64) bundle.Run {
	r := p.run("soak-"+string(role), role, time.Minute, map[string]float64{"diverging_fills": 0})
	seconds := days * 86400
	done, _ := time.Parse(time.RFC3339, r.CompletedAt)
	r.StartedAt = done.Add(-time.Duration(seconds) * time.Second).Format(time.RFC3339)
	r.CoveredSeconds = &seconds
	return r
}

// good is a bundle that passes plan(paper).
func (p *plane) good(edits ...func(*bundle.Bundle)) bundle.Bundle {
	b := bundle.Bundle{
		Candidate: bundle.Candidate{
			CandidateID: "sma-cross.btc-usdt-1h", FamilyID: "sma-cross", Slug: "sma-cross",
			Owner:   "owner@example.com",
			Lineage: bundle.Lineage{ChangeClass: bundle.ChangeInitial},
		},
		Strategy: bundle.Strategy{
			Name: "sma_cross", Version: "1.0.0", Params: json.RawMessage(`{"fast":10}`),
			Symbols: []string{"BTC/USDT"}, Timeframes: []string{"1h"},
			Plugin: bundle.Plugin{SHA256: digest.SHA256Hex([]byte("plugin")), Size: 1, OS: "linux",
				Arch: "amd64", ProtocolVersion: 1},
		},
		Engine: bundle.Engine{Name: "assay", Version: "1"},
		Runs: []bundle.Run{
			p.run("base", bundle.RoleBaseline, day,
				map[string]float64{"total_trades": 100, "max_drawdown": 0.2, "stress_failed": 0}),
			p.run("false", bundle.RoleFalsification, day, map[string]float64{"gates_failed": 0}),
		},
		Trials: &bundle.Trials{FamilyTrials: 12},
		Limits: bundle.Limits{
			MaxCapital: "10000", MaxOrderValue: "500", MaxPositionValue: "2500", MaxOrdersPerMinute: 10,
			MaxInstruments: 1, MaxVenues: 1,
			MaxDrawdown: "0.25", MaxDailyLoss: "300",
		},
		SealRequest: bundle.SealRequest{
			RequestedStage: bundle.Live, RequestedBy: "requester@example.com",
			RequestedAt: p.now.Format(time.RFC3339),
			ExpiresAt:   p.now.Add(30 * day).Format(time.RFC3339), LogOrigin: origin,
		},
	}
	for _, edit := range edits {
		edit(&b)
	}
	return b
}

func target(s bundle.Stage) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.SealRequest.RequestedStage = s }
}

func version(v string) func(*bundle.Bundle) { return func(b *bundle.Bundle) { b.Strategy.Version = v } }

func params(text string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.Strategy.Params = json.RawMessage(text) }
}

func plugin(name string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.Strategy.Plugin.SHA256 = digest.SHA256Hex([]byte(name)) }
}

func child(of string, class string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		b.Candidate.Lineage = bundle.Lineage{ParentRevisionID: &of, ChangeClass: class}
	}
}

func with(runs ...bundle.Run) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.Runs = append(b.Runs, runs...) }
}

// submit posts a bundle, and with it statements; it answers with the revision.
func (p *plane) submit(b bundle.Bundle, statements ...statement) string {
	p.t.Helper()
	doc, err := bundle.Seal(b)
	if err != nil {
		p.t.Fatalf("bundle: %v", err)
	}
	id := doc.Bundle.CandidateRevisionID
	p.files[id] = doc
	rungs := []string{bundle.RungClaimed}
	var read []bundle.RunEvidence
	if p.reads {
		rungs, read = append(rungs, bundle.RungVerified), readings(&doc.Bundle)
	}
	p.append(&promotion.Entry{
		Type: bundle.TypeSeal, Subject: []bundle.Subject{bundle.FileSubject(bundle.FileName, doc.FileSHA256)},
		Document: doc,
		Predicate: &promotion.Seal{
			CandidateRevisionID: id, FamilyID: b.Candidate.FamilyID,
			RequestedStage: b.SealRequest.RequestedStage, ReceivedAt: p.stamp(),
			Rungs: rungs, PolicyDigest: p.w.Policy().Digest, SealRequest: doc.Bundle.SealRequest, Part: 1,
			Parts: 1, Evidence: read,
		},
	})
	for _, s := range statements {
		p.record(id, s)
	}
	p.settle()
	return id
}

// again is the same core with another request, signed.
func (p *plane) again(id string, s bundle.Stage) {
	p.t.Helper()
	p.repost(id, s, "requester@example.com", signature("packer"))
}

// repost is the same core with another request.
func (p *plane) repost(id string, s bundle.Stage, by string, statements ...statement) {
	p.t.Helper()
	b := p.files[id].Bundle
	b.SealRequest.RequestedStage, b.SealRequest.RequestedBy = s, by
	b.SealRequest.RequestedAt, b.SealRequest.ExpiresAt = p.now.Format(time.RFC3339),
		p.now.Add(30*day).Format(time.RFC3339)
	if got := p.submit(b, statements...); got != id {
		p.t.Fatalf("another core: %s, %s", got, id)
	}
}

// statement is what somebody signs.
type statement struct {
	by, kind  string
	predicate any
}

// say records a statement about a revision and makes what decisions are due.
func (p *plane) say(id string, list ...statement) []promotion.Fact {
	p.t.Helper()
	var facts []promotion.Fact
	for _, s := range list {
		facts = append(facts, p.record(id, s)...)
	}
	p.settle()
	return facts
}

func (p *plane) record(id string, s statement) []promotion.Fact {
	p.t.Helper()
	common := bundle.Common{LogOrigin: origin, CandidateRevisionID: id, MadeAt: p.stamp(),
		ExpiresAt: p.now.Add(5 * day).Format(time.RFC3339Nano), Reason: "because"}
	attested := &bundle.ParsedStatement{Statement: bundle.Statement{PredicateType: s.kind}}
	if doc, ok := p.files[id]; ok {
		attested.Statement.Subject = []bundle.Subject{bundle.FileSubject(bundle.FileName, doc.FileSHA256)}
	}
	if s.predicate != nil { // each recording has its own copy: a statement may be made again later
		predicate := reflect.New(reflect.TypeOf(s.predicate))
		predicate.Elem().Set(reflect.ValueOf(s.predicate))
		attested.Predicate = predicate.Interface()
		attested.Common = predicate.Elem().FieldByName("Common").Addr().Interface().(*bundle.Common)
		if drill, ok := attested.Predicate.(*bundle.Drill); ok && drill.DoneAt == "" {
			drill.DoneAt = p.stamp()
		}
		if attested.Common.MadeAt == "" {
			*attested.Common = common
		}
	}
	k := keys[s.by]
	text, err := json.Marshal(attested.Predicate)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return p.append(&promotion.Entry{
		Type: bundle.TypeRecorded, Subject: []bundle.Subject{promotion.RevisionSubject(id)},
		Attested: attested,
		Predicate: &promotion.Recorded{
			PAESHA256: digest.SHA256Hex(fmt.Appendf(nil, "%s %s %s %s %v", s.by, s.kind, id, text,
				attested.Statement.Subject)), Type: s.kind,
			KeyID: k.KeyID, Principal: k.Principal, Roles: k.Roles, RecordedAt: p.stamp(),
		},
	})
}

func signature(by string) statement { return statement{by, bundle.TypeBundle, nil} }

// replay says that all runs of a revision gave the same report.
func (p *plane) replay(by, id string) statement {
	var runs []bundle.ReplayedRun
	for _, r := range p.files[id].Bundle.Runs {
		runs = append(runs,
			bundle.ReplayedRun{RunID: r.RunID, RequestHash: r.RequestHash, ReportSHA256: r.ReportSHA256})
		if p.reads {
			runs[len(runs)-1].Inputs = inputs(r)
		}
	}
	return statement{by, bundle.TypeReplay, bundle.Replay{Runs: runs}}
}

func (p *plane) approve(by, role, id string, s bundle.Stage) statement {
	p.t.Helper()
	return approval(by, role, s, p.plan(id, s).PlanDigest)
}

func approval(by, role string, s bundle.Stage, planDigest string) statement {
	return statement{by, bundle.TypeApproval,
		bundle.Approval{Action: "promote", Stage: s, Role: role, PlanDigest: planDigest}}
}

func (p *plane) resume(by, role, id string) statement {
	p.t.Helper()
	s := p.state(id)
	if s.SuspensionID == nil {
		p.t.Fatalf("%s has no stop", id)
	}
	stage := s.Stage
	if stage == bundle.Research {
		stage = bundle.Paper
	}
	return statement{by, bundle.TypeApproval,
		bundle.Approval{Action: "resume", Stage: stage, Role: role, SuspensionID: *s.SuspensionID}}
}

func drill(by, result string) statement {
	return statement{by, bundle.TypeDrill,
		bundle.Drill{Drill: "kill_switch", Result: result, RunID: "drill-1", Metadata: "{}"}}
}

func incident(by, id, event, severity string) statement {
	return statement{by, bundle.TypeIncident,
		bundle.Incident{IncidentID: id, Event: event, Severity: severity}}
}

func suspension(to bundle.Stage, kill bool) statement {
	return statement{"host-1", bundle.TypeSuspension, bundle.Suspension{ToStage: to, Kill: kill}}
}

func rejection() statement  { return statement{"anna", bundle.TypeRejection, bundle.Ending{}} }
func retirement() statement { return statement{"otto", bundle.TypeRetirement, bundle.Ending{}} }

func waiver(s bundle.Stage, gate string) statement {
	return statement{"rita", bundle.TypeWaiver, bundle.Waiver{Stage: s, GateID: gate}}
}

func (p *plane) state(id string) *promotion.State {
	p.t.Helper()
	s, err := p.w.State(bundle.SubjectRevision, id, p.now)
	if err != nil {
		p.t.Fatalf("state: %v", err)
	}
	return s
}

func (p *plane) plan(id string, stage bundle.Stage) *promotion.Plan {
	p.t.Helper()
	plan, err := p.w.Plan(bundle.SubjectRevision, id, string(stage), p.now)
	if err != nil {
		p.t.Fatalf("plan: %v", err)
	}
	return plan
}

// at is where a revision stands: "stage/status" as it is derived.
func (p *plane) at(id string) string {
	s := p.state(id)
	return string(s.Stage) + "/" + string(s.StageStatus)
}

func (p *plane) stands(id, want string) {
	p.t.Helper()
	if got := p.at(id); got != want {
		p.t.Fatalf("stands at %s, want %s", got, want)
	}
}

// proven is a bundle that passes plan(canary) once it is signed, replayed and drilled; with
// both soaks plan(live) too.
func (p *plane) proven(edits ...func(*bundle.Bundle)) bundle.Bundle {
	return p.good(
		append([]func(*bundle.Bundle){with(p.soaked(bundle.RolePaper, 15), p.soaked(bundle.RoleCanary, 15))},
			edits...)...)
}

// canary takes a new revision to canary.
func (p *plane) canary(edits ...func(*bundle.Bundle)) string {
	p.t.Helper()
	id := p.submit(p.proven(edits...), signature("packer"))
	p.say(id, p.replay("replayer", id), drill("otto", "pass"))
	p.say(id, p.approve("rita", "risk", id, bundle.Canary), p.approve("anna", "approver", id, bundle.Canary))
	return id
}

// live takes a new revision to live.
func (p *plane) live(edits ...func(*bundle.Bundle)) string {
	p.t.Helper()
	id := p.canary(edits...)
	p.say(id, p.approve("rita", "risk", id, bundle.Live), p.approve("ruth", "approver", id, bundle.Live))
	return id
}

package bundle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
)

func TestBadStatements(t *testing.T) {
	d := sealed(t)
	good := map[string]tree{}
	for predicateType, p := range statements(d) {
		text, err := bundle.NewStatement(predicateType, []bundle.Subject{bundle.FileSubject("x", hex64("x"))},
			p)
		if err != nil {
			t.Fatal(err)
		}
		if _, refused := bundle.ReadStatement(text); refused != nil {
			t.Fatalf("%s: %v", predicateType, refused)
		}
		good[predicateType] = treeOf(t, text)
	}
	for _, c := range []struct {
		predicateType, path string
		value               any // nil drops
		at                  string
	}{
		{bundle.TypeWaiver, "_type", "https://in-toto.io/Statement/v0.1", ""},
		{bundle.TypeWaiver, "_type", nil, ""},
		{bundle.TypeWaiver, "extra", 1.0, ""},
		{bundle.TypeWaiver, "subject", []any{}, ""},
		{bundle.TypeWaiver, "subject", make([]any, 1025), ""},
		{bundle.TypeWaiver, "subject/0/digest", map[string]any{}, ""},
		{bundle.TypeWaiver, "subject/0/digest", hex64("x"), ""},
		{bundle.TypeWaiver, "subject/0/digest/sha256", 1.0, ""},
		{bundle.TypeWaiver, "subject/0/uri", "x", ""},
		{bundle.TypeWaiver, "predicateType", " ", ""},
		{bundle.TypeWaiver, "predicate", nil, ""},
		{bundle.TypeWaiver, "predicate", []any{}, ""},
		{bundle.TypeWaiver, "predicate/Stage", "live", ""},
		{bundle.TypeWaiver, "predicate/plan_digest", "x", ""},
		{bundle.TypeWaiver, "predicate/log_origin", nil, ""},
		{bundle.TypeWaiver, "predicate/candidate_revision_id", "cr-1", ""},
		{bundle.TypeWaiver, "predicate/made_at", "2026-11-20", ""},
		{bundle.TypeWaiver, "predicate/expires_at", "2026-11-20T12:00:00Z", ""},
		{bundle.TypeWaiver, "predicate/reason", 1.0, ""},
		{bundle.TypeWaiver, "predicate/stage", "research", ""},
		{bundle.TypeWaiver, "predicate/gate_id", "", ""},
		{bundle.TypeReplay, "predicate/runs", []any{}, ""},
		{bundle.TypeReplay, "predicate/runs/0/report_sha256", "x", ""},
		{bundle.TypeReplay, "predicate/runs/0/trades", nil, ""},
		{bundle.TypeReplay, "predicate/runs/0/trades/0/sha256", nil, ""},
		{bundle.TypeReplay, "predicate/parent_revision_id", "x", ""},
		{bundle.TypeApproval, "predicate/action", "veto", ""},
		{bundle.TypeApproval, "predicate/role", "any", ""},
		{bundle.TypeApproval, "predicate/stage", "research", ""},
		{bundle.TypeApproval, "predicate/plan_digest", nil, ""},
		{bundle.TypeApproval, "predicate/plan_digest", hex64("bare"), ""},
		{bundle.TypeApproval, "predicate/suspension_id", hex64("stop"), ""},
		{bundle.TypeApproval, "predicate/action", "resume", "/predicate/suspension_id"},
		{bundle.TypeDrill, "predicate/drill", "fire", ""},
		{bundle.TypeDrill, "predicate/result", "passed", ""},
		{bundle.TypeDrill, "predicate/run_id", "A", ""},
		{bundle.TypeDrill, "predicate/done_at", "now", ""},
		{bundle.TypeRun, "predicate/run_id", "A", ""},
		{bundle.TypeRun, "predicate/report_sha256", "x", ""},
		{bundle.TypeRun, "predicate/metadata_sha256", nil, ""},
		{bundle.TypeIncident, "predicate/severity", nil, ""},
		{bundle.TypeIncident, "predicate/severity", "minor", ""},
		{bundle.TypeIncident, "predicate/event", "reopen", ""},
		{bundle.TypeSuspension, "predicate/to_stage", "live", ""},
		{bundle.TypeSuspension, "predicate/kill", "yes", ""},
		{bundle.TypeSuspension, "predicate/kill", nil, ""},
		{bundle.TypeRejection, "predicate/stage", "live", ""},
		{bundle.TypeRetirement, "predicate/replaced_by", "sma", ""},
	} {
		s := treeOf(t, good[c.predicateType].text())
		if c.value == nil {
			s.drop(c.path)
		} else {
			s.set(c.path, c.value)
		}
		if c.at == "" {
			c.at = "/" + c.path
		}
		_, err := bundle.ReadStatement(s.text())
		wants(t, fmt.Sprintf("%s %s=%.20v", c.predicateType, c.path, c.value), err, bundle.InvalidAttestation,
			c.at)
	}
	replay := treeOf(t, good[bundle.TypeReplay].text())
	one := replay.get("predicate/runs/0")
	replay.set("predicate/runs", []any{one, one})
	_, err := bundle.ReadStatement(replay.text())
	wants(t, "a run twice", err, bundle.InvalidAttestation, "/predicate/runs/1/run_id")
	text := string(good[bundle.TypeWaiver].text())
	_, err = bundle.ReadStatement(
		[]byte(strings.Replace(text, `"stage":"canary"`, `"stage":"canary","stage":"live"`, 1)))
	wants(t, "a name twice", err, bundle.InvalidAttestation, "/predicate/stage")
}

func TestAttestRefusesWhatWouldBeRefused(t *testing.T) {
	d := sealed(t)
	if _, err := d.Attest(bundle.TypeWaiver, &bundle.Waiver{Common: common(d)},
		testKey(t, "risk")); err == nil {
		t.Error("a waiver of nothing was signed")
	}
	if _, err := d.Attest(bundle.TypeBundle, func() {}, testKey(t, "lab")); err == nil {
		t.Error("a function was signed")
	}
	if _, err := d.Attest(bundle.TypeBundle, nil, nil); err == nil {
		t.Error("signed without a key")
	}
}

func FuzzStatement(f *testing.F) {
	d := sealed(f)
	for predicateType, p := range statements(d) {
		text, err := bundle.NewStatement(predicateType, []bundle.Subject{bundle.FileSubject("x", hex64("x"))},
			p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	answered := *statements(d)[bundle.TypeReplay].(*bundle.Replay)
	answered.Challenge = &bundle.ChallengeAnswer{DecisionSHA256: hex64("decisions"), Challenge: bundle.Challenge{
		Schema: bundle.SchemaChallenge, Leaf: hex64("leaf"), Start: "2023-01-01T00:00:00.000Z", Candles: 2000}}
	text, err := bundle.NewStatement(bundle.TypeReplay, []bundle.Subject{bundle.FileSubject("x", hex64("x"))},
		answered)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	chunk := bundle.DisputedChunk{Date: "2026-11-25", Chunk: hex64("a"), Own: hex64("b"), OwnRows: 24,
		First: &bundle.DifferingCandle{Symbol: "BTC/USDT", OpenTime: "2026-11-25T07:00:00Z", Within: 1, Own: "1,2,1,2,5"}}
	for kind, p := range map[string]any{
		bundle.TypeDispute: bundle.Dispute{Common: common(d), Event: bundle.DisputeOpen, Exchange: "binance",
			Symbols: []string{"BTC/USDT"}, Timeframe: "1h", Chunks: []bundle.DisputedChunk{chunk}},
		bundle.TypeCommitment: bundle.Commitment{Common: common(d), Challenge: answered.Challenge.Challenge,
			Commitment: hex64("c")},
		bundle.TypeReveal: bundle.Reveal{Common: common(d), Challenge: *answered.Challenge, Nonce: hex64("n")},
	} {
		text, err := bundle.NewStatement(kind, []bundle.Subject{bundle.FileSubject("x", hex64("x"))}, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		said, err := bundle.ReadStatement(in)
		if err != nil {
			if err.Code != bundle.InvalidAttestation {
				t.Fatalf("%s", err.Code)
			}
			return
		}
		if said.Statement.Type != bundle.StatementType || len(said.Statement.Subject) == 0 {
			t.Fatalf("%+v", said.Statement)
		}
		if c := said.Common; c != nil {
			from, ok1 := field.ParseTime(c.MadeAt)
			to, ok2 := field.ParseTime(c.ExpiresAt)
			if !ok1 || !ok2 || !to.After(from) || !field.IsRevision(c.CandidateRevisionID) {
				t.Fatalf("%+v", c)
			}
		}
	})
}

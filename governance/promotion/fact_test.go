package promotion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/translog"
)

var sum = strings.Repeat("ab", 32)

const at = "2026-11-20T12:30:00.25Z"

func document(t testing.TB) *bundle.Document {
	t.Helper()
	doc, err := bundle.Seal(bundle.Bundle{
		Candidate: bundle.Candidate{CandidateID: "a.b", FamilyID: "a", Slug: "a", Owner: "o",
			Lineage: bundle.Lineage{ChangeClass: "initial"}},
		Strategy: bundle.Strategy{
			Name: "a", Version: "1", Params: json.RawMessage(`{"x":1}`), Symbols: []string{"BTC/USDT"},
			Timeframes: []string{"1h"},
			Plugin:     bundle.Plugin{SHA256: sum, Size: 1, OS: "linux", Arch: "amd64", ProtocolVersion: 1},
		},
		Engine: bundle.Engine{Name: "assay", Version: "1"},
		Runs: []bundle.Run{
			{RunID: "r1", Role: "baseline", RequestHash: sum, ReportSHA256: sum,
				CompletedAt: "2026-11-01T00:00:00Z", Summary: map[string]float64{"x": 1.5}},
			{RunID: "r2", Role: "oos", RequestHash: sum, ReportSHA256: sum,
				CompletedAt: "2026-11-01T00:00:00Z"},
		},
		Artifacts: []bundle.Artifact{{Name: "runs/r1/report.json", SHA256: sum, Size: 1, RunID: "r1"}},
		Limits: bundle.Limits{
			MaxCapital: "1", MaxOrderValue: "1", MaxPositionValue: "1", MaxOrdersPerMinute: 1,
			MaxInstruments: 1, MaxVenues: 1, MaxDrawdown: "0.1",
		},
		SealRequest: bundle.SealRequest{
			RequestedStage: "paper", RequestedBy: "o", RequestedAt: "2026-11-20T12:00:00Z",
			ExpiresAt: "2026-11-21T12:00:00Z", LogOrigin: "g.example",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func seal(t testing.TB) *promotion.Entry {
	doc := document(t)
	return &promotion.Entry{
		Seq: 7, Type: bundle.TypeSeal, Document: doc,
		Subject: []bundle.Subject{bundle.FileSubject(bundle.FileName, doc.FileSHA256),
			bundle.FileSubject("runs/r1/report.json", sum)},
		Predicate: &promotion.Seal{
			CandidateRevisionID: doc.Bundle.CandidateRevisionID, FamilyID: "a", RequestedStage: "paper",
			ReceivedAt: at, Rungs: []string{"hash_claimed"},
			PolicyDigest: "sha256:" + sum, SealRequest: doc.Bundle.SealRequest, Part: 1, Parts: 1,
			Evidence: []bundle.RunEvidence{{RunID: "r1", InputsSHA256: sum,
				Edge: &bundle.Edge{Trades: 9, Bps: -3.5}, Impact: &bundle.Impact{Capital: 10000, Bps: 0.5}},
				{RunID: "r2", InputsSHA256: sum, Returns: []bundle.Places{{To: 1}, {From: 3, To: 5}}}},
		},
	}
}

func recorded(t testing.TB, kind string, predicate any) *promotion.Entry {
	revision := document(t).Bundle.CandidateRevisionID
	return &promotion.Entry{
		Seq: 8, Type: bundle.TypeRecorded, Subject: []bundle.Subject{promotion.RevisionSubject(revision)},
		Attested: &bundle.ParsedStatement{Statement: bundle.Statement{PredicateType: kind}, Predicate: predicate},
		Predicate: &promotion.Recorded{PAESHA256: sum, Type: kind, KeyID: sum, Principal: "p",
			Roles: []string{"risk"}, RecordedAt: at},
	}
}

func decision(t testing.TB, from, to string, cause promotion.Cause) *promotion.Entry {
	trust := "sha256:" + sum
	d := &promotion.StageDecision{To: to, Cause: cause, PolicyDigest: "sha256:" + sum, EvaluatedAt: at,
		TrustDigest: &trust}
	if from != "" {
		d.From = &from
	}
	return &promotion.Entry{
		Seq: 9, Type: bundle.TypeStageDecision, Predicate: d,
		Subject: []bundle.Subject{promotion.RevisionSubject(document(t).Bundle.CandidateRevisionID)},
	}
}

func entries(t testing.TB) map[string]*promotion.Entry {
	text := func(kind string) *promotion.Entry {
		return &promotion.Entry{Seq: 1, Type: kind,
			Predicate: &promotion.LoadedText{Digest: "sha256:" + digest.SHA256Hex([]byte(`{}`)), Version: 1,
				Text: `{}`, RecordedAt: at}}
	}
	parent := document(t).Bundle.CandidateRevisionID
	second := seal(t)
	second.Predicate.(*promotion.Seal).Part, second.Predicate.(*promotion.Seal).Parts, second.Document = 2, 2,
		nil
	return map[string]*promotion.Entry{
		"log_started": {Type: bundle.TypeLogStart,
			Predicate: &promotion.LogStart{Origin: "g.example",
				PublicKeys: promotion.PublicKeys{Statement: "s", Log: "l"}, RecordedAt: at}},
		"bundle_ingested run_linked run_linked artifact_listed limits_declared lineage_computed": seal(t),
		"":                                second,
		"attestation_added":               recorded(t, "https://elsewhere.example/x", nil),
		"attestation_added bundle_signed": recorded(t, bundle.TypeBundle, nil),
		"attestation_added replay_verified": recorded(t, bundle.TypeReplay,
			&bundle.Replay{ParentRevisionID: &parent,
				Runs: []bundle.ReplayedRun{{RunID: "r1", Trades: []bundle.SplitTrades{{SplitID: "a"}}}}}),
		"attestation_added approval_granted": recorded(t, bundle.TypeApproval,
			&bundle.Approval{Role: "risk", Stage: "canary"}),
		"attestation_added waiver_granted":  recorded(t, bundle.TypeWaiver, &bundle.Waiver{GateID: "g"}),
		"attestation_added drill_recorded":  recorded(t, bundle.TypeDrill, &bundle.Drill{RunID: "r9"}),
		"attestation_added run_hosted":      recorded(t, bundle.TypeRun, &bundle.HostedRun{RunID: "r9"}),
		"attestation_added shadow_disputed": recorded(t, bundle.TypeDispute, &bundle.Dispute{Event: "open"}),
		"attestation_added answer_committed": recorded(t, bundle.TypeCommitment,
			&bundle.Commitment{Commitment: digest.SHA256Hex(nil)}),
		"attestation_added answer_revealed": recorded(t, bundle.TypeReveal,
			&bundle.Reveal{Nonce: digest.SHA256Hex(nil)}),
		"attestation_added incident_opened": recorded(t, bundle.TypeIncident,
			&bundle.Incident{Event: "open", Severity: "critical"}),
		"attestation_added incident_closed": recorded(t, bundle.TypeIncident,
			&bundle.Incident{Event: "close"}),
		"attestation_added suspended": recorded(t, bundle.TypeSuspension, &bundle.Suspension{Kill: true}),
		"attestation_added demoted": recorded(t, bundle.TypeSuspension,
			&bundle.Suspension{ToStage: "paper"}),
		"attestation_added rejected": recorded(t, bundle.TypeRejection, &bundle.Ending{}),
		"attestation_added retired":  recorded(t, bundle.TypeRetirement, &bundle.Ending{ReplacedBy: parent}),
		"stage_entered":              decision(t, "", "research/pending", promotion.CauseFirst),
		"stage_left stage_entered": decision(t, "research/pending", "paper/active",
			promotion.CausePromoted),
		"superseded":    decision(t, "paper/active", "paper/superseded", promotion.CauseSuperseded),
		"resumed":       decision(t, "paper/suspended", "paper/active", promotion.CauseResumed),
		"policy_loaded": text(bundle.TypePolicy),
		"trust_loaded":  text(bundle.TypeTrust),
	}
}

func TestFactsOfEachEntry(t *testing.T) {
	for want, e := range entries(t) {
		facts, err := promotion.FactsOf(e)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		var types []string
		ids := map[string]bool{}
		for _, f := range facts {
			types = append(types, string(f.Type))
			ids[f.ID] = true
			if f.Seq != e.Seq || f.At.Format(time.RFC3339Nano) != at || f.Revision != e.Revision() {
				t.Errorf("%s: %+v", want, f)
			}
			checkEncoding(t, f)
		}
		if got := strings.Join(types, " "); got != want || len(ids) != len(facts) {
			t.Errorf("%s, want %s; %d ids", got, want, len(ids))
		}
		again, _ := promotion.FactsOf(e)
		for i := range facts {
			if facts[i].ID != again[i].ID {
				t.Errorf("%s: another id", facts[i].Type)
			}
		}
	}
}

// checkEncoding writes a fact and reads it again; its id is the hash of the rest.
func checkEncoding(t *testing.T, f promotion.Fact) {
	t.Helper()
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := promotion.Decode(text)
	if err != nil {
		t.Errorf("%s: %v\n%s", f.Type, err, text)
		return
	}
	again, err := read.Encode()
	if err != nil || !bytes.Equal(text, again) ||
		fmt.Sprintf("%T", read.Fields) != fmt.Sprintf("%T", f.Fields) {
		t.Errorf("%s: %v\n%s\n%s", f.Type, err, text, again)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "fact_id")
	if hash, err := digest.Of(members); err != nil || f.ID != "sha256:"+hash {
		t.Errorf("%s: its id is not the hash of its content", f.Type)
	}
	if _, err := promotion.Decode(bytes.Replace(text, []byte(`"seq":`), []byte(`"seq":1`), 1)); err == nil {
		t.Errorf("%s: a changed fact keeps its id", f.Type)
	}
}

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	for name, e := range entries(t) {
		payload, err := e.Payload()
		if err != nil {
			t.Fatal(err)
		}
		read, err := promotion.ReadEntry(e.Seq, payload)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, payload)
			continue
		}
		read.Document, read.Attested = e.Document, e.Attested
		a, errA := promotion.FactsOf(e)
		b, errB := promotion.FactsOf(read)
		if errA != nil || errB != nil || !slices.EqualFunc(a, b, func(x, y promotion.Fact) bool {
			return x.ID == y.ID
		}) {
			t.Errorf("%s: other facts: %v %v", name, errA, errB)
		}
	}
}

func TestEntriesThatDoNotFit(t *testing.T) {
	bare := seal(t)
	bare.Document = nil
	other := seal(t)
	other.Subject[0].Digest["sha256"] = sum
	silent := recorded(t, bundle.TypeWaiver, &bundle.Waiver{})
	silent.Attested = nil
	swapped := recorded(t, bundle.TypeWaiver, &bundle.Waiver{})
	swapped.Attested.Statement.PredicateType = bundle.TypeDrill
	about := recorded(t, bundle.TypeWaiver, &bundle.Waiver{})
	about.Attested.Common = &bundle.Common{CandidateRevisionID: "cr-" + sum}
	nobody := recorded(t, bundle.TypeWaiver, &bundle.Waiver{})
	nobody.Subject = nil
	undated := decision(t, "", "research/pending", promotion.CauseFirst)
	undated.Predicate.(*promotion.StageDecision).EvaluatedAt = "today"
	for name, e := range map[string]*promotion.Entry{
		"a seal without its bundle": bare, "a seal of another file": other,
		"an attestation that is missing": silent,
		"another attestation":            swapped, "about another revision": about, "about nothing": nobody,
		"without a time": undated,
		"no predicate":   {Type: bundle.TypePolicy},
		"to no stage":    decision(t, "", "dev/active", promotion.CauseFirst),
		"from no status": decision(t, "paper/eligible", "paper/active", promotion.CauseResubmitted),
	} {
		if name == "to no stage" {
			payload, _ := e.Payload()
			if _, err := promotion.ReadEntry(1, payload); err == nil {
				t.Errorf("%s: read", name)
			}
		}
		if facts, err := promotion.FactsOf(e); err == nil {
			t.Errorf("%s: %+v", name, facts)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, s := range []string{"research/pending", "live/suspended", "retired/retired", "paper/superseded"} {
		if p, err := promotion.ParsePlace(s); err != nil || p.String() != s {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", "paper", "paper/", "paper/eligible", "dev/active", "paper/active/x"} {
		if _, err := promotion.ParsePlace(s); err == nil {
			t.Errorf("%s is a place", s)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, e := range entries(f) {
		payload, _ := e.Payload()
		f.Add(payload)
	}
	p := newPlane(f)
	given := p.cosignature("w1", p.now)
	payload, _ := (&promotion.Entry{Type: bundle.TypeCosigned, Predicate: &promotion.Cosigned{
		Origin: given.Origin, Size: given.Size, Root: translog.Hex(given.Root), RecordedAt: p.stamp(),
		Cosignatures: []promotion.Cosignature{{Witness: given.Key.VKey(), Line: given.Line}}}}).Payload()
	if e, err := promotion.ReadEntry(3, payload); err != nil {
		f.Fatal(err)
	} else if facts, err := promotion.FactsOf(e); err != nil || len(facts) != 1 {
		f.Fatal(facts, err)
	}
	f.Add(payload)
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := promotion.ReadEntry(3, payload)
		if err != nil {
			return
		}
		again, err := e.Payload()
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("%s becomes %s: %v", payload, again, err)
		}
		_, _ = promotion.FactsOf(e) // must not panic without what the entry names
	})
}

func FuzzDecode(f *testing.F) {
	for _, e := range entries(f) {
		facts, _ := promotion.FactsOf(e)
		for _, one := range facts {
			text, _ := one.Encode()
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := promotion.Decode(text)
		if err != nil {
			return
		}
		again, err := one.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := promotion.Decode(again); err != nil || twice.ID != one.ID {
			t.Fatalf("%v", err)
		}
	})
}

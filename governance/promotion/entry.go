package promotion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
)

// Entry is one statement of the log with what it names.
type Entry struct {
	Seq  int64 // 0-based place in the log
	Type string
	// Subject are the files that the statement is about: of a seal the bundle, then its
	// verified artifacts; of attestations and decisions the revision; else none.
	Subject []bundle.Subject
	// Predicate is *LogStart, *Seal, *Recorded, *StageDecision or *Text, by Type.
	Predicate any
	// Document is the bundle that a Seal accepts; it need not be given with other
	// entries, nor with a seal's parts behind the first.
	Document *bundle.Document
	// Said is the attestation of a Recorded.
	Said *bundle.Said
}

// RevisionSubject is the subject of statements about a revision: its id, and the digest
// of its core.
func RevisionSubject(revision string) bundle.Subject {
	return bundle.FileSubject(revision, revision[len(bundle.RevisionPrefix):])
}

// Revision is the candidate_revision_id that the entry is about, "" for those about the
// log itself.
func (e *Entry) Revision() string {
	if s, ok := e.Predicate.(*Seal); ok {
		return s.CandidateRevisionID
	}
	for _, s := range e.Subject {
		if field.IsRevision(s.Name) {
			return s.Name
		}
	}
	return ""
}

// At is when the entry was made, as it says itself.
func (e *Entry) At() (time.Time, error) {
	var text string
	switch p := e.Predicate.(type) {
	case *LogStart:
		text = p.RecordedAt
	case *Seal:
		text = p.ReceivedAt
	case *Recorded:
		text = p.RecordedAt
	case *StageDecision:
		text = p.EvaluatedAt
	case *Text:
		text = p.RecordedAt
	default:
		return time.Time{}, fmt.Errorf("entry %d: no predicate of a known type", e.Seq)
	}
	t, ok := field.ParseTime(text)
	if !ok {
		return time.Time{}, fmt.Errorf("entry %d: its time is not RFC 3339", e.Seq)
	}
	return t, nil
}

// Payload is the canonical text of the entry's statement: what is signed.
func (e *Entry) Payload() ([]byte, error) {
	subjects := e.Subject
	if subjects == nil {
		subjects = []bundle.Subject{}
	}
	return bundle.NewStatement(e.Type, subjects, e.Predicate)
}

// ReadEntry reads the payload of an entry of this log: strictly, because a log may have been
// edited. Document and Said are left to the caller.
func ReadEntry(seq int64, payload []byte) (*Entry, error) {
	v, refused := field.Parse(payload)
	if refused != nil {
		return nil, fmt.Errorf("entry %d: %w", seq, refused)
	}
	r := &field.Reader{}
	o := r.Object(v, "", field.Names("_type subject predicateType predicate"), nil)
	e := &Entry{Seq: seq, Type: o.Filled("predicateType")}
	o.OneOf("_type", field.InvalidField, bundle.StatementType)
	o.Each("subject", maxSubjects, func(_ int, v any, at string) {
		one := r.Object(v, at, field.Names("name digest"), nil)
		sum := one.Child("digest", field.Names("sha256"), nil)
		e.Subject = append(e.Subject, bundle.FileSubject(one.Text("name"), sum.SHA256("sha256")))
	})
	if !r.Failed() {
		e.Predicate = readPredicate(r, e.Type, o)
	}
	if r.Failed() {
		return nil, fmt.Errorf("entry %d: %w", seq, r.Err())
	}
	again, err := e.Payload()
	if err != nil || !slices.Equal(again, payload) {
		return nil, fmt.Errorf("entry %d: its text is not canonical", seq)
	}
	return e, nil
}

// maxSubjects is how many subjects a statement may have.
const maxSubjects = 1024

const maxVersion = 1<<53 - 1

func readPredicate(r *field.Reader, kind string, o field.Object) any {
	child := func(need, may string) field.Object {
		return o.Child("predicate", field.Names(need), field.Names(may))
	}
	switch kind {
	case bundle.TypeLogStart:
		p := child("origin public_keys recorded_at", "")
		keys := p.Child("public_keys", field.Names("statement log"), nil)
		at, _ := p.Time("recorded_at")
		return &LogStart{Origin: p.Filled("origin"), RecordedAt: at, PublicKeys: PublicKeys{Statement: keys.Text("statement"), Log: keys.Text("log")}}
	case bundle.TypeSeal:
		return readSeal(r, child("candidate_revision_id family_id requested_stage received_at rungs policy_digest "+
			"trust_digest seal_request part parts", "evidence"))
	case bundle.TypeRecorded:
		p := child("pae_sha256 type key_id principal roles recorded_at", "")
		at, _ := p.Time("recorded_at")
		return &Recorded{
			PAESHA256: p.SHA256("pae_sha256"), Type: p.Filled("type"), KeyID: p.SHA256("key_id"),
			Principal: p.Filled("principal"), Roles: p.Texts("roles", 0, nil), RecordedAt: at,
		}
	case bundle.TypeStageDecision:
		return readDecision(child("from to cause plan_digest policy_digest evaluated_at", "related_revision_id"))
	case bundle.TypePolicy, bundle.TypeTrust:
		p := child("digest version text recorded_at", "rules")
		at, _ := p.Time("recorded_at")
		text, _ := p.Raw("text").(string) // may be longer than other texts
		if digest.SHA256Hex([]byte(text)) != trimDigest(p.Digest("digest")) {
			p.Fail(field.InvalidDigest, "digest", "is not that of the text")
		}
		t := &Text{
			Digest: p.Digest("digest"), Version: p.Integer("version", 0, maxVersion), Text: text, RecordedAt: at,
		}
		if p.Has("rules") {
			t.Rules = p.Integer("rules", RulesVerified, RulesVerified)
		}
		return t
	}
	o.Fail(field.InvalidField, "predicateType", "is no type of an entry")
	return nil
}

func readSeal(r *field.Reader, p field.Object) *Seal {
	at, _ := p.Time("received_at")
	s := &Seal{
		CandidateRevisionID: p.Revision("candidate_revision_id"), FamilyID: p.Identifier("family_id"),
		RequestedStage: bundle.Stage(p.OneOf("requested_stage", field.InvalidStage, stageNames(bundle.PromotionStages())...)), ReceivedAt: at,
		Rungs: p.Texts("rungs", len(bundle.Rungs()), nil), PolicyDigest: p.Digest("policy_digest"), TrustDigest: nullable(p, "trust_digest"),
		Part: int(p.Integer("part", 1, maxSubjects)), Parts: int(p.Integer("parts", 1, maxSubjects)),
	}
	q := p.Child("seal_request", field.Names("schema subject_type subject_id bundle_digest requested_stage requested_by requested_at expires_at log_origin"), nil)
	requested, _ := q.Time("requested_at")
	expires, _ := q.Time("expires_at")
	s.SealRequest = bundle.SealRequest{
		Schema: q.Text("schema"), SubjectType: q.Text("subject_type"), SubjectID: q.Revision("subject_id"), BundleDigest: q.Digest("bundle_digest"),
		RequestedStage: bundle.Stage(q.Text("requested_stage")), RequestedBy: q.Text("requested_by"), RequestedAt: requested, ExpiresAt: expires,
		LogOrigin: q.Text("log_origin"),
	}
	p.Each("evidence", bundle.MaxRuns, func(_ int, v any, at string) {
		one := r.Object(v, at, field.Names("run_id inputs_sha256"), field.Names("falsification"))
		e := bundle.RunEvidence{RunID: one.Identifier("run_id"), InputsSHA256: one.SHA256("inputs_sha256")}
		if one.Has("falsification") {
			e.Falsification = bundle.ReadFalsification(r, one)
		}
		s.Evidence = append(s.Evidence, e)
	})
	if s.SealRequest.SubjectID != s.CandidateRevisionID && !r.Failed() {
		q.Fail(field.SealSubjectMismatch, "subject_id", "is not the sealed revision")
	}
	return s
}

func readDecision(p field.Object) *StageDecision {
	at, _ := p.Time("evaluated_at")
	d := &StageDecision{
		To: p.Text("to"), PlanDigest: nullable(p, "plan_digest"), PolicyDigest: p.Digest("policy_digest"), EvaluatedAt: at,
		RelatedRevisionID: p.Revision("related_revision_id"),
	}
	d.Cause = Cause(p.OneOf("cause", field.InvalidField, string(CauseFirst), string(CauseInherited), string(CausePromoted),
		string(CauseSuperseded), string(CauseResumed), string(CauseResubmitted), string(CauseFailed)))
	if _, err := ParsePlace(d.To); err != nil {
		p.Fail(field.InvalidStage, "to", "%s", err)
	}
	if p.Raw("from") != nil {
		from := p.Text("from")
		d.From = &from
		if _, err := ParsePlace(from); err != nil {
			p.Fail(field.InvalidStage, "from", "%s", err)
		}
	}
	return d
}

func nullable(o field.Object, name string) *string {
	if o.Raw(name) == nil {
		return nil
	}
	s := o.Digest(name)
	return &s
}

func trimDigest(s string) string {
	if len(s) <= len(bundle.DigestPrefix) {
		return ""
	}
	return s[len(bundle.DigestPrefix):]
}

// LogStart is the predicate log-start/v1: the first entry of a log. Times in this file
// are RFC 3339 in UTC.
type LogStart struct {
	Origin     string     `json:"origin"`
	PublicKeys PublicKeys `json:"public_keys"`
	RecordedAt string     `json:"recorded_at"`
}

// PublicKeys are the keys of a log: of its statements as PEM, of its checkpoints as a
// verifier key of signed notes.
type PublicKeys struct {
	Statement string `json:"statement"`
	Log       string `json:"log"`
}

// Seal is the predicate seal/v1: these exact bytes were accepted. TrustDigest is null in
// open mode. A seal whose artifacts are more than one statement can name is split in
// Parts, of which Part is the 1-based number.
type Seal struct {
	CandidateRevisionID string             `json:"candidate_revision_id"`
	FamilyID            string             `json:"family_id"`
	RequestedStage      bundle.Stage       `json:"requested_stage"`
	ReceivedAt          string             `json:"received_at"`
	Rungs               []string           `json:"rungs"`
	PolicyDigest        string             `json:"policy_digest"`
	TrustDigest         *string            `json:"trust_digest"`
	SealRequest         bundle.SealRequest `json:"seal_request"`
	Part                int                `json:"part"`
	Parts               int                `json:"parts"`
	// Evidence is what the files of all runs came to, in the order of the bundle; empty
	// where one of them was not read, in further parts, and in seals of earlier versions.
	Evidence []bundle.RunEvidence `json:"evidence,omitempty"`
}

// Recorded is the predicate attestation-recorded/v1: an attestation was verified with
// this key, which then belonged to this principal and had these roles.
type Recorded struct {
	PAESHA256  string   `json:"pae_sha256"`
	Type       string   `json:"type"` // the attestation's predicate type
	KeyID      string   `json:"key_id"`
	Principal  string   `json:"principal"`
	Roles      []string `json:"roles"`
	RecordedAt string   `json:"recorded_at"`
}

// StageDecision is the predicate stage-decision/v1: what the machine decided. From and To
// are "stage/status"; From is null for a revision's first place.
type StageDecision struct {
	From         *string `json:"from"`
	To           string  `json:"to"`
	Cause        Cause   `json:"cause"`
	PlanDigest   *string `json:"plan_digest"`
	PolicyDigest string  `json:"policy_digest"`
	EvaluatedAt  string  `json:"evaluated_at"`
	// RelatedRevisionID is the revision that superseded this one, or from which it
	// inherits its place.
	RelatedRevisionID string `json:"related_revision_id,omitempty"`
}

// Cause is why a stage decision was made.
type Cause string

// The causes.
const (
	CauseFirst       Cause = "first_submission"
	CauseInherited   Cause = "inherited"
	CausePromoted    Cause = "promoted"
	CauseSuperseded  Cause = "superseded"
	CauseResumed     Cause = "resumed"
	CauseResubmitted Cause = "resubmitted"
	CauseFailed      Cause = "plan_failed"
)

// Text is the predicate policy/v1 or trust/v1: a policy or trust.json as canonical JSON.
//
// Rules is, of a policy, the version of the rules by which gates are judged from here on; 0
// stands for the first.
type Text struct {
	Digest     string `json:"digest"`
	Version    int64  `json:"version"`
	Text       string `json:"text"`
	Rules      int64  `json:"rules,omitempty"`
	RecordedAt string `json:"recorded_at"`
}

// RulesVerified is the version of the rules under which a gate judges only what the plane has
// worked out of files that it has read. Before it gates believed what a bundle declares.
const RulesVerified = 2

// Status is how a revision stands in its stage.
type Status string

// The statuses. Eligible and Expired are derived when a state is read: a decision never
// names them.
const (
	Pending    Status = "pending"
	Active     Status = "active"
	Suspended  Status = "suspended"
	Rejected   Status = "rejected"
	Superseded Status = "superseded"
	Retired    Status = "retired"

	Eligible Status = "eligible" // only people are missing
	Expired  Status = "expired"  // a gate of the stage ran out
)

// Terminal reports whether nothing changes this status any more.
func (s Status) Terminal() bool { return s == Rejected || s == Retired }

// Place is where a revision stands. Its text is "stage/status".
type Place struct {
	Stage  bundle.Stage
	Status Status
}

// String is the text of a place.
func (p Place) String() string { return string(p.Stage) + "/" + string(p.Status) }

// ParsePlace reads the text of a place.
func ParsePlace(s string) (Place, error) {
	stage, status, _ := strings.Cut(s, "/")
	p := Place{bundle.Stage(stage), Status(status)}
	known := bundle.Rank(p.Stage) >= 0 && slices.Contains([]Status{Pending, Active, Suspended, Rejected, Superseded, Retired}, p.Status)
	if !known {
		return Place{}, fmt.Errorf("%q is no stage with a status", s)
	}
	return p, nil
}

func stageNames(stages []bundle.Stage) []string {
	names := make([]string, len(stages))
	for i, s := range stages {
		names[i] = string(s)
	}
	return names
}

package promotion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// Entry is one statement of the log with what it names.
type Entry struct {
	Seq  int64 // 0-based place in the log
	Type string
	// Subject are the files that the statement is about: of a seal the bundle, then its
	// verified artifacts; of attestations and decisions the revision; else none.
	Subject []bundle.Subject
	// Predicate is *LogStart, *Seal, *Recorded, *StageDecision, *LoadedText or *RegistryIssued, by Type.
	Predicate any
	// Document is the bundle that a Seal accepts; it need not be given with other
	// entries, nor with a seal's parts behind the first.
	Document *bundle.Document
	// Said is the attestation of a Recorded.
	Attested *bundle.ParsedStatement
	// Leaf is the hash of the entry in the tree, lower-case hex; "" where it is not known.
	Leaf string
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

// Stamp is when the entry was made as it is written there, "" where its type is not known.
func (e *Entry) Stamp() string {
	switch p := e.Predicate.(type) {
	case *LogStart:
		return p.RecordedAt
	case *Seal:
		return p.ReceivedAt
	case *Recorded:
		return p.RecordedAt
	case *StageDecision:
		return p.EvaluatedAt
	case *LoadedText:
		return p.RecordedAt
	case *RegistryIssued:
		return p.RecordedAt
	case *RegisteredPlan:
		return p.RecordedAt
	case *Cosigned:
		return p.RecordedAt
	case *translog.Rotation:
		return p.RecordedAt
	}
	return ""
}

// At is the time of [Entry.Stamp].
func (e *Entry) At() (time.Time, error) {
	t, ok := field.ParseTime(e.Stamp())
	if !ok {
		return time.Time{}, fmt.Errorf("entry %d: it has no time in RFC 3339", e.Seq)
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
	var st struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string `json:"name"`
			Digest struct {
				SHA256 string `json:"sha256" is:"sha256"`
			} `json:"digest"`
		} `json:"subject" max:"1024"`
		PredicateType string `json:"predicateType" is:"filled"`
	}
	r := &field.Reader{}
	o := r.Object(v, "", field.Names("_type subject predicateType predicate"), nil)
	o.OneOf("_type", field.InvalidField, bundle.StatementType)
	o.Into(&st)
	e := &Entry{Seq: seq, Type: st.PredicateType}
	for _, one := range st.Subject {
		e.Subject = append(e.Subject, bundle.FileSubject(one.Name, one.Digest.SHA256))
	}
	if predicate, ok := predicates[dsse.PermanentType(e.Type)]; ok {
		e.Predicate = predicate()
		r.Struct(o.Raw("predicate"), o.At("predicate"), e.Predicate)
	} else {
		o.Fail(field.InvalidField, "predicateType", "is no type of an entry")
	}
	if r.Failed() {
		return nil, fmt.Errorf("entry %d: %w", seq, r.Err())
	}
	again, err := e.Payload()
	if err != nil || !slices.Equal(again, payload) {
		return nil, fmt.Errorf("entry %d: its text is not canonical", seq)
	}
	e.Type = dsse.PermanentType(e.Type)
	return e, nil
}

// predicates are the types of entries.
var predicates = map[string]func() any{
	bundle.TypeLogStart:      func() any { return &LogStart{} },
	bundle.TypeSeal:          func() any { return &Seal{} },
	bundle.TypeRecorded:      func() any { return &Recorded{} },
	bundle.TypeStageDecision: func() any { return &StageDecision{} },
	bundle.TypePolicy:        func() any { return &LoadedText{} },
	bundle.TypeTrust:         func() any { return &LoadedText{} },
	bundle.TypeRegistry:      func() any { return &RegistryIssued{} },
	bundle.TypePlan:          func() any { return &RegisteredPlan{} },
	bundle.TypeCosigned:      func() any { return &Cosigned{} },
	translog.TypeRotation:    func() any { return &translog.Rotation{} },
}

// Check implements [field.Checker].
func (s *Seal) Check(o field.Object) {
	if s.SealRequest.SubjectID != s.CandidateRevisionID {
		o.FailAt(bundle.SealSubjectMismatch, "seal_request/subject_id", "is not the sealed revision")
	}
}

// Check implements [field.Checker].
func (d *StageDecision) Check(o field.Object) {
	if _, err := ParsePlace(d.To); err != nil {
		o.Fail(field.InvalidStage, "to", "%s", err)
	}
	if d.From == nil {
		return
	}
	if _, err := ParsePlace(*d.From); err != nil {
		o.Fail(field.InvalidStage, "from", "%s", err)
	}
}

// Check implements [field.Checker].
func (t *LoadedText) Check(o field.Object) {
	if bundle.DigestPrefix+digest.SHA256Hex([]byte(t.Text)) != t.Digest {
		o.Fail(field.InvalidDigest, "digest", "is not that of the text")
	}
	for i, sum := range t.Engines {
		if !field.IsSHA256(sum) {
			o.FailAt(field.InvalidDigest, fmt.Sprintf("engines/%d", i), "must be a SHA-256")
		}
	}
}

// LogStart is the predicate log-start/v1: the first entry of a log. Times in this file
// are RFC 3339 in UTC.
type LogStart struct {
	Origin     string     `json:"origin" is:"filled"`
	PublicKeys PublicKeys `json:"public_keys"`
	RecordedAt string     `json:"recorded_at" is:"time"`
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
	CandidateRevisionID string             `json:"candidate_revision_id" is:"revision"`
	FamilyID            string             `json:"family_id" is:"id"`
	RequestedStage      bundle.Stage       `json:"requested_stage" is:"stage research paper canary live"`
	ReceivedAt          string             `json:"received_at" is:"time"`
	Rungs               []string           `json:"rungs" max:"4"`
	PolicyDigest        string             `json:"policy_digest" is:"digest"`
	TrustDigest         *string            `json:"trust_digest" is:"?digest"`
	SealRequest         bundle.SealRequest `json:"seal_request"`
	Part                int                `json:"part" min:"1" max:"1024"`
	Parts               int                `json:"parts" min:"1" max:"1024"`
	// Evidence is what the files of all runs came to, in the order of the bundle; empty
	// where one of them was not read, in further parts, and in seals of earlier versions.
	Evidence []bundle.RunEvidence `json:"evidence,omitempty" max:"1000"`
}

// Recorded is the predicate attestation-recorded/v1: an attestation was verified with
// this key, which then belonged to this principal and had these roles.
type Recorded struct {
	PAESHA256  string   `json:"pae_sha256" is:"sha256"`
	Type       string   `json:"type" is:"filled"` // the attestation's predicate type
	KeyID      string   `json:"key_id" is:"sha256"`
	Principal  string   `json:"principal" is:"filled"`
	Roles      []string `json:"roles"`
	RecordedAt string   `json:"recorded_at" is:"time"`
	// TrustDigest is the trust.json that says so; not there before RulesTrusted.
	TrustDigest *string `json:"trust_digest,omitempty" is:"digest"`
}

// StageDecision is the predicate stage-decision/v1: what the machine decided. From and To
// are "stage/status"; From is null for a revision's first place.
type StageDecision struct {
	From         *string `json:"from" is:"?"`
	To           string  `json:"to"`
	Cause        Cause   `json:"cause" is:"oneof first_submission inherited promoted superseded resumed resubmitted plan_failed drifted"`
	PlanDigest   *string `json:"plan_digest" is:"?digest"`
	PolicyDigest string  `json:"policy_digest" is:"digest"`
	// TrustDigest is the trust.json that counted; not there in open mode, and before RulesTrusted.
	TrustDigest *string `json:"trust_digest,omitempty" is:"digest"`
	EvaluatedAt string  `json:"evaluated_at" is:"time"`
	// RelatedRevisionID is the revision that superseded this one, or from which it
	// inherits its place.
	RelatedRevisionID string `json:"related_revision_id,omitempty" is:"revision"`
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
	CauseDrifted     Cause = "drifted"
)

// LoadedText is the predicate policy/v1 or trust/v1: a policy or trust.json as canonical JSON.
//
// Rules is, of a policy, the version of the rules by which gates are judged from here on; 0
// stands for the first.
type LoadedText struct {
	Digest  string `json:"digest" is:"digest"`
	Version int64  `json:"version"`
	Text    string `json:"text" is:"free"`
	Rules   int64  `json:"rules,omitempty" min:"2" max:"9"`
	// Engines are, of a policy, programs whose runs the plane takes from here on besides those
	// that it has taken before, by SHA-256.
	Engines    []string `json:"engines,omitempty" max:"100"`
	RecordedAt string   `json:"recorded_at" is:"time"`
}

// RulesVerified is the version of the rules under which a gate judges only what the plane has
// worked out of files that it has read. Before it gates believed what a bundle declares.
const RulesVerified = 2

// RulesProspective is the version of the rules under which a replay carries the numbers that are
// derived from daily results, a gate may ask several roles for its waivers, and a program that
// trades the same takes over a stage for real money only when a person agrees.
const RulesProspective = 3

// RulesChallenge is the version of the rules under which replays for real money answer the
// challenge of the seal, those apart that the log had before.
const RulesChallenge = 4

// RulesTrusted is the version of the rules under which decisions and recorded attestations name
// the trust.json that counted, as seals always have.
const RulesTrusted = 5

// RulesEstablished is the version of the rules under which nothing that a packer only declares lowers
// a count of trials, a bar of E or a number of diverging fills, and what they leave unsigned begins
// nothing.
const RulesEstablished = 6

// RulesWitnessed is the version of the rules under which days count from when witnesses had seen the
// seal and, where they were late, not at all; a warning is accepted by its reason; and each timeframe
// needs its own attacked baseline.
const RulesWitnessed = 7

// RulesIndependent is the version of the rules under which a witness of those who have packed a program
// again is none for them, and a policy may ask for an answer to the challenge that two sides have given.
const RulesIndependent = 8

// RulesDisinterested is the version of the rules under which it does not matter when somebody comes to own
// or pack what their days, drills and replays are about: they vouch for it from then on no more. It is
// also that under which unseen candles lift what was too good to be true.
const RulesDisinterested = 9

// RulesNewest is the version that this program judges a log by from where it first writes to it.
const RulesNewest = RulesDisinterested

// established reports whether the rules of RulesEstablished hold.
func established(w *World) bool { return w.rules >= RulesEstablished }

// witnessed reports whether the rules of RulesWitnessed hold.
func witnessed(w *World) bool { return w.rules >= RulesWitnessed }

// TrustNamed is how a decision names the trust in force: nil where there is none, or where the rules
// are earlier ones.
func TrustNamed(w *World) *string {
	if w.rules < RulesTrusted {
		return nil
	}
	return SealTrust(w)
}

// SealTrust is the digest of the trust in force as seals have it: nil in open mode.
func SealTrust(w *World) *string { return w.trustDigest }

// CheckTrust refuses an entry that names another trust.json than the newest one of the log, or
// none where it has to.
func CheckTrust(w *World, e *Entry) error {
	want, named := TrustNamed(w), (*string)(nil)
	switch p := e.Predicate.(type) {
	case *Seal:
		want, named = SealTrust(w), p.TrustDigest
	case *Recorded:
		named = p.TrustDigest
		if a, ok := approvalOf(e); ok && a.TrustDigest != "" && a.TrustDigest != deref(SealTrust(w)) {
			want, named = SealTrust(w), &a.TrustDigest
		}
	case *StageDecision:
		named = p.TrustDigest
	default:
		return nil
	}
	if deref(named) != deref(want) {
		return fmt.Errorf("it is decided under %s, and the log's trust.json is %s", trustText(named),
			trustText(want))
	}
	return nil
}

func approvalOf(e *Entry) (*bundle.Approval, bool) {
	if e.Attested == nil {
		return nil, false
	}
	a, ok := e.Attested.Predicate.(*bundle.Approval)
	return a, ok
}

func trustText(sum *string) string { return cmp.Or(deref(sum), "none") }

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
	known := bundle.Rank(p.Stage) >= 0 &&
		slices.Contains([]Status{Pending, Active, Suspended, Rejected, Superseded, Retired}, p.Status)
	if !known {
		return Place{}, fmt.Errorf("%q is not a stage with a status", s)
	}
	return p, nil
}

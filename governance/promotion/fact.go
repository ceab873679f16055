package promotion

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// FactType is what kind of fact one is.
type FactType string

// The types of facts.
const (
	LogStarted        FactType = "log_started"
	BundleIngested    FactType = "bundle_ingested"
	RunLinked         FactType = "run_linked"
	ArtifactListed    FactType = "artifact_listed"
	LimitsDeclared    FactType = "limits_declared"
	LineageComputed   FactType = "lineage_computed"
	AttestationAdded  FactType = "attestation_added"
	BundleSigned      FactType = "bundle_signed"
	ReplayVerified    FactType = "replay_verified"
	ApprovalGranted   FactType = "approval_granted"
	WaiverGranted     FactType = "waiver_granted"
	DrillRecorded     FactType = "drill_recorded"
	IncidentOpened    FactType = "incident_opened"
	IncidentClosed    FactType = "incident_closed"
	RevisionSuspended FactType = "suspended"
	RevisionDemoted   FactType = "demoted"
	RevisionRejected  FactType = "rejected"
	RevisionRetired   FactType = "retired"
	StageEntered      FactType = "stage_entered"
	StageLeft         FactType = "stage_left"
	RevisionReplaced  FactType = "superseded"
	RevisionResumed   FactType = "resumed"
	RevisionDrifted   FactType = "drifted"
	ShadowRecorded    FactType = "shadow_recorded"
	ShadowDisputed    FactType = "shadow_disputed"
	AnswerCommitted   FactType = "answer_committed"
	AnswerRevealed    FactType = "answer_revealed"
	RunHosted         FactType = "run_hosted"
	PolicyLoaded      FactType = "policy_loaded"
	TrustLoaded       FactType = "trust_loaded"

	CheckpointCosigned FactType = "checkpoint_cosigned"
)

// Fact is one thing that is so since an entry of the log.
type Fact struct {
	// ID is the fact_id: "sha256:" and the SHA-256 of the canonical JSON of the fact
	// without it.
	ID   string
	Type FactType
	Seq  int64     // of the entry
	At   time.Time // of the entry, UTC
	// Revision is the candidate_revision_id, "" for facts about the log; Run is a
	// run_id, "" for facts that are not about one run.
	Revision string
	Run      string
	// Fields is a pointer to one of this package's types, by Type; see [FactsOf].
	Fields any

	hashed string // the text that the id is of
	leaf   string // of the entry; no part of the fact
}

type body struct {
	ID          string   `json:"fact_id,omitempty"`
	Type        FactType `json:"type"`
	Seq         int64    `json:"seq"`
	At          string   `json:"at"`
	SubjectType string   `json:"subject_type,omitempty"`
	SubjectID   string   `json:"subject_id,omitempty"`
	Run         string   `json:"run_id,omitempty"`
	Fields      any      `json:"fields"`
}

func (f Fact) body(id string) body {
	b := body{ID: id, Type: f.Type, Seq: f.Seq, At: f.At.UTC().Format(time.RFC3339Nano), Run: f.Run,
		Fields: f.Fields}
	if f.Revision != "" {
		b.SubjectType, b.SubjectID = bundle.SubjectRevision, f.Revision
	}
	return b
}

// Encode is the canonical JSON of the fact with its id.
func (f Fact) Encode() ([]byte, error) {
	// Canonical JSON sorts: the id comes right behind the time, which is first.
	head := fmt.Sprintf(`{"at":"%s",`, f.At.UTC().Format(time.RFC3339Nano))
	if rest, ok := strings.CutPrefix(f.hashed, head); ok {
		return []byte(head + `"fact_id":"` + f.ID + `",` + rest), nil
	}
	return digest.JCS(f.body(f.ID))
}

// identify gives the fact its id.
func (f Fact) identify() (Fact, error) {
	text, err := digest.JCS(f.body(""))
	if err != nil {
		return Fact{}, fmt.Errorf("%s at %d: %w", f.Type, f.Seq, err)
	}
	f.ID, f.hashed = bundle.DigestPrefix+digest.SHA256Hex(text), string(text)
	return f, nil
}

// Ingested are the fields of bundle_ingested: a submission, and all of its bundle but
// runs, artifacts and limits, which are facts of their own.
type Ingested struct {
	FileSHA256   string   `json:"file_sha256"`
	DeployableID string   `json:"deployable_id"`
	Rungs        []string `json:"rungs"` // as of this submission
	// Evidence is that of the seal.
	Evidence    []bundle.RunEvidence `json:"evidence,omitempty"`
	SealRequest bundle.SealRequest   `json:"seal_request"`
	Candidate   bundle.Candidate     `json:"candidate"`
	Strategy    bundle.Strategy      `json:"strategy"`
	Engine      bundle.Engine        `json:"engine"`
	Data        []bundle.Dataset     `json:"data"`
	Trials      *bundle.Trials       `json:"trials,omitempty"`
	Limitations []string             `json:"known_limitations,omitempty"`
	Extensions  json.RawMessage      `json:"extensions,omitempty"`
}

// Lineage are the fields of lineage_computed.
type Lineage struct {
	DeployableID        string  `json:"deployable_id"`
	ParentRevisionID    *string `json:"parent_revision_id"`
	DeclaredChangeClass string  `json:"declared_change_class"`
}

// By is who signed an attestation.
type By struct {
	PAESHA256 string   `json:"pae_sha256"`
	KeyID     string   `json:"key_id"`
	Principal string   `json:"principal"`
	Roles     []string `json:"roles"`
}

// Signature are the fields of bundle_signed. Files are the SHA-256 of the files that the
// statement names, sorted: a revision may be submitted in several, and which of them
// a lab has signed matters.
type Signature struct {
	By
	Files []string `json:"files"`
}

// Replay are the fields of replay_verified, Approval of approval_granted, and so on: the
// predicate that was signed, and who signed it.
type Replay struct {
	By
	bundle.Replay
}

// Approval are the fields of approval_granted.
type Approval struct {
	By
	bundle.Approval
}

// Waiver are the fields of waiver_granted.
type Waiver struct {
	By
	bundle.Waiver
}

// Drill are the fields of drill_recorded.
type Drill struct {
	By
	bundle.Drill
}

// Incident are the fields of incident_opened and incident_closed.
type Incident struct {
	By
	bundle.Incident
}

// Suspension are the fields of suspended and, with a stage to go to, of demoted.
type Suspension struct {
	By
	bundle.Suspension
}

// Hosted are the fields of run_hosted.
type Hosted struct {
	By
	bundle.HostedRun
}

// Ending are the fields of rejected and retired.
type Ending struct {
	By
	bundle.Ending
}

// FactsOf are the facts of an entry, in a fixed order. The error reports what the entry lacks: a
// seal without its bundle, an attestation that is not the recorded one.
func FactsOf(e *Entry) ([]Fact, error) {
	at, err := e.At()
	if err != nil {
		return nil, err
	}
	m := maker{seed: Fact{Seq: e.Seq, At: at, Revision: e.Revision(), leaf: e.Leaf}}
	switch p := e.Predicate.(type) {
	case *LogStart:
		m.add(LogStarted, "", p)
	case *Seal:
		err = m.seal(e, p)
	case *Recorded:
		err = m.recorded(e, p)
	case *StageDecision:
		err = m.decision(p)
	case *RegisteredPlan:
		m.add(PlanRegistered, "", p)
	case *Cosigned:
		err = m.cosigned(p)
	case *LoadedText:
		kind := PolicyLoaded
		if e.Type == bundle.TypeTrust {
			kind = TrustLoaded
		}
		m.add(kind, "", p)
	}
	if err == nil {
		err = m.err
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	return m.facts, nil
}

type maker struct {
	seed  Fact
	facts []Fact
	err   error
}

func (m *maker) add(kind FactType, run string, fields any) {
	f := m.seed
	f.Type, f.Run, f.Fields = kind, run, fields
	f, err := f.identify()
	if err != nil && m.err == nil {
		m.err = err
	}
	m.facts = append(m.facts, f)
}

func (m *maker) seal(e *Entry, s *Seal) error {
	if s.Part > 1 {
		return nil // names further artifacts of what part 1 has accepted
	}
	if e.Document == nil {
		return fmt.Errorf("the bundle of the seal is missing")
	}
	b := &e.Document.Bundle
	if b.CandidateRevisionID != s.CandidateRevisionID || len(e.Subject) == 0 ||
		e.Subject[0].Digest["sha256"] != e.Document.FileSHA256 {
		return fmt.Errorf("the bundle is not the one that was sealed")
	}
	for i, x := range s.Evidence {
		if len(s.Evidence) != len(b.Runs) || x.RunID != b.Runs[i].RunID {
			return fmt.Errorf("the evidence of the seal is not of the runs of its bundle")
		}
	}
	m.add(BundleIngested, "", &Ingested{
		FileSHA256: e.Document.FileSHA256, DeployableID: bundle.DeployableID(b.Strategy), Rungs: s.Rungs,
		SealRequest: b.SealRequest,
		Candidate:   b.Candidate, Strategy: b.Strategy, Engine: b.Engine, Data: b.Data, Trials: b.Trials,
		Limitations: b.KnownLimitations, Extensions: b.Extensions, Evidence: s.Evidence,
	})
	for i := range b.Runs {
		m.add(RunLinked, b.Runs[i].RunID, &b.Runs[i])
	}
	for i := range b.Artifacts {
		m.add(ArtifactListed, b.Artifacts[i].RunID, &b.Artifacts[i])
	}
	m.add(LimitsDeclared, "", &b.Limits)
	m.add(LineageComputed, "", &Lineage{
		DeployableID: bundle.DeployableID(b.Strategy), ParentRevisionID: b.Candidate.Lineage.ParentRevisionID,
		DeclaredChangeClass: b.Candidate.Lineage.ChangeClass,
	})
	return nil
}

func (m *maker) recorded(e *Entry, p *Recorded) error {
	if m.seed.Revision == "" {
		return fmt.Errorf("the attestation is about no revision")
	}
	m.add(AttestationAdded, "", p)
	kind := dsse.PermanentType(p.Type)
	if e.Attested == nil || e.Attested.Statement.PredicateType != kind {
		return fmt.Errorf("the recorded attestation is missing or differs")
	}
	if c := e.Attested.Common; c != nil && c.CandidateRevisionID != m.seed.Revision {
		return fmt.Errorf("the attestation is about another revision")
	}
	by := By{PAESHA256: p.PAESHA256, KeyID: p.KeyID, Principal: p.Principal, Roles: p.Roles}
	switch predicate := e.Attested.Predicate.(type) {
	case *bundle.Replay:
		m.add(ReplayVerified, "", &Replay{by, *predicate})
	case *bundle.Approval:
		m.add(ApprovalGranted, "", &Approval{by, *predicate})
	case *bundle.Waiver:
		m.add(WaiverGranted, "", &Waiver{by, *predicate})
	case *bundle.Drill:
		m.add(DrillRecorded, predicate.RunID, &Drill{by, *predicate})
	case *bundle.Incident:
		event := IncidentClosed
		if predicate.Event == "open" {
			event = IncidentOpened
		}
		m.add(event, "", &Incident{by, *predicate})
	case *bundle.Suspension:
		stop := RevisionSuspended
		if predicate.ToStage != "" {
			stop = RevisionDemoted
		}
		m.add(stop, "", &Suspension{by, *predicate})
	case *bundle.Ending:
		end := RevisionRejected
		if kind == bundle.TypeRetirement {
			end = RevisionRetired
		}
		m.add(end, "", &Ending{by, *predicate})
	case *bundle.Shadow:
		m.add(ShadowRecorded, "", &Shadow{by, *predicate})
	case *bundle.Commitment:
		m.add(AnswerCommitted, "", &Committed{by, *predicate})
	case *bundle.Reveal:
		m.add(AnswerRevealed, "", &Revealed{by, *predicate})
	case *bundle.Dispute:
		m.add(ShadowDisputed, "", &Disputed{by, *predicate})
	case *bundle.HostedRun:
		m.add(RunHosted, predicate.RunID, &Hosted{by, *predicate})
	case *bundle.ServiceRun:
		m.add(RunHosted, predicate.RunID, &Hosted{by, predicate.Hosted(e.Revision())})
	case nil:
		if kind == bundle.TypeBundle {
			m.add(BundleSigned, "", &Signature{by, files(e.Attested.Statement.Subject)})
		}
	}
	return nil
}

// files are the digests of subjects, sorted, each once.
func files(subjects []bundle.Subject) []string {
	list := make([]string, 0, len(subjects))
	for _, s := range subjects {
		list = append(list, s.Digest["sha256"])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// decision reports which stage was left and entered; a change of status only is a fact of
// its own.
func (m *maker) decision(d *StageDecision) error {
	if m.seed.Revision == "" {
		return fmt.Errorf("the decision is about no revision")
	}
	to, err := ParsePlace(d.To)
	if err != nil {
		return err
	}
	if d.From == nil {
		m.add(StageEntered, "", d)
		return nil
	}
	from, err := ParsePlace(*d.From)
	switch {
	case err != nil:
		return err
	case d.Cause == CauseSuperseded:
		m.add(RevisionReplaced, "", d)
	case d.Cause == CauseResumed:
		m.add(RevisionResumed, "", d)
	case d.Cause == CauseDrifted:
		m.add(RevisionDrifted, "", d)
	default:
		if from.Stage != to.Stage {
			m.add(StageLeft, "", d)
		}
		m.add(StageEntered, "", d)
	}
	return nil
}

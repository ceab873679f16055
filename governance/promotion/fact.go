package promotion

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

// Type is what kind of fact one is.
type Type string

// The types of facts.
const (
	LogStarted        Type = "log_started"
	BundleIngested    Type = "bundle_ingested"
	RunLinked         Type = "run_linked"
	ArtifactListed    Type = "artifact_listed"
	LimitsDeclared    Type = "limits_declared"
	LineageComputed   Type = "lineage_computed"
	AttestationAdded  Type = "attestation_added"
	BundleSigned      Type = "bundle_signed"
	ReplayVerified    Type = "replay_verified"
	ApprovalGranted   Type = "approval_granted"
	WaiverGranted     Type = "waiver_granted"
	DrillRecorded     Type = "drill_recorded"
	IncidentOpened    Type = "incident_opened"
	IncidentClosed    Type = "incident_closed"
	RevisionSuspended Type = "suspended"
	RevisionDemoted   Type = "demoted"
	RevisionRejected  Type = "rejected"
	RevisionRetired   Type = "retired"
	StageEntered      Type = "stage_entered"
	StageLeft         Type = "stage_left"
	RevisionReplaced  Type = "superseded"
	RevisionResumed   Type = "resumed"
	PolicyLoaded      Type = "policy_loaded"
	TrustLoaded       Type = "trust_loaded"
)

// Fact is one thing that is so since an entry of the log.
type Fact struct {
	// ID is the fact_id: "sha256:" and the SHA-256 of the canonical JSON of the fact
	// without it.
	ID   string
	Type Type
	Seq  int64     // of the entry
	At   time.Time // of the entry, UTC
	// Revision is the candidate_revision_id, "" for facts about the log; Run is a
	// run_id, "" for facts that are not about one run.
	Revision string
	Run      string
	// Fields is a pointer to one of this package's types, by Type; see New.
	Fields any

	hashed string // the text that the id is of
}

type body struct {
	ID          string `json:"fact_id,omitempty"`
	Type        Type   `json:"type"`
	Seq         int64  `json:"seq"`
	At          string `json:"at"`
	SubjectType string `json:"subject_type,omitempty"`
	SubjectID   string `json:"subject_id,omitempty"`
	Run         string `json:"run_id,omitempty"`
	Fields      any    `json:"fields"`
}

func (f Fact) body(id string) body {
	b := body{ID: id, Type: f.Type, Seq: f.Seq, At: f.At.UTC().Format(time.RFC3339Nano), Run: f.Run, Fields: f.Fields}
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
	return digest.Value(f.body(f.ID))
}

// identify gives the fact its id.
func (f Fact) identify() (Fact, error) {
	text, err := digest.Value(f.body(""))
	if err != nil {
		return Fact{}, fmt.Errorf("%s at %d: %w", f.Type, f.Seq, err)
	}
	f.ID, f.hashed = bundle.DigestPrefix+digest.SHA256Hex(text), string(text)
	return f, nil
}

// fieldTypes are the types of Fields.
var fieldTypes = map[Type]reflect.Type{
	LogStarted:        reflect.TypeFor[LogStart](),
	BundleIngested:    reflect.TypeFor[Ingested](),
	RunLinked:         reflect.TypeFor[bundle.Run](),
	ArtifactListed:    reflect.TypeFor[bundle.Artifact](),
	LimitsDeclared:    reflect.TypeFor[bundle.Limits](),
	LineageComputed:   reflect.TypeFor[Lineage](),
	AttestationAdded:  reflect.TypeFor[Recorded](),
	BundleSigned:      reflect.TypeFor[Signature](),
	ReplayVerified:    reflect.TypeFor[Replay](),
	ApprovalGranted:   reflect.TypeFor[Approval](),
	WaiverGranted:     reflect.TypeFor[Waiver](),
	DrillRecorded:     reflect.TypeFor[Drill](),
	IncidentOpened:    reflect.TypeFor[Incident](),
	IncidentClosed:    reflect.TypeFor[Incident](),
	RevisionSuspended: reflect.TypeFor[Suspension](),
	RevisionDemoted:   reflect.TypeFor[Suspension](),
	RevisionRejected:  reflect.TypeFor[Ending](),
	RevisionRetired:   reflect.TypeFor[Ending](),
	StageEntered:      reflect.TypeFor[StageDecision](),
	StageLeft:         reflect.TypeFor[StageDecision](),
	RevisionReplaced:  reflect.TypeFor[StageDecision](),
	RevisionResumed:   reflect.TypeFor[StageDecision](),
	PolicyLoaded:      reflect.TypeFor[Text](),
	TrustLoaded:       reflect.TypeFor[Text](),
}

// Decode reads what Encode wrote, strictly, and checks the id.
func Decode(text []byte) (Fact, error) {
	if _, err := digest.Strict(text, 40); err != nil {
		return Fact{}, fmt.Errorf("fact: %w", err)
	}
	var b struct {
		body
		Fields json.RawMessage `json:"fields"`
	}
	strict := jsonv2.RejectUnknownMembers(true)
	if err := jsonv2.Unmarshal(text, &b, strict); err != nil {
		return Fact{}, fmt.Errorf("fact: %w", err)
	}
	t, ok := fieldTypes[b.Type]
	if !ok {
		return Fact{}, fmt.Errorf("fact: %q is no type of a fact", b.Type)
	}
	fields := reflect.New(t).Interface()
	if err := jsonv2.Unmarshal(b.Fields, fields, strict); err != nil {
		return Fact{}, fmt.Errorf("fact of type %s: %w", b.Type, err)
	}
	at, err := time.Parse(time.RFC3339Nano, b.At)
	if err != nil {
		return Fact{}, fmt.Errorf("fact of type %s: %w", b.Type, err)
	}
	f, err := Fact{Type: b.Type, Seq: b.Seq, At: at.UTC(), Revision: b.SubjectID, Run: b.Run, Fields: fields}.identify()
	if err != nil {
		return Fact{}, err
	}
	if f.ID != b.ID {
		return Fact{}, fmt.Errorf("fact of type %s at %d: its id is not that of its content", f.Type, f.Seq)
	}
	return f, nil
}

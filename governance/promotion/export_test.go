package promotion

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	jsonv2 "github.com/go-json-experiment/json"
)

// fieldTypes are the types of Fields.
var fieldTypes = map[FactType]reflect.Type{
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
	RunHosted:         reflect.TypeFor[Hosted](), ShadowDisputed: reflect.TypeFor[Disputed](),
	AnswerCommitted: reflect.TypeFor[Committed](), AnswerRevealed: reflect.TypeFor[Revealed](),
	PolicyLoaded: reflect.TypeFor[LoadedText](),
	TrustLoaded:  reflect.TypeFor[LoadedText](),

	CheckpointCosigned: reflect.TypeFor[Witnessed](),
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
	f, err := Fact{Type: b.Type, Seq: b.Seq, At: at.UTC(), Revision: b.SubjectID, Run: b.Run,
		Fields: fields}.identify()
	if err != nil {
		return Fact{}, err
	}
	if f.ID != b.ID {
		return Fact{}, fmt.Errorf("fact of type %s at %d: its id is not that of its content", f.Type, f.Seq)
	}
	return f, nil
}

// Decide folds a whole log and makes every decision that is due at this time after it, as
// a plane would whose next entry has the number next. It is what Next comes to, one
// decision after the other.
func Decide(facts []Fact, now time.Time, next int64) ([]Decision, error) {
	w := New()
	if err := w.Apply(facts...); err != nil {
		return nil, err
	}
	var all []Decision
	for {
		d, ok := w.Next(now)
		if !ok {
			return all, nil
		}
		all = append(all, d)
		more, err := FactsOf(d.Entry(next))
		if err != nil {
			return nil, err
		}
		if err := w.Apply(more...); err != nil {
			return nil, err
		}
		next++
	}
}

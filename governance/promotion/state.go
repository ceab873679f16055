package promotion

import (
	"cmp"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/deploy"
)

// The refusals of reads that are not in the bundle's list.
const (
	SubjectNotFound bundle.Code = "SUBJECT_NOT_FOUND"
	FamilyNotFound  bundle.Code = deploy.CodeFamilyNotFound
)

// Head is what the bodies about a subject have in common. AsOfSeq is the newest entry
// that was looked at, AsOf the moment that the body is worked out for, RFC 3339.
type Head struct {
	Schema      string `json:"schema"`
	SubjectType string `json:"subject_type"`
	SubjectID   string `json:"subject_id"`
	AsOfSeq     int64  `json:"as_of_seq"`
	AsOf        string `json:"as_of"`
}

// views are the bodies of reads, worked out for one moment.
type views struct{ rules }

func viewAt(w *World, at time.Time) views { return views{rules{w, at}} }

func (v views) head(schema, subjectType, subjectID string) Head {
	return Head{schema, subjectType, subjectID, v.w.seq, stamp(v.at)}
}

// CheckSubject refuses what is no subject of a read, before anything is looked up. A percent
// sign is in no identifier: what is encoded is refused rather than decoded. The stage may be "".
func CheckSubject(kind, id, stage string) *bundle.Error {
	switch kind {
	case bundle.SubjectRevision, bundle.SubjectCandidate, bundle.SubjectFamily, bundle.SubjectStrategy:
	default:
		return field.Refuse(bundle.InvalidSubjectType, "",
			"subject type: one of candidate_revision, candidate, family, strategy")
	}
	if !field.IsIdentifier(id) || kind == bundle.SubjectRevision && !field.IsRevision(id) {
		return field.Refuse(field.InvalidIdentifier, "", "this is no id of this kind of subject")
	}
	if stage != "" && !slices.Contains(bundle.PromotionStages(), bundle.Stage(stage)) {
		return field.Refuse(field.InvalidStage, "", "stage: one of research, paper, canary, live")
	}
	return nil
}

// subject are the revisions of a subject, by first submission; never none.
func (v views) subject(kind, id, stage string) ([]*revision, *bundle.Error) {
	if refused := CheckSubject(kind, id, stage); refused != nil {
		return nil, refused
	}
	var list []*revision
	switch kind {
	case bundle.SubjectRevision:
		if r, ok := v.w.revisions[id]; ok {
			list = []*revision{r}
		}
	case bundle.SubjectCandidate:
		list = v.w.byCandidate[id]
	case bundle.SubjectFamily:
		list = v.w.byFamily[id]
	case bundle.SubjectStrategy:
		list = v.w.byStrategy[id]
	}
	if len(list) == 0 {
		return nil, field.Refuse(SubjectNotFound, "", "nothing with this id is in the log")
	}
	return list, nil
}

// newest is the newest revision that has not ended, else the newest.
func newest(list []*revision) *revision {
	for _, r := range slices.Backward(list) {
		if !r.Status.Terminal() {
			return r
		}
	}
	return list[len(list)-1]
}

// leading is the revision that stands for an aggregate: the highest that is active, the
// later one of two; else the newest.
func leading(list []*revision) *revision {
	var best *revision
	for _, r := range list {
		if !r.active() {
			continue
		}
		higher := best == nil || bundle.Rank(r.Stage) > bundle.Rank(best.Stage)
		if higher || r.Stage == best.Stage && r.enteredSeq > best.enteredSeq {
			best = r
		}
	}
	if best == nil {
		return newest(list)
	}
	return best
}

// SchemaState is the schema of a state.
const SchemaState = "promotion-state/v1"

// historyLength is how many events a state has, the newest.
const historyLength = 200

// State is promotion-state/v1: where a subject stands. Of a candidate, family or strategy
// it is that of its leading revision, with lists of all. Times are RFC 3339; null is what
// there is none of.
type State struct {
	Head
	CandidateID         *string              `json:"candidate_id"`
	FamilyID            *string              `json:"family_id"`
	CandidateRevisionID string               `json:"candidate_revision_id"`
	DeployableID        string               `json:"deployable_id"`
	Stage               bundle.Stage         `json:"stage"`
	StageStatus         Status               `json:"stage_status"`
	TargetStage         bundle.Stage         `json:"target_stage"`
	NextStage           *string              `json:"next_stage"`
	Assurance           string               `json:"assurance"`
	Rungs               []string             `json:"rungs"`
	ChangeClass         string               `json:"change_class"`
	Stages              map[string]StageInfo `json:"stages"`
	DeployableModes     []string             `json:"deployable_modes"`
	Suspended           bool                 `json:"suspended"`
	SuspensionID        *string              `json:"suspension_id"`    // what a resumption names
	Resume              *Approvals           `json:"resume,omitempty"` // who must agree to it and has
	EvidenceValidUntil  *string              `json:"evidence_valid_until"`
	OpenIncidents       []OpenIncident       `json:"open_incidents"`
	PolicyDigest        string               `json:"policy_digest"`
	History             []Event              `json:"history"`
	HistoryTruncated    bool                 `json:"history_truncated"`
	Revisions           []Standing           `json:"revisions,omitempty"`
	Champions           []Standing           `json:"champions,omitempty"`
	Shadow              *ShadowView          `json:"shadow"`
	Challenge           *ChallengeView       `json:"challenge,omitempty"`
	Replays             []ReplayView         `json:"replays,omitempty"`
}

// StageInfo is how a revision stands towards one stage: passed, or its status where it
// stands there, or pending.
type StageInfo struct {
	Status              string   `json:"status"`
	EnteredAt           *string  `json:"entered_at,omitempty"`
	SoakSeconds         *float64 `json:"soak_seconds,omitempty"`
	RequiredSoakSeconds *float64 `json:"required_soak_seconds,omitempty"`
}

// OpenIncident is an incident that was not closed.
type OpenIncident struct {
	IncidentID string `json:"incident_id"`
	Severity   string `json:"severity"`
	OpenedAt   string `json:"opened_at"`
	By         string `json:"by"`
	Reason     string `json:"reason"`
	Seq        int64  `json:"seq"`
}

// Standing is one revision in the list of an aggregate.
type Standing struct {
	CandidateRevisionID string       `json:"candidate_revision_id"`
	CandidateID         string       `json:"candidate_id"`
	DeployableID        string       `json:"deployable_id"`
	Stage               bundle.Stage `json:"stage"`
	StageStatus         Status       `json:"stage_status"`
}

// Event is something that happened to a revision's place.
type Event struct {
	Seq        int64         `json:"seq"`
	At         string        `json:"at"`
	Type       FactType      `json:"type"`
	Revision   string        `json:"candidate_revision_id"`
	From       *bundle.Stage `json:"from"`
	To         bundle.Stage  `json:"to"`
	Status     Status        `json:"status"` // afterwards
	By         string        `json:"by"`
	Reason     string        `json:"reason"`
	PlanDigest *string       `json:"plan_digest"`
	id         string
}

// addEvent writes an event down; the revision already stands where it led to.
func (r *revision) addEvent(f *Fact, from bundle.Stage, by, reason string, planDigest *string) *Event {
	r.history = append(r.history, Event{
		Seq: f.Seq, At: stamp(f.At), Type: f.Type, Revision: r.id, From: &from, To: r.Stage, Status: r.Status,
		By: by, Reason: reason,
		PlanDigest: planDigest, id: f.ID,
	})
	return &r.history[len(r.history)-1]
}

// State is where a subject stands.
func (w *World) State(subjectType, subjectID string, now time.Time) (*State, *bundle.Error) {
	v := viewAt(w, w.AsOf(now))
	list, refused := v.subject(subjectType, subjectID, "")
	if refused != nil {
		return nil, refused
	}
	r := leading(list)
	e := w.evidenceOf(r)
	rungs := e.Rungs()
	own := v.judgePlan(r, r.Stage)
	status := v.derivedStatus(r, own)
	s := &State{
		Head: v.head(SchemaState, subjectType, subjectID), CandidateRevisionID: r.id,
		DeployableID: r.bundle.DeployableID,
		Stage:        r.Stage, StageStatus: status, TargetStage: r.target,
		NextStage: orNull(string(nextStage(r))),
		Assurance: rungs[len(rungs)-1], Rungs: rungs, ChangeClass: w.changeClass(r), Stages: v.stages(r, e),
		DeployableModes: []string{}, Suspended: r.Status == Suspended,
		EvidenceValidUntil: timeOrNull(v.holdsUntil(r, own)),
		OpenIncidents:      []OpenIncident{}, PolicyDigest: w.policy.Digest, Shadow: v.shadow(r),
		Challenge: challenges{w}.view(r),
	}
	for _, again := range e.Replays {
		s.Replays = append(s.Replays, ReplayView{again.Principal, again.Seq, again.Candles})
	}
	if subjectType == bundle.SubjectRevision || subjectType == bundle.SubjectCandidate {
		s.CandidateID = &r.bundle.Candidate.CandidateID
	}
	if subjectType != bundle.SubjectStrategy {
		s.FamilyID = &r.bundle.Candidate.FamilyID
	}
	if r.active() && status != Expired {
		s.DeployableModes = modes(r.Stage)
	}
	if r.stop != nil && (r.Status == Suspended || r.Status == Superseded) {
		s.SuspensionID, s.Resume = &r.stop.id, v.resumption(r)
	}
	v.incidents(s, list)
	s.History, s.HistoryTruncated = history(list)
	if subjectType != bundle.SubjectRevision {
		v.list(s, list)
	}
	return s, nil
}

// stages is how the revision stands towards each stage from paper on.
func (v views) stages(r *revision, e *policy.Evidence) map[string]StageInfo {
	infos := map[string]StageInfo{}
	reached := r.Stage
	if reached == bundle.Retired {
		reached = bundle.Research
		for _, s := range bundle.PromotionStages() {
			if _, ok := r.entered[s]; ok {
				reached = s
			}
		}
	}
	for _, s := range bundle.PromotionStages()[1:] {
		info := StageInfo{Status: string(Pending)}
		switch {
		case bundle.Rank(s) == bundle.Rank(reached):
			info.Status = string(r.Status)
		case bundle.Rank(s) < bundle.Rank(reached):
			info.Status = "passed"
		}
		if entered, ok := r.entered[s]; ok {
			info.EnteredAt = timeOrNull(entered)
			seconds := e.SoakSeconds(bundle.Role(s), v.at)
			info.SoakSeconds = &seconds
		}
		if required := v.w.policy.SoakSeconds(s); required > 0 {
			info.RequiredSoakSeconds = &required
		}
		infos[string(s)] = info
	}
	return infos
}

// modes are the modes in which a host may run what stands in a stage.
func modes(s bundle.Stage) []string {
	switch s {
	case bundle.Paper:
		return []string{"paper"}
	case bundle.Canary, bundle.Live:
		return []string{"paper", "live"}
	}
	return []string{}
}

func (v views) incidents(s *State, list []*revision) {
	seen := map[string]bool{}
	for _, r := range list {
		if seen[r.bundle.DeployableID] {
			continue
		}
		seen[r.bundle.DeployableID] = true
		for _, i := range v.w.deployable(r.bundle.DeployableID).openIncidents() {
			severity := "warning"
			if i.critical {
				severity = "critical"
			}
			s.OpenIncidents = append(s.OpenIncidents,
				OpenIncident{i.id, severity, stamp(i.opened.at), i.opened.Principal, i.opened.reason,
					i.opened.seq})
		}
	}
	slices.SortFunc(s.OpenIncidents, func(a, b OpenIncident) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.IncidentID, b.IncidentID))
	})
}

// history are the newest events of the revisions, by entry, and whether there are older ones.
func history(list []*revision) (all []Event, truncated bool) {
	all = []Event{}
	for _, r := range list {
		// Older ones of this revision cannot be among the newest of all.
		recent := r.history[max(0, len(r.history)-historyLength-1):]
		all = append(all, recent...)
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.id, b.id), cmp.Compare(a.Revision, b.Revision))
	})
	older := max(0, len(all)-historyLength)
	return all[older:], older > 0
}

func (v views) list(s *State, list []*revision) {
	s.Revisions, s.Champions = []Standing{}, []Standing{}
	for _, r := range list {
		one := Standing{r.id, r.bundle.Candidate.CandidateID, r.bundle.DeployableID, r.Stage, r.Status}
		if r.active() {
			one.StageStatus = v.derivedStatus(r, v.judgePlan(r, r.Stage))
			s.Champions = append(s.Champions, one)
		}
		s.Revisions = append(s.Revisions, one)
	}
}

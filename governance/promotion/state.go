package promotion

import (
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// SchemaState is the schema of a state.
const SchemaState = "promotion-state/v1"

// historyLength is how many events a state tells, the newest.
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
}

// StageInfo is how a revision stands towards one stage: passed, or its status where it
// stands there, or pending.
type StageInfo struct {
	Status              string   `json:"status"`
	EnteredAt           *string  `json:"entered_at,omitempty"`
	SoakSeconds         *float64 `json:"soak_seconds,omitempty"`
	RequiredSoakSeconds *float64 `json:"required_soak_seconds,omitempty"`
}

// OpenIncident is an incident that nobody has closed.
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
	Type       Type          `json:"type"`
	Revision   string        `json:"candidate_revision_id"`
	From       *bundle.Stage `json:"from"`
	To         bundle.Stage  `json:"to"`
	Status     Status        `json:"status"` // afterwards
	By         string        `json:"by"`
	Reason     string        `json:"reason"`
	PlanDigest *string       `json:"plan_digest"`
	id         string
}

// note writes an event down; the revision already stands where it led to.
func (r *revision) note(f *Fact, from bundle.Stage, by, reason string, planDigest *string) *Event {
	r.history = append(r.history, Event{
		Seq: f.Seq, At: stamp(f.At), Type: f.Type, Revision: r.id, From: &from, To: r.Stage, Status: r.Status, By: by, Reason: reason,
		PlanDigest: planDigest, id: f.ID,
	})
	return &r.history[len(r.history)-1]
}

// State is where a subject stands.
func (w *World) State(subjectType, subjectID string, now time.Time) (*State, *bundle.Error) {
	list, refused := w.subject(subjectType, subjectID)
	if refused != nil {
		return nil, refused
	}
	at := w.asOf(now)
	r := leading(list)
	e := w.evidence(r)
	rungs := e.Rungs()
	own := w.judge(r, r.Stage, at)
	status := w.derived(r, own, at)
	s := &State{
		Head: w.head(SchemaState, subjectType, subjectID, at), CandidateRevisionID: r.id, DeployableID: r.bundle.DeployableID,
		Stage: r.Stage, StageStatus: status, TargetStage: r.target, NextStage: orNull(string(nextStage(r))),
		Assurance: rungs[len(rungs)-1], Rungs: rungs, ChangeClass: w.changeClass(r), Stages: w.stages(r, e, at),
		DeployableModes: []string{}, Suspended: r.Status == Suspended, EvidenceValidUntil: timeOrNull(w.holdsUntil(r, own)),
		OpenIncidents: []OpenIncident{}, PolicyDigest: w.policy.Digest,
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
		s.SuspensionID, s.Resume = &r.stop.id, w.resumption(r, at)
	}
	w.incidents(s, list)
	s.tell(list)
	if subjectType != bundle.SubjectRevision {
		w.list(s, list, at)
	}
	return s, nil
}

// derived is the status with what only a reader needs to be told: that evidence has run
// out, or that only people are missing.
func (w *World) derived(r *revision, own *judged, at time.Time) Status {
	if r.active() && w.lapse(r, own, at) != "" {
		return Expired
	}
	next := nextStage(r)
	if next == "" || bundle.Rank(r.target) < bundle.Rank(next) || r.held {
		return r.Status
	}
	rules := w.policy.Stage(next)
	if len(rules.Approvals) == 0 && rules.Auto && !w.barred(r, next) {
		return r.Status
	}
	plan := w.judge(r, next, at)
	if plan.verdict == policy.Pass {
		return Eligible
	}
	return r.Status
}

// stages is how the revision stands towards each stage from paper on.
func (w *World) stages(r *revision, e *policy.Evidence, at time.Time) map[string]StageInfo {
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
			seconds := e.SoakSeconds(bundle.Role(s), at)
			info.SoakSeconds = &seconds
		}
		if required := w.policy.SoakSeconds(s); required > 0 {
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

func (w *World) incidents(s *State, list []*revision) {
	seen := map[string]bool{}
	for _, r := range list {
		if seen[r.bundle.DeployableID] {
			continue
		}
		seen[r.bundle.DeployableID] = true
		for _, i := range w.deployable(r.bundle.DeployableID).openIncidents() {
			severity := "warning"
			if i.critical {
				severity = "critical"
			}
			s.OpenIncidents = append(s.OpenIncidents, OpenIncident{i.id, severity, stamp(i.opened.at), i.opened.Principal, i.opened.reason, i.opened.seq})
		}
	}
	slices.SortFunc(s.OpenIncidents, func(a, b OpenIncident) int {
		if a.Seq != b.Seq {
			return int(min(max(a.Seq-b.Seq, -1), 1))
		}
		return compareText(a.IncidentID, b.IncidentID)
	})
}

// tell gives the newest events of the revisions, by entry.
func (s *State) tell(list []*revision) {
	all := []Event{}
	for _, r := range list {
		// Older ones of this revision cannot be among the newest of all.
		recent := r.history[max(0, len(r.history)-historyLength-1):]
		all = append(all, recent...)
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		switch {
		case a.Seq != b.Seq:
			return int(min(max(a.Seq-b.Seq, -1), 1))
		case a.id != b.id:
			return compareText(a.id, b.id)
		}
		return compareText(a.Revision, b.Revision)
	})
	if len(all) > historyLength {
		all, s.HistoryTruncated = all[len(all)-historyLength:], true
	}
	s.History = all
}

func (w *World) list(s *State, list []*revision, at time.Time) {
	s.Revisions, s.Champions = []Standing{}, []Standing{}
	for _, r := range list {
		one := Standing{r.id, r.bundle.Candidate.CandidateID, r.bundle.DeployableID, r.Stage, r.Status}
		if r.active() {
			one.StageStatus = w.derived(r, w.judge(r, r.Stage, at), at)
			s.Champions = append(s.Champions, one)
		}
		s.Revisions = append(s.Revisions, one)
	}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

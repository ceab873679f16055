package promotion

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// Decision is what the machine decides about one revision: a stage-decision that the
// caller logs.
type Decision struct {
	Revision string
	StageDecision
}

// Entry is the entry that logs the decision.
func (d *Decision) Entry(seq int64) *Entry {
	return &Entry{
		Seq: seq, Type: bundle.TypeStageDecision, Subject: []bundle.Subject{RevisionSubject(d.Revision)}, Predicate: &d.StageDecision,
	}
}

// Next is the next decision to make at this time, false when there is none: then all that
// was said so far is judged. Log it, Apply its facts, and ask again with the same time.
func (w *World) Next(now time.Time) (Decision, bool) {
	now = now.UTC()
	due := make([]*revision, 0, len(w.due))
	for r := range w.due {
		due = append(due, r)
	}
	slices.SortFunc(due, func(a, b *revision) int { return a.index - b.index })
	for _, r := range due {
		if d, ok := w.decide(r, now); ok {
			return d, true
		}
	}
	clear(w.due)
	return Decision{}, false
}

// NextFor is what the machine decides about one revision at this time, whether or not
// something was said about it: a decision in a log is judged again by asking for it with
// the facts before it, at its own time.
func (w *World) NextFor(revision string, now time.Time) (Decision, bool) {
	r, ok := w.revisions[revision]
	if !ok {
		return Decision{}, false
	}
	return w.decide(r, now.UTC())
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

// rules are the machine's rows of the table of transitions; the first that applies is the
// decision.
var rules = []func(*World, *revision, time.Time) (StageDecision, bool){
	(*World).first, (*World).superseded, (*World).again, (*World).resumed, (*World).failed, (*World).promoted,
}

func (w *World) decide(r *revision, now time.Time) (Decision, bool) {
	if r.Status.Terminal() {
		return Decision{}, false
	}
	for _, rule := range rules {
		if d, ok := rule(w, r, now); ok {
			d.PolicyDigest, d.EvaluatedAt = w.policy.Digest, now.Format(time.RFC3339Nano)
			if !r.fresh {
				from := r.Place.String()
				d.From = &from
			}
			return Decision{Revision: r.id, StageDecision: d}, true
		}
		if r.fresh {
			break // it has no place that anything else could take it from
		}
	}
	return Decision{}, false
}

func to(stage bundle.Stage, status Status, cause Cause) StageDecision {
	return StageDecision{To: Place{Stage: stage, Status: status}.String(), Cause: cause}
}

// first places a new revision: where its parent stands if it may inherit that, else in
// research. What was stopped before it had a place stays so.
func (w *World) first(r *revision, now time.Time) (StageDecision, bool) {
	if !r.fresh {
		return StageDecision{}, false
	}
	if p, ok := w.revisions[r.parent]; ok && w.mayInherit(r, p, now) {
		status := p.Status
		if r.Status == Suspended {
			status = Suspended
		}
		d := to(p.Stage, status, CauseInherited)
		d.RelatedRevisionID = p.id
		return d, true
	}
	return to(bundle.Research, r.Status, CauseFirst), true
}

// onPath says whether a revision stands in a stage from paper on, active or suspended.
func onPath(r *revision) bool {
	return !r.fresh && bundle.Rank(r.Stage) >= bundle.Rank(bundle.Paper) && (r.Status == Active || r.Status == Suspended)
}

// superseded takes the place from a revision whose heir has it, or that another revision
// of the candidate has come to later: of a candidate one revision is active in a stage.
func (w *World) superseded(r *revision, _ time.Time) (StageDecision, bool) {
	by := r.heir
	if by == "" && r.active() {
		for _, other := range w.rivals(r) {
			if other.active() && other.Stage == r.Stage && other.enteredSeq > r.enteredSeq {
				by = other.id
			}
		}
	}
	if by == "" || r.Status != Active && r.Status != Suspended {
		return StageDecision{}, false
	}
	d := to(r.Stage, Superseded, CauseSuperseded)
	d.RelatedRevisionID = by
	return d, true
}

// again takes a superseded revision that was submitted once more back to research.
func (w *World) again(r *revision, _ time.Time) (StageDecision, bool) {
	if !r.resubmitted || r.Status != Superseded || r.Stage != bundle.Paper {
		return StageDecision{}, false
	}
	return to(bundle.Research, Pending, CauseResubmitted), true
}

// resumed lets a stopped revision go on when people have agreed.
func (w *World) resumed(r *revision, now time.Time) (StageDecision, bool) {
	if !w.mayResume(r, now) {
		return StageDecision{}, false
	}
	return to(r.Stage, standing(r.Stage), CauseResumed), true
}

// failed lowers an active revision whose own stage's plan fails, to the next stage whose
// plan does not.
func (w *World) failed(r *revision, now time.Time) (StageDecision, bool) {
	if !r.active() {
		return StageDecision{}, false
	}
	own := w.judge(r, r.Stage, now)
	if own.verdict != policy.Fail {
		return StageDecision{}, false
	}
	stages := bundle.PromotionStages()
	for i := bundle.Rank(r.Stage) - 1; i >= 0; i-- {
		if i > 0 && w.judge(r, stages[i], now).verdict == policy.Fail {
			continue
		}
		d := to(stages[i], standing(stages[i]), CauseFailed)
		sum := w.planDigest(r, own)
		d.PlanDigest = &sum
		return d, true
	}
	return StageDecision{}, false
}

// promoted raises a revision by one stage when the plan passes and people have agreed.
func (w *World) promoted(r *revision, now time.Time) (StageDecision, bool) {
	next := nextStage(r)
	if next == "" || bundle.Rank(r.target) < bundle.Rank(next) || r.held || w.barred(r, next) {
		return StageDecision{}, false
	}
	rules := w.policy.Stage(next)
	plan := w.judge(r, next, now)
	if plan.verdict != policy.Pass {
		return StageDecision{}, false
	}
	sum := w.planDigest(r, plan)
	granted := w.promoteApprovals(r, next, sum, now)
	if missing(rules.Approvals, granted) > 0 || len(granted) == 0 && !rules.Auto {
		return StageDecision{}, false
	}
	d := to(next, Active, CausePromoted)
	d.PlanDigest = &sum
	return d, true
}

// nextStage is where a revision goes next, "" if it goes nowhere as it stands.
func nextStage(r *revision) bundle.Stage {
	stages := bundle.PromotionStages()
	i := bundle.Rank(r.Stage)
	if i < 0 || i+1 >= len(stages) || r.Status != standing(r.Stage) {
		return ""
	}
	return stages[i+1]
}

// why is a decision in words.
func (r *revision) why(d *StageDecision) string {
	switch d.Cause {
	case CauseFirst:
		return "first submission"
	case CauseInherited:
		return "inherited from " + d.RelatedRevisionID
	case CausePromoted:
		if len(r.approvedBy) > 0 {
			return fmt.Sprintf("the plan passes, approved by %d people", len(r.approvedBy))
		}
		return "the plan passes"
	case CauseSuperseded:
		return "superseded by " + d.RelatedRevisionID
	case CauseResumed:
		return "resumed by approval"
	case CauseResubmitted:
		return "submitted again"
	}
	return "the plan of its stage fails"
}

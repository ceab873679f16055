package promotion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/governance/fact"
	"github.com/assay-run/assay/governance/promotion/gate"
)

// ingest folds a submission: the first one makes the revision, further ones say how far
// it shall go.
func (w *World) ingest(f *fact.Fact, b *fact.Ingested) error {
	r, known := w.revisions[f.Revision]
	if !known {
		r = &revision{
			id: f.Revision, index: len(w.order), seq: f.Seq, bundle: b, declared: b.Candidate.Lineage.ChangeClass,
			Place: fact.Place{Stage: bundle.Research, Status: fact.Pending}, fresh: true, heldSeq: -1, entered: map[bundle.Stage]time.Time{},
		}
		if b.Candidate.Lineage.ParentRevisionID != nil {
			r.parent = *b.Candidate.Lineage.ParentRevisionID
		}
		r.lookup = lookups(b, func() bundle.Limits { return r.limits })
		w.revisions[r.id] = r
		w.order = append(w.order, r)
		c := b.Candidate
		w.byCandidate[c.CandidateID] = append(w.byCandidate[c.CandidateID], r)
		w.byFamily[c.FamilyID] = append(w.byFamily[c.FamilyID], r)
		w.byStrategy[b.Strategy.Name] = append(w.byStrategy[b.Strategy.Name], r)
		if r.parent != "" {
			w.byParent[r.parent] = append(w.byParent[r.parent], r)
		}
		d := w.deployable(b.DeployableID)
		d.revisions = append(d.revisions, r)
		w.touch(w.byParent[r.id])
	}
	w.due[r] = true
	r.sealSeq, r.target = f.Seq, b.SealRequest.RequestedStage
	r.requestedBy = appendNew(r.requestedBy, b.SealRequest.RequestedBy)
	r.verified = r.verified || slices.Contains(b.Rungs, fact.RungVerified)
	if known {
		r.held = false
		r.resubmitted = r.Status == fact.Superseded
	}
	return nil
}

// fold is what each fact about a revision does to it. Facts that change nothing in the
// revision's place are kept all the same: the last row of the table of transitions.
func (w *World) fold(r *revision, f *fact.Fact) error {
	d := w.deployable(r.bundle.DeployableID)
	switch fields := f.Fields.(type) {
	case *bundle.Run, *bundle.Artifact, *bundle.Limits:
		if f.Seq == r.seq { // a further submission has the same core
			r.part(f)
		}
	case *fact.Lineage, *fact.Recorded:
	case *fact.By:
		r.signed = append(r.signed, said{By: *fields, seq: f.Seq, at: f.At})
	case *fact.Replay:
		d.replays, d.replaySeq = append(d.replays, *fields), append(d.replaySeq, f.Seq)
		w.touch(d.revisions)
	case *fact.Drill:
		done, _ := field.ParseTime(fields.DoneAt)
		piece := gate.Piece{Seq: f.Seq, RunID: fields.RunID, SHA256: fields.PAESHA256}
		d.drills = append(d.drills, gate.Drill{Piece: piece, Drill: fields.Drill.Drill, Pass: fields.Result == "pass", Done: done})
		d.drillBy = append(d.drillBy, fields.By)
		w.touch(d.revisions)
	case *fact.Approval:
		expires, _ := field.ParseTime(fields.ExpiresAt)
		r.approvals = append(r.approvals, approval{*fields, f.Seq, expires})
	case *fact.Waiver:
		r.waivers = append(r.waivers, waiver{*fields, f.Seq, waiverEnd(fields)})
	case *fact.Incident:
		w.foldIncident(d, f, fields)
	case *fact.Suspension:
		r.suspend(f, fields)
		w.touchRivals(r)
	case *fact.Ending:
		w.end(r, d, f, fields)
	case *fact.StageDecision:
		return w.place(r, f, fields)
	default:
		return fmt.Errorf("the fact has fields of an unknown type")
	}
	return nil
}

func (r *revision) part(f *fact.Fact) {
	switch p := f.Fields.(type) {
	case *bundle.Run:
		run := gate.Run{Run: *p, Seq: f.Seq}
		run.Started, _ = field.ParseTime(p.StartedAt)
		run.Completed, _ = field.ParseTime(p.CompletedAt)
		r.runs = append(r.runs, run)
	case *bundle.Artifact:
		if t, ok := tradesFile(p); ok {
			r.trades = append(r.trades, t)
		}
	case *bundle.Limits:
		r.limits = *p
	}
}

// tradesFile says which split an artifact has the trades of: runs/RUN/splits/SPLIT/trades.csv,
// or runs/RUN/trades.csv of a run without splits.
func tradesFile(a *bundle.Artifact) (trades, bool) {
	rest, ok := strings.CutPrefix(a.Name, "runs/"+a.RunID+"/")
	if !ok {
		return trades{}, false
	}
	split := "full"
	if rest != "trades.csv" {
		rest, ok = strings.CutSuffix(rest, "/trades.csv")
		if split = strings.TrimPrefix(rest, "splits/"); !ok || split == rest || strings.Contains(split, "/") {
			return trades{}, false
		}
	}
	return trades{a.RunID, split, a.SHA256}, true
}

// waiverEnd is when a waiver runs out: as it says, and seven days after it was made at
// the latest.
func waiverEnd(f *fact.Waiver) time.Time {
	expires, _ := field.ParseTime(f.ExpiresAt)
	made, _ := field.ParseTime(f.MadeAt)
	if last := made.Add(bundle.MaxWaiver); last.Before(expires) {
		return last
	}
	return expires
}

// foldIncident opens or closes an incident of all revisions that run the same thing. A
// critical one suspends them, whatever else was said of it.
func (w *World) foldIncident(d *deployable, f *fact.Fact, p *fact.Incident) {
	i, ok := d.incidents[p.IncidentID]
	if !ok {
		i = &incident{id: p.IncidentID}
		d.incidents[p.IncidentID] = i
	}
	s := &said{By: p.By, seq: f.Seq, at: f.At, reason: p.Reason}
	s.made, _ = field.ParseTime(p.MadeAt)
	w.touch(d.revisions)
	if f.Type == fact.IncidentClosed {
		if s.after(i.closed) {
			i.closed = s
		}
		return
	}
	if s.after(i.opened) {
		i.opened, i.critical = s, p.Severity == "critical"
	}
	if p.Severity != "critical" {
		return
	}
	for _, r := range d.revisions {
		r.halt(f, p.Principal, "incident "+p.IncidentID+": "+p.Reason, true)
	}
}

// halt suspends a revision that has not ended.
func (r *revision) halt(f *fact.Fact, by, reason string, kill bool) {
	if r.Status.Terminal() {
		return
	}
	// A stop that kills goes on doing so until the revision is resumed.
	kill = kill || r.Status == fact.Suspended && r.stop != nil && r.stop.kill
	r.Status, r.resubmitted = fact.Suspended, false
	r.stop, r.heldSeq = &stop{id: f.ID, seq: f.Seq, kill: kill, reason: reason}, f.Seq
	r.note(f, r.Stage, by, reason, nil)
}

// suspend is a suspension: without a stage to go to it stops the revision where it
// stands; with a lower one it lowers it, and what is suspended stays so.
func (r *revision) suspend(f *fact.Fact, p *fact.Suspension) {
	if p.ToStage == "" {
		r.halt(f, p.Principal, p.Reason, p.Kill)
		return
	}
	if (r.Status != fact.Active && r.Status != fact.Suspended) || fact.Rank(p.ToStage) >= fact.Rank(r.Stage) {
		return
	}
	from := r.Stage
	r.enter(f, p.ToStage)
	r.demoted, r.held, r.heldSeq = true, p.ToStage == bundle.Research, f.Seq
	switch {
	case r.Status == fact.Suspended:
		if r.stop != nil {
			r.stop.kill = r.stop.kill || p.Kill
		}
	default:
		r.Status = standing(p.ToStage)
		r.stop = &stop{id: f.ID, seq: f.Seq, kill: p.Kill, reason: p.Reason}
	}
	r.note(f, from, p.Principal, p.Reason, nil)
}

// standing is how a revision stands in a stage that nothing is wrong with.
func standing(s bundle.Stage) fact.Status {
	if s == bundle.Research {
		return fact.Pending
	}
	return fact.Active
}

// end is a rejection or a retirement.
func (w *World) end(r *revision, d *deployable, f *fact.Fact, p *fact.Ending) {
	if r.Status.Terminal() {
		return
	}
	from := r.Stage
	r.Status, r.fresh, r.endedAt, r.endReason = fact.Rejected, false, f.At, p.Reason
	if f.Type == fact.RevisionRetired {
		r.Place = fact.Place{Stage: bundle.Retired, Status: fact.Retired}
		r.entered[bundle.Retired] = f.At
	} else {
		d.rejected = append(d.rejected, r)
		w.touch(d.revisions)
	}
	r.note(f, from, p.Principal, p.Reason, nil)
}

// place is a decision of the machine.
func (w *World) place(r *revision, f *fact.Fact, p *fact.StageDecision) error {
	if f.Type == fact.StageLeft {
		return nil // said again by the stage that is entered
	}
	to, err := fact.ParsePlace(p.To)
	if err != nil {
		return err
	}
	if p.From != nil && *p.From != r.Place.String() || r.fresh != (p.From == nil) {
		return fmt.Errorf("%s stands at %s, the decision takes it from elsewhere", r.id, r.Place)
	}
	from, wasFresh := r.Stage, r.fresh
	r.fresh, r.resubmitted = false, false
	switch p.Cause {
	case fact.CauseSuperseded:
		r.Status, r.heir = to.Status, ""
		r.stop = &stop{id: f.ID, seq: f.Seq, reason: "superseded by " + p.RelatedRevisionID}
		r.heldSeq = f.Seq
	case fact.CauseResumed:
		r.Status, r.stop, r.demoted = to.Status, nil, false
		r.enteredSeq = f.Seq
	default:
		r.enter(f, to.Stage)
		if p.Cause == fact.CausePromoted {
			r.approvedBy, r.approvedAt = w.approvers(r, to.Stage, p.PlanDigest, f.At), f.At
			r.stop = nil
		}
		if r.demoted = p.Cause == fact.CauseFailed; r.demoted {
			r.heldSeq = f.Seq // a plan that has changed voids approvals, also when it changes back
		}
		r.Status = to.Status
	}
	if p.Cause == fact.CauseInherited {
		if err := w.inherit(r, p.RelatedRevisionID); err != nil {
			return err
		}
	}
	w.touchRivals(r)
	reason := r.why(p)
	ev := r.note(f, from, w.policy.Name(), reason, p.PlanDigest)
	if wasFresh {
		ev.From = nil
	}
	return nil
}

// inherit gives a revision what its parent had: the way there, who approved it, and the
// stop if it is suspended.
func (w *World) inherit(r *revision, parent string) error {
	p, ok := w.revisions[parent]
	if !ok {
		return fmt.Errorf("%s inherits from a revision that is not in the log", r.id)
	}
	for stage, at := range p.entered {
		if _, ok := r.entered[stage]; !ok {
			r.entered[stage] = at
		}
	}
	r.approvedBy, r.approvedAt, r.demoted, r.wasPaper = p.approvedBy, p.approvedAt, p.demoted, true
	if r.Status == fact.Suspended && r.stop == nil {
		r.stop = p.stop
	}
	p.heir = r.id
	w.due[p] = true
	return nil
}

// enter moves the revision to a stage; what it entered above no longer counts.
func (r *revision) enter(f *fact.Fact, s bundle.Stage) {
	if s != r.Stage {
		for _, higher := range fact.PromotionStages() {
			if fact.Rank(higher) > fact.Rank(s) {
				delete(r.entered, higher)
			}
		}
	}
	r.Stage, r.enteredSeq = s, f.Seq
	r.entered[s] = f.At
	r.wasPaper = r.wasPaper || fact.Rank(s) >= fact.Rank(bundle.Paper)
}

// touchRivals has the other revisions judged that stand where r came to.
func (w *World) touchRivals(r *revision) {
	if !r.active() {
		return
	}
	for _, other := range w.byCandidate[r.bundle.Candidate.CandidateID] {
		if other != r && other.Place == r.Place {
			w.due[other] = true
		}
	}
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

package promotion

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
)

// applySubmission folds a submission: the first one makes the revision, further ones say how far
// it shall go.
func (w *World) applySubmission(f *Fact, b *Ingested) error {
	r, known := w.revisions[f.Revision]
	if !known {
		r = &revision{
			content: content{
				id: f.Revision, index: len(w.order), seq: f.Seq, sealedAt: f.At, bundle: b,
				declared: b.Candidate.Lineage.ChangeClass,
			},
			standing: standing{
				Place: Place{Stage: bundle.Research, Status: Pending}, fresh: true, heldSeq: -1,
				entered: map[bundle.Stage]time.Time{},
			},
		}
		if b.Candidate.Lineage.ParentRevisionID != nil {
			r.parent = *b.Candidate.Lineage.ParentRevisionID
		}
		r.lookup = lookups(b, func() bundle.Limits {
			return r.limits
		}, func() int64 { return planeTrials(w, r) })
		r.leaf = f.leaf
		r.draw(f.leaf)
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
		if d.halted != nil { // what runs is stopped, by whatever name it comes
			r.Status, r.stop = Suspended, d.halted
		}
		w.markDue(w.byParent[r.id])
	}
	w.due[r] = true
	r.verified = r.verified || slices.Contains(b.Rungs, bundle.RungVerified)
	if len(b.Evidence) > 0 {
		r.evidence = map[string]bundle.RunEvidence{}
		for _, x := range b.Evidence {
			r.evidence[x.RunID] = x
		}
	}
	s := submission{file: b.FileSHA256, requestedBy: b.SealRequest.RequestedBy, seq: f.Seq,
		stage: b.SealRequest.RequestedStage}
	if !known || w.trust == nil || slices.ContainsFunc(r.signed, func(sig signature) bool {
		return sig.covers(s.file)
	}) {
		r.acceptSubmission(&s)
	}
	countTried(w, r, &s, b)
	r.submissions = append(r.submissions, s)
	if !established(w) || w.trust == nil {
		lanes{w}.begin(r, f, "")
	}
	lanes{w}.settle(r) // who asks for it may run a witness
	return nil
}

// countTried notes the trials of a submission and counts those on the days of its revision. Where
// keys are trusted, a list counts for all from when a lab has signed it: else whoever reaches the
// plane could raise the count of others.
func countTried(w *World, r *revision, s *submission, b *Ingested) {
	switch {
	case !established(w):
		r.trials, r.sameCandles = w.tried.submitted(b)
		return
	case w.trust == nil || slices.ContainsFunc(r.signed, func(sig signature) bool {
		return sig.covers(s.file)
	}):
		w.tried.enter(b)
	default:
		s.tried = b
	}
	r.trials, r.sameCandles = w.tried.count(daysOf(b.Data))
}

// acceptSubmission makes a submission count: it sets the revision's target and who asked for it.
func (r *revision) acceptSubmission(s *submission) {
	s.counts = true
	r.requestedBy = appendNew(r.requestedBy, s.requestedBy)
	if s.seq >= r.sealSeq {
		r.sealSeq, r.target = s.seq, s.stage
	}
	if s.seq != r.seq {
		r.held = false
		r.resubmitted = r.Status == Superseded
	}
}

// covers reports whether a lab has signed this file. Whether its key still counts does not
// matter: the request was made.
func (s *signature) covers(file string) bool {
	return slices.Contains(s.Roles, bundle.TrustLab) && slices.Contains(s.files, file)
}

// addSignature folds a signature; the submissions that it covers count from now on, and so do the days
// that follow.
func (r *revision) addSignature(w *World, f *Fact, p *Signature) {
	sig := signature{recorded{By: p.By, seq: f.Seq, at: f.At}, p.Files}
	r.signed = append(r.signed, sig)
	for i := range r.submissions {
		s := &r.submissions[i]
		if !sig.covers(s.file) {
			continue
		}
		if !s.counts {
			r.acceptSubmission(s)
		}
		if b := s.tried; b != nil {
			s.tried = nil
			w.tried.enter(b)
			r.trials, r.sameCandles = w.tried.count(daysOf(b.Data))
		}
	}
	lanes{w}.begin(r, f, p.Principal)
	w.packed.sign(w, r, p.Principal)
}

// applyToRevision is what each fact about a revision does to it. Facts that change nothing in the
// revision's place are kept all the same: the last row of the table of transitions.
func (w *World) applyToRevision(r *revision, f *Fact) error {
	d := w.deployable(r.bundle.DeployableID)
	switch fields := f.Fields.(type) {
	case *bundle.Run, *bundle.Artifact, *bundle.Limits:
		if f.Seq == r.seq { // a further submission has the same core
			r.addContent(f)
			w.packed.list(r, fields)
		}
	case *Lineage, *Recorded:
	case *Signature:
		r.addSignature(w, f, fields)
	case *Replay:
		d.replays, d.replaySeq = append(d.replays, *fields), append(d.replaySeq, f.Seq)
		if !r.bound(fields.Principal) {
			d.take(r, f, fields.By, answerReplay, fields.Challenge)
		}
		w.markDue(d.revisions)
	case *Drill:
		done, _ := field.ParseTime(fields.DoneAt)
		piece := policy.Piece{Seq: f.Seq, RunID: fields.RunID, SHA256: fields.PAESHA256}
		d.drills = append(d.drills, policy.Drill{
			Piece: piece, Drill: fields.Drill.Drill, Pass: fields.Passed(), Done: done,
			Proven: fields.Metadata != "",
		})
		d.drillBy = append(d.drillBy, fields.By)
		w.markDue(d.revisions)
	case *Hosted:
		d.hosted = append(d.hosted, *fields)
		w.markDue(d.revisions)
	case *Approval:
		expires, _ := field.ParseTime(fields.ExpiresAt)
		r.approvals = append(r.approvals, approval{*fields, f.Seq, expires})
	case *Waiver:
		r.waivers = append(r.waivers, waiver{*fields, f.Seq, waiverEnd(fields)})
	case *Incident:
		w.foldIncident(d, f, fields)
	case *Suspension:
		w.applySuspension(d, f, fields)
	case *Ending:
		w.applyEnding(r, d, f, fields)
	case *Shadow:
		lanes{w}.apply(r, f, fields)
	case *Committed:
		challenges{w}.commit(r, f, fields)
	case *Revealed:
		challenges{w}.reveal(r, f, fields)
	case *Disputed:
		lanes{w}.dispute(f, fields)
	case *StageDecision:
		return w.applyDecision(r, f, fields)
	default:
		return fmt.Errorf("the fact has fields of an unknown type")
	}
	return nil
}

func (r *revision) addContent(f *Fact) {
	switch p := f.Fields.(type) {
	case *bundle.Run:
		run := policy.Run{Run: *p, Seq: f.Seq}
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

// tradesFile reports which split an artifact has the trades of: runs/RUN/splits/SPLIT/trades.csv,
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

// waiverEnd is when a waiver runs out: its expires_at, and seven days after it was made at
// the latest.
func waiverEnd(f *Waiver) time.Time {
	expires, _ := field.ParseTime(f.ExpiresAt)
	made, _ := field.ParseTime(f.MadeAt)
	if last := made.Add(bundle.MaxWaiver); last.Before(expires) {
		return last
	}
	return expires
}

// foldIncident opens or closes an incident of all revisions that run the same thing. A
// critical one suspends them, also when it was closed before.
func (w *World) foldIncident(d *deployable, f *Fact, p *Incident) {
	i, ok := d.incidents[p.IncidentID]
	if !ok {
		i = &incident{id: p.IncidentID}
		d.incidents[p.IncidentID] = i
	}
	s := &recorded{By: p.By, seq: f.Seq, at: f.At, reason: p.Reason}
	s.made, _ = field.ParseTime(p.MadeAt)
	w.markDue(d.revisions)
	if f.Type == IncidentClosed {
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
	d.kill = true
	d.suspendAll(f, p.Principal, "incident "+p.IncidentID+": "+p.Reason)
}

// suspendAll suspends all revisions that have not ended, and those that are still to come until
// one of them is resumed: who stops one of them means what it runs.
func (d *deployable) suspendAll(f *Fact, by, reason string) {
	d.halted = &stop{id: f.ID, seq: f.Seq, reason: reason}
	for _, r := range d.revisions {
		if r.Status.Terminal() {
			continue
		}
		r.Status, r.resubmitted = Suspended, false
		r.stop, r.heldSeq = d.halted, f.Seq
		r.addEvent(f, r.Stage, by, reason, nil)
	}
}

// applySuspension is a suspension of whatever runs the same: without a stage to go to it stops it
// where it stands; with a lower one it lowers it. A kill holds until two people have agreed
// that it goes on.
func (w *World) applySuspension(d *deployable, f *Fact, p *Suspension) {
	d.kill = d.kill || p.Kill
	w.markDue(d.revisions)
	if p.ToStage == "" {
		d.suspendAll(f, p.Principal, p.Reason)
		return
	}
	for _, r := range d.revisions {
		r.demoteTo(f, p)
		w.markRivalsDue(r)
	}
}

// demoteTo takes a revision to a lower stage; what is suspended stays so.
func (r *revision) demoteTo(f *Fact, p *Suspension) {
	if (r.Status != Active && r.Status != Suspended) || bundle.Rank(p.ToStage) >= bundle.Rank(r.Stage) {
		return
	}
	from := r.Stage
	r.enterStage(f, p.ToStage)
	r.demoted, r.held, r.heldSeq = true, p.ToStage == bundle.Research, f.Seq
	if r.Status != Suspended {
		r.Status = defaultStatus(p.ToStage)
		r.stop = &stop{id: f.ID, seq: f.Seq, reason: p.Reason}
	}
	r.addEvent(f, from, p.Principal, p.Reason, nil)
}

// defaultStatus is the status in a stage of a revision that nothing is wrong with.
func defaultStatus(s bundle.Stage) Status {
	if s == bundle.Research {
		return Pending
	}
	return Active
}

// applyEnding is a rejection or a retirement.
func (w *World) applyEnding(r *revision, d *deployable, f *Fact, p *Ending) {
	if r.Status.Terminal() {
		return
	}
	from := r.Stage
	r.Status, r.fresh, r.endedAt, r.endReason = Rejected, false, f.At, p.Reason
	if f.Type == RevisionRetired {
		r.Place = Place{Stage: bundle.Retired, Status: Retired}
		r.entered[bundle.Retired] = f.At
	} else {
		d.rejected = append(d.rejected, r)
		w.markDue(d.revisions)
	}
	r.addEvent(f, from, p.Principal, p.Reason, nil)
}

// applyDecision is a decision of the machine.
func (w *World) applyDecision(r *revision, f *Fact, p *StageDecision) error {
	if f.Type == StageLeft {
		return nil // the fact of the stage that is entered follows
	}
	to, err := ParsePlace(p.To)
	if err != nil {
		return err
	}
	firstPlace := p.From == nil
	elsewhere := !firstPlace && *p.From != r.Place.String()
	if elsewhere || firstPlace != r.fresh {
		return fmt.Errorf("%s stands at %s, the decision takes it from elsewhere", r.id, r.Place)
	}
	rs := rules{w, f.At}
	if p.Cause == CauseDrifted { // it stops whatever runs the same
		w.deployable(r.bundle.DeployableID).suspendAll(f, w.policy.Name(), driftReason(lanes{w}.shadowOf(r)))
		return nil
	}
	from, wasFresh := r.Stage, r.fresh
	r.fresh, r.resubmitted = false, false
	switch p.Cause {
	case CauseSuperseded:
		r.Status, r.successor = to.Status, ""
		r.stop = &stop{id: f.ID, seq: f.Seq, reason: "superseded by " + p.RelatedRevisionID}
		r.heldSeq = f.Seq
	case CauseResumed:
		w.recordApprovals(r, rs.resumeApprovals(r), f.At)
		r.Status, r.stop, r.demoted = to.Status, nil, false
		r.driftFrom = len(lanes{w}.laneOf(r).lane.days)
		r.enteredSeq = f.Seq
	default:
		r.enterStage(f, to.Stage)
		if p.Cause == CausePromoted {
			w.recordApprovals(r, rs.promoteApprovals(r, to.Stage, deref(p.PlanDigest)), f.At)
			r.stop = nil
		}
		if r.demoted = p.Cause == CauseFailed; r.demoted {
			r.heldSeq = f.Seq // a plan that has changed voids approvals, also when it changes back
		}
		r.Status = to.Status
	}
	if p.Cause == CauseInherited {
		if err := w.inheritPlace(r, p.RelatedRevisionID); err != nil {
			return err
		}
	}
	w.markRivalsDue(r)
	reason := r.why(p)
	ev := r.addEvent(f, from, w.policy.Name(), reason, p.PlanDigest)
	if wasFresh {
		ev.From = nil
	}
	return nil
}

// enterStage moves the revision to a stage; what it entered above no longer counts.
func (r *revision) enterStage(f *Fact, s bundle.Stage) {
	if s != r.Stage {
		for _, higher := range bundle.PromotionStages() {
			if bundle.Rank(higher) > bundle.Rank(s) {
				delete(r.entered, higher)
			}
		}
	}
	r.Stage, r.enteredSeq = s, f.Seq
	r.entered[s] = f.At
	r.wasPaper = r.wasPaper || bundle.Rank(s) >= bundle.Rank(bundle.Paper)
}

// markRivalsDue has the other revisions judged that stand where r came to.
func (w *World) markRivalsDue(r *revision) {
	if !r.active() {
		return
	}
	for _, other := range w.otherRevisions(r) {
		if other.Place == r.Place {
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

// changeClass is what a revision changes against its parent: computed, never believed.
//
//   - initial: there is no parent.
//   - evidence_only: the same would run, within limits no looser.
//   - non_material: only the plugin differs, limits are no looser, and a re-run by one
//     other than the packer has given all trades of the parent, byte for byte.
//   - material: everything else, a parent that is not in the log or of another candidate.
func (w *World) changeClass(r *revision) string {
	if r.parent == "" {
		return bundle.ChangeInitial
	}
	p, ok := w.revisions[r.parent]
	if !ok || p == r || p.bundle.Candidate.CandidateID != r.bundle.Candidate.CandidateID ||
		p.bundle.Candidate.FamilyID != r.bundle.Candidate.FamilyID || !noLooser(&r.limits, &p.limits) {
		return bundle.ChangeMaterial
	}
	if r.bundle.DeployableID == p.bundle.DeployableID {
		return bundle.ChangeEvidenceOnly
	}
	if onlyPluginDiffers(&r.bundle.Strategy, &p.bundle.Strategy) && w.sameTrades(r, p) {
		return bundle.ChangeNonMaterial
	}
	return bundle.ChangeMaterial
}

func onlyPluginDiffers(a, b *bundle.Strategy) bool {
	return a.ParamsSHA256 == b.ParamsSHA256 && slices.Equal(a.Symbols, b.Symbols) &&
		slices.Equal(a.Timeframes, b.Timeframes) && slices.Equal(a.Exchanges, b.Exchanges)
}

// sameTrades reports whether a replay for r shows every trades.csv of p. A replay names p, and
// lists its own runs or those of p: the split and the hash must be there, and none of a run
// of p may differ.
func (w *World) sameTrades(r, p *revision) bool {
	e := w.evidenceOf(r)
	return len(p.trades) > 0 && slices.ContainsFunc(e.Replays, func(replay policy.ReplayResult) bool {
		own := bundle.Among(e.Packers, replay.Principal)
		return replay.Parent == p.id && !own && replay.Disputed == "" && shows(replay.Runs, p.trades)
	})
}

func shows(runs []bundle.ReplayedRun, want []trades) bool {
	for _, t := range want {
		found := false
		for _, run := range runs {
			for _, again := range run.Trades {
				if again.SplitID != t.split {
					continue
				}
				if run.RunID == t.run && again.SHA256 != t.sha256 {
					return false
				}
				found = found || again.SHA256 == t.sha256
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// noLooser reports whether limits a allow nothing that limits b do not.
func noLooser(a, b *bundle.Limits) bool {
	atMost := func(x, y string) bool {
		if y == "" {
			return true
		}
		rx, okx := new(big.Rat).SetString(x)
		ry, oky := new(big.Rat).SetString(y)
		return okx && oky && rx.Cmp(ry) <= 0
	}
	collar := b.PriceCollarBps == nil || a.PriceCollarBps != nil && *a.PriceCollarBps <= *b.PriceCollarBps
	return atMost(a.MaxCapital, b.MaxCapital) && atMost(a.MaxOrderValue, b.MaxOrderValue) &&
		atMost(a.MaxPositionValue, b.MaxPositionValue) && atMost(a.MaxDrawdown, b.MaxDrawdown) &&
		atMost(a.MaxDailyLoss, b.MaxDailyLoss) &&
		a.MaxOrdersPerMinute <= b.MaxOrdersPerMinute && a.MaxInstruments <= b.MaxInstruments &&
		a.MaxVenues <= b.MaxVenues &&
		collar && (b.QuoteCurrency == "" || a.QuoteCurrency == b.QuoteCurrency)
}

// isSigned reports whether the revision counts as signed: a lab whose key is trusted has
// signed it. In open mode no signature is needed.
func (w *World) isSigned(r *revision) bool {
	byLab := func(s signature) bool { return w.signatureCounts(s.By, bundle.TrustLab) }
	return w.trust == nil || slices.ContainsFunc(r.signed, byLab)
}

// otherRevisions are the other revisions of the same candidate of the same family.
func (w *World) otherRevisions(r *revision) []*revision {
	var list []*revision
	for _, other := range w.byCandidate[r.bundle.Candidate.CandidateID] {
		if other != r && other.bundle.Candidate.FamilyID == r.bundle.Candidate.FamilyID {
			list = append(list, other)
		}
	}
	return list
}

// wouldDisplace reports whether a revision without a trusted signature would take the place of
// another: an anonymous post moves nothing that is active.
func (rs rules) wouldDisplace(r *revision, stage bundle.Stage) bool {
	stands := func(o *revision) bool { return o.active() && o.Stage == stage }
	return !rs.w.isSigned(r) && slices.ContainsFunc(rs.w.otherRevisions(r), stands)
}

// mayInherit reports whether a new revision takes its parent's place. The same thing within
// limits no looser does when a lab has signed it that was not among those that approved
// the parent: with the place it gets their approvals, and people do not approve their own. Another
// plugin does so only if it could stand there by itself: all that is missing for it are
// people, and two of them have attested that it is the same, who signed it and who re-ran it.
func (rs rules) mayInherit(r, parent *revision) bool {
	if !onPath(parent) || !rs.w.isSigned(r) || ownGrant(r, parent.grants) || rs.w.strict() &&
		r.evidence == nil {
		return false
	}
	switch rs.w.changeClass(r) {
	case bundle.ChangeEvidenceOnly:
		return true
	case bundle.ChangeNonMaterial:
		return rs.judgePlan(r, parent.Stage).verdict == policy.Pass
	}
	return false
}

// ownGrant reports whether one of the approvals is of a principal that r belongs to.
func ownGrant(r *revision, grants []approval) bool {
	own := r.belongsTo()
	return slices.ContainsFunc(grants, func(a approval) bool { return bundle.Among(own, a.Principal) })
}

// inheritPlace gives a revision what its parent had: the way there, the approvals that the
// place rests on, and the stop if it is suspended. Who approved is kept only where
// the same thing runs.
func (w *World) inheritPlace(r *revision, parent string) error {
	p, ok := w.revisions[parent]
	if !ok {
		return fmt.Errorf("%s inherits from a revision that is not in the log", r.id)
	}
	for stage, at := range p.entered {
		if _, ok := r.entered[stage]; !ok {
			r.entered[stage] = at
		}
	}
	r.from, r.grants, r.demoted, r.wasPaper = p, p.grants, p.demoted, true
	if r.bundle.DeployableID == p.bundle.DeployableID {
		r.approvedBy, r.approvedAt = p.approvedBy, p.approvedAt
	}
	if r.Status == Suspended && r.stop == nil {
		r.stop = p.stop
	}
	p.successor = r.id
	w.due[p] = true
	return nil
}

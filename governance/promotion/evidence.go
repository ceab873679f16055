package promotion

import (
	"cmp"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
)

// evidenceOf is what gates look at.
func (w *World) evidenceOf(r *revision) *policy.Evidence {
	e := &policy.Evidence{
		Seq: r.seq, CoreSHA256: r.id[len(bundle.RevisionPrefix):], Target: r.target, Verified: r.verified,
		Parent: r.parent, ParentSeq: -1, Limits: r.limits, Runs: lanes{w}.comparedRuns(r), Lookup: r.lookup,
		Packers: r.packers(),
		Rules: policy.Rules{Strict: w.strict(), Prospective: prospective(w), Engines: w.engines,
			Challenged: w.rules >= RulesChallenge, Witnessed: witnessed(w),
			Lifts: disinterested(w)},
		Portfolio: policy.Portfolio{
			Self:   func() policy.Member { return member(w, r) },
			Others: func() []policy.Member { return members(w, r) },
		},
		Shadow: lanes{w}.shadowOf(r),
	}
	if e.Strict {
		e.Verified, e.Read = r.evidence != nil, r.evidence
	}
	if p, ok := w.revisions[r.parent]; ok {
		e.ParentSeq = p.seq
	}
	d := w.deployable(r.bundle.DeployableID)
	for _, twin := range d.rejected {
		if twin != r && twin.bundle.Candidate.FamilyID == r.bundle.Candidate.FamilyID {
			e.RejectedTwin = &policy.Piece{Seq: twin.seq, SHA256: twin.id[len(bundle.RevisionPrefix):]}
			break
		}
	}
	for _, s := range r.signed {
		if w.signatureCounts(s.By, bundle.TrustLab) {
			e.Signatures = append(e.Signatures,
				policy.Signature{Piece: policy.Piece{Seq: s.seq, SHA256: s.PAESHA256},
					Principal: s.Principal})
		}
	}
	for i, replay := range d.replays {
		if w.signatureCounts(replay.By, bundle.TrustLab, bundle.TrustReplay) {
			result := replayOf(replay, d.replaySeq[i])
			challenges{w}.mark(&replay, &result)
			e.Replays = append(e.Replays, result)
		}
	}
	for i, drill := range d.drills {
		if w.signatureCounts(d.drillBy[i], bundle.TrustOperator, bundle.TrustHost) {
			if disinterested(w) && bundle.Among(interestedIn(w, r), d.drillBy[i].Principal) {
				drill.Own = d.drillBy[i].Principal
			}
			e.Drills = append(e.Drills, drill)
		}
	}
	for _, i := range d.openIncidents() {
		e.Incidents = append(e.Incidents,
			policy.Incident{Piece: policy.Piece{Seq: i.opened.seq, SHA256: i.opened.PAESHA256}, ID: i.id,
				Critical: i.critical})
	}
	return e
}

func replayOf(replay Replay, seq int64) policy.ReplayResult {
	r := policy.ReplayResult{Piece: policy.Piece{Seq: seq, SHA256: replay.PAESHA256},
		Principal: replay.Principal, Runs: replay.Runs, Candles: replay.Candles}
	r.Made, _ = field.ParseTime(replay.MadeAt)
	if replay.ParentRevisionID != nil {
		r.Parent = *replay.ParentRevisionID
	}
	return r
}

// openIncidents are the open incidents by id.
func (d *deployable) openIncidents() []*incident {
	var list []*incident
	for _, i := range d.incidents {
		if i.open() {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *incident) int { return cmp.Compare(a.id, b.id) })
	return list
}

// openCritical reports whether a critical incident is open.
func (d *deployable) openCritical() bool {
	return slices.ContainsFunc(d.openIncidents(), func(i *incident) bool { return i.critical })
}

package promotion

import (
	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// packed is who has signed what: the principals by family_id, and the revisions with a run by the SHA-256
// of its report.
type packed struct {
	families map[string][]string
	runs     map[string][]*revision
}

// disinterested reports whether the rules of RulesDisinterested hold.
func disinterested(w *World) bool { return w.rules >= RulesDisinterested }

// list notes a run of a new revision.
func (p *packed) list(r *revision, content any) {
	if run, ok := content.(*bundle.Run); ok {
		p.runs[run.ReportSHA256] = append(p.runs[run.ReportSHA256], r)
	}
}

// sign notes who has signed a revision. What they have said of its family, and of its runs, is judged anew.
func (p *packed) sign(w *World, r *revision, principal string) {
	family := r.bundle.Candidate.FamilyID
	p.families[family] = appendNew(p.families[family], principal)
	if !disinterested(w) {
		return
	}
	w.markDue(w.byFamily[family])
	for i := range r.runs {
		w.markDue(p.runs[r.runs[i].ReportSHA256])
	}
}

// runPackers are the principals that have signed a revision with a run, by the rules of RulesDisinterested.
func (p *packed) runPackers(w *World, run *policy.Run) []string {
	with := p.runs[run.ReportSHA256]
	if !disinterested(w) || len(with) < 2 {
		return nil // those of the revision itself are its packers
	}
	var list []string
	for _, r := range with {
		for _, s := range r.signed {
			list = appendNew(list, s.Principal)
		}
	}
	return list
}

// Interested are the principals that vouch for nothing that a revision runs, as far as the log knows it.
func Interested(w *World, id string) []string {
	r, ok := w.revisions[id]
	if !ok {
		return nil
	}
	return interestedIn(w, r)
}

// interestedIn are the principals that a revision is of, or those whose days it continues, and all who
// have signed one of its family: whoever gains by what is said of it. There are none under the policy
// of one person.
func interestedIn(w *World, r *revision) []string {
	if w.policy.Solo {
		return nil
	}
	list := append(r.excluded(), lanes{w}.laneOf(r).excluded()...)
	return append(list, w.packed.families[r.bundle.Candidate.FamilyID]...)
}

// ownWorkers are those who have stated days of a lane that a revision looks at and that is theirs.
func (all lanes) ownWorkers(r *revision, l *lane) map[string]bool {
	if !disinterested(all.w) {
		return nil
	}
	own, other := map[string]bool{}, map[string]bool{}
	interested := interestedIn(all.w, r)
	for i := range l.days {
		switch by := l.days[i].by.Principal; {
		case own[by] || other[by]:
		case bundle.Among(interested, by):
			own[by] = true
		default:
			other[by] = true
		}
	}
	return own
}

// believes reports whether what a worker has found of a revision's runs counts.
func (all lanes) believes(r *revision, by By) bool {
	return all.w.signatureCounts(by, bundle.TrustShadow) &&
		!(disinterested(all.w) && bundle.Among(interestedIn(all.w, r), by.Principal))
}

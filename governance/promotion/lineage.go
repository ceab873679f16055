package promotion

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

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
	e := w.evidence(r)
	return len(p.trades) > 0 && slices.ContainsFunc(e.Replays, func(replay policy.ReplayResult) bool {
		own := slices.ContainsFunc(e.Packers, func(s string) bool { return bundle.SamePrincipal(s, replay.Principal) })
		return replay.Parent == p.id && !own && shows(replay.Runs, p.trades)
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
		atMost(a.MaxPositionValue, b.MaxPositionValue) && atMost(a.MaxDrawdown, b.MaxDrawdown) && atMost(a.MaxDailyLoss, b.MaxDailyLoss) &&
		a.MaxOrdersPerMinute <= b.MaxOrdersPerMinute && a.MaxInstruments <= b.MaxInstruments && a.MaxVenues <= b.MaxVenues &&
		collar && (b.QuoteCurrency == "" || a.QuoteCurrency == b.QuoteCurrency)
}

// vouched reports whether the revision counts as signed: a lab whose key is trusted has
// signed it. In open mode no signature is needed.
func (w *World) vouched(r *revision) bool {
	return w.trust == nil || slices.ContainsFunc(r.signed, func(s signature) bool { return w.counts(s.By, bundle.TrustLab) })
}

// rivals are the other revisions of the same candidate of the same family.
func (w *World) rivals(r *revision) []*revision {
	var list []*revision
	for _, other := range w.byCandidate[r.bundle.Candidate.CandidateID] {
		if other != r && other.bundle.Candidate.FamilyID == r.bundle.Candidate.FamilyID {
			list = append(list, other)
		}
	}
	return list
}

// barred reports whether a revision without a trusted signature would take the place of another:
// an anonymous post moves nothing that is active.
func (rs rules) barred(r *revision, stage bundle.Stage) bool {
	return !rs.w.vouched(r) && slices.ContainsFunc(rs.w.rivals(r), func(o *revision) bool { return o.active() && o.Stage == stage })
}

// mayInherit reports whether a new revision takes its parent's place. The same thing within
// limits no looser does when a lab has signed it that was not among those that approved
// the parent: with the place it gets their approvals, and people do not approve their own. Another
// plugin does so only if it could stand there by itself: all that is missing for it are
// people, and two of them have said that it is the same, who signed it and who re-ran it.
func (rs rules) mayInherit(r, parent *revision) bool {
	if !onPath(parent) || !rs.w.vouched(r) || ownGrant(r, parent.grants) || rs.w.strict() && r.evidence == nil {
		return false
	}
	switch rs.w.changeClass(r) {
	case bundle.ChangeEvidenceOnly:
		return true
	case bundle.ChangeNonMaterial:
		return rs.judge(r, parent.Stage).verdict == policy.Pass
	}
	return false
}

// ownGrant reports whether one of the approvals is of a principal that r belongs to.
func ownGrant(r *revision, grants []approval) bool {
	own := r.belongsTo()
	return slices.ContainsFunc(grants, func(a approval) bool {
		return slices.ContainsFunc(own, func(s string) bool { return bundle.SamePrincipal(s, a.Principal) })
	})
}

// inherit gives a revision what its parent had: the way there, the approvals that the
// place rests on, and the stop if it is suspended. Who approved is said again only where
// the same thing runs.
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
	r.from, r.grants, r.demoted, r.wasPaper = p, p.grants, p.demoted, true
	if r.bundle.DeployableID == p.bundle.DeployableID {
		r.approvedBy, r.approvedAt = p.approvedBy, p.approvedAt
	}
	if r.Status == Suspended && r.stop == nil {
		r.stop = p.stop
	}
	p.heir = r.id
	w.due[p] = true
	return nil
}

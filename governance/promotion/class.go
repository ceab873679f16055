package promotion

import (
	"math/big"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/gate"
)

// changeClass is what a revision changes against its parent: computed, never believed.
//
//   - initial: there is no parent.
//   - evidence_only: the same would run, within limits no looser.
//   - non_material: only the plugin differs, limits are no looser, and a re-run by somebody
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

// sameTrades says whether a replay for r shows every trades.csv of p. A replay names p, and
// lists its own runs or those of p: the split and the hash must be there, and none of a run
// of p may differ.
func (w *World) sameTrades(r, p *revision) bool {
	e := w.evidence(r)
	return len(p.trades) > 0 && slices.ContainsFunc(e.Replays, func(replay gate.Replay) bool {
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

// noLooser says whether limits a allow nothing that limits b do not.
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

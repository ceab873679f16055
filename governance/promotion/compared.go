package promotion

import (
	"maps"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

type comparison struct {
	bundle.ComparedRun
	by  By
	seq int64
}

// comparedRuns are the runs of a revision with the diverging fills that count: of those that a host
// has signed and those that a shadow has found, the more. Earlier rules believe what the bundle says
// of a run, and take the shadow's where it says nothing.
func (all lanes) comparedRuns(r *revision) []policy.Run {
	known := all.laneOf(r).lane.compared
	from := all.w.since.established
	if len(known) == 0 && r.seq < from && !disinterested(all.w) {
		return r.runs
	}
	runs := slices.Clone(r.runs)
	for i := range runs {
		run := &runs[i]
		run.Packers = all.w.packed.runPackers(all.w, run)
		if !run.Role.Venue() {
			continue
		}
		run.Unhosted = run.Seq >= from && !all.hosts(r, &run.Run)
		c, ok := known[run.RunID]
		own, recorded := run.Summary[divergingFills]
		believed := recorded && run.Seq < from && c.seq < from
		if !ok || believed || !all.believes(r, c.by) {
			continue
		}
		run.Summary = maps.Clone(run.Summary)
		if run.Summary == nil {
			run.Summary = map[string]float64{}
		}
		run.Summary[divergingFills] = max(own, float64(c.Diverging))
	}
	return runs
}

// hosts reports whether a host, and not the one who packed the revision, has signed a run of it.
func (all lanes) hosts(r *revision, run *bundle.Run) bool {
	return slices.ContainsFunc(all.w.deployable(r.bundle.DeployableID).hosted, func(h Hosted) bool {
		return h.Vouches(run) && all.w.signatureCounts(h.By, bundle.TrustHost) &&
			!bundle.Among(r.packers(), h.Principal)
	})
}

const divergingFills = "diverging_fills"

// ComparedView is a paper or live run beside its shadow.
type ComparedView struct {
	RunID string      `json:"run_id"`
	Role  bundle.Role `json:"role"`
	Seq   int64       `json:"seq"`
	// Fills are those of the run, Diverging those of both without an equal partner.
	Fills     int64 `json:"fills"`
	Diverging int64 `json:"diverging_fills"`
	bundle.Beside
	// Days are the newest ones.
	Days []bundle.ComparedDay `json:"days"`
}

// daysShown is how many days of a comparison a state shows.
const daysShown = 31

// compared are the runs of a revision that a shadow was held against, by a key that still counts.
func (all lanes) compared(r *revision) []ComparedView {
	known := all.laneOf(r).lane.compared
	var list []ComparedView
	for i := range r.runs {
		run := &r.runs[i].Run
		c, ok := known[run.RunID]
		if !ok || !run.Role.Venue() || !all.believes(r, c.by) {
			continue
		}
		list = append(list, ComparedView{run.RunID, run.Role, c.seq, c.Fills, c.Diverging, c.Beside(),
			c.Days[max(0, len(c.Days)-daysShown):]})
	}
	return list
}

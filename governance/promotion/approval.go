package promotion

import (
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

const (
	actionPromote = "promote"
	actionResume  = "resume"
)

// promoteApprovals are the approvals that count for a stage under a plan: unexpired, by a
// key that still counts, not by whom the revision belongs to, and given after the newest
// stop. By order of the log.
func (w *World) promoteApprovals(r *revision, stage bundle.Stage, planDigest string, now time.Time) []approval {
	return w.valid(r, now, func(a *approval) bool {
		return planDigest != "" && a.Action == actionPromote && a.Stage == stage && a.PlanDigest == planDigest && a.seq > r.heldSeq
	})
}

// resumeApprovals are the approvals that count for resuming from the newest stop. Of a
// revision that stands in research they cannot name the stage.
func (w *World) resumeApprovals(r *revision, now time.Time) []approval {
	if r.stop == nil {
		return nil
	}
	return w.valid(r, now, func(a *approval) bool {
		return a.Action == actionResume && sameID(a.SuspensionID, r.stop.id) && (a.Stage == r.Stage || r.Stage == bundle.Research)
	})
}

// sameID compares a fact_id that was written with or without its prefix.
func sameID(a, b string) bool {
	return a != "" && (a == b || bundle.DigestPrefix+a == b)
}

func (w *World) valid(r *revision, now time.Time, fits func(*approval) bool) []approval {
	if !w.peopleMayStart(now) {
		return nil
	}
	var list []approval
	excluded := r.excluded()
	for i := range r.approvals {
		a := &r.approvals[i]
		role := a.Approval.Approval.Role
		if fits(a) && now.Before(a.expires) && (role == bundle.TrustRisk || role == bundle.TrustApprover) &&
			w.counts(a.By, role) &&
			!slices.ContainsFunc(excluded, func(p string) bool { return bundle.SamePrincipal(p, a.Principal) }) {
			list = append(list, *a)
		}
	}
	return list
}

// missing is how many more people must approve: each requirement takes another principal.
func missing(required []policy.Requirement, granted []approval) int {
	var slots []string
	for _, q := range required {
		for range q.Count {
			slots = append(slots, q.Role)
		}
	}
	var people []person
	for _, a := range granted {
		i := slices.IndexFunc(people, func(p person) bool { return bundle.SamePrincipal(p.name, a.Principal) })
		if i < 0 {
			i = len(people)
			people = append(people, person{name: a.Principal})
		}
		people[i].roles = append(people[i].roles, a.Approval.Approval.Role)
	}
	filled := 0
	taken := make([]int, len(slots)) // 1 + the person who fills the slot
	for i := range people {
		if assign(i, people, slots, taken, make([]bool, len(slots))) {
			filled++
		}
	}
	return len(slots) - filled
}

type person struct {
	name  string
	roles []string
}

// assign finds a slot for a person, moving others to other slots where they fit as well.
func assign(i int, people []person, slots []string, taken []int, tried []bool) bool {
	for s, role := range slots {
		if tried[s] || role != policy.RoleAny && !slices.Contains(people[i].roles, role) {
			continue
		}
		tried[s] = true
		if taken[s] == 0 || assign(taken[s]-1, people, slots, taken, tried) {
			taken[s] = i + 1
			return true
		}
	}
	return false
}

// agreed notes by whose approvals a revision enters a stage or goes on. Where people have
// agreed, what was stopped for all that run the same is no longer.
func (w *World) agreed(r *revision, by []approval, at time.Time) {
	names := []string{}
	for _, a := range by {
		names = appendNew(names, a.Principal)
	}
	slices.Sort(names)
	r.grants, r.approvedBy, r.approvedAt = by, names, at
	if len(by) > 0 {
		d := w.deployable(r.bundle.DeployableID)
		d.halted, d.kill = nil, false
	}
}

// approvalsStand says whether the approvals that a place rests on still do: as many as were
// given are of keys that still count. That one has expired since does not matter.
func (w *World) approvalsStand(r *revision) bool {
	required := w.policy.Stage(r.Stage).Approvals
	left := slices.DeleteFunc(slices.Clone(r.grants), func(a approval) bool { return !w.counts(a.By, a.Approval.Approval.Role) })
	return missing(required, left) <= missing(required, r.grants)
}

// mayResume says whether people have agreed to let the revision go on.
func (w *World) mayResume(r *revision, now time.Time) bool {
	if r.Status != Suspended && r.Status != Superseded || w.deployable(r.bundle.DeployableID).openCritical() {
		return false
	}
	required := w.policy.Stage(bundle.Canary).Approvals
	return missing(required, w.resumeApprovals(r, now)) == 0
}

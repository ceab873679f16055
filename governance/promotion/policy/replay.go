package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// replay passes when another principal has re-run each run with one of the roles and got
// the same report. It fails when the newest re-run of a principal differs, and waits for more.
func replay(g *Gate, e *Evidence, _ time.Time) Result {
	runs := e.with(g.Roles...)
	r := Result{Verdict: Pass, Op: "==", Threshold: len(runs), Reason: "reproduced by another principal"}
	if len(runs) == 0 {
		r.Verdict, r.Blame, r.Reason = Pending, string(g.Roles[0]), "there is no run with role "+joinRoles(g.Roles)
		return r
	}
	equal := 0
	for i := range runs {
		same, other := e.reruns(&runs[i])
		r.Evidence = append(append(r.Evidence, same...), other...)
		switch {
		case len(other) > 0 && r.Verdict != Fail:
			r.Verdict, r.Reason = Fail, fmt.Sprintf("a re-run of %s came to something else", runs[i].RunID)
		case len(other) == 0 && len(same) > 0:
			equal++
		case len(other) == 0 && r.Verdict == Pass:
			r.Verdict, r.Reason = Pending, fmt.Sprintf("nobody else has re-run %s", runs[i].RunID)
			if e.hashesOnly(&runs[i]) {
				r.Reason += ": the replay that there is repeats hashes, without the numbers that it came to"
			}
		}
	}
	r.Observed = equal
	return r
}

// reruns are the statements that a run was reproduced, by others than who packed
// it, and those that it was not, by any principal. Of each principal the newest
// statement counts, so that a mistake can be put right; of two of the same moment that
// which differs.
func (e *Evidence) reruns(run *Run) (same, other []Piece) {
	type said struct {
		ReplayResult
		equal bool
	}
	newest := map[string]said{}
	var principals []string
	for _, r := range e.Replays {
		for _, again := range r.Runs {
			if again.RunID != run.RunID {
				continue
			}
			now := said{r, again.RequestHash == run.RequestHash && again.ReportSHA256 == run.ReportSHA256}
			if now.equal && e.Strict {
				if again.Inputs == nil {
					continue // says nothing of what it came to
				}
				now.equal = e.same(run, again.Inputs)
			}
			old, ok := newest[r.Principal]
			if !ok {
				principals = append(principals, r.Principal)
			}
			later := r.Made.After(old.Made) || r.Made.Equal(old.Made) && (old.equal && !now.equal || old.equal == now.equal && r.SHA256 < old.SHA256)
			if !ok || later {
				newest[r.Principal] = now
			}
		}
	}
	for _, p := range principals {
		switch n := newest[p]; {
		case !n.equal:
			other = append(other, n.Piece)
		case !e.packed(p):
			same = append(same, n.Piece)
		}
	}
	return same, other
}

// same reports whether a re-run came to the numbers that the plane has worked out.
func (e *Evidence) same(run *Run, again *bundle.Inputs) bool {
	sum, err := again.SHA256()
	return err == nil && e.Read[run.RunID].InputsSHA256 == sum
}

// hashesOnly reports whether a statement of another person names the run without the numbers that
// its re-run came to, as those of earlier versions do.
func (e *Evidence) hashesOnly(run *Run) bool {
	return e.Strict && slices.ContainsFunc(e.Replays, func(r ReplayResult) bool {
		return !e.packed(r.Principal) && slices.ContainsFunc(r.Runs, func(again bundle.ReplayedRun) bool {
			return again.RunID == run.RunID && again.Inputs == nil
		})
	})
}

func (e *Evidence) packed(principal string) bool {
	return slices.ContainsFunc(e.Packers, func(p string) bool { return bundle.SamePrincipal(p, principal) })
}

// Rungs are the rungs of assurance that the revision holds, lowest first: claimed, since
// its bundle lists hashes; verified when the files were read; signed; reproduced when
// another principal has re-run each baseline, and each falsification, with the same report
// and the same numbers.
func (e *Evidence) Rungs() []string {
	rungs := []string{bundle.RungClaimed}
	if e.Verified {
		rungs = append(rungs, bundle.RungVerified)
	}
	if len(e.Signatures) > 0 {
		rungs = append(rungs, bundle.RungSigned)
	}
	if _, ok := e.reproduced(); ok {
		rungs = append(rungs, bundle.RungReproduced)
	}
	return rungs
}

// reproduced reports whether another person has re-run the baselines and, where the plane works
// numbers out itself, the falsifications.
func (e *Evidence) reproduced() ([]Piece, bool) {
	roles := []bundle.Role{bundle.RoleBaseline}
	if len(e.with(bundle.RoleBaseline)) > 0 && e.Strict {
		roles = append(roles, bundle.RoleFalsification)
	}
	r := replay(&Gate{Roles: roles}, e, time.Time{})
	return r.Evidence, r.Verdict == Pass
}

// assurance passes when all rungs are held, and waits for those that are missing.
func assurance(g *Gate, e *Evidence, _ time.Time) Result {
	held := e.Rungs()
	r := Result{Verdict: Pass, Observed: held, Op: "contains", Threshold: g.Rungs, Evidence: e.core(), Reason: "all rungs are held"}
	for _, rung := range g.Rungs {
		if !slices.Contains(held, rung) {
			if r.Verdict == Pass {
				r.Verdict, r.Blame, r.Reason = Pending, rung, "not "+rung
			}
			continue
		}
		switch rung {
		case bundle.RungSigned:
			for _, s := range e.Signatures {
				r.Evidence = append(r.Evidence, s.Piece)
			}
		case bundle.RungReproduced:
			pieces, _ := e.reproduced()
			r.Evidence = append(r.Evidence, pieces...)
		}
	}
	return r
}

// noOpenIncident passes while no incident is open, and fails while one is.
func noOpenIncident(_ *Gate, e *Evidence, _ time.Time) Result {
	r := Result{Verdict: Pass, Observed: len(e.Incidents), Op: "==", Threshold: 0, Reason: "no incident is open"}
	for _, i := range e.Incidents {
		r.Evidence = append(r.Evidence, i.Piece)
	}
	if len(e.Incidents) > 0 {
		r.Verdict, r.Blame, r.Reason = Fail, e.Incidents[0].ID, fmt.Sprintf("incident %s is open", e.Incidents[0].ID)
	}
	return r
}

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// Verdict is the result of a gate.
type Verdict string

// The verdicts. NotApplicable is part of the contract; no kind of this version gives it.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	Pending       Verdict = "pending"
	Expired       Verdict = "expired"
	Waived        Verdict = "waived"
	NotApplicable Verdict = "not_applicable"
)

// Result is the verdict of one gate with what it rests on.
type Result struct {
	Verdict Verdict
	// Observed and Threshold are numbers, strings or lists, by kind; nil where there is
	// none. Op stands between them.
	Observed  any
	Op        string
	Threshold any
	// ValidUntil is when a verdict that holds now stops holding by time alone; zero for
	// one that time does not touch.
	ValidUntil time.Time
	Evidence   []Piece // sorted by Seq, RunID, SHA256
	Reason     string
	// Blame is what is missing or at fault, for the command that helps: a role of runs,
	// a rung, an incident_id; "" where the kind suffices.
	Blame string
}

// Piece is one piece of evidence: a run by its report, a statement by its PAE, a
// bundle by its core.
type Piece struct {
	Seq    int64
	RunID  string // "" where it is no run
	SHA256 string
}

// Evidence is all that gates look at, of one revision.
type Evidence struct {
	Seq        int64  // of its first submission
	CoreSHA256 string // hex of its id
	Target     bundle.Stage
	Verified   bool // were its artifacts read and found equal?
	Rules
	// Read is what was worked out of files by run_id, nil while they were not all read.
	Read map[string]bundle.RunEvidence

	// Parent is the revision that it came from, "" for the first; ParentSeq is -1 while
	// that is not in the log.
	Parent    string
	ParentSeq int64
	// RejectedTwin is a rejected revision of the family that would run the same thing.
	RejectedTwin *Piece

	Limits bundle.Limits
	Runs   []Run
	// Lookup finds a value of the bundle by its pointer: string, float64, bool, []any or
	// map[string]any.
	Lookup func(pointer string) (any, bool)

	Signatures []Signature    // of the bundle
	Replays    []ReplayResult // of the same deployable
	Drills     []Drill
	Incidents  []Incident // open ones
	// Shadow is what the days after the seal have come to; nil where none can be.
	Shadow *ShadowResult
	// Packers are the principals whose own replays prove nothing.
	Packers []string
	asked

	Portfolio
}

// asked is what the stage of a gate makes of it.
type asked struct {
	// answered makes a replay count only with its answer to the challenge.
	answered bool
	// live makes days count only as the policy asks for witnesses.
	live bool
}

// Rules are what a log is judged by.
type Rules struct {
	// Strict makes only what was worked out of files count.
	Strict bool
	// Prospective makes replays carry the numbers that are derived from daily results, where
	// the plane has derived any.
	Prospective bool
	// Challenged makes replays answer the challenge of the seal where a stage is for real money.
	Challenged bool
	// Witnessed makes days count by when they were witnessed and stated, warnings by their reason,
	// and each claimed timeframe by its own attacked baseline.
	Witnessed bool
	// Lifts makes unseen candles lift that a result is too good to be true.
	Lifts bool
	// Engines are the programs that the plane lists, by SHA-256.
	Engines []string
}

// Portfolio is a revision among the others. Its functions are called where a gate asks.
type Portfolio struct {
	// Self returns the revision as the portfolio sees it, Others what is active of other
	// candidates.
	Self   func() Member
	Others func() []Member
}

// Run is a run of the bundle. Started and Completed are zero where the bundle has none.
type Run struct {
	bundle.Run
	Seq                int64
	Started, Completed time.Time
	// Unhosted marks a paper or live run that counts for nothing, because no host has signed it.
	Unhosted bool
	// Packers are the principals that have signed another bundle with the same run, by its report.
	Packers []string
}

// Signature is a signed bundle; Replay, Drill and Incident are statements.
type Signature struct {
	Piece
	Principal string
}

// ReplayResult is what a principal's re-run came to.
type ReplayResult struct {
	Piece
	Principal string
	Made      time.Time
	Parent    string // the revision that it compares with, "" if with none
	Runs      []bundle.ReplayedRun
	// Answered reports whether its key has answered the challenge of the seal, or did not need to.
	// Disputed says which keys answer differently, "" where all agree.
	Answered bool
	// Confirmed reports whether its answer cannot be a copy: a worker of shadows has executed the window and
	// come to the same, or packer and replayer had both committed. Earlier reports whether the log had the
	// replay before a policy could ask for that.
	Confirmed, Earlier bool
	Disputed           string
	// Committed reports whether packer and replayer have committed to this answer before either was shown,
	// and no shadow has executed it.
	Committed bool
	Candles   []bundle.CandleSource
}

// Drill is a rehearsal.
type Drill struct {
	Piece
	Drill string
	Pass  bool
	Done  time.Time
	// Proven marks one that came with the record of its run. Own is who has said it about what is theirs, so
	// that it counts only where it failed; "" for somebody else.
	Proven bool
	Own    string
}

// Incident is an open incident.
type Incident struct {
	Piece
	ID       string
	Critical bool
}

// kinds is who judges which kind; requested alone also looks at the stage.
var judges = map[string]func(*Gate, *Evidence, time.Time) Result{
	Integrity:       integrity,
	LineageClean:    lineage,
	LimitsDeclared:  limitsDeclared,
	EvidencePresent: evidencePresent,
	Metric:          metric,
	Freshness:       freshness,
	Soak:            soak,
	Replay:          replay,
	Assurance:       assurance,
	NoOpenIncident:  noOpenIncident,
	Falsified:       falsified,
	Engine:          engine,
	Correlation:     correlated,
	Challenge:       challenged,
}

// Judge is the verdict of a gate for a stage at a time. Waivers are not looked at here.
func Judge(g *Gate, stage bundle.Stage, e *Evidence, now time.Time) Result {
	if e.unread(g) {
		return Result{Verdict: Pending, Evidence: e.core(), Reason: unreadReason}
	}
	if slices.Contains(moneyStages, stage) {
		own := *e
		own.asked = asked{answered: e.Challenged, live: stage == bundle.Live}
		e = &own
	}
	judge, ok := judges[g.Kind]
	switch {
	case g.Kind == Requested:
		judge = func(_ *Gate, e *Evidence, _ time.Time) Result { return requested(stage, e) }
	case g.Kind == Shadow:
		judge = func(g *Gate, e *Evidence, now time.Time) Result { return shadow(g, stage, e, now) }
	case !ok: // policies with such a kind are refused
		return Result{Verdict: Pending, Reason: "this kind of gate is not known"}
	}
	result := judge(g, e, now)
	if e.Strict && !e.Verified && result.Verdict == Pass && g.Kind != NoOpenIncident {
		result.Verdict, result.Reason = Pending, unreadReason
	}
	result.Evidence = sorted(result.Evidence)
	return result
}

// unreadReason is why nothing passes of a bundle whose files were not read.
const unreadReason = "the plane has not read the files of all runs: it judges no declared number"

// unread reports whether a gate looks at runs that were not read.
func (e *Evidence) unread(g *Gate) bool {
	if !e.Strict || e.Verified {
		return false
	}
	switch g.Kind {
	case Metric, EvidencePresent, Soak, Replay, Falsified, Engine:
		return true
	}
	return g.Kind == Freshness && g.Drill == ""
}

func sorted(list []Piece) []Piece {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.RunID, b.RunID),
			cmp.Compare(a.SHA256, b.SHA256))
	})
	return slices.Compact(list)
}

// with are the runs that have one of the roles.
func (e *Evidence) with(roles ...bundle.Role) []Run {
	var list []Run
	for _, run := range e.Runs {
		if slices.Contains(roles, run.Role) {
			list = append(list, run)
		}
	}
	return list
}

// hosted are those of the runs with one of the roles that count, and what to say where there is none.
func (e *Evidence) hosted(roles ...bundle.Role) (list []Run, none string) {
	list = slices.DeleteFunc(e.with(roles...), func(r Run) bool { return r.Unhosted })
	if run := e.Unhosted(roles...); run != "" {
		return list, "no host has signed run " + run + " (governance hosted)"
	}
	return list, "there is no run with role " + joinRoles(roles)
}

// Unhosted is the first of the runs with one of the roles that no host has signed, "" for none.
func (e *Evidence) Unhosted(roles ...bundle.Role) string {
	list := e.with(roles...)
	i := slices.IndexFunc(list, func(r Run) bool { return r.Unhosted })
	if i < 0 {
		return ""
	}
	return list[i].RunID
}

func (r *Run) piece() Piece { return Piece{Seq: r.Seq, RunID: r.RunID, SHA256: r.ReportSHA256} }

// core is the piece of evidence that is the bundle itself.
func (e *Evidence) core() []Piece { return []Piece{{Seq: e.Seq, SHA256: e.CoreSHA256}} }

// Find is the value at an RFC 6901 pointer; null is no value.
func Find(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, v != nil
	}
	for _, step := range strings.Split(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != step {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

// replay passes when another principal has re-run each run with one of the roles and got
// the same report. It fails when the newest re-run of a principal differs, and waits for more.
func replay(g *Gate, e *Evidence, _ time.Time) Result {
	runs := e.with(g.Roles...)
	r := Result{Verdict: Pass, Op: "==", Threshold: len(runs), Reason: "reproduced by another principal"}
	if g.Own {
		r.Reason = "reproduced, where the owner counts as the replayer"
	}
	if len(runs) == 0 {
		r.Verdict, r.Blame, r.Reason = Pending, string(g.Roles[0]),
			"there is no run with role "+joinRoles(g.Roles)
		return r
	}
	equal := 0
	for i := range runs {
		same, other := e.reruns(&runs[i], g.Own)
		r.Evidence = append(append(r.Evidence, same...), other...)
		switch {
		case len(other) > 0 && r.Verdict != Fail:
			r.Verdict, r.Reason = Fail, fmt.Sprintf("a re-run of %s came to something else", runs[i].RunID)
		case len(other) == 0 && len(same) > 0:
			equal++
		case len(other) == 0 && r.Verdict == Pass:
			r.Verdict, r.Reason = Pending, fmt.Sprintf("no other key has re-run %s", runs[i].RunID)
			if g.Own {
				r.Reason = runs[i].RunID + " was not re-run"
			}
			if why := e.unanswered(&runs[i]); why != "" {
				r.Reason += ": " + why
			} else if e.hashesOnly(&runs[i]) {
				r.Reason += ": the replay that there is repeats hashes, without the numbers that it came to"
			} else if by := e.ownRerun(&runs[i]); by != "" {
				r.Reason += ": that of " + by + ", who has packed it, does not count"
			}
		}
	}
	r.Observed = equal
	if r.Verdict == Pass {
		r.Reason += e.byCommitments(r.Evidence)
	}
	return r
}

// reruns are the statements that a run was reproduced, by others than who packed
// it, and those that it was not, by any principal. Of each principal the newest
// statement counts, so that a mistake can be put right; of two of the same moment that
// which differs.
func (e *Evidence) reruns(run *Run, own bool) (same, other []Piece) {
	type rerun struct {
		ReplayResult
		equal bool
	}
	newest := map[string]rerun{}
	var principals []string
	for _, r := range e.Replays {
		for _, again := range r.Runs {
			if again.RunID != run.RunID {
				continue
			}
			now := rerun{r, again.RequestHash == run.RequestHash && again.ReportSHA256 == run.ReportSHA256}
			if now.equal && e.Strict {
				if again.Inputs == nil || e.Prospective && again.Inputs.Derived == nil &&
					e.Read[run.RunID].Derived != nil {
					continue // it has no numbers to compare
				}
				if e.Witnessed && e.Read[run.RunID].Falsification.Explains() &&
					!again.Inputs.Falsification.Explains() {
					continue // it has no reasons to compare
				}
				now.equal = e.same(run, again.Inputs)
			}
			if now.equal && !e.answers(&r) {
				continue
			}
			old, ok := newest[r.Principal]
			if !ok {
				principals = append(principals, r.Principal)
			}
			later := r.Made.After(old.Made) || r.Made.Equal(old.Made) &&
				(old.equal && !now.equal || old.equal == now.equal && r.SHA256 < old.SHA256)
			if !ok || later {
				newest[r.Principal] = now
			}
		}
	}
	for _, p := range principals {
		switch n := newest[p]; {
		case !n.equal:
			other = append(other, n.Piece)
		case own || !e.packed(run, p):
			same = append(same, n.Piece)
		}
	}
	return same, other
}

// answers reports whether a replay counts by its answer to the challenge of the seal.
func (e *Evidence) answers(r *ReplayResult) bool {
	return r.Disputed == "" && (r.Answered || !e.answered)
}

// unanswered is why the replays of a run that there are do not count by their answers, "" where
// that is not the reason.
func (e *Evidence) unanswered(run *Run) string {
	why := ""
	for i := range e.Replays {
		r := &e.Replays[i]
		if e.answers(r) || !slices.ContainsFunc(r.Runs, func(again bundle.ReplayedRun) bool {
			return again.RunID == run.RunID
		}) {
			continue
		}
		if r.Disputed != "" {
			return r.Disputed
		}
		why = "the replay by " + r.Principal + " does not answer the challenge of the seal: replay it " +
			"again with --submit"
	}
	return why
}

// same reports whether a re-run came to the numbers that the plane has worked out.
func (e *Evidence) same(run *Run, again *bundle.Inputs) bool {
	sum, err := again.SHA256()
	read := e.Read[run.RunID]
	if e.Witnessed && read.Falsification.Explains() &&
		!slices.Equal(read.Falsification.Reasons(), again.Falsification.Reasons()) {
		return false
	}
	return err == nil && read.InputsSHA256 == sum &&
		(!e.Prospective || read.Derived == nil || read.Derived.SHA256() == again.Derived.SHA256())
}

// hashesOnly reports whether a statement of another person names the run without the numbers that
// its re-run came to, as those of earlier versions do.
func (e *Evidence) hashesOnly(run *Run) bool {
	return e.Strict && slices.ContainsFunc(e.Replays, func(r ReplayResult) bool {
		other := !e.packed(run, r.Principal)
		return other && slices.ContainsFunc(r.Runs, func(again bundle.ReplayedRun) bool {
			return again.RunID == run.RunID && (again.Inputs == nil || again.Inputs.Derived == nil)
		})
	})
}

// ownRerun is who has re-run a run that they have packed themselves, "" for nobody.
func (e *Evidence) ownRerun(run *Run) string {
	i := slices.IndexFunc(e.Replays, func(r ReplayResult) bool {
		return e.packed(run, r.Principal) && slices.ContainsFunc(r.Runs, func(again bundle.ReplayedRun) bool {
			return again.RunID == run.RunID
		})
	})
	if i < 0 {
		return ""
	}
	return e.Replays[i].Principal
}

// packed reports whether a principal has signed a bundle with the run.
func (e *Evidence) packed(run *Run, principal string) bool {
	return bundle.Among(e.Packers, principal) || bundle.Among(run.Packers, principal)
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
	r := Result{Verdict: Pass, Observed: held, Op: "contains", Threshold: g.Rungs, Evidence: e.core(),
		Reason: "all rungs are held"}
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
			if r.Verdict == Pass {
				r.Reason += e.byCommitments(pieces)
			}
		}
	}
	return r
}

// noOpenIncident passes while no incident is open, and fails while one is.
func noOpenIncident(_ *Gate, e *Evidence, _ time.Time) Result {
	r := Result{Verdict: Pass, Observed: len(e.Incidents), Op: "==", Threshold: 0,
		Reason: "no incident is open"}
	for _, i := range e.Incidents {
		r.Evidence = append(r.Evidence, i.Piece)
	}
	if len(e.Incidents) > 0 {
		r.Verdict, r.Blame, r.Reason = Fail, e.Incidents[0].ID,
			fmt.Sprintf("incident %s is open", e.Incidents[0].ID)
	}
	return r
}

package promotion

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// World is everything that the facts so far say.
type World struct {
	policy *policy.Policy
	trust  *bundle.Trust // nil: open mode
	rules  int64         // of judging, see RulesVerified
	seq    int64         // of the newest entry, -1 for none
	at     time.Time     // of the newest entry

	revisions    map[string]*revision
	order        []*revision // by first submission
	byCandidate  map[string][]*revision
	byFamily     map[string][]*revision
	byStrategy   map[string][]*revision
	byParent     map[string][]*revision
	byDeployable map[string]*deployable

	// due are the revisions that something was said about since they were last judged.
	due map[*revision]bool
}

// deployable is what is known of all revisions that would run the same thing.
type deployable struct {
	revisions []*revision
	replays   []Replay
	replaySeq []int64
	drills    []policy.Drill
	drillBy   []By
	incidents map[string]*incident
	rejected  []*revision
	// halted is the newest stop that reached all revisions, nil once one was resumed; kill
	// says that a stop asked to end their runs, and nobody has agreed that they go on.
	halted *stop
	kill   bool
}

// incident is the last that was said of an incident, in the order of the signers' clocks.
type incident struct {
	id             string
	opened, closed *said
	critical       bool // the last opening was
}

type said struct {
	By
	seq    int64
	at     time.Time // of the log
	made   time.Time // by the signer's clock
	reason string
}

// after says whether s was said after o.
func (s *said) after(o *said) bool {
	return o == nil || s.made.After(o.made) || s.made.Equal(o.made) && s.seq > o.seq
}

func (i *incident) open() bool { return i.opened != nil && i.opened.after(i.closed) }

// New is the world of an empty log, under the policy that is built in, in open mode.
func New() *World {
	return &World{
		policy: policy.Default(), seq: -1,
		revisions: map[string]*revision{}, byCandidate: map[string][]*revision{}, byFamily: map[string][]*revision{},
		byStrategy: map[string][]*revision{}, byParent: map[string][]*revision{}, byDeployable: map[string]*deployable{},
		due: map[*revision]bool{},
	}
}

// Policy is the policy in force.
func (w *World) Policy() *policy.Policy { return w.policy }

// Rules is the version of the rules by which gates are judged, see RulesVerified.
func (w *World) Rules() int64 { return w.rules }

// strict says whether gates judge only what the plane has worked out itself.
func (w *World) strict() bool { return w.rules >= RulesVerified }

// Trust is the trust.json in force, nil in open mode.
func (w *World) Trust() *bundle.Trust { return w.trust }

// Apply folds facts in, in the order of the log. An error says that the log is not one
// that this package could have led to; the World is then of no further use.
func (w *World) Apply(facts ...Fact) error {
	for i := range facts {
		f := &facts[i]
		if f.Seq < w.seq {
			return fmt.Errorf("the fact %s at %d comes after one at %d", f.Type, f.Seq, w.seq)
		}
		w.seq = f.Seq
		if f.At.After(w.at) {
			w.at = f.At
		}
		if err := w.apply(f); err != nil {
			return fmt.Errorf("%s at %d: %w", f.Type, f.Seq, err)
		}
	}
	return nil
}

func (w *World) apply(f *Fact) error {
	switch fields := f.Fields.(type) {
	case *LogStart:
		return nil
	case *Text:
		return w.load(f.Type, fields)
	case *Ingested:
		return w.ingest(f, fields)
	}
	r, ok := w.revisions[f.Revision]
	if !ok {
		return fmt.Errorf("about a revision that is not in the log: %s", f.Revision)
	}
	w.due[r] = true
	return w.fold(r, f)
}

func (w *World) load(kind Type, t *Text) error {
	if kind == TrustLoaded {
		trust, refused := bundle.ParseTrust([]byte(t.Text))
		if refused != nil {
			return refused
		}
		w.trust = trust
	} else {
		p, err := policy.Parse([]byte(t.Text))
		if err != nil {
			return err
		}
		w.policy, w.rules = p, max(w.rules, t.Rules)
	}
	for _, r := range w.order {
		w.due[r] = true
	}
	return nil
}

// counts says whether what somebody signed still counts: the key is trusted now too, is
// the same person's, and has one of the roles.
func (w *World) counts(by By, roles ...string) bool {
	if w.trust == nil {
		return false
	}
	for _, k := range w.trust.Keys {
		if k.KeyID == by.KeyID {
			return k.Status == bundle.KeyActive && bundle.SamePrincipal(k.Principal, by.Principal) &&
				slices.ContainsFunc(k.Roles, func(s string) bool { return slices.Contains(roles, s) })
		}
	}
	return false
}

// peopleMayStart says whether anybody's approval counts at this time.
func (w *World) peopleMayStart(now time.Time) bool { return w.trust != nil && !w.trust.Expired(now) }

// AsOf is the moment that reads are worked out for at a time: two reads with the same AsOf
// of the same log are the same.
func (w *World) AsOf(now time.Time) time.Time { return w.asOf(now) }

// asOf is the moment that reads are worked out for: the later of the newest entry and of
// the minute, so that an answer stays the same for that long.
func (w *World) asOf(now time.Time) time.Time {
	minute := now.UTC().Truncate(time.Minute)
	if w.at.After(minute) {
		return w.at.UTC()
	}
	return minute
}

// deployable is what is known of a deployable_id, made when it is first asked for.
func (w *World) deployable(id string) *deployable {
	d, ok := w.byDeployable[id]
	if !ok {
		d = &deployable{incidents: map[string]*incident{}}
		w.byDeployable[id] = d
	}
	return d
}

// touch has revisions judged again.
func (w *World) touch(list []*revision) {
	for _, r := range list {
		if !r.Status.Terminal() {
			w.due[r] = true
		}
	}
}

// ChangeClass is what the change of a revision comes to by the facts so far, and whether
// its owner declared something else; "" for a revision that is not in the log.
func (w *World) ChangeClass(revision string) (class string, differs bool) {
	r, ok := w.revisions[revision]
	if !ok {
		return "", false
	}
	class = w.changeClass(r)
	declared := r.declared
	return class, class != declared && (class != bundle.ChangeEvidenceOnly || declared == bundle.ChangeMaterial || declared == bundle.ChangeInitial)
}

// Excluded are the principals that may not approve a revision because it is theirs:
// owner, requesters and packers; nil for one that is not in the log.
func (w *World) Excluded(revision string) []string {
	if r, ok := w.revisions[revision]; ok {
		return r.excluded()
	}
	return nil
}

// Ended says whether a revision is in the log and was rejected or retired for good.
func (w *World) Ended(revision string) bool {
	r, ok := w.revisions[revision]
	return ok && r.Status.Terminal()
}

// Holds are the rungs of assurance of a revision, lowest first.
func (w *World) Holds(revision string) []string {
	r, ok := w.revisions[revision]
	if !ok {
		return nil
	}
	e := w.evidence(r)
	return e.Rungs()
}

// Places counts the revisions by where they stand, as Place says.
func (w *World) Places() map[Place]int {
	count := map[Place]int{}
	for _, r := range w.order {
		count[r.Place]++
	}
	return count
}

// Place is where a revision stands by what was decided, without what time derives; false
// for one that is not in the log.
func (w *World) Place(revision string) (Place, bool) {
	r, ok := w.revisions[revision]
	if !ok {
		return Place{}, false
	}
	return r.Place, true
}

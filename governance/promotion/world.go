// Package promotion derives how far each revision may go: a pure function of the facts of
// the log, the policy and trust that are among them, and a time that the caller gives.
//
// A World folds facts, in the order of the log. Next is the decision that the machine has
// to make now; the caller logs it, turns the entry into facts, applies these, and asks
// again until there is none. Time alone never promotes: Next looks only at revisions that
// have new facts since it was last called. Reads (State, Plan, Experiments,
// Registry) are bodies of the control plane's answers, worked out from the same World.
//
// The table of transitions is in rules.go for the machine and in fold.go for what people
// say. Anyone may stop; it takes two to start: whatever people have stopped or lowered
// does not rise again by the machine, nor by approvals that were given before.
//
// Facts are small typed statements of what was signed and decided. [FactsOf] makes them of an
// [Entry] of the log together with the bytes that it names by digest: the same entry gives
// the same facts with the same ids, whenever and wherever it is read. The control plane's own
// predicates (seal, attestation-recorded, stage-decision, policy, trust, log-start) are in
// entry.go.
//
// Policies are read and gates judged in package policy. Nothing here does I/O. A World is
// not safe for concurrent use while facts are applied; reads may run at the same time.
package promotion

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// since are the entries from which on rules hold: of RulesChallenge, RulesEstablished and RulesIndependent.
type since struct{ challenged, established, independent int64 }

// World is everything that follows from the facts so far.
type World struct {
	policy *policy.Policy
	trust  *bundle.Trust // nil: open mode
	// trustDigest is that of trust, nil in open mode.
	trustDigest *string
	rules       int64 // of judging, see RulesVerified
	// engines are the programs whose runs count, by the order of the log.
	engines []string
	since   since

	seq int64     // of the newest entry, -1 for none
	at  time.Time // of the newest entry

	revisions    map[string]*revision
	order        []*revision // by first submission
	byCandidate  map[string][]*revision
	byFamily     map[string][]*revision
	byStrategy   map[string][]*revision
	byParent     map[string][]*revision
	byDeployable map[string]*deployable

	tried    triedLedger
	disputes map[chunkName][]disputed
	packed   packed

	seals seals

	// due are the revisions with facts since they were last judged.
	due map[*revision]bool
}

// deployable is what is known of all revisions that would run the same thing.
type deployable struct {
	revisions []*revision
	replays   []Replay
	replaySeq []int64
	answers   []answer
	drills    []policy.Drill
	drillBy   []By
	hosted    []Hosted
	incidents map[string]*incident
	rejected  []*revision
	// halted is the newest stop that reached all revisions, nil once one was resumed; kill
	// reports that a stop asked to end their runs, and no approval lets them go on.
	halted *stop
	kill   bool
}

// incident is the state of an incident, by the order of the signers' clocks.
type incident struct {
	id             string
	opened, closed *recorded
	critical       bool // the last opening was
}

// recorded is who has signed something, and when.
type recorded struct {
	By
	seq    int64
	at     time.Time // of the log
	made   time.Time // by the signer's clock
	reason string
}

// after reports whether s was made after o.
func (s *recorded) after(o *recorded) bool {
	return o == nil || s.made.After(o.made) || s.made.Equal(o.made) && s.seq > o.seq
}

func (i *incident) open() bool { return i.opened != nil && i.opened.after(i.closed) }

// New is the world of an empty log, under the first policy that was built in, in open mode.
func New() *World {
	return &World{
		policy: policy.First(), seq: -1, since: since{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		revisions: map[string]*revision{}, byCandidate: map[string][]*revision{},
		byFamily:   map[string][]*revision{},
		byStrategy: map[string][]*revision{}, byParent: map[string][]*revision{},
		byDeployable: map[string]*deployable{}, disputes: map[chunkName][]disputed{},
		packed: packed{map[string][]string{}, map[string][]*revision{}},
		due:    map[*revision]bool{},
	}
}

// Policy is the policy in force.
func (w *World) Policy() *policy.Policy { return w.policy }

// Seq is the place of the newest entry that has come to something, -1 for none. Registries that were
// issued come to nothing.
func (w *World) Seq() int64 { return w.seq }

// Rules is the version of the rules by which gates are judged, see RulesVerified.
func (w *World) Rules() int64 { return w.rules }

// strict reports whether gates judge only what the plane has worked out itself.
func (w *World) strict() bool { return w.rules >= RulesVerified }

// prospective reports whether the rules of RulesProspective hold.
func prospective(w *World) bool { return w.rules >= RulesProspective }

// Engines are the programs whose runs count in a World, by SHA-256.
func Engines(w *World) []string { return slices.Clone(w.engines) }

// Trust is the trust.json in force, nil in open mode.
func (w *World) Trust() *bundle.Trust { return w.trust }

// Apply folds facts in, in the order of the log. An error reports that the log is not one
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
	case *LoadedText:
		return w.loadText(f.Type, fields)
	case *Ingested:
		return w.applySubmission(f, fields)
	case *RegisteredPlan:
		w.tried.addPlan(f, fields)
		return nil
	case *Witnessed:
		lanes{w}.see(fields)
		return nil
	}
	r, ok := w.revisions[f.Revision]
	if !ok {
		return fmt.Errorf("about a revision that is not in the log: %s", f.Revision)
	}
	w.due[r] = true
	return w.applyToRevision(r, f)
}

func (w *World) loadText(kind FactType, t *LoadedText) error {
	if kind == TrustLoaded {
		trust, refused := bundle.ParseTrust([]byte(t.Text))
		if refused != nil {
			return refused
		}
		w.trust, w.trustDigest = trust, &t.Digest
	} else {
		p, err := policy.Parse([]byte(t.Text))
		if err != nil {
			return err
		}
		w.policy, w.rules = p, max(w.rules, t.Rules)
		if w.rules >= RulesChallenge {
			w.since.challenged = min(w.since.challenged, w.seq)
		}
		if w.rules >= RulesEstablished {
			w.since.established = min(w.since.established, w.seq)
		}
		if w.rules >= RulesIndependent {
			w.since.independent = min(w.since.independent, w.seq)
		}
		for _, sum := range t.Engines {
			w.engines = appendNew(w.engines, sum)
		}
		lanes{w}.settleAll()
	}
	for _, r := range w.order {
		w.due[r] = true
	}
	return nil
}

// signatureCounts reports whether a signature still counts: the key is trusted now too, is
// the same person's, and has one of the roles.
func (w *World) signatureCounts(by By, roles ...string) bool {
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

// peopleMayStart reports whether an approval can count at this time.
func (w *World) peopleMayStart(now time.Time) bool { return w.trust != nil && !w.trust.Expired(now) }

// AsOf is the moment that reads are worked out for at a time: the later of the newest entry
// and of the minute. Two reads with the same AsOf of the same log are the same.
func (w *World) AsOf(now time.Time) time.Time {
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

// markDue has revisions judged again.
func (w *World) markDue(list []*revision) {
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
	return class, class != declared &&
		(class != bundle.ChangeEvidenceOnly || declared == bundle.ChangeMaterial ||
			declared == bundle.ChangeInitial)
}

// Excluded are the principals that may not approve a revision because it is theirs:
// owner, requesters and packers; nil for one that is not in the log.
func (w *World) Excluded(revision string) []string {
	if r, ok := w.revisions[revision]; ok {
		return r.excluded()
	}
	return nil
}

// Ended reports whether a revision is in the log and was rejected or retired for good.
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
	e := w.evidenceOf(r)
	return e.Rungs()
}

// Places counts the revisions by their [World.Place].
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

// revision is one candidate_revision_id: its bundle, the statements about it, and where it
// stands.
type revision struct {
	content
	standing

	sealSeq     int64        // of the newest submission that counts
	target      bundle.Stage // of the newest submission that counts
	submissions []submission
	requestedBy []string // by the submissions that count
	signed      []signature
	approvals   []approval
	waivers     []waiver
	lane        lane
	begun       begun
	driftFrom   int // so many days were played when people resumed it last
	commitments []commitment
}

// content is what a revision is, the same in each of its submissions.
type content struct {
	id       string
	index    int   // place among all revisions
	seq      int64 // of the first submission
	sealedAt time.Time
	bundle   *Ingested
	limits   bundle.Limits
	runs     []policy.Run
	trades   []trades
	parent   string // "" for the first
	declared string
	verified bool // a submission's artifacts were read
	// evidence is what the plane has worked out of the files of the runs, by run_id; nil while
	// they were not read.
	evidence map[string]bundle.RunEvidence
	lookup   func(pointer string) (any, bool)
	// trials is what the plane had counted on its days when it was last submitted, sameCandles
	// how many of them on its own candles.
	trials, sameCandles int64
	// leaf is that of its first seal, challenge what this draws; gap is why it draws nothing.
	leaf, gap          string
	challenge, earlier *bundle.Challenge // earlier: by earlier versions
}

// standing is where a revision stands, and how it came there.
type standing struct {
	Place
	fresh       bool // not placed yet
	resubmitted bool // submitted again since it was superseded
	// held marks a revision that people lowered to research: it does not rise until a further
	// submission asks for it.
	held       bool
	demoted    bool  // it came to its stage from above
	heldSeq    int64 // approvals up to this entry do not count any more
	enteredSeq int64
	entered    map[bundle.Stage]time.Time
	stop       *stop
	successor  string    // the revision that inherited its place
	from       *revision // the one that it inherited its own from
	// grants are the approvals that its place rests on, approvedBy those who gave them to
	// what runs now: who agreed to another plugin did not agree to this one.
	grants     []approval
	approvedBy []string
	approvedAt time.Time
	wasPaper   bool
	endedAt    time.Time
	endReason  string
	history    []Event
}

// stop is the newest stop: what a resumption names.
type stop struct {
	id     string // its fact_id
	seq    int64
	reason string
}

// submission is one file that asked for the revision. Once there is trust, only the first
// and those that a lab has signed count: a known core can be posted by all.
type submission struct {
	file, requestedBy string
	seq               int64
	stage             bundle.Stage
	counts            bool
	tried             *Ingested // its trials, while they wait for the signature of a lab
}

// signature is a signature of some of the revision's files.
type signature struct {
	recorded
	files []string
}

type approval struct {
	Approval
	seq     int64
	expires time.Time
}

type waiver struct {
	Waiver
	seq     int64
	expires time.Time
}

// trades is the hash of a trades.csv that the bundle lists.
type trades struct{ run, split, sha256 string }

// packers are the principals that signed the bundle, or who asked for it while none
// did. Whether their keys still count does not matter.
func (r *revision) packers() []string {
	var list []string
	for _, s := range r.signed {
		list = append(list, s.Principal)
	}
	if len(list) == 0 {
		list = append(list, r.requestedBy...)
	}
	return list
}

// belongsTo are the principals that the revision is of: owner, requesters and packers.
func (r *revision) belongsTo() []string {
	list := append([]string{r.bundle.Candidate.Owner}, r.requestedBy...)
	return append(list, r.packers()...)
}

// excluded are the principals that may not approve the revision, sorted: those that it is
// of, or one of those that its place comes from.
func (r *revision) excluded() []string {
	var list []string
	for x := r; x != nil; x = x.from {
		list = append(list, x.belongsTo()...)
	}
	slices.Sort(list)
	return slices.CompactFunc(list, bundle.SamePrincipal)
}

func (r *revision) excludes(principal string) bool {
	return bundle.Among(r.excluded(), principal)
}

// active reports whether the revision stands in a stage of the path.
func (r *revision) active() bool { return r.Status == Active }

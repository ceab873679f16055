package promotion

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// revision is one candidate_revision_id: its bundle, what was said about it, and where it
// stands.
type revision struct {
	id       string
	index    int   // place among all revisions
	seq      int64 // of the first submission
	sealSeq  int64 // of the newest submission that counts
	bundle   *Ingested
	limits   bundle.Limits
	runs     []policy.Run
	trades   []trades
	parent   string // "" for the first
	declared string
	target   bundle.Stage // of the newest submission that counts
	verified bool         // a submission's artifacts were read
	// evidence is what the plane has worked out of the files of the runs, by run_id; nil while
	// they were not read.
	evidence map[string]bundle.RunEvidence
	lookup   func(pointer string) (any, bool)

	submissions []submission
	requestedBy []string // by the submissions that count
	signed      []signature
	approvals   []approval
	waivers     []waiver

	Place
	fresh       bool // not placed yet
	resubmitted bool // submitted again since it was superseded
	// held says that people lowered the revision to research: it does not rise until it is
	// asked for again by a further submission.
	held       bool
	demoted    bool  // it came to its stage from above
	heldSeq    int64 // approvals up to this entry do not count any more
	enteredSeq int64
	entered    map[bundle.Stage]time.Time
	stop       *stop
	heir       string    // the revision that inherited its place
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
// and those that a lab has signed count: anybody can post a core that is known.
type submission struct {
	file, requestedBy string
	seq               int64
	stage             bundle.Stage
	counts            bool
}

// signature is a signature of some of the revision's files.
type signature struct {
	said
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

// packers are the principals that signed the bundle, or who asked for it while nobody
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
	return slices.ContainsFunc(r.excluded(), func(p string) bool { return bundle.SamePrincipal(p, principal) })
}

// active says whether the revision stands in a stage of the path.
func (r *revision) active() bool { return r.Status == Active }

// evidence is what gates look at.
func (w *World) evidence(r *revision) *policy.Evidence {
	e := &policy.Evidence{
		Seq: r.seq, CoreSHA256: r.id[len(bundle.RevisionPrefix):], Target: r.target, Verified: r.verified,
		Parent: r.parent, ParentSeq: -1, Limits: r.limits, Runs: r.runs, Lookup: r.lookup, Packers: r.packers(),
		Strict: w.strict(),
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
		if w.counts(s.By, bundle.TrustLab) {
			e.Signatures = append(e.Signatures, policy.Signature{Piece: policy.Piece{Seq: s.seq, SHA256: s.PAESHA256}, Principal: s.Principal})
		}
	}
	for i, said := range d.replays {
		if w.counts(said.By, bundle.TrustLab, bundle.TrustReplay) {
			e.Replays = append(e.Replays, replayOf(said, d.replaySeq[i]))
		}
	}
	for i, drill := range d.drills {
		if w.counts(d.drillBy[i], bundle.TrustOperator, bundle.TrustHost) {
			e.Drills = append(e.Drills, drill)
		}
	}
	for _, i := range d.openIncidents() {
		e.Incidents = append(e.Incidents, policy.Incident{Piece: policy.Piece{Seq: i.opened.seq, SHA256: i.opened.PAESHA256}, ID: i.id, Critical: i.critical})
	}
	return e
}

func replayOf(said Replay, seq int64) policy.ReplayResult {
	r := policy.ReplayResult{Piece: policy.Piece{Seq: seq, SHA256: said.PAESHA256}, Principal: said.Principal, Runs: said.Runs}
	r.Made, _ = field.ParseTime(said.MadeAt)
	if said.ParentRevisionID != nil {
		r.Parent = *said.ParentRevisionID
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
	slices.SortFunc(list, func(a, b *incident) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return list
}

// openCritical says whether a critical incident is open.
func (d *deployable) openCritical() bool {
	return slices.ContainsFunc(d.openIncidents(), func(i *incident) bool { return i.critical })
}

// lookups finds values of a bundle by pointer. The short sections that policies ask for are
// kept once they were looked at; of all revisions the others would be much.
func lookups(b *Ingested, limits func() bundle.Limits) func(string) (any, bool) {
	short := map[string]func() any{
		"limits": sync.OnceValue(func() any { return treeOf(map[string]any{"limits": limits()}) }),
		"trials": sync.OnceValue(func() any { return treeOf(sections(b, "trials")) }),
	}
	return func(pointer string) (any, bool) {
		first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if kept, ok := short[first]; ok {
			return policy.Find(kept(), pointer)
		}
		doc := sections(b, first)
		if pointer == "" {
			doc["limits"] = limits()
		}
		return policy.Find(treeOf(doc), pointer)
	}
}

// sections are those members of a bundle that are no facts of their own: one, or all of
// them by the name "".
func sections(b *Ingested, only string) map[string]any {
	doc := map[string]any{}
	add := func(name string, v any, has bool) {
		if has && (only == "" || name == only) {
			doc[name] = v
		}
	}
	add("candidate", b.Candidate, true)
	add("strategy", b.Strategy, true)
	add("engine", b.Engine, true)
	add("data", b.Data, true)
	add("trials", b.Trials, b.Trials != nil)
	add("known_limitations", b.Limitations, b.Limitations != nil)
	add("extensions", b.Extensions, b.Extensions != nil)
	return doc
}

// treeOf is a value as gates look at it, nil if it has none.
func treeOf(v any) any {
	text, err := digest.Value(v)
	if err != nil {
		return nil
	}
	tree, err := digest.Strict(text, field.MaxDepth+1)
	if err != nil {
		return nil
	}
	return tree
}

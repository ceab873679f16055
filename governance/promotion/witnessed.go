package promotion

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/evalue"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// Cosigned is the predicate cosigned/v1: witnesses had seen a checkpoint of the log. A plane logs
// the first that each of them gives over a seal, so that the time of it is in the log.
type Cosigned struct {
	Origin       string        `json:"origin" is:"filled"`
	Size         int64         `json:"size" min:"1"`
	Root         string        `json:"root" is:"sha256"`
	Cosignatures []Cosignature `json:"cosignatures" max:"100"`
	RecordedAt   string        `json:"recorded_at" is:"time"`
}

// Cosignature is a signature line of C2SP tlog-cosignature with the verifier key of its witness.
type Cosignature struct {
	Witness string `json:"witness" is:"filled"`
	Line    string `json:"line" is:"filled"`
}

// seals are those that witnesses may have seen.
type seals struct {
	// begun are the revisions whose days have begun, in that order; seen is how many of them each
	// witness, by its verifier key, had seen.
	begun []*revision
	seen  map[string]int
}

// Checkpoint is what was cosigned.
func (c *Cosigned) Checkpoint() (translog.Checkpoint, error) {
	root, err := translog.ParseHex(c.Root)
	return translog.Checkpoint{Origin: c.Origin, Size: c.Size, Root: root}, err
}

// Witnessed are the fields of cosigned: who had seen the log at a size by when.
type Witnessed struct {
	Size int64         `json:"size"`
	By   []WitnessedBy `json:"by"`
}

// WitnessedBy is one witness, by its verifier key, with the time that it has signed.
type WitnessedBy struct {
	Witness string `json:"witness"`
	At      string `json:"at"`
}

// cosigned verifies the cosignatures of an entry.
func (m *maker) cosigned(c *Cosigned) error {
	head, err := c.Checkpoint()
	if err != nil {
		return err
	}
	if c.Size > m.seed.Seq {
		return fmt.Errorf("it names a checkpoint of %d entries, which the log did not have", c.Size)
	}
	out := &Witnessed{Size: c.Size, By: []WitnessedBy{}}
	for i, one := range c.Cosignatures {
		key, err := translog.ParseWitnessKey(one.Witness)
		if err != nil {
			return fmt.Errorf("witness %d: %w", i, err)
		}
		list, err := translog.Cosignatures(head.Text()+"\n"+one.Line, key)
		if err != nil || len(list) != 1 || list[0].Line != one.Line || !writable(list[0].At) {
			return fmt.Errorf("the line of witness %s is not a cosignature of the checkpoint of %d entries",
				key.Witness, c.Size)
		}
		out.By = append(out.By, WitnessedBy{key.VKey(), bundle.FormatTime(list[0].At)})
	}
	m.add(CheckpointCosigned, "", out)
	return nil
}

// writable reports whether a time of a cosignature, which has 63 bits, is one of RFC 3339.
func writable(t time.Time) bool { return t.Year() <= 9999 }

// maxCosignatures is how many one entry holds.
const maxCosignatures = 100

// Given is a cosignature that a witness has given for a checkpoint of the log.
type Given struct {
	translog.Checkpoint
	translog.Cosignature
}

// ListUnseen makes the entries that log the first cosignature of each witness over a seal, or over
// the signature by which days begin, of which the log has none of it yet. Given are in the order of
// their sizes. There are none by the rules before RulesWitnessed.
func ListUnseen(w *World, given []Given, stamp string) []*Entry {
	if !witnessed(w) {
		return nil
	}
	seen := maps.Clone(w.seals.seen)
	if seen == nil {
		seen = map[string]int{}
	}
	bySize := map[int64]*Cosigned{}
	for _, g := range given {
		vkey := g.Key.VKey()
		at := seen[vkey]
		full := bySize[g.Size] != nil && len(bySize[g.Size].Cosignatures) == maxCosignatures
		if at == len(w.seals.begun) || w.seals.begun[at].begun.seq >= g.Size || full || !writable(g.At) {
			continue
		}
		for at < len(w.seals.begun) && w.seals.begun[at].begun.seq < g.Size {
			at++
		}
		seen[vkey] = at
		if bySize[g.Size] == nil {
			bySize[g.Size] = &Cosigned{Origin: g.Origin, Size: g.Size, Root: translog.Hex(g.Root),
				RecordedAt: stamp}
		}
		bySize[g.Size].Cosignatures = append(bySize[g.Size].Cosignatures, Cosignature{vkey, g.Line})
	}
	var list []*Entry
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		list = append(list, &Entry{Type: bundle.TypeCosigned, Predicate: bySize[size]})
	}
	return list
}

// begin opens the lane of a revision, once.
func (all lanes) begin(r *revision, f *Fact, by string) {
	if r.begun.at.IsZero() {
		r.begun = begun{f.Seq, f.At, by}
		all.w.seals.begun = append(all.w.seals.begun, r)
	}
	all.settle(r)
}

// see notes that witnesses had seen every lane that was open at a size. What a witness says later of
// the same changes nothing.
func (all lanes) see(s *Witnessed) {
	w := all.w
	if w.seals.seen == nil {
		w.seals.seen = map[string]int{}
	}
	for _, by := range s.By {
		at, _ := field.ParseTime(by.At)
		i := w.seals.seen[by.Witness]
		for ; i < len(w.seals.begun) && w.seals.begun[i].begun.seq < s.Size; i++ {
			r := w.seals.begun[i]
			if r.lane.seen == nil {
				r.lane.seen = map[string]time.Time{}
			}
			r.lane.seen[by.Witness] = at
			all.settle(r)
			w.markDue(w.deployable(r.bundle.DeployableID).revisions)
		}
		w.seals.seen[by.Witness] = i
	}
}

// settleAll is settle for each lane: after another policy or other rules.
func (all lanes) settleAll() {
	for _, r := range all.w.seals.begun {
		all.settle(r)
	}
}

// settle works out since when the days of a lane are witnessed, and weighs them again where that is
// another time than before: of a day before it only a loss counts, like of one that came late.
func (all lanes) settle(r *revision) {
	if !witnessed(all.w) || r.begun.at.IsZero() {
		return
	}
	l := &r.lane
	first, lacking := all.firstDay(r, r)
	l.lacking = lacking
	if first.Equal(l.first) {
		return
	}
	l.first = first
	if len(l.days) == 0 || l.weight == nil {
		return
	}
	weight := l.weigh(dailyLoss(&r.limits), func(*playedDay) bool { return false })
	if weight == nil {
		return // its bound was one when the first day came, and limits do not change
	}
	l.weight = weight
}

// firstDay is the first day of a lane that counts for a revision which looks at it, zero where that is by the
// plane's own clock; lacking are the witnesses asked for that do not count.
func (all lanes) firstDay(root, r *revision) (first time.Time, lacking []string) {
	own := root.belongsTo()
	if r != root {
		own = append(own, r.belongsTo()...)
	}
	since, lacking := all.w.policy.Witnesses.Since(root.lane.seen, func(principal string) bool {
		return bundle.Among(own, principal)
	})
	if since.IsZero() {
		return since, lacking
	}
	if since.Before(root.begun.at) { // a witness whose clock is behind makes no day older
		since = root.begun.at
	}
	return bundle.FirstShadowDay(since), lacking
}

// witnessedFor returns the lane as witnesses saw it that are independent of the revision's packers: whoever
// packs a program again and runs a witness would vouch for their own days.
func (all lanes) witnessedFor(root, r *revision) *lane {
	l := &root.lane
	if root == r || all.w.rules < RulesIndependent || root.begun.at.IsZero() {
		return l
	}
	first, lacking := all.firstDay(root, r)
	own := *l
	own.lacking = lacking
	if first.Equal(l.first) {
		return &own
	}
	own.first = first
	if l.weight != nil { // its bound was one when the first day came, and limits do not change
		own.weight = own.weigh(dailyLoss(&root.limits), func(*playedDay) bool { return false })
	}
	return &own
}

// weigh weighs all days anew, nil where the bound is none; of those in dispute only a loss counts.
func (l *lane) weigh(bound float64, disputed func(*playedDay) bool) *evalue.Process {
	returns := make([]float64, len(l.promise))
	for i, d := range l.promise {
		returns[i] = d.Return
	}
	weight, err := evalue.NewProcess(bound, returns)
	if err != nil {
		return nil
	}
	for i := range l.days {
		d := &l.days[i]
		weight.Add(d.Return, d.late || !l.counts(d) || disputed(d))
	}
	return weight
}

// counts reports whether a day is one of those that a gate asks for: it came in time and began after
// witnesses had seen the seal. All count that a log had by earlier rules.
func (l *lane) counts(d *playedDay) bool {
	return !d.ruled || !d.late && !d.Begin().Before(l.first)
}

// timing adds what counts of the days that are not in dispute, and by whose clock.
func (all lanes) timing(l *lane, s *policy.ShadowResult, disputed map[*playedDay]bool) {
	if !witnessed(all.w) {
		return
	}
	s.Lacking, s.OwnClock = l.lacking, l.first.IsZero()
	for i := range l.days {
		d := &l.days[i]
		switch {
		case disputed[d]:
			continue
		case l.counts(d):
			s.OwnClock = s.OwnClock || d.Begin().Before(l.first)
			continue
		case d.late:
			s.UncountedLate++
		default:
			s.UncountedBefore++
		}
		s.UncountedTrades += d.Trades
	}
}

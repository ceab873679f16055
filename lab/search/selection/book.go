package selection

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Member is one run that has tried something, or one replay that counts.
type Member struct {
	Key, RunID, FamilyID string
	CompletedAt          string
	// Meta is nil for a replay of a falsification, whose id RunID is.
	Meta *artifact.Metadata
	// Series is the daily returns, nil if there are none; Problem is why the files of a run
	// that should have some could not be used.
	Series  *Series
	Problem string

	decisions string
	days      Days
	// joined is how it came into its class: because of its returns, its decisions, or "" with
	// the key.
	joined string
}

// Days is the time of the candles that it was played on.
func (m *Member) Days() Days { return m.days }

// Days are a stretch of time [From, To).
type Days struct{ From, To market.Time }

// DaysOf is the time of the candles of datasets, from the first to the last of any.
func DaysOf(data []artifact.Dataset) Days {
	var out Days
	for i, d := range data {
		if i == 0 || d.Start < out.From {
			out.From = d.Start
		}
		out.To = max(out.To, d.End)
	}
	return out
}

// Overlap reports whether two stretches have a moment in common.
func (d Days) Overlap(o Days) bool { return d.From < o.To && o.From < d.To }

// Class is one trial: the members that have tried the same thing, by key and run id.
type Class struct{ Members []*Member }

// on are the members on some days.
func (c *Class) on(d Days) []*Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(m *Member) bool { return !m.days.Overlap(d) })
}

// Book is everything that was tried, by the first key of each class.
type Book struct {
	classes []*Class
	of      map[string]*Member // by run id
	lookers map[string]bool
	known   map[Days]*around
	looks   []registry.Look
	markets map[string]string // by the SHA-256 of candles
}

// ReadBook makes the book of a registry. Daily returns that are missing are derived and kept.
func ReadBook(ctx context.Context, reg *registry.Registry, store *artifact.Store) (*Book, error) {
	list, err := reg.Trials(ctx)
	if err != nil {
		return nil, err
	}
	b := &Book{of: map[string]*Member{}, known: map[Days]*around{}}
	if b.lookers, err = reg.Lookers(ctx); err != nil {
		return nil, err
	}
	if err := b.readLooks(ctx, reg); err != nil {
		return nil, err
	}
	var members []*Member
	for _, t := range list {
		m := &Member{Key: t.Key, RunID: t.RunID, FamilyID: t.FamilyID, CompletedAt: t.CompletedAt,
			Meta: t.Meta, days: DaysOf(t.Meta.Data)}
		if t.Meta.DecisionHash != nil {
			m.decisions = *t.Meta.DecisionHash
		}
		members, b.of[t.RunID] = append(members, m), m
	}
	if err := derive(ctx, reg, store, members); err != nil {
		return nil, err
	}
	replays, err := chosenAmong(ctx, reg, store, members)
	if err != nil {
		return nil, err
	}
	b.classes, err = classify(ctx, append(members, replays...))
	return b, err
}

func derive(ctx context.Context, reg *registry.Registry, store *artifact.Store, members []*Member) error {
	kept, err := reg.KeptDaily(ctx)
	if err != nil {
		return err
	}
	var decoder Decoder
	var left []*Member
	var fresh []registry.Daily
	keptFiles := NewKeptFiles(store)
	for _, m := range members {
		source := sourceOf(m.Meta)
		if source == "" {
			continue
		}
		d, has := kept[m.RunID]
		if has && d.Source == source {
			if len(d.Content) == 0 {
				continue
			}
			if m.Series, err = decoder.Decode(d.Content); err == nil {
				continue
			}
		}
		k, err := keptFiles.Find(m.Meta)
		if err != nil {
			m.Problem = err.Error()
			continue
		}
		if k == nil {
			left = append(left, m)
			continue
		}
		if m.Series = k.Daily; reg.Shared() { // others do not have the file
			fresh = append(fresh, m.daily())
		}
	}
	derived, err := deriveAll(ctx, store, left)
	if fresh = append(fresh, derived...); err != nil || len(fresh) == 0 {
		return err
	}
	return reg.KeepDaily(ctx, fresh)
}

// daily is the series of a run as the registry keeps it.
func (m *Member) daily() registry.Daily {
	d := registry.Daily{RunID: m.RunID, Source: sourceOf(m.Meta)}
	if m.Series != nil {
		d.Content = m.Series.Encode()
	}
	return d
}

func deriveAll(ctx context.Context, store *artifact.Store, members []*Member) ([]registry.Daily, error) {
	found := make([]*registry.Daily, len(members))
	errs := make([]error, len(members))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(members)) {
		wg.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] == nil {
					found[i], errs[i] = members[i].derive(store)
				}
			}
		})
	}
	for i := range members {
		next <- i
	}
	close(next)
	wg.Wait()
	var out []registry.Daily
	for _, d := range found {
		if d != nil {
			out = append(out, *d)
		}
	}
	return out, errors.Join(errs...)
}

func (m *Member) derive(store *artifact.Store) (*registry.Daily, error) {
	s, _, err := Stitch(store, m.Meta, curvesOf(m.Meta))
	var bad *artifact.MismatchError
	if errors.As(err, &bad) {
		m.Problem = strings.Join(bad.Problems, "; ")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.Series = s
	d := m.daily()
	return &d, nil
}

// around is the classes with a member on some days, each with these members alone.
type around struct {
	classes []*Class
	// families counts the classes that a family has a part in, began has the first member
	// of each class to have ended, in this order.
	families map[string]int
	began    []*Member
}

// on finds what is around some days, once.
func (b *Book) on(d Days) *around {
	if known := b.known[d]; known != nil {
		return known
	}
	out := &around{families: map[string]int{}}
	for _, c := range b.classes {
		list := c.on(d)
		if len(list) == 0 {
			continue
		}
		out.classes = append(out.classes, &Class{list})
		out.began = append(out.began, slices.MinFunc(list, inTime))
		seen := map[string]bool{}
		for _, m := range list {
			if !seen[m.FamilyID] {
				seen[m.FamilyID] = true
				out.families[m.FamilyID]++
			}
		}
	}
	slices.SortFunc(out.began, inTime)
	b.known[d] = out
	return out
}

// On are the classes with a member on some days, each with these members alone, by the
// first key of the whole class.
func (b *Book) On(d Days) []*Class { return b.on(d).classes }

// Count is how many trials there are on some days, and how many of them a family has a
// part in.
func (b *Book) Count(d Days, familyID string) (n, family int) {
	found := b.on(d)
	return len(found.classes), found.families[familyID]
}

// Has reports whether a family has tried it.
func (c *Class) Has(familyID string) bool {
	return slices.ContainsFunc(c.Members, func(m *Member) bool { return m.FamilyID == familyID })
}

// Place is which trial a run was on its days; nil for what is no trial.
func (b *Book) Place(runID string) *registry.Place {
	own := b.of[runID]
	if own == nil {
		return nil
	}
	found := b.on(own.days)
	position, itself := slices.BinarySearchFunc(found.began, own, inTime)
	if itself {
		position++
	}
	return &registry.Place{N: len(found.classes), Family: found.families[own.FamilyID], Position: position,
		LookedAtTest: b.lookers[runID], HoldoutLooks: len(b.Looks(runID))}
}

func (b *Book) readLooks(ctx context.Context, reg *registry.Registry) error {
	candles, err := reg.Markets().Candles(ctx)
	if err != nil {
		return err
	}
	b.markets = map[string]string{}
	for _, c := range candles {
		b.markets[c.SHA256] = c.Market
	}
	b.looks, err = reg.Markets().Looks(ctx)
	return err
}

// Looks are those at held out candles of the markets of a run, oldest first; at all markets
// where no run is named or it is no trial.
func (b *Book) Looks(runID string) []registry.Look {
	own := b.of[runID]
	if own == nil {
		return b.looks
	}
	return b.looksAt(own.Meta.Data)
}

// looksAt are the looks at held out candles of the markets of some datasets.
func (b *Book) looksAt(data []artifact.Dataset) []registry.Look {
	of := map[string]bool{}
	for _, d := range data {
		if m := b.markets[d.SHA256]; m != "" {
			of[m] = true
		}
	}
	var out []registry.Look
	for _, k := range b.looks {
		if of[k.Market] {
			out = append(out, k)
		}
	}
	return out
}

func inTime(a, b *Member) int {
	return cmp.Or(strings.Compare(a.CompletedAt, b.CompletedAt), strings.Compare(a.RunID, b.RunID),
		strings.Compare(a.Key, b.Key))
}

// PlaceOf is Place in a book that is read for it alone.
func PlaceOf(ctx context.Context, reg *registry.Registry, store *artifact.Store,
	runID string) (*registry.Place, error) {
	b, err := ReadBook(ctx, reg, store)
	if err != nil {
		return nil, err
	}
	return b.Place(runID), nil
}

type group struct {
	key     string
	members []*Member
	// best is the longest series that others can be compared with, nil if there is none.
	best *Series
	// leader is the group whose class this one is of, itself where it is its own.
	leader *group
}

// classify puts members together that have tried the same thing.
func classify(ctx context.Context, members []*Member) ([]*Class, error) {
	groups := groupsOf(members)
	var rated []*group
	var list []*Series
	for _, g := range groups {
		if g.best = g.series(); g.best != nil {
			rated, list = append(rated, g), append(list, g.best)
		}
	}
	_, columns := Columns(list)
	of, err := deflate.Classes(ctx, columns)
	if err != nil {
		return nil, err
	}
	for i, k := range of {
		if rated[i].leader = rated[k]; i != k {
			rated[i].join(WhySameReturns)
		}
	}
	joinByDecisions(groups)
	classes := map[*group]*Class{}
	var out []*Class
	for _, g := range groups {
		c := classes[g.leader]
		if c == nil {
			c = &Class{}
			classes[g.leader], out = c, append(out, c)
		}
		c.Members = append(c.Members, g.members...)
	}
	return out, nil
}

// groupsOf are the groups by key, each with its members by run id.
func groupsOf(members []*Member) []*group {
	byKey := map[string]*group{}
	var out []*group
	for _, m := range members {
		g := byKey[m.Key]
		if g == nil {
			g = &group{key: m.Key}
			g.leader = g
			byKey[m.Key], out = g, append(out, g)
		}
		g.members = append(g.members, m)
	}
	for _, g := range out {
		slices.SortFunc(g.members, func(a, b *Member) int { return strings.Compare(a.RunID, b.RunID) })
	}
	slices.SortFunc(out, func(a, b *group) int { return strings.Compare(a.key, b.key) })
	return out
}

// series is the longest one that others can be compared with, nil if there is none.
func (g *group) series() *Series {
	var out *Series
	for _, m := range g.members {
		if s := m.Series; s != nil && len(s.Return) >= deflate.LeastShared && !stat.AllEqual(s.Return) &&
			(out == nil || len(s.Return) > len(out.Return)) {
			out = s
		}
	}
	return out
}

// joinByDecisions puts groups without a series to the first group, those with one before
// others, that has decided the same.
func joinByDecisions(groups []*group) {
	order := slices.Clone(groups)
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Compare(a.unrated(), b.unrated()) })
	known := map[string]*group{}
	for _, g := range order {
		for _, m := range g.members {
			if first := known[m.decisions]; first != nil && m.decisions != "" && g.best == nil {
				g.leader = first.leader
				g.join(WhySameDecisions)
				break
			}
		}
		for _, m := range g.members {
			if known[m.decisions] == nil {
				known[m.decisions] = g
			}
		}
	}
}

func (g *group) join(why string) {
	for _, m := range g.members {
		m.joined = why
	}
}

func (g *group) unrated() int {
	if g.best == nil {
		return 1
	}
	return 0
}

// PointsFile is where a falsification keeps the parameters that its test
// param_neighbourhood has played, a Point a line.
const PointsFile = "falsify/param_neighbourhood/points.jsonl"

// Point is one replay of param_neighbourhood.
type Point struct {
	ID           string          `json:"id"`
	Params       json.RawMessage `json:"params"`
	DecisionHash string          `json:"decision_hash"`
}

var errPoints = errors.New(PointsFile + " cannot be read")

// WritePoints makes the content of PointsFile.
func WritePoints(points []Point) ([]byte, error) {
	var out []byte
	for _, p := range points {
		line, err := digest.JCS(p)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// ReadPoints reads the lines of PointsFile.
func ReadPoints(text []byte) ([]Point, error) {
	var out []Point
	for line := range bytes.Lines(text) {
		var p Point
		if json.Unmarshal(line, &p) != nil || p.ID == "" {
			return nil, errPoints
		}
		canonical, err := digest.CanonicalJSON(p.Params)
		if err != nil {
			return nil, errPoints
		}
		p.Params = slices.Clip(canonical)
		out = append(out, p)
	}
	return out, nil
}

// chosenAmong are the replays that count: those of each test param_neighbourhood one of
// whose points has been tried after it, by its family or with its program. A replay with
// the parameters of a trial is that trial.
func chosenAmong(ctx context.Context, reg *registry.Registry, store *artifact.Store,
	members []*Member) ([]*Member, error) {
	rows, err := reg.ListMetadata(ctx,
		registry.Filter{Kind: artifact.KindFalsification, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	var out []*Member
	params := map[string][]*Member{} // by canonical parameters
	if len(rows) > 0 {
		for _, m := range members {
			if text, err := digest.CanonicalJSON(m.Meta.Params); err == nil {
				params[string(text)] = append(params[string(text)], m)
			}
		}
	}
	for _, row := range rows {
		attack := &artifact.Metadata{}
		if json.Unmarshal(row.Payload, attack) != nil {
			continue
		}
		text, err := store.Read(attack, PointsFile)
		if err != nil {
			continue // it has none, or its files are gone
		}
		points, err := ReadPoints(text)
		if err != nil {
			continue
		}
		out = append(out, replaysOf(attack, row.CompletedAt, points, params)...)
	}
	return out, nil
}

// replaysOf are the points of one falsification that count, none if no run has tried one.
func replaysOf(attack *artifact.Metadata, ended string, points []Point,
	params map[string][]*Member) []*Member {
	var out []*Member
	began := ""
	for _, p := range points {
		m := &Member{
			Key: digest.SHA256Hex([]byte(attack.RunID + "\n" + p.ID)), RunID: attack.RunID,
			FamilyID:  attack.FamilyID,
			decisions: p.DecisionHash, days: DaysOf(attack.Data),
		}
		for _, t := range params[string(p.Params)] {
			if t.FamilyID != attack.FamilyID && t.Meta.Plugin.SHA256 != attack.Plugin.SHA256 ||
				!t.days.Overlap(m.days) {
				continue
			}
			m.Key = t.Key
			if t.CompletedAt > ended && (began == "" || t.CompletedAt < began) {
				began = t.CompletedAt
			}
		}
		out = append(out, m)
	}
	if began == "" {
		return nil
	}
	for _, m := range out {
		m.CompletedAt = began
	}
	return out
}

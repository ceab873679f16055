package trials

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/selection/series"
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
	Series  *series.Series
	Problem string

	decisions string
	days      Days
}

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
}

// Read makes the book of a registry. Daily returns that nobody has derived before are
// derived and kept.
func Read(ctx context.Context, reg *registry.Registry, store *artifact.Store) (*Book, error) {
	list, err := reg.Trials(ctx)
	if err != nil {
		return nil, err
	}
	b := &Book{of: map[string]*Member{}, known: map[Days]*around{}}
	if b.lookers, err = reg.Lookers(ctx); err != nil {
		return nil, err
	}
	var members []*Member
	for _, t := range list {
		m := &Member{Key: t.Key, RunID: t.RunID, FamilyID: t.FamilyID, CompletedAt: t.CompletedAt, Meta: t.Meta, days: DaysOf(t.Meta.Data)}
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

// derive gives each member its daily returns, those that are kept or new ones.
func derive(ctx context.Context, reg *registry.Registry, store *artifact.Store, members []*Member) error {
	kept, err := reg.KeptDaily(ctx)
	if err != nil {
		return err
	}
	var decoder series.Decoder
	var left []*Member
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
		left = append(left, m)
	}
	fresh, err := deriveAll(ctx, store, left)
	if err != nil || len(fresh) == 0 {
		return err
	}
	return reg.KeepDaily(ctx, fresh)
}

// deriveAll reads the curves of members, several at once.
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
	d := &registry.Daily{RunID: m.RunID, Source: sourceOf(m.Meta)}
	if m.Series = s; s != nil {
		d.Content = s.Encode()
	}
	return d, nil
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
	return &registry.Place{N: len(found.classes), Family: found.families[own.FamilyID], Position: position, LookedAtTest: b.lookers[runID]}
}

// inTime orders members by when they have ended.
func inTime(a, b *Member) int {
	return cmp.Or(strings.Compare(a.CompletedAt, b.CompletedAt), strings.Compare(a.RunID, b.RunID), strings.Compare(a.Key, b.Key))
}

// PlaceOf is Place in a book that is read for it alone.
func PlaceOf(ctx context.Context, reg *registry.Registry, store *artifact.Store, runID string) (*registry.Place, error) {
	b, err := Read(ctx, reg, store)
	if err != nil {
		return nil, err
	}
	return b.Place(runID), nil
}

package trials

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
)

// group is the members with one key.
type group struct {
	key     string
	members []*Member
	// best is the longest series that others can be compared with, nil if there is none.
	best *series.Series
	// leader is the group whose class this one is of, itself where it is its own.
	leader *group
}

// classify puts members together that have tried the same thing.
func classify(ctx context.Context, members []*Member) ([]*Class, error) {
	groups := groupsOf(members)
	var rated []*group
	var list []*series.Series
	for _, g := range groups {
		if g.best = g.series(); g.best != nil {
			rated, list = append(rated, g), append(list, g.best)
		}
	}
	of, err := deflate.Classes(ctx, series.Columns(list))
	if err != nil {
		return nil, err
	}
	for i, k := range of {
		rated[i].leader = rated[k]
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

// series finds the best one: one that is too short, or without a Sharpe ratio, says nothing.
func (g *group) series() *series.Series {
	var out *series.Series
	for _, m := range g.members {
		if s := m.Series; s != nil && len(s.Return) >= deflate.LeastShared && !stat.AllEqual(s.Return) && (out == nil || len(s.Return) > len(out.Return)) {
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

// unrated is 1 for a group without a series, else 0.
func (g *group) unrated() int {
	if g.best == nil {
		return 1
	}
	return 0
}

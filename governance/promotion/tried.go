package promotion

import (
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
)

// triedLedger is what all submissions have tried, whatever their owner, slug, family and state
// directory. Two trials are one where they have the key or the hash of daily returns in
// common; returns that are only alike are two here, because a log holds no returns of trials. What
// earlier rules have joined by what bundles declare stays joined.
type triedLedger struct {
	classes []*triedClass
	byName  map[string]*triedClass // by key or hash of returns
	plans   map[string]planned     // by plan_id
}

// triedClass is one trial with the times and the candles on which it was made.
type triedClass struct {
	names []string
	on    []stretch
	// returns are the daily returns that files have established, "" for none.
	returns string
	// into is the class that this one is part of, nil for one that stands for itself.
	into *triedClass
}

// stretch is a time [from, to) and the datasets that were played.
type stretch struct {
	from, to time.Time
	candles  []string
}

// root is the class that a class is counted as.
func (c *triedClass) root() *triedClass {
	for c.into != nil {
		c = c.into
	}
	return c
}

// add notes a trial.
func (l *triedLedger) add(names []string, on stretch) {
	if l.byName == nil {
		l.byName = map[string]*triedClass{}
	}
	var own *triedClass
	for _, name := range names {
		c := l.byName[name]
		if c == nil {
			continue
		}
		if c = c.root(); own == nil {
			own = c
		} else if c != own {
			own.names, own.on = append(own.names, c.names...), append(own.on, c.on...)
			c.into = own
		}
	}
	if own == nil {
		own = &triedClass{}
		l.classes = append(l.classes, own)
	}
	for _, name := range names {
		if l.byName[name] == nil {
			own.names = append(own.names, name)
		}
		l.byName[name] = own
	}
	own.extend(on)
}

// extend notes when and on what a class was played once more.
func (c *triedClass) extend(on stretch) {
	same := func(o stretch) bool {
		return o.from.Equal(on.from) && o.to.Equal(on.to) && slices.Equal(o.candles, on.candles)
	}
	if !slices.ContainsFunc(c.on, same) {
		c.on = append(c.on, on)
	}
}

// count is how many trials there are on some days, and how many of them on the same candles.
func (l *triedLedger) count(days stretch) (all, same int64) {
	for _, c := range l.classes {
		if c.into != nil {
			continue
		}
		overlaps, shares := false, false
		for _, on := range c.on {
			if !on.from.Before(days.to) || !days.from.Before(on.to) {
				continue
			}
			overlaps = true
			shares = shares || slices.ContainsFunc(on.candles, func(sum string) bool {
				return slices.Contains(days.candles, sum)
			})
		}
		if overlaps {
			all++
		}
		if shares {
			same++
		}
	}
	return all, same
}

// submitted notes the trials of a submission and returns the count on its days from then on. A
// bundle without a list counts as one trial, what it would run.
func (l *triedLedger) submitted(b *Ingested) (all, same int64) {
	days := daysOf(b.Data)
	if b.Trials == nil || b.Trials.Tried == nil {
		l.add([]string{"deployable " + b.DeployableID}, days)
		return l.count(days)
	}
	for i := range b.Trials.Tried {
		t := &b.Trials.Tried[i]
		names := []string{"key " + t.Key}
		for _, key := range t.Copies {
			names = append(names, "key "+key)
		}
		if t.ReturnsSHA256 != "" {
			names = append(names, "returns "+t.ReturnsSHA256)
		}
		from, _ := field.ParseTime(t.From)
		to, _ := field.ParseTime(t.To)
		l.add(names, stretch{from, to, t.Candles})
	}
	return l.count(days)
}

// enter notes the trials of a submission by the rules of RulesEstablished. Each trial of a list is a
// class of its own. One whose key is not known joins an earlier class where both have daily returns
// that a file has established, and no other of its list is that class. What is only declared joins
// nothing, so that no list makes the trials fewer than it has itself, or than there were before it.
func (l *triedLedger) enter(b *Ingested) {
	if b.Trials == nil || b.Trials.Tried == nil {
		l.class(nil, "deployable "+b.DeployableID).extend(daysOf(b.Data))
		return
	}
	read := readReturns(b)
	taken := map[*triedClass]bool{}
	for i := range b.Trials.Tried {
		if c := l.byName["key "+b.Trials.Tried[i].Key]; c != nil {
			taken[c.root()] = true
		}
	}
	for i := range b.Trials.Tried {
		t := &b.Trials.Tried[i]
		key, returns := "key "+t.Key, ""
		c := l.byName[key]
		if read(i) {
			returns = "returns " + t.ReturnsSHA256
		}
		if c == nil && returns != "" {
			if c = l.byName[returns]; c != nil && taken[c.root()] {
				c = nil
			}
		}
		c = l.class(c, key)
		taken[c] = true
		if returns != "" && c.returns == "" && l.byName[returns] == nil {
			c.returns, l.byName[returns] = returns, c
		}
		from, _ := field.ParseTime(t.From)
		to, _ := field.ParseTime(t.To)
		c.extend(stretch{from, to, t.Candles})
	}
}

// class gives a name to a class, to a new one where that is nil.
func (l *triedLedger) class(c *triedClass, name string) *triedClass {
	if l.byName == nil {
		l.byName = map[string]*triedClass{}
	}
	if known := l.byName[name]; known != nil {
		return known.root()
	}
	if c == nil {
		c = &triedClass{}
		l.classes = append(l.classes, c)
	}
	c = c.root()
	c.names, l.byName[name] = append(c.names, name), c
	return c
}

// readReturns reports of a trial of a bundle by its place whether its daily returns are those in a
// file that the plane has read.
func readReturns(b *Ingested) func(i int) bool {
	return func(i int) bool {
		return b.Trials.Tried[i].ReturnsSHA256 != "" &&
			slices.ContainsFunc(b.Evidence, func(x bundle.RunEvidence) bool {
				return slices.ContainsFunc(x.Returns, func(p bundle.Places) bool {
					return p.From <= int64(i) && int64(i) < p.To
				})
			})
	}
}

// planeTrials is the number of trials that a revision is judged by where the plane has counted
// more than its bundle declares; 0 where earlier rules hold, which believe the bundle.
func planeTrials(w *World, r *revision) int64 {
	if !prospective(w) || r.bundle.Trials == nil {
		return 0
	}
	if p := planOf(w, r); p != nil && p.Applies {
		return max(p.Registered, r.bundle.Trials.FamilyTrials)
	}
	return max(r.trials, r.bundle.Trials.FamilyTrials)
}

// daysOf is the time of datasets, from the first candle of any to the last.
func daysOf(data []bundle.Dataset) stretch {
	var out stretch
	for i, d := range data {
		from, _ := field.ParseTime(d.Start)
		to, _ := field.ParseTime(d.End)
		if i == 0 || from.Before(out.from) {
			out.from = from
		}
		if to.After(out.to) {
			out.to = to
		}
		out.candles = append(out.candles, d.SHA256)
	}
	return out
}

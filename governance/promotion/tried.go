package promotion

import (
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
)

// triedLedger is what all submissions have tried, whatever their owner, slug, family and state
// directory. Two trials are one where they have the key or the hash of daily returns in
// common; returns that are only alike are two here, because a log holds no returns of trials.
type triedLedger struct {
	classes []*triedClass
	byName  map[string]*triedClass // by key or hash of returns
	plans   map[string]planned     // by plan_id
}

// triedClass is one trial with the times and the candles on which it was made.
type triedClass struct {
	names []string
	on    []stretch
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
	same := func(o stretch) bool {
		return o.from.Equal(on.from) && o.to.Equal(on.to) && slices.Equal(o.candles, on.candles)
	}
	if !slices.ContainsFunc(own.on, same) {
		own.on = append(own.on, on)
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

// planeTrials is the number of trials that a revision is judged by where the plane has counted
// more than its bundle declares; 0 where earlier rules hold, which believe the bundle.
func planeTrials(w *World, r *revision) int64 {
	if !prospective(w) || r.bundle.Trials == nil {
		return 0
	}
	if p := w.tried.planOf(r.bundle); p != nil && p.Applies {
		return r.bundle.Trials.FamilyTrials
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

package promotion

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

// Numbers are what whoever approves looks at besides the gates: what the runs came to by the
// files that the plane has read, and what has changed since people last agreed.
type Numbers struct {
	Runs           []RunNumbers      `json:"runs"`
	Falsifications []FalsificationOf `json:"falsifications"`
	Trials         TrialNumbers      `json:"trials"`
	// Since is the revision of this candidate that people have approved last, null if there is
	// none; Changes are what differs from it.
	Since   *string  `json:"since"`
	Changes []Change `json:"changes"`
}

// RunNumbers are the results of one run out of sample: its test, its walk-forward windows, or
// the whole of a paper or live run.
type RunNumbers struct {
	RunID       string         `json:"run_id"`
	Role        bundle.Role    `json:"role"`
	CompletedAt string         `json:"completed_at"`
	Splits      []SplitNumbers `json:"splits"`
}

// SplitNumbers are four numbers of a split, null where one is undefined.
type SplitNumbers struct {
	SplitID     string   `json:"split_id"`
	Kind        string   `json:"kind"`
	TotalReturn *float64 `json:"total_return"`
	SharpeRatio *float64 `json:"sharpe_ratio"`
	MaxDrawdown *float64 `json:"max_drawdown"`
	TotalTrades *float64 `json:"total_trades"`
}

// FalsificationOf is a falsification with its run.
type FalsificationOf struct {
	RunID string `json:"run_id"`
	bundle.Falsification
}

// TrialNumbers are how many trials the bundle declares, and how many its falsifications have
// counted.
type TrialNumbers struct {
	Declared int64 `json:"declared"`
	Counted  int64 `json:"counted"`
}

// Change is one value of the bundle, by its pointer, before and now; null where there is none.
type Change struct {
	Pointer string `json:"pointer"`
	Before  any    `json:"before"`
	Now     any    `json:"now"`
}

// shown are the kinds of splits whose results nobody has chosen by.
var shown = []string{"test", "walk_forward", "full"}

// numbers are those of a revision; of runs that were not read there are none.
func (w *World) numbers(r *revision) Numbers {
	n := Numbers{Runs: []RunNumbers{}, Falsifications: []FalsificationOf{}, Changes: []Change{}}
	if r.bundle.Trials != nil {
		n.Trials.Declared = r.bundle.Trials.FamilyTrials
	}
	if r.evidence != nil {
		n.Trials.Counted = w.evidence(r).Trials()
		for i := range r.runs {
			n.add(&r.runs[i].Run, r.evidence[r.runs[i].RunID].Falsification)
		}
	}
	var last *revision
	for _, o := range append(w.rivals(r), r) {
		if len(o.approvedBy) > 0 && (last == nil || o.approvedAt.After(last.approvedAt)) {
			last = o
		}
	}
	if last != nil {
		n.Since = &last.id
		n.Changes = append(n.Changes, changes("", judgedParts(last), judgedParts(r))...)
	}
	return n
}

func (n *Numbers) add(run *bundle.Run, attack *bundle.Falsification) {
	if attack != nil {
		n.Falsifications = append(n.Falsifications, FalsificationOf{run.RunID, *attack})
		return
	}
	one := RunNumbers{
		RunID: run.RunID, Role: run.Role, CompletedAt: run.CompletedAt, Splits: []SplitNumbers{},
	}
	for _, s := range run.Splits {
		if !slices.Contains(shown, s.Kind) {
			continue
		}
		get := func(name string) *float64 {
			if v, ok := s.Metrics[name]; ok {
				return &v
			}
			return nil
		}
		one.Splits = append(one.Splits, SplitNumbers{
			s.SplitID, s.Kind,
			get("total_return"), get("sharpe_ratio"), get("max_drawdown"), get("total_trades"),
		})
	}
	n.Runs = append(n.Runs, one)
}

// judgedParts are the parts of a bundle that say what would run and on what it was judged.
func judgedParts(r *revision) any {
	b := r.bundle
	return treeOf(map[string]any{
		"strategy": b.Strategy, "engine": b.Engine, "limits": r.limits, "data": b.Data, "trials": b.Trials,
		"owner": b.Candidate.Owner,
	})
}

// changes are the leaves in which two values differ, by pointer.
func changes(at string, before, now any) []Change {
	steps := map[string][2]any{}
	for i, v := range [2]any{before, now} {
		for name, child := range children(v) {
			pair := steps[name]
			pair[i] = child
			steps[name] = pair
		}
	}
	if len(steps) == 0 {
		if reflect.DeepEqual(before, now) {
			return nil
		}
		return []Change{{at, before, now}}
	}
	var list []Change
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		list = append(list, changes(at+"/"+digest.PointerStep(name), steps[name][0], steps[name][1])...)
	}
	return list
}

func children(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		out := map[string]any{}
		for i, e := range v {
			out[strconv.Itoa(i)] = e
		}
		return out
	}
	return nil
}

package promotion

import (
	"strings"
	"sync"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// lookups finds values of a bundle by pointer. The short sections that policies ask for are
// kept once they were looked at; of all revisions the others would be much.
func lookups(b *Ingested, limits func() bundle.Limits, trials func() int64) func(string) (any, bool) {
	short := map[string]func() any{
		"limits": sync.OnceValue(func() any { return treeOf(map[string]any{"limits": limits()}) }),
		"trials": func() any { return treeOf(trialsSection(b.Trials, trials())) },
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

// trialsSection is the count of trials that gates look at: that of the plane where it is larger.
func trialsSection(t *bundle.Trials, plane int64) map[string]any {
	if t == nil {
		return map[string]any{}
	}
	return map[string]any{"trials": bundle.Trials{FamilyTrials: max(t.FamilyTrials, plane)}}
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
	text, err := digest.JCS(v)
	if err != nil {
		return nil
	}
	tree, err := digest.Strict(text, field.MaxDepth+1)
	if err != nil {
		return nil
	}
	return tree
}

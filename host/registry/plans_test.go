package registry

import (
	"errors"
	"testing"
)

// TestPlans: a plan is registered once, found by what it is called, and never replaced.
func TestPlans(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	plan := func(hash, id string) Plan {
		return Plan{Hash: hash, ID: id, Slug: "sma_cross", FamilyID: "sma-cross", Author: "ann",
			Payload: []byte(`{"plan":"` + hash + `"}`)}
	}
	first, second := plan("ab12", "plan_aa"), plan("ab34", "plan_aab")
	second.Amends = first.Hash
	for _, p := range []Plan{first, second} {
		if added, err := r.RegisterPlan(ctx, p); !added || err != nil {
			t.Fatal(added, err)
		}
	}
	again := first
	again.Author = "bob"
	if added, err := r.RegisterPlan(ctx, again); added || err != nil {
		t.Error(added, err)
	}
	again.Payload = []byte(`{}`)
	if _, err := r.RegisterPlan(ctx, again); err == nil {
		t.Error("other bytes of one hash are accepted")
	}
	list, err := r.Plans(ctx, "sma_cross")
	if err != nil || len(list) != 2 || list[0].Author != "ann" || list[0].RegisteredAt == "" ||
		list[1].Amends != "ab12" {
		t.Errorf("%+v, %v", list, err)
	}
	for name, want := range map[string]string{"plan_aa": "plan_aa", "plan_aab": "plan_aab", "ab3": "plan_aab",
		"ab12": "plan_aa"} {
		if p, err := r.FindPlan(ctx, "sma_cross", name); err != nil || p.ID != want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	var several *AmbiguousError
	if _, err := r.FindPlan(ctx, "sma_cross", "plan_a"); !errors.As(err, &several) || len(several.IDs) != 2 {
		t.Error(err)
	}
	for _, name := range []string{"", "plan_z", "%"} {
		if _, err := r.FindPlan(ctx, "sma_cross", name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := r.FindPlan(ctx, "another", "plan_aa"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

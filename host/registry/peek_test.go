package registry

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
)

func TestPeeks(t *testing.T) {
	ctx, root := t.Context(), t.TempDir()
	r := open(t, root)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r.now = func() time.Time { return at }
	for _, p := range []Peek{
		{RunID: "run_a", FamilyID: "one", Command: "run", Author: "eve"},
		{RunID: "run_b", FamilyID: "two", Command: "compare", Author: "eve"},
		{RunID: "run_a", FamilyID: "one", Command: "compare", Author: "o'hara", Reason: "it is due"},
	} {
		if err := r.Peek(ctx, p); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
	}
	want := []Peek{
		{"2026-11-20T12:00:00.000Z", "run_a", "one", "run", "eve", ""},
		{"2026-11-20T12:00:02.000Z", "run_a", "one", "compare", "o'hara", "it is due"},
	}
	if got, err := open(t, root).Peeks(ctx, "one"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := r.Peeks(ctx, "nobody"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPeeksAddUp: nothing is lost when several look at once.
func TestPeeksAddUp(t *testing.T) {
	root := t.TempDir()
	const handles, each = 3, 5
	var wg sync.WaitGroup
	for range handles {
		r := open(t, root)
		wg.Go(func() {
			for range each {
				if err := r.Peek(t.Context(),
					Peek{RunID: "run_a", FamilyID: "one", Command: "run", Author: "eve"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, err := open(t, root).Peeks(t.Context(), "one"); err != nil || len(got) != handles*each {
		t.Errorf("%d peeks, %v", len(got), err)
	}
}

// TestPostPeek: what was tried before the first look stays clean, whatever happens
// afterwards; what was not, is not.
func TestPostPeek(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	before, after := newTrial("run_before", "1", nil), newTrial("run_after", "2", nil)
	keys := map[string]string{}
	for _, run := range []*artifact.Run{before, after} {
		m, err := artifact.Begun(run)
		if err != nil {
			t.Fatal(err)
		}
		keys[run.ID] = m.TrialKey
	}
	check := func(when, id string, want bool) {
		t.Helper()
		if got, err := r.PostPeek(ctx, "sma-cross", keys[id]); got != want || err != nil {
			t.Errorf("%s: %s is post_peek %v, %v", when, id, got, err)
		}
	}
	check("nobody has looked", "run_before", false)
	store(t, r, before)
	r.now = func() time.Time { return before.CompletedAt.Add(time.Hour) }
	if err := r.Peek(ctx,
		Peek{RunID: "run_before", FamilyID: "sma-cross", Command: "run", Author: "eve"}); err != nil {
		t.Fatal(err)
	}
	check("after a look", "run_before", false)
	check("after a look", "run_after", true)
	after.StartedAt = before.CompletedAt.Add(2 * time.Hour)
	after.CompletedAt = after.StartedAt.Add(time.Second)
	store(t, r, after)
	check("tried after the look", "run_after", true)
	again := *before
	again.ID, again.CompletedAt = "run_again", after.CompletedAt
	again.Manifest.Request.Seed = "99"
	store(t, r, &again)
	check("tried again with another seed", "run_before", false)
	if post, err := r.PostPeek(ctx, "another-family", keys["run_after"]); post || err != nil {
		t.Errorf("the look was not at another family: %v, %v", post, err)
	}
}

package registry

import (
	"errors"
	"slices"
	"testing"
)

func TestNotes(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	if _, err := r.Overview().SetNote(ctx, Note{RunID: "svc_a"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a note on no run: %v", err)
	}
	if err := begin(ctx, r, newRun("svc_a", 1)); err != nil {
		t.Fatal(err)
	}
	first, err := r.Overview().SetNote(ctx, Note{RunID: "svc_a", Tags: []string{"<b>", "keep"}, Text: "why"})
	if err != nil || first.Version != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := r.Overview().SetNote(ctx, Note{RunID: "svc_a", Text: "late"}); !errors.Is(err, ErrStale) {
		t.Errorf("a note over a newer one: %v", err)
	}
	all, err := r.Overview().Notes(ctx)
	if err != nil || len(all) != 1 || all["svc_a"].Text != "why" ||
		!slices.Equal(all["svc_a"].Tags, []string{"<b>", "keep"}) {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestMarksAndReveals(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	for i, id := range []string{"svc_a", "svc_b"} {
		if err := begin(ctx, r, newRun(id, i)); err != nil {
			t.Fatal(err)
		}
	}
	marks, err := r.Overview().Marks(ctx)
	if err != nil || len(marks) != 2 || marks[0].RunID != "svc_a" || marks[0].Size == 0 {
		t.Errorf("%+v, %v", marks, err)
	}
	rows, err := r.Overview().Runs(ctx, []string{"svc_b", "nobody"})
	if err != nil || len(rows) != 1 || rows[0].RunID != "svc_b" {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, command := range []string{LookRun, "run", "reveal"} {
		if err := r.Peek(ctx, Peek{RunID: "svc_a", FamilyID: "f", Command: command}); err != nil {
			t.Fatal(err)
		}
	}
	if looks, err := r.Overview().Reveals(ctx); err != nil || len(looks) != 1 || looks["svc_a"] != 2 {
		t.Errorf("%v, %v", looks, err)
	}
}

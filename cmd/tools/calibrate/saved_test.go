package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
)

// A run goes on from what an ended one has saved, a torn last line included, and makes the
// page that an undisturbed one makes; another seed does not.
func TestARunGoesOnFromWhatIsSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "saved")
	of := head{Sizes: sizes{Seeds: 1}, Seed: 1, Replays: 19, Profile: "p", Program: "x"}
	s, err := openSaved(path, of)
	if err != nil {
		t.Fatal(err)
	}
	list := settings(of.Sizes)
	for _, one := range list[:3] {
		if err := s.add(one.Name, 0, &verdict{Overall: judge.Fail}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = openSaved(path, of); err != nil {
		t.Fatal(err)
	}
	for i, one := range list {
		if got := s.of(one.Name, 0); (got != nil) != (i < 2) {
			t.Errorf("%s: %v", one.Name, got)
		}
	}
	if _, err := again(t.Context(), options{from: path}); err == nil ||
		!strings.Contains(err.Error(), "-save") {
		t.Errorf("a page of half a run: %v", err)
	}
	part, err := again(t.Context(), options{from: path, partial: true})
	if err != nil {
		t.Fatal(err)
	}
	if page := part.page(); len(part.Settings) != 2 || !strings.Contains(page, "This page is of **2 cases**") ||
		!strings.Contains(page, "**It was ended early**: of 4 cases") || !strings.Contains(page, "not measured") {
		t.Errorf("%d settings\n%s", len(part.Settings), page)
	}
	for _, one := range list[2:] {
		if err := s.add(one.Name, 0, &verdict{Overall: judge.Fail}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	c, err := again(t.Context(), options{from: path})
	if err != nil {
		t.Fatal(err)
	}
	if page := c.page(); !strings.Contains(page, "-seeds 1 -replays 19 -seed 1") ||
		!strings.Contains(page, "| cheat since refuted | 100 % | 1 of 1") {
		t.Error(page)
	}
	of.Seed++
	if _, err := openSaved(path, of); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("another seed: %v", err)
	}
}

func FuzzSaved(f *testing.F) {
	f.Add(`{"seed":1}` + "\n" + `{"setting":"a","case":1,"verdict":{"Overall":"fail"}}` + "\n" + `{"set`)
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, known, good, err := readSaved(strings.NewReader(text))
		if err == nil && (good > int64(len(text)) || len(known) > strings.Count(text, "\n")) {
			t.Errorf("%d bytes, %d cases of %q", good, len(known), text)
		}
	})
}

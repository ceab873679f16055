package artifact

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestBegin: a run has its request and splits from the start; the whole folder takes the
// place of the one that has no more than these, and of no other.
func TestBegin(t *testing.T) {
	store := NewStore(t.TempDir())
	run := fixtureRun(t, 5)
	if _, err := store.Began(run.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	if err := store.Begin(run.ID, &run.Manifest); err != nil {
		t.Fatal(err)
	}
	if err := store.Begin(run.ID, &run.Manifest); !errors.Is(err, fs.ErrExist) {
		t.Errorf("twice: %v", err)
	}
	m, err := store.Began(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	want, err := run.Manifest.Request.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Request.Hash(); err != nil || got != want {
		t.Errorf("the request has the hash %s, not %s: %v", got, want, err)
	}
	begun, err := os.ReadFile(filepath.Join(store.Dir(run.ID), splitsName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(store.Dir(run.ID), splitsName))
	if err != nil || !bytes.Equal(begun, whole) {
		t.Errorf("the splits were %s and are %s: %v", begun, whole, err)
	}
	if _, _, err := Verify(store.Dir(run.ID)); err != nil {
		t.Error(err)
	}
	if err := store.Withdraw(run.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(run); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a whole folder was replaced: %v", err)
	}
	if _, err := store.Began(run.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after: %v", err)
	}
	if err := store.Begin("other", &run.Manifest); err != nil {
		t.Fatal(err)
	}
	if err := store.Withdraw("other"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(store.Dir("other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("withdrawn: %v", err)
	}
}

// FuzzBegan: whatever stands in the two files is read or refused.
func FuzzBegan(f *testing.F) {
	const request = `{"schema":"evaluation-request/v1","symbols":["A/B"],"initial_cash":1}`
	for _, seed := range []string{`{}`, request, `null`, `[`, ``, `{"splits":7}`} {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, request, splits []byte) {
		store := NewStore(t.TempDir())
		if err := os.Mkdir(store.Dir("run"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{requestName: request, splitsName: splits} {
			if err := os.WriteFile(filepath.Join(store.Dir("run"), name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := store.Began("run"); (m == nil) == (err == nil) {
			t.Errorf("%v and %v", m, err)
		}
	})
}

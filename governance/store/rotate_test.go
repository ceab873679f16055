package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// interrupted is what a test ends a process by.
type interrupted struct{}

// rotate changes the keys of a log until it comes to a place for the left-th time, 0 for never. It returns the
// places that it came to.
func rotate(t *testing.T, dir string, left int) (places []string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil && r != any(interrupted{}) {
			panic(r)
		}
	}()
	o := store.Options{Dir: dir, Now: func() time.Time { return planetest.Start }, At: func(place string) {
		if places = append(places, place); len(places) == left {
			panic(interrupted{})
		}
	}}
	ask := func(*store.Store) error { return nil }
	if _, err := store.Rotate(context.Background(), o, nil, ask); err != nil {
		t.Fatalf("place %d: %v", left, err)
	}
	return places
}

// TestRotationIsInterrupted ends a change of keys at each of its places, some of them twice. The next start has
// the old keys or the new ones, whole, and writes; the next change goes through, and the log verifies.
func TestRotationIsInterrupted(t *testing.T) {
	ring.Slow(t, "it opens a log some hundred times")
	at := filled(t, home{})
	fresh := func(name string) string {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(dir, os.DirFS(at.Dir)); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{store.StatementKeyFile, store.LogKeyFile} {
			if err := os.Chmod(filepath.Join(dir, store.KeyDir, key), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	dir := fresh("whole")
	places := rotate(t, dir, 0)
	began := started(t, dir, "whole")
	if began != 2 {
		t.Fatalf("%d epochs", began)
	}
	for _, want := range []string{"rotate.made", "rotate.keys", "rotate.asked", "append.key-rotation", "commit.done",
		"rotate.logged", "rotate.aside", "rotate.placed"} {
		if !strings.Contains(fmt.Sprint(places), want) {
			t.Errorf("it has not come to %s: %v", want, places)
		}
	}
	random := rand.New(rand.NewPCG(18, 114))
	step := ring.Size(3, 2, 1)
	for n := 1; n <= len(places); n += step {
		name := fmt.Sprintf("%d %s", n, places[n-1])
		dir := fresh("at")
		rotate(t, dir, n)
		if places[n-1] == "rotate.made" && n%2 == 1 { // between the two halves of a key
			halve(t, dir)
		}
		before := started(t, dir, name)
		if ring.At() >= ring.Prove {
			rotate(t, dir, 1+random.IntN(len(places)))
			before = started(t, dir, name+", again")
		}
		rotate(t, dir, 0)
		if after := started(t, dir, name); after != before+1 {
			t.Errorf("%s: %d epochs of keys, then %d", name, before, after)
		}
		if diff, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(diff) > 0 {
			t.Errorf("%s: %v %v", name, diff, err)
		}
	}
}

// halve takes the public half of a key that the log is to change to.
func halve(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, store.KeyDir, "next-statement.pub")); err != nil {
		t.Fatal(err)
	}
}

// started starts a plane, which writes an entry, and returns how many keys the log has had: those in force lie
// in their place, with both halves.
func started(t *testing.T, dir, name string) int {
	t.Helper()
	p, err := planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer p.Close()
	if d := p.Store.Damage(); d != nil {
		t.Fatalf("%s: %v", name, d)
	}
	if a, err := p.Submit(planetest.Good(p.Now(), planetest.Title(name+fmt.Sprint(p.Store.Size()))), planetest.Signed()); err != nil ||
		a.Status != 201 {
		t.Fatalf("%s: %v %s", name, err, a.Body)
	}
	for _, f := range []struct{ name, want string }{
		{store.StatementKeyFile, p.Store.Keys().Public.ID()}, {store.LogKeyFile, ""}} {
		path := filepath.Join(dir, store.KeyDir, f.name)
		public, err := dsse.ReadPublic(dsse.PublicPath(path))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if id, err := dsse.KeyID(public); err != nil || f.want != "" && id != f.want {
			t.Errorf("%s: %s has the public half of another key (%v)", name, f.name, err)
		}
	}
	return len(p.Store.Keys().Ring)
}

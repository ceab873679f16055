package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// filled is the place of a log that has an entry of each kind.
func filled(t *testing.T, h home) store.Place {
	t.Helper()
	at := h.place(t)
	p, err := planetest.Open(planetest.Options{Dir: at.Dir, Database: at.Database, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	doc := planetest.Good(planetest.Start)
	for _, said := range [][]planetest.Statement{
		{planetest.Signed()},
		{{By: "replayer", Type: bundle.TypeReplay, Predicate: planetest.Replay(doc, planetest.Start)}},
	} {
		if a, err := p.Submit(doc, said...); err != nil || a.Status != 201 {
			t.Fatalf("%v %s", err, a.Body)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return at
}

func open(at store.Place, o store.Options) (*store.Store, error) {
	if o.Policy == nil {
		o.Policy = policy.First()
	}
	o.Dir, o.Database = at.Dir, at.Database
	if o.Now == nil {
		o.Now = func() time.Time { return planetest.Start }
	}
	return store.Open(context.Background(), o)
}

// damage opens a log and says what is wrong with it.
func damage(t *testing.T, at store.Place) string {
	t.Helper()
	s, err := open(at, store.Options{Trust: planetest.Trust(1)})
	var config *store.ConfigError
	if errors.As(err, &config) {
		return "config"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d := s.Damage(); d != nil {
		return d.Code
	}
	return ""
}

// testEachColumn flips something in each column of each table: no start overlooks it.
func testEachColumn(t *testing.T, h home) {
	at := filled(t, h)
	if got := damage(t, at); got != "" {
		t.Fatalf("unedited: %s", got)
	}
	restore := unprotect(t, at)
	columns := columnsOf(t, at)
	tables := map[string]bool{}
	kinds := map[[2]string]bool{}
	for _, c := range columns {
		// On a server one column of each type of a table shows that it is compared.
		if kind := [2]string{c.table, c.kind}; h.server != nil && kinds[kind] && ring.At() < ring.Soak {
			continue
		} else {
			kinds[kind] = true
		}
		tables[c.table] = true
		restore()
		edit(t, at, c.flip())
		want := store.Corrupt
		if c.table == "meta" {
			want = "config"
		}
		if got := damage(t, at); got != want {
			t.Errorf("%s.%s: %q, want %s", c.table, c.name, got, want)
		}
	}
	if len(tables) != 10 {
		t.Fatalf("%d tables", len(tables))
	}
}

// testTriggers: the truth cannot be changed by a statement, not even by REPLACE.
func testTriggers(t *testing.T, h home) {
	at := filled(t, h)
	db := connect(t, at)
	for _, table := range []string{"meta", "ledger", "tree_nodes", "checkpoints", "submissions",
		"attestations"} {
		for _, q := range changes(at, table) {
			if _, err := db.Exec(q); err == nil || !strings.Contains(err.Error(), "never changed") {
				t.Errorf("%s: %v", q, err)
			}
		}
	}
}

// testRebuild: whatever becomes of the projections, they can be made again.
func testRebuild(t *testing.T, h home) {
	at := filled(t, h)
	for _, q := range []string{
		`DELETE FROM facts WHERE seq > 3`, `UPDATE promotion_state SET stage = 'live'`,
		`DELETE FROM revisions`, `UPDATE projection SET value = '9'`,
		`INSERT INTO promotion_state VALUES ('cr-x', 'live', 'active')`,
		`INSERT INTO facts VALUES (99, 0, '', '', '', '', '')`,
	} {
		edit(t, at, q)
		if got := damage(t, at); got != store.Corrupt {
			t.Errorf("%s: a start finds %q", q, got)
		}
		if d, err := store.Rebuild(t.Context(), at, true); err != nil || len(d) == 0 {
			t.Errorf("%s: check finds %v %v", q, d, err)
		}
		if _, err := store.Rebuild(t.Context(), at, false); err != nil {
			t.Errorf("%s: %v", q, err)
		}
		if d, err := store.Rebuild(t.Context(), at, true); err != nil || len(d) > 0 {
			t.Errorf("%s: after a rebuild %v %v", q, d, err)
		}
	}
	if got := damage(t, at); got != "" {
		t.Errorf("%s", got)
	}
}

// testConfiguration: keys, name, policy and trust must follow what the log has.
func testConfiguration(t *testing.T, h home) {
	at := filled(t, h)
	weaker := mustPolicy(t, 1, `"value":0}`, `"value":1}`)
	newer := mustPolicy(t, 2, `"value":0}`, `"value":1}`)
	for name, c := range map[string]struct {
		o  store.Options
		ok bool
	}{
		"same":       {store.Options{Trust: planetest.Trust(1)}, true},
		"origin":     {store.Options{Trust: planetest.Trust(1), Origin: "other.example"}, false},
		"trust gone": {store.Options{}, false},
		"trust changed": {
			store.Options{Trust: planetest.Trust(1, func(t *bundle.Trust) { t.RequireSignature = true })},
			false},
		"policy changed": {store.Options{Trust: planetest.Trust(1), Policy: weaker}, false},
	} {
		s, err := open(at, c.o)
		var config *store.ConfigError
		if (err == nil) != c.ok || !c.ok && !errors.As(err, &config) {
			t.Errorf("%s: %v", name, err)
		}
		if s != nil {
			_ = s.Close()
		}
	}
	s, err := open(at, store.Options{Trust: planetest.Trust(2), Policy: newer})
	if err != nil {
		t.Fatal(err)
	}
	size := s.Size()
	if err := s.Reconfigure(t.Context(), newer, planetest.Trust(1)); err == nil || s.Size() != size {
		t.Errorf("an older trust.json while running: %v", err)
	}
	if err := s.Reconfigure(t.Context(), newer, planetest.Trust(3)); err != nil || s.Size() != size+1 {
		t.Errorf("a newer trust.json while running: %v, %d entries", err, s.Size()-size)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(at, store.Options{Trust: planetest.Trust(3)}); err == nil {
		t.Error("went back to the policy that is built in")
	}
}

func mustPolicy(t *testing.T, version int, old, with string) *policy.Policy {
	t.Helper()
	text := strings.Replace(string(policy.First().Text), old, with, 1)
	text = strings.Replace(text, `"version":1`, fmt.Sprintf(`"version":%d`, version), 1)
	p, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest == policy.First().Digest {
		t.Fatal("the policy has not changed")
	}
	return p
}

// testKeys: a log cannot go on without its keys, and not with keys that others can read.
func testKeys(t *testing.T, h home) {
	for name, change := range map[string]func(dir string) error{
		"statement key gone": func(d string) error {
			return os.Remove(filepath.Join(d, store.StatementKeyFile))
		},
		"log key gone": func(d string) error { return os.Remove(filepath.Join(d, store.LogKeyFile)) },
		"log key readable": func(d string) error {
			return os.Chmod(filepath.Join(d, store.LogKeyFile), 0o644)
		},
		"keys swapped": func(d string) error {
			return os.Rename(filepath.Join(d, store.LogKeyFile), filepath.Join(d, store.StatementKeyFile))
		},
	} {
		at := filled(t, h)
		if err := change(filepath.Join(at.Dir, store.KeyDir)); err != nil {
			t.Fatal(err)
		}
		if got := damage(t, at); got != "config" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// testFailedWrite: what a failed write has put into memory is forgotten.
func testFailedWrite(t *testing.T, h home) {
	at := filled(t, h)
	s, err := open(at, store.Options{Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	size := s.Size()
	boom := errors.New("boom")
	doc := planetest.Good(planetest.Start, planetest.Title("other"))
	if _, err := s.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.Seal(doc, []string{"hash_claimed"}, nil, nil), boom)
	}); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Update(t.Context(), func(tx *store.Tx) error {
			_ = tx.Seal(doc, []string{"hash_claimed"}, nil, nil)
			panic("boom")
		})
	}()
	if s.Size() != size || s.Known(doc.Bundle.CandidateRevisionID) {
		t.Errorf("%d entries, want %d", s.Size(), size)
	}
	out, err := s.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Seal(doc, []string{"hash_claimed"}, nil, nil)
	})
	if err != nil || out.First != size || s.Size() <= size {
		t.Errorf("the log does not go on: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := damage(t, at); got != "" {
		t.Error(got)
	}
}

// testWitness: what a crash has left of a line is dropped, and a line that was changed is
// found.
func testWitness(t *testing.T, h home) {
	at := filled(t, h)
	path := filepath.Join(at.Dir, "checkpoints.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"half a line":       {string(whole) + "99 abc", ""},
		"a line is missing": {strings.Join(lines[:len(lines)-2], ""), ""},
		"empty":             {"", store.Rollback},
		"nothing whole":     {lines[0][:20], store.Rollback},
		"another root": {strings.Replace(string(whole), lines[0][:10], lines[0][:2]+"00000000", 1),
			store.Corrupt},
		"nonsense":           {"nonsense\n", store.Corrupt},
		"ahead":              {string(whole) + "99 " + strings.Repeat("0", 64) + " 1\n", store.Rollback},
		"the same line once": {string(whole) + lines[0], store.Corrupt},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := damage(t, at); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// testMissingWitness: an old copy of the database whose checkpoints.log was taken away would
// fork the log. It only reads, until an operator answers for it.
func testMissingWitness(t *testing.T, h home) {
	at := filled(t, h)
	path := filepath.Join(at.Dir, "checkpoints.log")
	if _, err := store.AcceptCheckpoints(t.Context(), at); err == nil {
		t.Fatal("a witness that is there was made anew")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and a start does not mend it
		if got := damage(t, at); got != store.Rollback {
			t.Fatalf("%q, want %q", got, store.Rollback)
		}
	}
	var found *store.DamageError
	if _, err := store.Rebuild(t.Context(), at, true); !errors.As(err, &found) ||
		found.Code != store.Rollback {
		t.Errorf("rebuild --check: %v", err)
	}
	size, err := store.AcceptCheckpoints(t.Context(), at)
	if err != nil || size == 0 {
		t.Fatalf("%d entries, %v", size, err)
	}
	if got := damage(t, at); got != "" {
		t.Errorf("after the operator: %s", got)
	}
}

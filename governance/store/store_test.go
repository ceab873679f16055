package store_test

import (
	"context"
	"database/sql"
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
)

// filled is a state directory whose log has an entry of each kind.
func filled(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "g")
	p, err := planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	doc := planetest.Good(planetest.Start)
	for _, said := range [][]planetest.Said{
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
	return dir
}

// edit changes a database behind the plane's back.
func edit(t *testing.T, dir string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, store.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

func open(dir string, o store.Options) (*store.Store, error) {
	if o.Policy == nil {
		o.Policy = policy.First()
	}
	o.Dir = dir
	if o.Now == nil {
		o.Now = func() time.Time { return planetest.Start }
	}
	return store.Open(context.Background(), o)
}

// damage opens a log and says what is wrong with it.
func damage(t *testing.T, dir string) string {
	t.Helper()
	s, err := open(dir, store.Options{Trust: planetest.Trust(1)})
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

// TestEachColumn flips something in each column of each table: no start overlooks it.
func TestEachColumn(t *testing.T) {
	dir := filled(t)
	if got := damage(t, dir); got != "" {
		t.Fatalf("unedited: %s", got)
	}
	path := filepath.Join(dir, store.DatabaseFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for table, columns := range columnsOf(t, path) {
		for _, column := range columns {
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			// The last row by this column, with another value of the same type.
			edit(t, dir, dropTriggers(t, path), `PRAGMA foreign_keys = OFF`,
				fmt.Sprintf(`UPDATE %[1]s SET %[2]s = CASE typeof(%[2]s)
				WHEN 'integer' THEN %[2]s + 1000
				WHEN 'blob' THEN CAST(substr(%[2]s, 1, length(%[2]s) - 1) || CASE WHEN hex(substr(%[2]s, -1)) = '7D' THEN x'20' ELSE x'7D' END AS BLOB)
				ELSE substr(%[2]s, 1, length(%[2]s) - 1) || CASE WHEN substr(%[2]s, -1) = '}' THEN 'x' ELSE '}' END END
				WHERE %[2]s = (SELECT max(%[2]s) FROM %[1]s)`, table, column))
			want := store.Corrupt
			if table == "meta" {
				want = "config"
			}
			if got := damage(t, dir); got != want {
				t.Errorf("%s.%s: %q, want %s", table, column, got, want)
			}
		}
	}
}

func columnsOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(
		`SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		columns[table] = append(columns[table], column)
	}
	if len(columns) != 10 {
		t.Fatalf("%d tables", len(columns))
	}
	return columns
}

func dropTriggers(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var drop strings.Builder
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		drop.WriteString("DROP TRIGGER " + name + ";")
	}
	return drop.String()
}

// TestTriggers: the truth cannot be changed by a statement, not even by REPLACE.
func TestTriggers(t *testing.T) {
	dir := filled(t)
	db, err := sql.Open("sqlite", filepath.Join(dir, store.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"meta", "ledger", "tree_nodes", "checkpoints", "submissions",
		"attestations"} {
		for _, q := range []string{"DELETE FROM " + table, "UPDATE " + table + " SET rowid = rowid + 1",
			"INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table} {
			if _, err := db.Exec(q); err == nil || !strings.Contains(err.Error(), "never changed") {
				t.Errorf("%s: %v", q, err)
			}
		}
	}
}

// TestRebuild: whatever becomes of the projections, they can be made again.
func TestRebuild(t *testing.T) {
	dir := filled(t)
	for _, q := range []string{
		`DELETE FROM facts WHERE seq > 3`, `UPDATE promotion_state SET stage = 'live'`,
		`DELETE FROM revisions`, `UPDATE projection SET value = '9'`,
		`INSERT INTO promotion_state VALUES ('cr-x', 'live', 'active')`,
		`INSERT INTO facts VALUES (99, 0, '', '', '', '', '')`,
	} {
		edit(t, dir, q)
		if got := damage(t, dir); got != store.Corrupt {
			t.Errorf("%s: a start finds %q", q, got)
		}
		if d, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(d) == 0 {
			t.Errorf("%s: check finds %v %v", q, d, err)
		}
		if _, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, false); err != nil {
			t.Errorf("%s: %v", q, err)
		}
		if d, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(d) > 0 {
			t.Errorf("%s: after a rebuild %v %v", q, d, err)
		}
	}
	if got := damage(t, dir); got != "" {
		t.Errorf("%s", got)
	}
}

// TestConfiguration: keys, name, policy and trust must follow what the log has.
func TestConfiguration(t *testing.T) {
	dir := filled(t)
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
		s, err := open(dir, c.o)
		var config *store.ConfigError
		if (err == nil) != c.ok || !c.ok && !errors.As(err, &config) {
			t.Errorf("%s: %v", name, err)
		}
		if s != nil {
			_ = s.Close()
		}
	}
	s, err := open(dir, store.Options{Trust: planetest.Trust(2), Policy: newer})
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
	if _, err := open(dir, store.Options{Trust: planetest.Trust(3)}); err == nil {
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

// TestKeys: a log cannot go on without its keys, and not with keys that others can read.
func TestKeys(t *testing.T) {
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
		dir := filled(t)
		if err := change(filepath.Join(dir, store.KeyDir)); err != nil {
			t.Fatal(err)
		}
		if got := damage(t, dir); got != "config" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestFailedWrite: what a failed write has put into memory is forgotten.
func TestFailedWrite(t *testing.T) {
	dir := filled(t)
	s, err := open(dir, store.Options{Trust: planetest.Trust(1)})
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
	if got := damage(t, dir); got != "" {
		t.Error(got)
	}
}

// TestWitness: what a crash has left of a line is dropped, and a line that was changed is
// found.
func TestWitness(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, "checkpoints.log")
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
		if got := damage(t, dir); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMissingWitness: an old copy of the database whose checkpoints.log was taken away would
// fork the log. It only reads, until an operator answers for it.
func TestMissingWitness(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, "checkpoints.log")
	if _, err := store.AcceptCheckpoints(t.Context(), store.Place{Dir: dir}); err == nil {
		t.Fatal("a witness that is there was made anew")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and a start does not mend it
		if got := damage(t, dir); got != store.Rollback {
			t.Fatalf("%q, want %q", got, store.Rollback)
		}
	}
	var found *store.DamageError
	if _, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); !errors.As(err, &found) ||
		found.Code != store.Rollback {
		t.Errorf("rebuild --check: %v", err)
	}
	size, err := store.AcceptCheckpoints(t.Context(), store.Place{Dir: dir})
	if err != nil || size == 0 {
		t.Fatalf("%d entries, %v", size, err)
	}
	if got := damage(t, dir); got != "" {
		t.Errorf("after the operator: %s", got)
	}
}

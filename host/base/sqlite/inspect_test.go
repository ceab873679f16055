package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/base/sqlite"
)

func TestDurable(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), schema(), sqlite.Durable)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for pragma, want := range map[string]int{"synchronous": 2, "fullfsync": 1, "busy_timeout": 5000,
		"foreign_keys": 1} {
		if got := value[int](t, db, "PRAGMA "+pragma); got != want {
			t.Errorf("%s %d, want %d", pragma, got, want)
		}
	}
}

// TestReadOnlyLeavesTheLogAlone: what a writer left in the write-ahead log is read, and
// is still there afterwards.
func TestReadOnlyLeavesTheLogAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	if err := count(t.Context(), open(t, path), "writer"); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(copied + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenReadOnly(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT n FROM counter").Scan(&n); err != nil || n != 1 {
		t.Errorf("read %d: %v", n, err)
	}
	if _, err := db.Exec("UPDATE counter SET n = 7"); err == nil {
		t.Error("it wrote")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(copied + "-wal"); err != nil || string(after) != string(before) {
		t.Errorf("the log was touched (%v)", err)
	}
}

func TestClasses(t *testing.T) {
	dir := t.TempDir()
	_, missing := sqlite.OpenReadOnly(t.Context(), filepath.Join(dir, "missing"))
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("this is no database, however one looks at it, not at all"),
		0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, filepath.Join(dir, "db"))
	exec := func(query string) error {
		return db.Tx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(query)
			return err
		})
	}
	var noDatabase error
	if g, err := sqlite.OpenReadOnly(t.Context(), garbage); err != nil {
		noDatabase = err
	} else {
		noDatabase = g.QueryRow("SELECT 1 FROM counter").Scan(new(int))
		_ = g.Close()
	}
	for name, c := range map[string]struct {
		err                                                     error
		fromSQLite, surroundings, duplicate, constraint, damage bool
	}{
		"missing":     {missing, true, true, false, false, false},
		"no database": {noDatabase, true, false, false, false, true},
		"duplicate":   {exec("INSERT INTO counter VALUES (1, 5)"), true, false, true, true, false},
		"foreign key": {exec("INSERT INTO entry VALUES ('x', 99)"), true, false, false, true, false},
		"bad query":   {exec("SELECT * FROM nowhere"), true, false, false, false, false},
		"other":       {errors.New("other"), false, false, false, false, false},
		"none":        {nil, false, false, false, false, false},
	} {
		got := [5]bool{sqlite.IsSQLite(c.err), sqlite.IsSurroundings(c.err), sqlite.IsDuplicate(c.err),
			sqlite.IsConstraint(c.err), sqlite.IsDamage(c.err)}
		if want := [5]bool{c.fromSQLite, c.surroundings, c.duplicate, c.constraint, c.damage}; got != want {
			t.Errorf("%s (%v): %v, want %v", name, c.err, got, want)
		}
	}
}

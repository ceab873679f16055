package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/assay-run/assay/host/base/sqlite"
)

const (
	childEnv  = "ASSAY_SQLITE_TEST_CHILD"
	perWriter = 40
)

// schema is two steps, so that two openers can also meet between them.
func schema() fstest.MapFS {
	return fstest.MapFS{
		"0001_start.sql": {
			Data: []byte(
				`CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL); INSERT INTO counter VALUES (1, 0);`)},
		"0002_who.sql": {
			Data: []byte(
				`CREATE TABLE entry (who TEXT NOT NULL, counter INTEGER NOT NULL REFERENCES counter(id));`)},
	}
}

// TestMain lets the test binary be one of the processes that share a file.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // all start together
		if err := openAndCount(path, "child"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// openAndCount opens the file and counts up, reading before writing, as only an
// immediate transaction can without losing a count or failing.
func openAndCount(path, who string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, schema(), sqlite.Normal)
	if err != nil {
		return err
	}
	for range perWriter {
		if err := count(ctx, db, who); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}

func count(ctx context.Context, db *sqlite.DB, who string) error {
	return db.Tx(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRow("SELECT n FROM counter WHERE id = 1").Scan(&n); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE counter SET n = ? WHERE id = 1", n+1); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO entry VALUES (?, 1)", who)
		return err
	})
}

func open(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, schema(), sqlite.Normal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func value[T any](t *testing.T, db *sqlite.DB, query string) (v T) {
	t.Helper()
	if err := db.Read().QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestPragmasAndModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "50%?#x")
	path := filepath.Join(dir, "file name.sqlite3")
	db := open(t, path)
	if got := value[string](t, db, "PRAGMA journal_mode"); got != "wal" {
		t.Errorf("journal_mode %s", got)
	}
	for pragma, want := range map[string]int{"busy_timeout": 5000, "foreign_keys": 1, "synchronous": 1,
		"user_version": 2} {
		if got := value[int](t, db, "PRAGMA "+pragma); got != want {
			t.Errorf("%s %d, want %d", pragma, got, want)
		}
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600,
		path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", filepath.Base(name), got, want)
		}
	}
	if _, err := db.Read().Exec("DELETE FROM counter"); err == nil {
		t.Error("a reading connection wrote")
	}
	full, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "full"), schema(), sqlite.Full)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if got := value[int](t, full, "PRAGMA synchronous"); got != 2 {
		t.Errorf("synchronous %d, want 2", got)
	}
}

func TestTxRollsBack(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	boom := errors.New("boom")
	err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("UPDATE counter SET n = 7"); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = db.Tx(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.Exec("UPDATE counter SET n = 8"); err != nil {
				return err
			}
			panic("boom")
		})
	}()
	if err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO entry VALUES ('x', 99)")
		return err
	}); err == nil {
		t.Error("a foreign key that leads nowhere was accepted")
	}
	if n := value[int](t, db, "SELECT n FROM counter"); n != 0 {
		t.Errorf("n = %d", n)
	}
}

func TestManyOpenersInOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	const writers = 12
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if err := openAndCount(path, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := value[int](t, open(t, path), "SELECT n FROM counter"); n != writers*perWriter {
		t.Errorf("%d counted, want %d", n, writers*perWriter)
	}
}

func TestManyProcessesOpenOneNewFile(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const processes, rounds = 4, 3
	for range rounds {
		path := filepath.Join(t.TempDir(), "db")
		var wg sync.WaitGroup
		for range processes {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), childEnv+"="+path)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			cmd.Stderr = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				fmt.Fprintln(in)
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v: %s", err, out.String())
				}
			})
		}
		wg.Wait()
		db := open(t, path)
		if n := value[int](t, db, "SELECT count(*) FROM entry"); n != processes*perWriter {
			t.Errorf("%d entries, want %d", n, processes*perWriter)
		}
	}
}

func TestMigrationsGoOnWhereTheyStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	older := schema()
	delete(older, "0002_who.sql")
	db, err := sqlite.Open(t.Context(), path, older, sqlite.Normal)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := count(t.Context(), open(t, path), "x"); err != nil {
		t.Error(err)
	}
	var newer *sqlite.NewerSchemaError
	if _, err := sqlite.Open(t.Context(), path, older, sqlite.Normal); !errors.As(err, &newer) ||
		newer.Found != 2 || newer.Known != 1 {
		t.Errorf("an older program opened a newer file: %v", err)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	bad := schema()
	bad["0002_who.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE half (a); CREATE TABEL oops;")}
	if _, err := sqlite.Open(t.Context(), path, bad, sqlite.Normal); err == nil ||
		!strings.Contains(err.Error(), "0002_who.sql") {
		t.Fatalf("got %v", err)
	}
	db := open(t, path)
	if n := value[int](t, db, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"); n != 0 {
		t.Error("half a migration stayed")
	}
}

func TestMigrationNames(t *testing.T) {
	for _, names := range [][]string{{"first.sql"}, {"0002_b.sql"}, {"0001_a.sql", "0003_c.sql"},
		{"0001_a.sql", "0001_b.sql"}} {
		fsys := fstest.MapFS{}
		for _, n := range names {
			fsys[n] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), fsys,
			sqlite.Normal); err == nil {
			t.Errorf("%v accepted", names)
		}
	}
}

func TestOpenRefusesWhatIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, schema(), sqlite.Normal); err == nil {
		t.Error("opened")
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(path, "below a file"), schema(),
		sqlite.Normal); err == nil {
		t.Error("opened below a file")
	}
}

package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// schema has a table of texts, and the writer's row.
func schema(steps ...string) fstest.MapFS {
	files := fstest.MapFS{"0001_first.sql": {Data: []byte(`
		CREATE TABLE writer (one BIGINT PRIMARY KEY, epoch BIGINT NOT NULL, address TEXT NOT NULL);
		INSERT INTO writer VALUES (1, 0, '');
		CREATE TABLE note (n BIGINT PRIMARY KEY, text TEXT NOT NULL)`)}}
	for _, s := range steps {
		files["0002_second.sql"] = &fstest.MapFile{Data: []byte(s)}
	}
	return files
}

func open(t *testing.T, address string, files fstest.MapFS) (*postgres.DB, error) {
	t.Helper()
	c, err := postgres.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), c, files)
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, err
}

func insert(n int, text string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO note VALUES (?, ?)`, n, text)
		return err
	}
}

func at(address string) func() string { return func() string { return address } }

func notes(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(`SELECT count(*) FROM note`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPostgres(t *testing.T) {
	ring.Proof(t, "it starts a server")
	server := hosttest.PostgresOrSkip(t)
	for name, test := range map[string]func(*testing.T, *hosttest.Postgres, string){
		"migrations": testMigrations, "one writer": testOneWriter, "snapshot": testSnapshot,
		"succession": testSuccession, "session ended": testSessionEnded, "fenced": testFenced,
	} {
		t.Run(name, func(t *testing.T) {
			address, err := server.NewSchema()
			if err != nil {
				t.Fatal(err)
			}
			test(t, server, address)
		})
	}
}

// testMigrations: a schema grows by one step, and a newer one is refused.
func testMigrations(t *testing.T, _ *hosttest.Postgres, address string) {
	if _, err := open(t, address, schema()); err != nil {
		t.Fatal(err)
	}
	db, err := open(t, address, schema(`ALTER TABLE note ADD COLUMN more TEXT; SELECT 'is it ?'`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Read().Exec(`DELETE FROM note`); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a reader wrote: %v", err)
	}
	var newer *sqlite.NewerSchemaError
	if _, err := open(t, address, schema()); !errors.As(err, &newer) || newer.Found != 2 || newer.Known != 1 {
		t.Errorf("an older program: %v", err)
	}
	if _, err := open(t, strings.Replace(address, "search_path=", "search_path=no", 1), schema()); err == nil ||
		!strings.Contains(err.Error(), "search_path") {
		t.Errorf("without a schema: %v", err)
	}
}

// testOneWriter: the second is told who is the first, and what a transaction failed with is undone.
func testOneWriter(t *testing.T, _ *hosttest.Postgres, address string) {
	db, err := open(t, address, schema())
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Elect(t.Context(), false, at("here"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var led *postgres.LedError
	if _, err := db.Elect(t.Context(), false, at("there")); !errors.As(err, &led) || led.Address != "here" {
		t.Errorf("a second writer: %v", err)
	}
	boom := errors.New("boom")
	if err := w.Tx(t.Context(), func(tx *sql.Tx) error {
		return errors.Join(insert(1, "'?'")(tx), boom)
	}); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	if err := w.Tx(t.Context(), insert(1, `what?`)); err != nil {
		t.Error(err)
	}
	if err := w.Tx(t.Context(), insert(1, "again")); err == nil || !postgres.IsPostgres(err) {
		t.Errorf("a key that is taken: %v", err)
	}
	if err := w.Announce(t.Context(), "elsewhere"); err != nil {
		t.Error(err)
	}
	if epoch, at, err := db.Writer(t.Context()); err != nil || epoch != w.Epoch || at != "elsewhere" {
		t.Errorf("%d %s %v", epoch, at, err)
	}
	if n := notes(t, db.Read()); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// testSnapshot: what is written meanwhile is not seen, over several connections.
func testSnapshot(t *testing.T, _ *hosttest.Postgres, address string) {
	db, err := open(t, address, schema())
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Elect(t.Context(), false, at(""))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pool, end, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	rows, err := pool.Query(`SELECT one FROM writer`) // keeps its connection
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if err := w.Tx(t.Context(), insert(1, "x")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n := notes(t, pool); n != 0 {
			t.Errorf("%d notes in the snapshot", n)
		}
	}
	if n := notes(t, db.Read()); n != 1 {
		t.Errorf("%d notes beside it", n)
	}
}

// testSuccession: who waits is the writer once the first has ended, under the next epoch.
func testSuccession(t *testing.T, _ *hosttest.Postgres, address string) {
	db, err := open(t, address, schema())
	if err != nil {
		t.Fatal(err)
	}
	first, err := db.Elect(t.Context(), false, at("first"))
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *postgres.Writer, 1)
	go func() {
		w, err := db.Elect(context.WithoutCancel(t.Context()), true, at("second"))
		if err != nil {
			t.Error(err)
		}
		next <- w
	}()
	select {
	case <-next:
		t.Fatal("two writers")
	case <-time.After(50 * time.Millisecond):
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second := <-next
	defer second.Close()
	if second.Epoch != first.Epoch+1 {
		t.Errorf("epoch %d after %d", second.Epoch, first.Epoch)
	}
	var lost *postgres.LostError
	if err := first.Tx(t.Context(), insert(1, "x")); !errors.As(err, &lost) {
		t.Errorf("the first wrote: %v", err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.Elect(impatient, true, at("")); err == nil {
		t.Error("two writers")
	}
}

// testSessionEnded: a writer whose session the server has ended writes nothing, although nobody else is
// the writer.
func testSessionEnded(t *testing.T, server *hosttest.Postgres, address string) {
	db, err := open(t, address, schema())
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Elect(t.Context(), false, at(""))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	held := make(chan error, 1)
	go func() { held <- w.Hold(context.WithoutCancel(t.Context()), 10*time.Millisecond) }()
	if text, err := server.Query(`SELECT count(pg_terminate_backend(pid)) FROM pg_locks
		WHERE locktype = 'advisory' AND granted`); err != nil || text != "1" {
		t.Fatalf("%s %v", text, err)
	}
	var lost *postgres.LostError
	if err := w.Tx(t.Context(), insert(1, "x")); !errors.As(err, &lost) || !postgres.IsPostgres(err) {
		t.Errorf("it wrote: %v", err)
	}
	if err := <-held; !errors.As(err, &lost) {
		t.Errorf("it holds on: %v", err)
	}
	if n := notes(t, db.Read()); n != 0 {
		t.Errorf("%d notes", n)
	}
}

// testFenced: an epoch that has gone on stops a writer whose session lives.
func testFenced(t *testing.T, server *hosttest.Postgres, address string) {
	db, err := open(t, address, schema())
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Elect(t.Context(), false, at(""))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, name, _ := strings.Cut(address, "search_path=")
	if _, err := server.Query(`UPDATE ` + name + `.writer SET epoch = epoch + 1`); err != nil {
		t.Fatal(err)
	}
	var lost *postgres.LostError
	if err := w.Tx(t.Context(), insert(1, "x")); !errors.As(err, &lost) || !strings.Contains(err.Error(), "epoch") {
		t.Errorf("it wrote: %v", err)
	}
	if err := w.Hold(t.Context(), time.Millisecond); !errors.As(err, &lost) {
		t.Errorf("it holds on: %v", err)
	}
}

// TestAddresses: nothing that is refused or shown has a password in it.
func TestAddresses(t *testing.T) {
	for _, name := range []string{"PGPASSWORD", "PGPASSFILE", "PGHOST", "PGUSER", "PGDATABASE", "PGPORT"} {
		t.Setenv(name, "")
	}
	for text, want := range map[string]string{
		"postgres://u:secret@h:7/d":                   "postgres://u@h:7/d",
		"postgresql://u@h/d?password=secret":          "postgres://u@h:5432/d",
		"postgres://u:secret@/d?host=/tmp/x":          "postgres://u@/d?host=%2Ftmp%2Fx",
		"postgres://u:secret@[::1]:7/d":               "postgres://u@[::1]:7/d",
		"postgres://u:sec#ret@h/d":                    "postgres://u@h:5432/d",
		"postgres://u:sec/ret@h/d":                    "",
		"postgres://u:secret@h:port/d":                "",
		"postgres://u:secret@h/d?sslmode=what":        "",
		"host=h user=u password=secret":               "",
		"mysql://u:secret@h/d":                        "",
		"postgres://u:secret@h/d?connect_timeout=abc": "",
		"postgres://u:secret%zz@h/d":                  "",
		"":                                            "",
	} {
		c, err := postgres.ParseConfig(text)
		if (err == nil) != (want != "") || err == nil && c.String() != want {
			t.Errorf("%s: %v %v, want %s", text, c, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret@")) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]bool{"postgres://u:p@h/d": true, "postgres://u@h/d": false,
		"postgres://u@h/d?password=p": true, "%": false} {
		if got := postgres.HasPassword(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	c, err := postgres.ParseConfig("postgres://u:secret@127.0.0.1:1/d?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), c, schema()); err == nil || !postgres.IsPostgres(err) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
}

// FuzzParseConfig: an address is refused in one sentence, or shown without its password.
func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{"postgres://u:secret@h:7/d", "postgres://", "postgres://u@/d?host=/tmp&port=1",
		"postgresql://h1,h2:7/d", "postgres://u:%zz@h", "postgres://[::1]/d?sslmode=what", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "service") || strings.Contains(text, "ssl") || strings.Contains(text, "pass") {
			t.Skip("it would read files")
		}
		c, err := postgres.ParseConfig(text)
		if err != nil {
			if !strings.Contains(err.Error(), "keep the password in PGPASSFILE") {
				t.Fatal(err)
			}
			return
		}
		if shown := c.String(); !postgres.IsAddress(shown) || postgres.HasPassword(shown) {
			t.Fatalf("%q is shown as %q", text, shown)
		}
	})
}

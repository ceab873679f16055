package store_test

import (
	"errors"
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

// another is the place of a further plane on the database: its folder is a copy of what planes share.
func another(t *testing.T, at store.Place) store.Place {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "g")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, store.KeyDir), os.DirFS(filepath.Join(at.Dir, store.KeyDir))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{store.StatementKeyFile, store.LogKeyFile} {
		if err := os.Chmod(filepath.Join(dir, store.KeyDir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(at.Dir, "checkpoints.log"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "checkpoints.log"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return store.Place{Dir: dir, Database: at.Database}
}

func start(t *testing.T, at store.Place) *planetest.Plane {
	t.Helper()
	p, err := planetest.Open(planetest.Options{Dir: at.Dir, Database: at.Database, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sound reports that a log is whole wherever it is looked at from.
func sound(t *testing.T, places ...store.Place) {
	t.Helper()
	for _, at := range places {
		if d, err := store.Rebuild(t.Context(), at, true); err != nil || len(d) > 0 {
			t.Errorf("rebuild --check: %v %v", d, err)
		}
		if got := damage(t, at); got != "" {
			t.Errorf("a start finds %s", got)
		}
	}
}

// health is what a plane says of itself.
type health struct {
	Status  string
	LogSize int64 `json:"log_size"`
	Writer  struct {
		Self    bool
		Address string
		Epoch   int64
	}
}

func healthOf(t *testing.T, p *planetest.Plane) (h health) {
	t.Helper()
	a, err := p.Get("/health")
	if err == nil {
		err = a.Decode(&h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// await waits until a plane is the writer.
func await(t *testing.T, p *planetest.Plane) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !healthOf(t, p).Writer.Self; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no plane becomes the writer")
		}
	}
}

// refused reports that a plane takes nothing and says who does.
func refused(t *testing.T, p, writer *planetest.Plane, title string) {
	t.Helper()
	a, err := p.Submit(planetest.Good(planetest.Start, planetest.Title(title)), planetest.Signed())
	if err != nil || a.Status != 503 || a.Code() != store.NotWriter || a.Header.Get("Retry-After") != "1" ||
		!strings.Contains(string(a.Body), `"writer":"`+writer.URL+`"`) {
		t.Errorf("%v %d %s", err, a.Status, a.Body)
	}
}

func taken(t *testing.T, p *planetest.Plane, title string) *bundle.Document {
	t.Helper()
	doc := planetest.Good(planetest.Start, planetest.Title(title))
	if a, err := p.Submit(doc, planetest.Signed()); err != nil || a.Status != 201 {
		t.Errorf("%v %d %s", err, a.Status, a.Body)
	}
	return doc
}

// testPlanes: of two planes one writes, both answer with all of the log at once, and the second takes over
// when the first ends.
func testPlanes(t *testing.T, h home) {
	at := filled(t, h)
	first := start(t, at)
	there := another(t, at)
	second := start(t, there)
	doc := taken(t, first, "one")
	if a, err := second.Get("/promotion-state/candidate_revision/" + doc.Bundle.CandidateRevisionID); err != nil ||
		a.Status != 200 {
		t.Errorf("the second plane does not know it: %v %d %s", err, a.Status, a.Body)
	}
	refused(t, second, first, "two")
	a, b := healthOf(t, first), healthOf(t, second)
	if !a.Writer.Self || b.Writer.Self || a.LogSize != b.LogSize || b.Writer.Address != first.URL {
		t.Errorf("%+v %+v", a, b)
	}
	var other *store.NotWriterError
	if _, err := store.Rebuild(t.Context(), another(t, at), false); !errors.As(err, &other) ||
		other.Writer != first.URL {
		t.Errorf("a rebuild beside running planes: %v", err)
	}
	if err := second.Store.Reconfigure(t.Context(), policy.First(), planetest.Trust(2)); !errors.As(err, &other) {
		t.Errorf("a SIGHUP of the second: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, second)
	if c := healthOf(t, second); c.Writer.Address != second.URL || c.Writer.Epoch != b.Writer.Epoch+1 ||
		c.LogSize != b.LogSize+1 {
		t.Errorf("%+v after %+v, with a trust.json more", c, b)
	}
	taken(t, second, "three")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	// The folder of the first has an older trust.json, which may not follow.
	if got := damage(t, at); got != "config" {
		t.Errorf("a start with an older trust.json: %q", got)
	}
	if d, err := store.Rebuild(t.Context(), at, true); err != nil || len(d) > 0 {
		t.Errorf("%v %v", d, err)
	}
	if err := os.Remove(filepath.Join(there.Dir, "checkpoints.log")); err != nil {
		t.Fatal(err)
	}
	s, err := open(there, store.Options{Trust: planetest.Trust(2)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d := s.Damage(); d == nil || d.Code != store.Rollback {
		t.Errorf("a plane without a witness of the log: %v", d)
	}
}

// endSession ends the session of the writer of a schema, as an operator or a cut line would.
func endSession(t *testing.T, h home) {
	t.Helper()
	text, err := h.server.Query(`SELECT count(pg_terminate_backend(pid)) FROM pg_locks
		WHERE locktype = 'advisory' AND granted`)
	if err != nil || text != "1" {
		t.Fatalf("%s sessions: %v", text, err)
	}
}

// testLostSession: a writer whose session has ended writes nothing more, the other plane does, and the log
// stays whole. Alone it becomes the writer again.
func testLostSession(t *testing.T, h home) {
	at := filled(t, h)
	first := start(t, at)
	there := another(t, at)
	second := start(t, there)
	taken(t, first, "one")
	endSession(t, h)
	await(t, second)
	refused(t, first, second, "two")
	doc := taken(t, second, "two")
	if a, err := first.Get("/promotion-state/candidate_revision/" + doc.Bundle.CandidateRevisionID); err != nil ||
		a.Status != 200 {
		t.Errorf("the first plane does not know it: %v %d %s", err, a.Status, a.Body)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	before := healthOf(t, second)
	endSession(t, h)
	size := second.Store.Size()
	_, err := second.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Seal(planetest.Good(planetest.Start, planetest.Title("three")), []string{"hash_claimed"}, nil, nil)
	})
	var other *store.NotWriterError
	if !errors.As(err, &other) || second.Store.Size() != size {
		t.Errorf("a write without the lock: %v, %d entries after %d", err, second.Store.Size(), size)
	}
	await(t, second)
	if again := healthOf(t, second); again.Writer.Epoch != before.Writer.Epoch+1 {
		t.Errorf("epoch %d after %d", again.Writer.Epoch, before.Writer.Epoch)
	}
	taken(t, second, "four")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	sound(t, at, there)
}

// testFenced: an epoch that has gone on stops a writer whose session lives, in the transaction itself.
func testFenced(t *testing.T, h home) {
	at := filled(t, h)
	p := start(t, at)
	size := p.Store.Size()
	edit(t, at, `UPDATE writer SET epoch = epoch + 1`)
	_, err := p.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Seal(planetest.Good(planetest.Start, planetest.Title("other")), []string{"hash_claimed"}, nil, nil)
	})
	var other *store.NotWriterError
	if !errors.As(err, &other) || p.Store.Size() != size {
		t.Errorf("%v, %d entries after %d", err, p.Store.Size(), size)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	sound(t, at)
}

// testMigrate: a log that was moved to a database and back is the same, byte by byte, and goes on in both.
func testMigrate(t *testing.T, h home) {
	file := filled(t, home{})
	tables := []string{"meta", "ledger", "tree_nodes", "checkpoints", "submissions", "attestations", "facts",
		"revisions", "promotion_state", "projection"}
	there := h.place(t).Database
	done, err := store.Migrate(t.Context(), file.Dir, "", there)
	if err != nil || done.Size == 0 {
		t.Fatal(err)
	}
	shared := store.Place{Dir: file.Dir, Database: there}
	for _, table := range tables {
		if a, b := rowsOf(t, file, table), rowsOf(t, shared, table); a != b || a == "" {
			t.Errorf("table %s differs", table)
		}
	}
	var config *store.ConfigError
	if _, err := store.Migrate(t.Context(), file.Dir, "", there); !errors.As(err, &config) {
		t.Errorf("into a database that has a log: %v", err)
	}
	if _, err := store.Migrate(t.Context(), file.Dir, there, ""); !errors.As(err, &config) {
		t.Errorf("over a file: %v", err)
	}
	p := start(t, shared)
	taken(t, p, "one")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	// The file is an older copy now, which the folder's checkpoints.log shows.
	if got := damage(t, file); got != store.Rollback {
		t.Errorf("a start on the file: %q", got)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(file.Dir, store.DatabaseFile) + suffix); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	back, err := store.Migrate(t.Context(), file.Dir, there, "")
	if err != nil || back.Size <= done.Size {
		t.Fatalf("%v %+v", err, back)
	}
	for _, table := range tables {
		if a, b := rowsOf(t, file, table), rowsOf(t, shared, table); a != b {
			t.Errorf("table %s differs", table)
		}
	}
	sound(t, file)
	unprotect(t, file)
	edit(t, file, `UPDATE checkpoints SET created_at = '2020-01-01T00:00:00Z'`)
	var damaged *store.DamageError
	if _, err := store.Migrate(t.Context(), file.Dir, "", h.place(t).Database); !errors.As(err, &damaged) {
		t.Errorf("a damaged log was moved: %v", err)
	}
}

// testEndedInWrite: a session that ends in the middle of a write leaves nothing of it.
func testEndedInWrite(t *testing.T, h home) {
	at := filled(t, h)
	armed := false
	p, err := planetest.Open(planetest.Options{Dir: at.Dir, Database: at.Database, Trust: planetest.Trust(1),
		At: func(point string) {
			if armed && point == "write.facts" {
				armed = false
				endSession(t, h)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	size := p.Store.Size()
	armed = true
	_, err = p.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Seal(planetest.Good(planetest.Start, planetest.Title("one")), []string{"hash_claimed"}, nil, nil)
	})
	var away *store.UnavailableError
	if !errors.As(err, &away) || p.Store.Size() != size || armed {
		t.Errorf("%v, %d entries after %d", err, p.Store.Size(), size)
	}
	await(t, p)
	taken(t, p, "one")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	sound(t, at)
}

// testRotate: a change of keys is one for all planes; one with the old ones does not start.
func testRotate(t *testing.T, h home) {
	at := filled(t, h)
	there := another(t, at)
	p := start(t, there)
	options := store.Options{Dir: at.Dir, Database: at.Database, Now: p.Now}
	nobody := func(*store.Store) error { return nil }
	var other *store.NotWriterError
	if _, err := store.Rotate(t.Context(), options, nil, nobody); !errors.As(err, &other) {
		t.Errorf("beside a running plane: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if epoch, err := store.Rotate(t.Context(), options, nil, nobody); err != nil || epoch.From == 0 {
		t.Fatalf("%v %v", epoch, err)
	}
	if got := damage(t, there); got != "config" {
		t.Errorf("a start with the old keys: %q", got)
	}
	sound(t, at, another(t, at))
}

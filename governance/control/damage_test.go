package control_test

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/file"
)

// closed runs a plane that takes bundles and ends.
func closed(t *testing.T, dir string, titles ...string) {
	t.Helper()
	p := must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1)}))
	for _, title := range titles {
		submit(t, p, http.StatusCreated, planetest.Good(planetest.Start, planetest.Title(title)),
			planetest.Signed())
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in := must[*os.File](t)(os.Open(from))
	defer in.Close()
	out := must[*os.File](t)(os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600))
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// readOnly checks that a damaged plane takes nothing and vouches for nothing.
func readOnly(t *testing.T, dir, code string, reads bool) {
	t.Helper()
	p := plane(t, planetest.Options{Dir: dir, Trust: planetest.Trust(1)})
	size := p.Store.Size()
	if a := must[planetest.Answer](t)(
		p.Submit(planetest.Good(planetest.Start, planetest.Title("new")))); a.Status != 500 ||
		a.Code() != code {
		t.Errorf("post: %d %s", a.Status, a.Body)
	}
	if a := must[planetest.Answer](t)(p.Get("/deployable-registry/sma-cross")); a.Status != 500 ||
		a.Code() != code {
		t.Errorf("registry: %d %s", a.Status, a.Body)
	}
	a := must[planetest.Answer](t)(p.Get("/promotion-state/family/sma-cross"))
	if reads && a.Status != 200 || !reads && a.Code() != code {
		t.Errorf("state: %d %s", a.Status, a.Body)
	}
	if a := get(t, p, "/health", nil); !strings.Contains(string(a.Body), "unhealthy") {
		t.Errorf("%s", a.Body)
	}
	if p.Store.Size() != size {
		t.Error("the log grew")
	}
}

func TestRestoredBackup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	db := filepath.Join(dir, store.DatabaseFile)
	closed(t, dir, "one")
	copyFile(t, db, db+".backup")
	closed(t, dir, "two")
	copyFile(t, db+".backup", db)
	readOnly(t, dir, store.Rollback, true)
}

// TestForkedHistory: a database that has another history of the same length, or of more,
// is no less wrong than an old one.
func TestForkedHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	db, witness := filepath.Join(dir, store.DatabaseFile), filepath.Join(dir, "checkpoints.log")
	closed(t, dir, "one")
	copyFile(t, db, db+".backup")
	copyFile(t, witness, witness+".backup")
	closed(t, dir, "two")
	copyFile(t, witness, witness+".real")
	copyFile(t, db+".backup", db)
	copyFile(t, witness+".backup", witness)
	closed(t, dir, "other", "history")
	copyFile(t, witness+".real", witness)
	readOnly(t, dir, store.Corrupt, false)
}

func TestEditedDatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	closed(t, dir, "one")
	db := must[*sql.DB](t)(sql.Open("sqlite", filepath.Join(dir, store.DatabaseFile)))
	for _, q := range []string{`DROP TRIGGER ledger_keeps`,
		`UPDATE ledger SET recorded_at = '2026-01-01T00:00:00Z' WHERE seq = 3`} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	readOnly(t, dir, store.Corrupt, false)
}

func TestSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	plane(t, planetest.Options{Dir: dir})
	if _, err := planetest.Open(planetest.Options{Dir: dir}); !errors.Is(err, file.ErrHeld) {
		t.Errorf("a second plane: %v", err)
	}
	if _, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); !errors.Is(err, file.ErrHeld) {
		t.Errorf("rebuild beside a plane: %v", err)
	}
}

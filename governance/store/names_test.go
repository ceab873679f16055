package store_test

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
)

// unzipped is the folder in a file of testdata.
func unzipped(t *testing.T, name string) string {
	t.Helper()
	z, err := zip.OpenReader(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := filepath.Join(t.TempDir(), "g")
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(dir, store.KeyDir, "*.key"))
	for _, key := range keys {
		err = errors.Join(err, os.Chmod(key, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestEarlierNames: a log whose statements were made before types had permanent names comes to the
// same facts, has its trust.json, and goes on with entries under the new names.
func TestEarlierNames(t *testing.T) {
	dir := unzipped(t, "before_names.zip")
	if d, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(d) > 0 {
		t.Fatalf("the projections differ: %v %v", d, err)
	}
	if text, err := store.LastTrust(t.Context(), store.Place{Dir: dir}); err != nil || len(text) == 0 {
		t.Fatalf("no trust.json: %s %v", text, err)
	}
	p, err := planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	before := p.Store.Size()
	doc := planetest.Good(planetest.Start)
	if a, err := p.Submit(doc, planetest.Statement{By: "anna", Type: bundle.TypeRejection,
		Predicate: bundle.Ending{Common: planetest.Common(doc, planetest.Start)}}); err != nil ||
		a.Status != 201 {
		t.Fatalf("%v %s", err, a.Body)
	}
	if p.Store.Damage() != nil || p.Store.Size() <= before {
		t.Errorf("%d entries after %d, damage %v", p.Store.Size(), before, p.Store.Damage())
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := damage(t, store.Place{Dir: dir}); got != "" {
		t.Errorf("after the next start: %s", got)
	}
}

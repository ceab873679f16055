package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/governance/store"
)

// testDecisionHeldBack: a log without a decision that its facts lead to is no log of a
// plane, although every signature in it is right: a rejection could have no effect.
func testDecisionHeldBack(t *testing.T, h home) {
	at := filled(t, h)
	s, err := open(at, store.Options{Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	doc := planetest.Good(planetest.Start, planetest.Params(`{"fast":77}`))
	err = s.UpdateUndecided(t.Context(), func(tx *store.Tx) error {
		return tx.Seal(doc, []string{bundle.RungClaimed}, nil, nil)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := damage(t, at); got != store.Corrupt {
		t.Errorf("a start finds %q", got)
	}
	_, err = store.Rebuild(t.Context(), at, true)
	if err == nil || !strings.Contains(err.Error(), doc.Bundle.CandidateRevisionID) {
		t.Errorf("rebuild --check: %v", err)
	}
}

// testDatabaseGone: where the file beside it still knows a log, no new one begins under its
// name and keys.
func testDatabaseGone(t *testing.T, h home) {
	at := filled(t, h)
	if at.Database != "" {
		name := schemaOf(t, at)
		edit(t, at, "DROP SCHEMA "+name+" CASCADE", "CREATE SCHEMA "+name)
	}
	for _, name := range []string{store.DatabaseFile, store.DatabaseFile + "-wal",
		store.DatabaseFile + "-shm"} {
		if err := os.Remove(filepath.Join(at.Dir, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	s, err := open(at, store.Options{Trust: planetest.Trust(1), Origin: planetest.Origin})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d := s.Damage(); d == nil || d.Code != store.Rollback || s.Size() != 0 {
		t.Errorf("%v, %d entries", d, s.Size())
	}
	var refused *store.DamageError
	if _, err := s.Update(t.Context(), func(*store.Tx) error { return nil }); !errors.As(err, &refused) {
		t.Errorf("a write: %v", err)
	}
	if err := s.Reconfigure(t.Context(), policy.First(), planetest.Trust(2)); !errors.As(err, &refused) {
		t.Errorf("a SIGHUP: %v", err)
	}
}

// testWitnessCatchesUp: a line that a crash has kept from the file is written at the next
// start, so that an older copy of the database is found out again.
func testWitnessCatchesUp(t *testing.T, h home) {
	at := filled(t, h)
	path := filepath.Join(at.Dir, "checkpoints.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := damage(t, at); got != "" {
		t.Fatal(got)
	}
	again, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lastRoot := func(text []byte) string {
		fields := strings.Fields(string(text))
		return strings.Join(fields[len(fields)-3:len(fields)-1], " ")
	}
	if lastRoot(again) != lastRoot(whole) {
		t.Errorf("%s, want %s", lastRoot(again), lastRoot(whole))
	}
}

// testTrustIsNotForgotten: without its file a log does not go back to open mode, neither at
// a start nor while it is running, and the log can give the file back.
func testTrustIsNotForgotten(t *testing.T, h home) {
	fresh := h.place(t)
	s, err := open(fresh, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reconfigure(t.Context(), policy.First(), nil); err != nil {
		t.Errorf("open mode again: %v", err)
	}
	if err := s.Reconfigure(t.Context(), policy.First(), planetest.Trust(1)); err != nil {
		t.Fatal(err)
	}
	var config *store.ConfigError
	size := s.Size()
	if err := s.Reconfigure(t.Context(), policy.First(), nil); !errors.As(err, &config) || s.Size() != size {
		t.Errorf("back to open mode: %v", err)
	}
	if err := s.Look(func(w *promotion.World, _ ledger.View) error {
		if w.Trust() == nil {
			t.Error("nobody is trusted any more")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(fresh, store.Options{}); !errors.As(err, &config) ||
		!strings.Contains(err.Error(), "--restore") {
		t.Errorf("a start without the file: %v", err)
	}
	text, err := store.LastTrust(t.Context(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	back, refused := bundle.ParseTrust(text)
	if refused != nil || back.Digest() != planetest.Trust(1).Digest() {
		t.Fatalf("the log gives another trust.json: %v", refused)
	}
	if s, err = open(fresh, store.Options{Trust: back}); err != nil {
		t.Fatal(err)
	}
	if s.Size() != size {
		t.Errorf("what is in force already was logged again")
	}
	_ = s.Close()
	if text, err := store.LastTrust(t.Context(), filled(t, h)); err != nil || len(text) == 0 {
		t.Errorf("%v", err)
	}
	if _, err := store.LastTrust(context.Background(), h.place(t)); !errors.As(err, &config) {
		t.Errorf("no log: %v", err)
	}
}

// testAudit: a log on disk is compared without being changed.
func testAudit(t *testing.T, h home) {
	at := filled(t, h)
	compare := func() ([]string, error) {
		a, err := store.OpenAudit(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		return a.Compare(t.Context())
	}
	if d, err := compare(); err != nil || len(d) > 0 {
		t.Errorf("%v %v", d, err)
	}
	edit(t, at, `UPDATE promotion_state SET stage = 'live'`)
	for range 2 {
		if d, err := compare(); err != nil || len(d) != 1 {
			t.Errorf("%v %v", d, err)
		}
	}
	unprotect(t, at)
	text := `UPDATE submissions SET body = CAST(replace(CAST(body AS TEXT), '"fast":10', '"fast":11') AS BLOB)`
	if at.Database != "" {
		text = `UPDATE submissions SET body =
			convert_to(replace(convert_from(body, 'UTF8'), '"fast":10', '"fast":11'), 'UTF8')`
	}
	edit(t, at, text)
	var damaged *store.DamageError
	if d, err := compare(); !errors.As(err, &damaged) {
		t.Errorf("%v %v", d, err)
	}
}

package registry

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// shared is where the tests of a registry have their tables: on a server, or nil in files.
var shared struct {
	server  *hosttest.Postgres
	schemas map[string]string // by folder of runs
}

// databaseOf is the address of the tables that belong to a folder of runs, "" for the file in it.
func databaseOf(t *testing.T, root string) string {
	t.Helper()
	if shared.server == nil {
		return ""
	}
	if shared.schemas[root] == "" {
		address, err := shared.server.NewSchema()
		if err != nil {
			t.Fatal(err)
		}
		shared.schemas[root] = address
	}
	return shared.schemas[root]
}

// TestPostgres: what holds for a file holds for a server that a team shares.
func TestPostgres(t *testing.T) {
	ring.Proof(t, "it starts a server, which forks for each of some hundred connections")
	shared.server, shared.schemas = hosttest.PostgresOrSkip(t), map[string]string{}
	defer func() { shared.server = nil }()
	for name, test := range map[string]func(*testing.T){
		"life of rows": TestLifeOfRows, "first run of a request": TestFirstRunOfARequestStays,
		"list": TestListMetadata, "interrupted": TestInterruptService, "crowd": TestCrowd,
		"settle": TestSettle, "renewal": TestSettleAfterRenewal, "fills": TestSettleFillsThePlace,
		"replace": TestSettleAfterReplace, "old attempts": TestSettleForgetsOldAttempts,
		"looks": TestLooks, "own looks": TestOwnLooksAreNotPostPeek, "recalled": TestWindowsAreRecalled,
		"daily": TestDailyReturnsAreKept, "notes": TestNotes, "marks": TestMarksAndReveals, "peeks": TestPeeks,
		"peeks add up": TestPeeksAddUp, "post-peek": TestPostPeek, "plans": TestPlans, "trials": TestTrials,
		"newest plan": TestNewestPlan, "planned": TestPlanned, "legacy": TestLegacyShapes,
		"legacy twice": TestLegacyTwice, "legacy is no answer": TestLegacyIsNoAnswer,
		"state directories": testStateDirectories, "away": testServerAway,
	} {
		t.Run(name, test)
	}
}

// testStateDirectories: two services share a registry; each sees the runs of both and ends only its own.
func testStateDirectories(t *testing.T) {
	ctx, one, two := t.Context(), filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "runs")
	shared.schemas[two] = databaseOf(t, one)
	a, b := open(t, one), open(t, two)
	err := errors.Join(begin(ctx, a, newRun("svc_a", 1)), begin(ctx, b, newRun("svc_b", 2)))
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[*Registry]string{open(t, two): "svc_b", open(t, one): "svc_a"} {
		marked, err := r.InterruptService(ctx)
		if err != nil || len(marked) != 1 || marked[0].RunID != want {
			t.Errorf("%+v, want %s, %v", marked, want, err)
		}
	}
	list, err := a.ListMetadata(ctx, Filter{})
	if err != nil || len(list) != 2 || list[0].Status != "failed" || list[1].Status != "failed" {
		t.Errorf("%+v, %v", list, err)
	}
}

// testServerAway: who cannot reach the server is told so, without a password.
func testServerAway(t *testing.T) {
	store := artifact.NewStore(filepath.Join(t.TempDir(), "runs"))
	for address, want := range map[string]string{
		"postgres://u:secret@127.0.0.1:1/d?sslmode=disable": "127.0.0.1:1/d",
		"postgres://u:secret@/%zz":                          "postgres://user@host:5432/name",
	} {
		_, err := OpenAt(t.Context(), address, store, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

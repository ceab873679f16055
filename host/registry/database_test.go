package registry

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
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
		"looks": TestLooks, "own looks": TestOwnLooksAreNotPostPeek,
		"recalled": TestWindowsAreRecalled, "daily": TestDailyReturnsAreKept,
		"notes": TestNotes, "marks": TestMarksAndReveals, "peeks": TestPeeks,
		"peeks add up": TestPeeksAddUp, "post-peek": TestPostPeek, "plans": TestPlans, "trials": TestTrials,
		"newest plan": TestNewestPlan, "planned": TestPlanned, "legacy": TestLegacyShapes,
		"legacy twice": TestLegacyTwice, "legacy is no answer": TestLegacyIsNoAnswer,
		"state directories": testStateDirectories, "away": testServerAway,
		"migrate": testMigrate,
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

// testMigrate: a registry goes from a file to a server and back with every row as it was, and numbers go on.
func testMigrate(t *testing.T) {
	ctx, root := t.Context(), filepath.Join(t.TempDir(), "runs")
	server := databaseOf(t, filepath.Join(root, "copy"))
	r, err := Open(ctx, artifact.NewStore(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	day := market.Time(24 * time.Hour / time.Millisecond)
	look := Windows{ID: "run_a", FamilyID: "f", Symbols: []string{"BTC/USDT"}, Shown: days(1, 9*int64(day)),
		Data: []artifact.Dataset{{Symbol: "BTC/USDT", SHA256: "d1"}}, Command: LookRun, Author: "eve"}
	candles := Candles{SHA256: "d1", Market: "m", Exchange: "sample", Symbol: "BTC/USDT", Timeframe: "1d",
		Step: int64(day), Rows: 9, From: 0, To: 9 * day}
	_, planned := r.RegisterPlan(ctx, Plan{Hash: "h", ID: "p", Slug: "s", FamilyID: "f", Author: "eve",
		Payload: []byte(`{"a":"é"}`)})
	err = errors.Join(planned, begin(ctx, r, newRun("svc_a", 1)), begin(ctx, r, newRun("svc_b", 2)),
		finish(ctx, r, newRun("svc_b", 2)), r.Look(ctx, look), r.Markets().Add(ctx, candles, 5*day, "eve"),
		r.Peek(ctx, Peek{RunID: "svc_b", FamilyID: "f", Command: "reveal", Author: "eve"}),
		r.KeepDaily(ctx, []Daily{{"svc_b", "s", nil}, {"svc_a", "s", []byte{0, 255}}}))
	_, noted := r.Overview().SetNote(ctx, Note{RunID: "svc_b", Tags: []string{"a"}, Text: "it's"})
	if err := errors.Join(err, noted, r.Close()); err != nil {
		t.Fatal(err)
	}
	back := filepath.Join(t.TempDir(), "runs")
	there, err := Migrate(ctx, root, server)
	if err != nil || there.Runs != 2 || there.Rows < 10 {
		t.Fatalf("%+v, %v", there, err)
	}
	if again, err := Migrate(ctx, server, back); err != nil || *again != *there {
		t.Fatalf("%+v, want %+v, %v", again, there, err)
	}
	var full *NotEmptyError
	if _, err := Migrate(ctx, root, server); !errors.As(err, &full) {
		t.Errorf("into what is full: %v", err)
	}
	if _, err := Migrate(ctx, filepath.Join(root, "none"), server); err == nil {
		t.Error("what is not there was copied")
	}
	shared.schemas[back] = server
	r = open(t, back)
	if err := r.Peek(ctx, Peek{RunID: "svc_b", FamilyID: "f", Command: "again", Author: "eve"}); err != nil {
		t.Fatal(err)
	}
	peeks, err := r.Peeks(ctx, "f")
	looks, lookErr := r.Markets().Looks(ctx)
	if err != nil || lookErr != nil || peeks[len(peeks)-1].Command != "again" || len(looks) == 0 {
		t.Errorf("%+v, %+v, %v, %v", peeks, looks, err, lookErr)
	}
}

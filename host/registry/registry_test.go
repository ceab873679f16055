package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	crowdRoot     = "ASSAY_TEST_CROWD_ROOT"
	crowdDatabase = "ASSAY_TEST_CROWD_DATABASE"
)

// TestMain lets the test binary be one of several processes on one registry.
func TestMain(m *testing.M) {
	root := os.Getenv(crowdRoot)
	if root == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := crowdMember(root, os.Getenv("ASSAY_TEST_CROWD_NAME")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// crowdMember opens the registry, writes runs and reads them, as a process of its own.
func crowdMember(root, name string) error {
	ctx := context.Background()
	for i := range 8 {
		r, err := OpenAt(ctx, os.Getenv(crowdDatabase), artifact.NewStore(root), nil)
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		run := newRun("svc_"+name+strconv.Itoa(i), i)
		if err := errors.Join(begin(ctx, r, run), finish(ctx, r, run), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// newRun returns a run of the service; equal seeds make equal requests.
func newRun(id string, seed int) *artifact.Run {
	m, err := artifact.Manifest{
		Request: artifact.Request{
			StrategyParams: json.RawMessage(`{}`), Symbols: []string{"BTC/USDT"}, Timeframe: "1h",
			Exchange:    "sample",
			InitialCash: json.RawMessage("10000"), Seed: strconv.Itoa(seed),
		},
		Splits:   artifact.FullSplit(slices.Values([]market.Time{1, 2})),
		Strategy: artifact.Strategy{Name: "sma_cross"},
	}.Complete()
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 11, 20, 12, 0, seed, 0, time.UTC)
	return &artifact.Run{
		ID: id, Manifest: m, Status: artifact.StatusCompleted, StartedAt: at,
		CompletedAt: at.Add(time.Second), Origin: artifact.OriginService,
		Service: &artifact.ServiceNote{Mode: "backtest"},
		Splits:  []artifact.Split{{ID: artifact.FullSplitID, Results: &artifact.Results{}}},
	}
}

func begin(ctx context.Context, r *Registry, run *artifact.Run) error {
	m, err := artifact.Begun(run)
	if err != nil {
		return err
	}
	return r.Begin(ctx, m)
}

func finish(ctx context.Context, r *Registry, run *artifact.Run) error {
	w, err := r.store.Write(run)
	if err != nil {
		return err
	}
	return r.Complete(ctx, w.Metadata, w.Payload)
}

func open(t *testing.T, root string) *Registry {
	t.Helper()
	r, err := OpenAt(t.Context(), databaseOf(t, root), artifact.NewStore(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestLifeOfRows(t *testing.T) {
	ctx, root := t.Context(), filepath.Join(t.TempDir(), "runs")
	r := open(t, root)
	if v, err := r.SchemaVersion(ctx); v != 4 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	run := newRun("svc_a", 1)
	if err := begin(ctx, r, run); err != nil {
		t.Fatal(err)
	}
	row, err := r.Get(ctx, "svc_a")
	if err != nil || row.Status != "running" || row.CompletedAt != "" || row.Kind != "service" ||
		row.Slug != "sma_cross" || row.FamilyID != "sma-cross" {
		t.Errorf("%+v, %v", row, err)
	}
	var taken *ExistsError
	if err := begin(ctx, r, run); !errors.As(err, &taken) || taken.RunID != "svc_a" {
		t.Errorf("got %v", err)
	}
	if err := finish(ctx, r, run); err != nil {
		t.Fatal(err)
	}
	row, err = r.Get(ctx, "svc_a")
	if err != nil || row.Status != "completed" || row.CompletedAt != "2026-11-20T12:00:02.000Z" ||
		row.TrialIndex.Valid {
		t.Errorf("%+v, %v", row, err)
	}
	onDisk, err := os.ReadFile(filepath.Join(root, "svc_a", "metadata.json"))
	if err != nil || string(onDisk) != string(row.Payload) {
		t.Errorf("the payload is not metadata.json: %v", err)
	}
	q, err := r.GetRequest(ctx, row.RequestHash)
	if err != nil || q.RunID != "svc_a" || q.Status != "completed" || q.Attempt != 1 || q.Owner != "" ||
		q.CreatedAt != "2026-11-20T12:00:01.000Z" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := r.Get(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := r.GetRequest(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestFirstRunOfARequestStays: a second run of the service with the same request has
// its own row but does not answer for the request, whatever becomes of it.
func TestFirstRunOfARequestStays(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	first, second := newRun("svc_a", 1), newRun("svc_b", 1)
	for _, run := range []*artifact.Run{first, second} {
		if err := begin(ctx, r, run); err != nil {
			t.Fatal(err)
		}
	}
	if err := finish(ctx, r, second); err != nil {
		t.Fatal(err)
	}
	row, err := r.Get(ctx, "svc_b")
	if err != nil || row.Status != "completed" {
		t.Fatalf("%+v, %v", row, err)
	}
	if q, err := r.GetRequest(ctx, row.RequestHash); err != nil || q.RunID != "svc_a" ||
		q.Status != "running" {
		t.Errorf("%+v, %v", q, err)
	}
	m, err := artifact.Begun(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Fail(ctx, m,
		&artifact.Failure{Code: "ARTIFACT_WRITE_FAILED", Message: "disk full"}); err != nil {
		t.Fatal(err)
	}
	if q, err := r.GetRequest(ctx, row.RequestHash); err != nil || q.RunID != "svc_a" ||
		q.Status != "failed" {
		t.Errorf("%+v, %v", q, err)
	}
	failed, err := r.Get(ctx, "svc_a")
	if err != nil || failed.Status != "failed" || failed.CompletedAt == "" {
		t.Fatalf("%+v, %v", failed, err)
	}
	if m, err := artifact.DecodeMetadata(failed.Payload); err != nil ||
		m.Failure.Code != "ARTIFACT_WRITE_FAILED" || m.Failure.Message != "disk full" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestListMetadata(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	for _, c := range []struct {
		id   string
		seed int
		done bool
	}{{"svc_c", 2, true}, {"svc_b", 1, true}, {"svc_a", 2, true}, {"svc_0", 0, false}} {
		run := newRun(c.id, c.seed)
		if err := begin(ctx, r, run); err != nil {
			t.Fatal(err)
		}
		if c.done {
			if err := finish(ctx, r, run); err != nil {
				t.Fatal(err)
			}
		}
	}
	for want, f := range map[string]Filter{
		"svc_b svc_a svc_c svc_0": {},
		"svc_b svc_a svc_c":       {Status: "completed", Slug: "sma_cross"},
		"svc_0":                   {Status: "running", Kind: "service", FamilyID: "sma-cross"},
		"":                        {Kind: "trial"},
	} {
		rows, err := r.ListMetadata(ctx, f)
		var ids []string
		for _, row := range rows {
			ids = append(ids, row.RunID)
		}
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("%+v: %s, %v", f, got, err)
		}
	}
}

func TestInterruptService(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	for i, id := range []string{"svc_a", "svc_b"} {
		if err := begin(ctx, r, newRun(id, i)); err != nil {
			t.Fatal(err)
		}
	}
	done := newRun("svc_c", 3)
	if err := errors.Join(begin(ctx, r, done), finish(ctx, r, done)); err != nil {
		t.Fatal(err)
	}
	marked, err := r.InterruptService(ctx)
	if err != nil || len(marked) != 2 || marked[0].RunID != "svc_a" || marked[0].Service.Mode != "backtest" ||
		marked[1].Failure.Code != "RUN_INTERRUPTED" {
		t.Fatalf("%+v, %v", marked, err)
	}
	row, err := r.Get(ctx, "svc_b")
	if err != nil || row.Status != "failed" || row.CompletedAt == "" {
		t.Errorf("%+v, %v", row, err)
	}
	if again, err := r.InterruptService(ctx); len(again) != 0 || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	if row, err := r.Get(ctx, "svc_c"); err != nil || row.Status != "completed" {
		t.Errorf("%+v, %v", row, err)
	}
}

// TestCrowd: processes and goroutines with handles of their own, all at once, and
// none is ever told that the file is busy.
func TestCrowd(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	const processes, handles = 3, 3
	t.Setenv(crowdDatabase, databaseOf(t, root))
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), crowdRoot+"="+root, fmt.Sprintf("ASSAY_TEST_CROWD_NAME=p%d-", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for i := range handles {
		wg.Go(func() {
			if err := crowdMember(root, fmt.Sprintf("h%d-", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := open(t, root)
	rows, err := r.ListMetadata(t.Context(), Filter{Status: "completed"})
	if err != nil || len(rows) != 8*(processes+handles) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	left, err := filepath.Glob(filepath.Join(root, ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

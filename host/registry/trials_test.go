package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// newTrial returns a run of the lab; runs with an equal parameter are one trial unless
// change makes them differ.
func newTrial(id, param string, change func(*artifact.Manifest)) *artifact.Run {
	run := newRun(id, 1)
	m := run.Manifest
	m.Request.Kind = artifact.KindRun
	m.Request.StrategyParams = json.RawMessage(`{"fast":` + param + `}`)
	m.Data = []artifact.Dataset{{Symbol: "BTC/USDT", Timeframe: "1h", SHA256: "aa", Rows: 10, Start: 100,
		End: 200}}
	if change != nil {
		change(&m)
	}
	var err error
	if run.Manifest, err = m.Complete(); err != nil {
		panic(err)
	}
	run.Service, run.Origin = nil, artifact.OriginLab
	return run
}

func store(t *testing.T, r *Registry, run *artifact.Run) {
	t.Helper()
	if err := errors.Join(begin(t.Context(), r, run), finish(t.Context(), r, run)); err != nil {
		t.Fatal(err)
	}
}

// What could have served a choice counts, whatever the family and the command: also a
// backtest of the service, and what failed or was stopped with metrics.
func TestTrials(t *testing.T) {
	r := open(t, t.TempDir())
	ctx := t.Context()
	kind := func(k string) func(*artifact.Manifest) {
		return func(m *artifact.Manifest) { m.Request.Kind = k }
	}
	store(t, r, newTrial("run_a", "1", nil))
	store(t, r, newTrial("run_a2", "1", func(m *artifact.Manifest) { m.Request.Seed = "7" }))
	store(t, r, newTrial("run_b", "2", kind(artifact.KindTrial)))
	store(t, r, newTrial("run_f", "3", kind(artifact.KindFalsification)))
	store(t, r, newTrial("run_o", "5", func(m *artifact.Manifest) { m.Request.FamilyID = "other" }))
	for id, mode := range map[string]string{"svc_backtest": "backtest", "svc_paper": "paper",
		"svc_live": "live"} {
		run := newTrial(id, "4", kind(artifact.KindService))
		run.Service = &artifact.ServiceNote{Mode: mode}
		store(t, r, run)
	}
	if err := begin(ctx, r, newTrial("run_running", "6", nil)); err != nil {
		t.Fatal(err)
	}
	blank, measured := newTrial("run_blank", "7", nil), newTrial("run_measured", "8", nil)
	for _, run := range []*artifact.Run{blank, measured} {
		run.Status, run.Failure = artifact.StatusFailed, &artifact.Failure{Code: "PLUGIN_CRASHED"}
	}
	report, err := metric.Compute(metric.Input{Timeframe: market.MustTimeframe("1h"),
		Calendar: metric.Calendar24x7})
	if err != nil {
		t.Fatal(err)
	}
	measured.Splits[0].Results = &artifact.Results{Metrics: &report}
	store(t, r, blank)
	store(t, r, measured)

	trials, err := r.Trials(ctx)
	var ids []string
	keys := map[string]string{}
	for _, trial := range trials {
		ids = append(ids, trial.RunID)
		keys[trial.RunID] = trial.Key
		if trial.CompletedAt == "" || trial.Meta.RunID != trial.RunID || len(trial.Meta.Data) != 1 {
			t.Errorf("%+v", trial)
		}
	}
	slices.Sort(ids)
	if want := []string{"run_a", "run_a2", "run_b", "run_measured", "run_o", "svc_backtest"}; err != nil ||
		!slices.Equal(ids, want) {
		t.Errorf("%v, %v", ids, err)
	}
	if keys["run_a"] != keys["run_a2"] || keys["run_a"] == keys["run_b"] {
		t.Error(keys)
	}
}

func TestPlaceInWords(t *testing.T) {
	for want, p := range map[string]Place{
		"trial 1 of 1 on these days":                            {N: 1, Family: 1, Position: 1},
		"trial 18 of 23 on these days, 5 of them of its family": {N: 23, Family: 5, Position: 18},
		"trial 2 of 2 on these days; a test was seen through it": {N: 2, Family: 2, Position: 2,
			LookedAtTest: true},
	} {
		if got := p.String(); got != want+" ("+NotCounted+")" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNewestPlan(t *testing.T) {
	ctx := t.Context()
	r := open(t, t.TempDir())
	if id, err := r.NewestPlan(ctx, "sma_cross"); id != "" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	for i, slug := range []string{"sma_cross", "sma_cross", "other"} {
		at := time.Date(2026, 11, 20, 12, 0, i, 0, time.UTC).Format("2006-01-02T15:04:05.000Z")
		if err := insertPlan(ctx, r, slug, "plan_"+string(rune('a'+i)), at); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := r.NewestPlan(ctx, "sma_cross"); id != "plan_b" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
}

func insertPlan(ctx context.Context, r *Registry, slug, id, at string) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			`INSERT INTO plans (plan_hash, plan_id, slug, family_id, author, registered_at, payload)
			VALUES (?, ?, ?, 'f', 'eve', ?, ?)`, id, id, slug, at, []byte(`{}`))
		return err
	})
}

// TestPlanned: trials of registered plans are found by their key; runs, other keys, other
// unregistered families and plans are not.
func TestPlanned(t *testing.T) {
	r := open(t, t.TempDir())
	key := ""
	add := func(id, param, kind, plan string, index int64) {
		t.Helper()
		run := newTrial(id, param, func(m *artifact.Manifest) { m.Request.Kind = kind })
		run.Evaluation = &artifact.Evaluation{PlanID: &plan, TrialIndex: &index}
		store(t, r, run)
		if id == "run_first" {
			var err error
			if key, err = run.Manifest.Request.TrialKey(); err != nil {
				t.Fatal(err)
			}
		}
	}
	family := newTrial("run_x", "1", nil).Manifest.Request.FamilyID
	if _, err := r.RegisterPlan(t.Context(),
		Plan{Hash: "aa", ID: "plan_a", Slug: "sma-cross", FamilyID: family, Author: "eve",
			Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	add("run_first", "1", artifact.KindTrial, "plan_a", 3)
	add("run_other", "2", artifact.KindTrial, "plan_a", 4)
	add("run_run", "1", artifact.KindRun, "plan_a", 5)
	add("run_wild", "1", artifact.KindTrial, "plan_unknown", 6)
	list, err := r.Planned(t.Context(), family, key)
	if err != nil || len(list) != 1 || list[0].PlanID != "plan_a" || list[0].Index != 3 ||
		list[0].Slug == "" {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err = r.Planned(t.Context(), "elsewhere", key); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

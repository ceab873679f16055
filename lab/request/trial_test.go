package request_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
)

// vary is the request of a bench with other parameters, as another kind.
func (b bench) vary(t *testing.T, base *request.Prepared, kind, params string) *request.Prepared {
	t.Helper()
	p, err := b.WithOverrides(base, func(q *request.Request) { q.Kind, q.Params = kind, json.RawMessage(params) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOfRun: only what is counted can be asked by a file.
func TestOfRun(t *testing.T) {
	for _, c := range []struct{ kind, falsification, pointer string }{
		{artifact.KindRun, "", ""},
		{artifact.KindRun, "null", ""},
		{artifact.KindRun, `{"base_request_hash":"x"}`, "/falsification"},
		{artifact.KindTrial, "", "/kind"},
		{artifact.KindService, "", "/kind"},
		{artifact.KindFalsification, "{}", "/kind"},
		{"replay", "", "/kind"},
		{"", "", "/kind"},
	} {
		err := request.OfRun(&artifact.Request{Kind: c.kind, Falsification: json.RawMessage(c.falsification)})
		var refused *request.FormError
		if errors.As(err, &refused) != (c.pointer != "") || refused != nil && refused.Pointer != c.pointer {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestStanding: a run with the parameters of a registered trial belongs to the plan, and is
// a deviation until the plan's rule has selected that trial. What is executed and not
// stored shows numbers only where they are counted.
func TestStanding(t *testing.T) {
	b := newBench(t)
	base := b.prepare(t)
	const first, second, third = `{"fast":5,"slow":40}`, `{"fast":6,"slow":40}`, `{"fast":7,"slow":40}`
	timed := b.run(t, b.vary(t, base, artifact.KindRun, first), request.Options{NoReuse: true})
	if !timed.Withheld || timed.Metadata.Summary != (artifact.Summary{}) || timed.Report.WalkForward != nil ||
		timed.Report.ResultHash == "" {
		t.Errorf("%+v", timed)
	}
	for _, s := range timed.Report.Splits {
		if len(s.Metrics) != 0 {
			t.Errorf("%s: %+v", s.ID, s.Metrics)
		}
	}
	plan := registry.Plan{Hash: "aa", ID: "plan_x", Slug: "crosser", FamilyID: "crosser", Author: "eve",
		Payload: []byte("{}")}
	if _, err := b.Registry.RegisterPlan(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	for i, params := range []string{first, second} {
		b.run(t, b.vary(t, base, artifact.KindTrial, params),
			request.Options{Compact: true, Plan: request.Plan{ID: "plan_x", Index: int64(i)}})
	}
	if timed = b.run(t, b.vary(t, base, artifact.KindRun, first),
		request.Options{NoReuse: true}); timed.Withheld || timed.Report.WalkForward == nil {
		t.Errorf("%+v", timed)
	}
	dir := filepath.Join(b.StateDir, "families", "crosser", "plan_x")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	early := b.run(t, b.vary(t, base, artifact.KindRun, first), request.Options{}).Metadata
	if early.PlanID == nil || *early.PlanID != "plan_x" || *early.TrialIndex != 0 || !early.Deviation ||
		!early.ValidationContaminated {
		t.Errorf("before the selection: %+v", early)
	}
	if err := os.WriteFile(filepath.Join(dir, "family_result.json"), []byte(`{"selected":{"trial_index":1}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	chosen := b.run(t, b.vary(t, base, artifact.KindRun, second), request.Options{}).Metadata
	if chosen.PlanID == nil || *chosen.TrialIndex != 1 || chosen.Deviation || !chosen.ValidationContaminated {
		t.Errorf("the selected one: %+v", chosen)
	}
	if own := b.run(t, b.vary(t, base, artifact.KindRun, third),
		request.Options{}).Metadata; own.PlanID != nil || own.Deviation || own.ValidationContaminated {
		t.Errorf("a run of its own: %+v", own)
	}
}

// TestUpgradesAtOnce: of several who want a trial in full one executes it, and the others
// take what is there then.
func TestUpgradesAtOnce(t *testing.T) {
	b := newBench(t)
	trial := b.vary(t, b.prepare(t), artifact.KindTrial, `{"fast":5,"slow":40}`)
	b.run(t, trial, request.Options{Compact: true})
	var wg sync.WaitGroup
	answers := make([]*request.Result, 3)
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = b.Upgrade(t.Context(), trial, request.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	executed := 0
	for _, a := range answers {
		if a == nil || a.Metadata.ArtifactLevel != artifact.LevelFull {
			t.Fatalf("%+v", a)
		}
		if !a.Reused {
			executed++
		}
	}
	if executed != 1 {
		t.Errorf("%d executions", executed)
	}
	b.settled(t, trial)
}

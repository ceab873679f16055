package compare

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

func TestSelectionIsCounted(t *testing.T) {
	w := three(t)
	elsewhere := func(r *artifact.Run) { r.Manifest.Data[0].Symbol = "ETH/USDT" }
	w.add(spec{id: "run_again", params: `{"fast":10,"slow":50}`, drift: 0.001, noise: 1,
		change: func(r *artifact.Run) { r.Manifest.Request.Seed = "2" }},
		spec{id: "run_eth", params: `{"fast":10,"slow":50}`, noise: 4, change: elsewhere})
	if err := w.reg.Peek(t.Context(),
		registry.Peek{RunID: "run_base", FamilyID: "sma-cross", Command: "run", Author: "eve"}); err != nil {
		t.Fatal(err)
	}
	plan, index := "plan_x", int64(3)
	w.add(spec{id: "run_late", params: `{"fast":99}`, noise: 5, change: func(r *artifact.Run) {
		e := r.Evaluation
		e.PostPeek, e.Deviation, e.Contaminated, e.PlanID, e.TrialIndex = true, true, true, &plan, &index
		e.Overfitting = &artifact.Overfitting{
			Selection: json.RawMessage(
				`{"n_eff":2.5,"dsr_max":0.7,"dsr_2014":0.9,"dsr_2025":0.8,"pbo":{"s":10,"value":0.3}}`,
			),
		}
	}})
	c := w.compare(Options{})
	for id, n := range map[string]int{"run_base": 5, "run_again": 5, "run_late": 5, "run_eth": 5} {
		if s := c.must(t, id).Selection; s.NTrials != n || s.NTrialsFamily != n || s.Trials == nil ||
			s.NTrialsSource != "registry" || s.TestPeeks != 1 {
			t.Errorf("%s: %+v, want %d trials", id, s, n)
		}
	}
	s := c.must(t, "run_late").Selection
	if !s.PostPeek || !s.Deviation || !s.ValidationContaminated || *s.PlanID != plan || *s.NEff != 2.5 ||
		*s.DSRMax != 0.7 ||
		*s.DSR2014 != 0.9 ||
		*s.DSR2025 != 0.8 ||
		*s.PBO != 0.3 ||
		len(s.Undefined) != 0 {
		t.Errorf("%+v", s)
	}
	s = c.must(t, "run_base").Selection
	if s.NEff != nil || s.DSR2014 != nil || s.PBO != nil || s.PlanID != nil || len(s.Undefined) != 5 ||
		s.Undefined["dsr_2025"] != "not_applicable" {
		t.Errorf("%+v", s)
	}
	line := "run_late | 5 | 5 | 5 | 2.5 | 0.700 | 0.900 | 0.800 | 0.30 | 1 | yes | plan_x | yes"
	if !strings.Contains(text(c), line) {
		t.Errorf("%q is not in\n%s", line, text(c))
	}
}

// TestNumbersOfOneLedger: N and the looks are those that the deflated numbers were computed
// with, and what they are now is beside them.
func TestNumbersOfOneLedger(t *testing.T) {
	w := three(t)
	w.add(spec{id: "run_f", params: `{"n":1}`, noise: 9, change: func(r *artifact.Run) {
		r.Manifest.Request.Kind = artifact.KindFalsification
		r.Evaluation.Falsification = json.RawMessage(
			`{"base_run_id":"run_base","overall":"pass","refuted":[],"tests":[]}`)
		r.Evaluation.Overfitting = &artifact.Overfitting{
			Selection: json.RawMessage(`{"n_trials":2,"n_eff":1.5,"dsr_2014":0.9,"test_peeks":0}`)}
	}})
	if err := w.reg.Peek(t.Context(),
		registry.Peek{RunID: "run_base", FamilyID: "sma-cross", Command: "run", Author: "eve"}); err != nil {
		t.Fatal(err)
	}
	c := w.compare(Options{})
	s := c.must(t, "run_base").Selection
	if s.NTrials != 2 || s.NTrialsNow != 3 || s.TestPeeks != 0 || s.TestPeeksNow != 1 ||
		s.NTrialsSource != "falsification" {
		t.Errorf("%+v", s)
	}
	if s = c.must(t, "run_better").Selection; s.NTrials != 3 || s.NTrialsNow != 3 || s.TestPeeks != 1 ||
		s.NTrialsSource != "registry" {
		t.Errorf("%+v", s)
	}
	if line := "run_base | 1 | 2 (now 3) | 3 | 1.5 | n/a | 0.900 | "; !strings.Contains(text(c), line) {
		t.Errorf("%q is not in\n%s", line, text(c))
	}
}

// TestFalsifications: each run gets the newest that attacked it; running ones and those
// of other runs do not count.
func TestFalsifications(t *testing.T) {
	w := three(t)
	attack := func(id, params, report string) spec {
		return spec{id: id, params: params, noise: 9, change: func(r *artifact.Run) {
			r.Manifest.Request.Kind = artifact.KindFalsification
			r.Evaluation.Falsification = json.RawMessage(report)
			r.Evaluation.Overfitting = &artifact.Overfitting{Selection: json.RawMessage(`{"n_eff":7}`)}
		}}
	}
	w.add(
		attack("run_f1", `{"n":1}`,
			`{"base_run_id":"run_base","overall":"pass","refuted":[],"tests":[{"id":"determinism","claim":"same input, same decisions","verdict":"pass"}]}`),
		attack("run_f2", `{"n":2}`,
			`{"base_run_id":"run_base","overall":"fail","refuted":["Refuted: survives costs (net -1.8 % at doubled costs)","Refuted: more"],
			"tests":[{"id":"determinism","verdict":"pass"},{"id":"cost_stress","claim":"survives costs","verdict":"fail"}]}`),
		attack("run_f3", `{"n":3}`, `{"base_run_id":"run_elsewhere","overall":"pass","tests":[]}`),
		attack("run_f4", `{"n":4}`,
			`{"base_run_id":"run_better","overall":"fail","tests":[{"id":"delay_stress","claim":"survives latency","verdict":"fail"}]}`),
	)
	c := w.compare(Options{})
	if len(c.Runs) != 3 {
		t.Fatalf("falsifications are compared by themselves: %v", ids(c))
	}
	f := c.must(t, "run_base").Falsification
	if f == nil || f.RunID != "run_f2" || f.Overall != "fail" ||
		*f.Refuted != "Refuted: survives costs (net -1.8 % at doubled costs)" || len(f.Tests) != 2 ||
		f.Tests[1] != (Test{"cost_stress", "fail"}) {
		t.Errorf("%+v", f)
	}
	if f = c.must(t, "run_better").Falsification; f == nil || *f.Refuted != "survives latency" {
		t.Errorf("%+v", f)
	}
	if c.must(t, "run_loser").Falsification != nil || *c.must(t, "run_base").Selection.NEff != 7 {
		t.Errorf("%+v", c.Runs)
	}
	for _, line := range []string{
		"TEST | run_base | run_better", "determinism | pass | -", "cost_stress | fail | -",
		"delay_stress | - | fail", "overall | fail | fail",
		"first refuted | Refuted: survives costs (net -1.8 % at doubled costs) | survives latency",
	} {
		if !strings.Contains(text(c), line+"\n") {
			t.Errorf("%q is not in\n%s", line, text(c))
		}
	}
}

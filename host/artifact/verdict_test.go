package artifact

import "testing"

// The numbers that gates judge stand in report.json, which replays compare, and in the row.
func TestAFalsificationCountsItsGates(t *testing.T) {
	gates := int64(2)
	for _, c := range []struct {
		kind, verdict string
		gates         *int64
	}{{KindFalsification, "fail", &gates}, {KindFalsification, "inconclusive", nil}, {KindRun, "", nil}} {
		run := &Run{ID: "run_x", Status: StatusCompleted, Evaluation: &Evaluation{Verdict: c.verdict, GatesFailed: c.gates}}
		run.Manifest.Request.Kind = c.kind
		rep := &Report{Kind: c.kind}
		run.Evaluation.Stress = []Stress{{Verdict: "fail"}, {Verdict: "pass"}}
		rep.evaluate(run.Evaluation)
		m, err := newMetadata(run, rep, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rep.GatesFailed != c.gates || (rep.StressFailed != nil) != (c.kind == KindRun) || rep.StressFailed != nil && *rep.StressFailed != 1 {
			t.Errorf("%+v: report gates %v, stress %v", c, rep.GatesFailed, rep.StressFailed)
		}
		if (m.Verdict != nil) != (c.verdict != "") || m.Verdict != nil && *m.Verdict != c.verdict || m.Summary.GatesFailed != c.gates {
			t.Errorf("%+v: verdict %v, gates %v", c, m.Verdict, m.Summary.GatesFailed)
		}
		if (m.Summary.StressFailed != nil) != (c.kind == KindRun) {
			t.Errorf("%+v: stress_failed %v", c, m.Summary.StressFailed)
		}
	}
}

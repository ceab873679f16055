package artifact

import "testing"

func TestAFalsificationCountsItsGates(t *testing.T) {
	gates := int64(2)
	for _, c := range []struct {
		kind, verdict string
		gates         *int64
	}{{KindFalsification, "fail", &gates}, {KindFalsification, "inconclusive", nil}, {KindRun, "", nil}} {
		run := &Run{ID: "run_x", Status: StatusCompleted, Evaluation: &Evaluation{Verdict: c.verdict, GatesFailed: c.gates}}
		run.Manifest.Request.Kind = c.kind
		m, err := newMetadata(run, &Report{Kind: c.kind, Stress: []Stress{{Verdict: "fail"}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (m.Verdict != nil) != (c.verdict != "") || m.Verdict != nil && *m.Verdict != c.verdict || m.Summary.GatesFailed != c.gates {
			t.Errorf("%+v: verdict %v, gates %v", c, m.Verdict, m.Summary.GatesFailed)
		}
		if (m.Summary.StressFailed != nil) != (c.kind == KindRun) {
			t.Errorf("%+v: stress_failed %v", c, m.Summary.StressFailed)
		}
	}
}

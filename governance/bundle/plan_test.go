package bundle

import (
	"strings"
	"testing"
)

// FuzzParsePlan: whatever a registration holds, reading it ends, and what is taken names its plan.
func FuzzParsePlan(f *testing.F) {
	sum := strings.Repeat("0a", 32)
	f.Add([]byte(`{"schema":"plan-registration/v1","plan_id":"` + PlanID(sum) + `","plan_sha256":"` + sum +
		`","family_id":"f","slug":"s","trials":7}`))
	f.Add([]byte(`{"schema":"plan-registration/v1","plan_id":"plan_x","trials":0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := ParsePlan(text); err == nil && (p.PlanID != PlanID(p.PlanSHA256) || p.Trials < 1) {
			t.Errorf("%+v", p)
		}
	})
}

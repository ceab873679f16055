package control

import (
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/edge"
)

// planReceipt is the answer to the registration of a search.
type planReceipt struct {
	Schema       string `json:"schema"`
	PlanID       string `json:"plan_id"`
	PlanSHA256   string `json:"plan_sha256"`
	RegisteredAt string `json:"registered_at"`
	// Duplicate reports that it was registered before; the first time counts.
	Duplicate bool `json:"duplicate"`
}

// registerPlan is POST /plans: a search is named in the log before it runs.
func (p *Plane) registerPlan(r *request) (*edge.Answer, error) {
	if err := p.damaged(); err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	plan, refused := bundle.ParsePlan(body)
	if refused != nil {
		return nil, refused
	}
	out := &planReceipt{Schema: "plan-receipt/v1", PlanID: plan.PlanID, PlanSHA256: plan.PlanSHA256}
	_, err = p.store.Update(r.Context(), func(t *store.Tx) error {
		at, known := promotion.Registered(t.World(), plan.PlanID)
		if out.Duplicate = known; !known {
			at = t.Now()
			_, err := t.Append(&promotion.Entry{Type: bundle.TypePlan,
				Predicate: &promotion.RegisteredPlan{PlanRegistration: *plan, RecordedAt: t.Stamp()}})
			if err != nil {
				return err
			}
		}
		out.RegisteredAt = at.UTC().Format(time.RFC3339Nano)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.wake()
	return &edge.Answer{Body: out}, nil
}

package live

import (
	"context"

	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/result"
)

// Policy is asked before real money is traded; *deploy.Policy is the one of the service. Its
// refusals are *deploy.Refusal.
type Policy interface {
	Admit(context.Context, deploy.Request) (deploy.Admission, error)
}

// admit asks the policy, after everything else that can refuse a start and before anything of
// the venue is touched. Without a policy real money is traded ungated, which the run says.
func (x *Execution) admit(ctx context.Context) (err error) {
	policy := x.opts.Policy
	if policy == nil {
		if policy, err = deploy.New(deploy.Options{Mode: deploy.Warn}); err != nil {
			return err
		}
	}
	x.admission, err = policy.Admit(ctx, deploy.Request{
		Mode: x.req.Mode, Pretend: x.config.Sandbox || x.venue.ID == sim.ID,
		Strategy: x.plan.Strategy.Name, PluginSHA256: x.plan.Strategy.SHA256, Params: x.plan.Params,
		Symbols: x.plan.Symbols, Timeframe: x.plan.Timeframe, Exchange: x.venue.ID,
	})
	for _, n := range x.admission.Notices {
		x.warnings = append(x.warnings, result.Note{Code: string(n.Code), Message: n.Message})
	}
	return err
}

// Ungated implements runner.Gated.
func (x *Execution) Ungated() string { return x.admission.Ungated }

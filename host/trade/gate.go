package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/risk"
)

// Policy is asked before real money is traded; *deploy.Policy is the one of the service. Its
// refusals are *deploy.Refusal.
type Policy interface {
	Admit(context.Context, deploy.Request) (deploy.Admission, error)
}

// permit is what lets the run trade: what the deployment policy said, and the limits that hold.
type permit struct {
	run *Execution
	// admission is what the deployment policy said; its zero value where no real money is traded.
	admission deploy.Admission
	// bounds are the limits that hold, risk is how they are shown.
	bounds risk.Limits
	risk   map[string]any
	// policyAlarm is what the deployment policy said last; of the goroutine that watches it.
	policyAlarm string
}

// askPolicy asks the policy, after everything else that can refuse a start and before anything of
// the venue is touched. Without a policy real money is traded ungated, which the run says.
func (pm *permit) askPolicy(ctx context.Context) (err error) {
	policy := pm.run.opts.Policy
	if policy == nil {
		if policy, err = deploy.New(deploy.Options{Mode: deploy.Warn}); err != nil {
			return err
		}
	}
	pm.admission, err = policy.Admit(ctx, deploy.Request{
		Mode: pm.run.setup.req.Mode, Pretend: pm.run.setup.config.Sandbox || pm.run.setup.venue.Pretend,
		Strategy: pm.run.setup.plan.Strategy.Name, PluginSHA256: pm.run.setup.plan.Strategy.SHA256, Params: pm.run.setup.plan.Params,
		Symbols: pm.run.setup.plan.Symbols, Timeframe: pm.run.setup.plan.Timeframe, Exchange: pm.run.setup.venue.ID,
	})
	if err != nil {
		return err
	}
	for _, n := range pm.admission.Notices {
		pm.run.notes.warnings = append(pm.run.notes.warnings, artifact.Note{Code: string(n.Code), Message: n.Message})
	}
	return pm.fixLimits()
}

// fixLimits fixes the limits of the run. Real money needs a cap on one order, or an entry that is
// enforced.
func (pm *permit) fixLimits() error {
	pm.bounds = pm.tightenLimits()
	if pm.realMoney() && !pm.bounds.Capped() && !pm.admission.Gated() {
		return run.Refuse("MODE_NOT_SUPPORTED", map[string]any{"reason": "risk_limit_required"},
			"Real money is traded only with a cap on one order: start the service with --risk-max-order-notional.")
	}
	pm.risk = ShowLimits(pm.bounds, pm.riskMode())
	return nil
}

// riskMode is what a breach does.
func (pm *permit) riskMode() risk.Mode {
	if pm.run.setup.req.Mode == runner.ModeLive {
		return risk.Enforce
	}
	return cmp.Or(pm.run.opts.Risk.Paper, risk.Shadow)
}

// ShowLimits is limits as results and streams show them, with what a breach does.
func ShowLimits(l risk.Limits, mode risk.Mode) map[string]any {
	text, err := json.Marshal(l)
	if err != nil { // numbers and their names: it cannot be
		return nil
	}
	shown := shownLimits(text)
	shown["mode"] = string(mode)
	return shown
}

// shownLimits reads what limits were written as, every number as it stands; nil if it is none.
func shownLimits(text []byte) map[string]any {
	var shown map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&shown) != nil {
		return nil
	}
	return shown
}

// Ungated implements runner.Gated.
func (x *Execution) Ungated() string { return x.permit.admission.Ungated }

// realMoney says that orders cost money: mode live, but for the simulated venue, a sandbox and
// an endpoint on this machine.
func (pm *permit) realMoney() bool {
	return pm.run.setup.req.Mode == runner.ModeLive && !pm.run.setup.config.Sandbox && !pm.run.setup.venue.Pretend
}

// tightenLimits are the risk limits of the run: those of the server, and of the deployment entry where
// they are smaller.
func (pm *permit) tightenLimits() risk.Limits {
	entry := pm.admission.Limits
	return pm.run.opts.Risk.For(pm.realMoney()).Tighten(risk.Entry{
		MaxOrderNotional: entry.OrderValue, MaxPositionNotional: entry.PositionValue, MaxGrossNotional: entry.Capital,
		MaxDailyLossAmount: entry.DailyLoss, MaxDrawdown: entry.Drawdown, PriceCollar: entry.PriceCollar, OrdersPerMinute: entry.OrdersPerMinute,
	})
}

// errRevoked is the end of a run that its deployment ended.
var errRevoked = errors.New("the deployment policy stopped the run")

// watchDeployment follows the entry that lets the run be, until ctx ends.
func (pm *permit) watchDeployment(ctx context.Context, e *engine.Engine) {
	policy, ok := pm.run.opts.Policy.(*deploy.Policy)
	if !ok || !pm.realMoney() {
		return
	}
	w := deploy.Watch{Policy: policy, Admission: pm.admission, On: func(ev deploy.Event) { pm.onDeployment(e, ev) }}
	w.Run(ctx)
}

// onDeployment does what a change of the deployment asks for.
func (pm *permit) onDeployment(e *engine.Engine, ev deploy.Event) {
	code := string(ev.Code)
	raise := func() {
		pm.run.Raise(alarm.Occurrence{Code: code, Text: ev.Message, Shadow: pm.admission.Ungated != ""})
	}
	switch ev.Act {
	case deploy.Stop:
		raise()
		e.Stop(fmt.Errorf("%w: %s", errRevoked, ev.Message))
	case deploy.Reduce:
		raise()
		e.Restrict(code, ev.Message, true)
	case deploy.Resume:
		e.Restrict(code, ev.Message, false)
		pm.run.Clear(code, "")
	case deploy.Alarm:
		pm.run.Clear(pm.policyAlarm, "") // there is one at a time
		pm.policyAlarm = code
		raise()
	case deploy.Clear:
		pm.run.Clear(pm.policyAlarm, "")
	}
}

// killReportTime is how long the control plane is tried to be told of a risk kill: as long as a statement
// about it holds. Nobody waits for it but the end of the service, and that for killReportGrace.
const (
	killReportTime  = 24 * time.Hour
	killReportGrace = 5 * time.Second
)

// reportKill opens an incident where a limit ended a run of a deployment, beside the end of the run.
func (pm *permit) reportKill(reason string) {
	policy, ok := pm.run.opts.Policy.(interface {
		RiskKill(ctx context.Context, a *deploy.Admission, runID, reason string) error
	})
	if !ok {
		return
	}
	admission, log := pm.admission, pm.run.log
	pm.run.opts.beside.run(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, killReportTime)
		defer cancel()
		if err := policy.RiskKill(ctx, &admission, pm.run.runID, reason); err != nil {
			log.Error("the control plane was not told of the risk kill: open the incident by hand", "candidate_revision_id", admission.CandidateRevisionID, "error", err)
		}
	})
}

// beside is what goes on when a run has ended.
type beside struct {
	ctx context.Context
	end context.CancelFunc
	wg  sync.WaitGroup
}

func newBeside() *beside {
	b := &beside{}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

func (b *beside) run(f func(context.Context)) { b.wg.Go(func() { f(b.ctx) }) }

// close gives what goes on a moment, then ends it.
func (b *beside) close(grace time.Duration) {
	late := time.AfterFunc(grace, b.end)
	b.wg.Wait()
	late.Stop()
	b.end()
}

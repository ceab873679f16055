package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

type approveOptions struct {
	signing
	stage, role, waive string
	resume             bool
}

func approveCommand(w World) *cobra.Command {
	o := &approveOptions{signing: signing{w: w}}
	cmd := &cobra.Command{
		Use: "approve CR", Short: "Agree that a revision enters a stage, goes on, or passes a gate for some days", Args: cobra.ExactArgs(1),
		Long: "Shows the plan, asks, signs and posts. An approval is of the plan that was shown: when the plan changes, it counts no more.",
		Example: "  governance approve cr-... --stage canary --role risk --key rita.key\n  governance approve cr-... --resume --role approver --key anna.key\n" +
			"  governance approve cr-... --stage canary --waive soak.paper --reason \"ran on the old host\" --key rita.key",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&o.stage, "stage", "", "paper, canary or live")
	cmd.Flags().StringVar(&o.role, "role", "", "risk or approver; with --resume by default the one that trust.json gives the key")
	cmd.Flags().BoolVar(&o.resume, "resume", false, "let a stopped revision go on")
	cmd.Flags().StringVar(&o.waive, "waive", "", "let this gate pass for at most 7 days; needs --reason")
	o.register(cmd, validApproval)
	complete(cmd, "stage", "paper", "canary", "live")
	complete(cmd, "role", bundle.TrustRisk, bundle.TrustApprover)
	return cmd
}

func (o *approveOptions) check() error {
	switch {
	case o.resume && (o.waive != ""):
		return usagef("--resume and --waive are two statements")
	case o.stage != "" && !slices.Contains([]string{"paper", "canary", "live"}, o.stage):
		return usagef("--stage: paper, canary or live")
	case o.role != "" && o.role != bundle.TrustRisk && o.role != bundle.TrustApprover:
		return usagef("--role: risk or approver")
	case !o.resume && o.stage == "":
		return usagef("--stage is missing: paper, canary or live")
	case o.waive == "" && !o.resume && o.role == "":
		return usagef("--role is missing: risk or approver")
	case o.waive != "" && o.reason == "":
		return usagef("--reason is missing: a waiver says why")
	}
	return nil
}

func (o *approveOptions) run(cmd *cobra.Command, id string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, key, err := o.open(cmd, id)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	sub, err := c.subject(ctx, id)
	if err != nil {
		return err
	}
	if o.role == "" && o.resume {
		if o.role, err = c.approvesAs(ctx, key.Public()); err != nil {
			return err
		}
	}
	stage, stop := o.stage, ""
	var resume *promotion.Approvals
	if o.resume {
		state, err := c.state(ctx, id)
		if err != nil {
			return err
		}
		if state.SuspensionID == nil {
			return refusef("%s is %s/%s: there is nothing to resume from", id, state.Stage, state.StageStatus)
		}
		stop, resume = *state.SuspensionID, state.Resume
		if stage = cmp.Or(stage, string(state.Stage)); stage == string(bundle.Research) {
			stage = string(bundle.Paper)
		}
	}
	plan, err := c.plan(ctx, id, stage)
	if err != nil {
		return err
	}
	if plan.ResolvedRevisionID != id || string(plan.Stage) != stage || plan.Digest() != plan.PlanDigest {
		return refusef("the control plane's plan is not what its plan_digest names: nothing was signed")
	}
	if err := mayWaive(plan, o.waive); err != nil {
		return err
	}
	showPlan(o.out(), sub, plan, resume)
	o.plan = plan
	if o.waive != "" {
		if err := o.confirm(fmt.Sprintf("Waive gate %s of %s?", o.waive, stage)); err != nil {
			return err
		}
		return o.post(ctx, c, sub, bundle.TypeWaiver, bundle.Waiver{Common: o.common(sub), Stage: bundle.Stage(stage), GateID: o.waive}, key)
	}
	approval := bundle.Approval{Common: o.common(sub), Action: "promote", Stage: bundle.Stage(stage), Role: o.role, PlanDigest: plan.PlanDigest}
	if o.resume {
		approval.Action, approval.SuspensionID = "resume", stop
	}
	if err := o.confirm(fmt.Sprintf("Approve to %s in %s as %s?", approval.Action, stage, o.role)); err != nil {
		return err
	}
	return o.post(ctx, c, sub, bundle.TypeApproval, approval, key)
}

// mayWaive refuses a waiver that would count for nothing.
func mayWaive(p *promotion.Plan, id string) error {
	if id == "" {
		return nil
	}
	var may []string
	for _, g := range p.Gates {
		waivable := (&policy.Gate{Kind: g.Kind}).Waivable()
		switch {
		case g.GateID != id && waivable:
			may = append(may, g.GateID)
		case g.GateID == id && !waivable:
			return usagef("--waive: nobody may waive %s, it is of kind %s", id, g.Kind)
		case g.GateID == id:
			return nil
		}
	}
	return usagef("--waive: the plan for %s has no gate %q that can be waived; it has %s", p.Stage, id, strings.Join(may, ", "))
}

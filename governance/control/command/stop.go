package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/governance/promotion"
)

// stopOptions are those of reject, suspend and retire.
type stopOptions struct {
	signing
	to, replacedBy string
	kill           bool
}

func rejectCommand(w World) *cobra.Command {
	o := &stopOptions{signing: signing{w: w}}
	cmd := &cobra.Command{
		Use: "reject CR", Short: "Refuse a revision for good", Args: cobra.ExactArgs(1),
		Long:    "Refuses a revision for good: it never runs again, and neither does what it runs in its family.",
		Example: "  governance reject cr-... --reason \"looks ahead\" --key anna.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, args[0], "Reject it for good?", bundle.TypeRejection, func(c bundle.Common) any { return bundle.Ending{Common: c, ReplacedBy: o.replacedBy} })
		},
	}
	o.register(cmd, validStop)
	return cmd
}

func retireCommand(w World) *cobra.Command {
	o := &stopOptions{signing: signing{w: w}}
	cmd := &cobra.Command{
		Use: "retire CR", Short: "End a revision that has done its work", Args: cobra.ExactArgs(1),
		Example: "  governance retire cr-... --replaced-by cr-... --reason \"better one is live\" --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, args[0], "Retire it for good?", bundle.TypeRetirement, func(c bundle.Common) any { return bundle.Ending{Common: c, ReplacedBy: o.replacedBy} })
		},
	}
	cmd.Flags().StringVar(&o.replacedBy, "replaced-by", "", "the revision that takes its place")
	o.register(cmd, validStop)
	return cmd
}

func suspendCommand(w World) *cobra.Command {
	o := &stopOptions{signing: signing{w: w}}
	cmd := &cobra.Command{
		Use: "suspend CR", Short: "Stop a revision until people agree again, or lower it", Args: cobra.ExactArgs(1),
		Example: "  governance suspend cr-... --kill --reason \"odd fills\" --key host.key\n  governance suspend cr-... --to paper --reason \"too large\" --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, args[0], "Stop it?", bundle.TypeSuspension, func(c bundle.Common) any {
				return bundle.Suspension{Common: c, ToStage: bundle.Stage(o.to), Kill: o.kill}
			})
		},
	}
	cmd.Flags().StringVar(&o.to, "to", "", "lower it to this stage instead: research, paper or canary")
	cmd.Flags().BoolVar(&o.kill, "kill", false, "end its runs at once")
	o.register(cmd, validStop)
	complete(cmd, "to", "research", "paper", "canary")
	return cmd
}

func (o *stopOptions) run(cmd *cobra.Command, id, question, kind string, predicate func(bundle.Common) any) error {
	switch {
	case o.reason == "":
		return usagef("--reason is missing: a stop says why")
	case o.to != "" && !slices.Contains([]string{"research", "paper", "canary"}, o.to):
		return usagef("--to: research, paper or canary")
	case o.replacedBy != "" && !field.IsRevision(o.replacedBy):
		return usagef("--replaced-by: %q is no candidate_revision_id: it begins with cr-", o.replacedBy)
	}
	c, key, err := o.open(cmd, id)
	if err != nil {
		return err
	}
	sub, err := c.subject(cmd.Context(), id)
	if err != nil {
		return err
	}
	state, err := c.state(cmd.Context(), id)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out(), "%s (%s) is %s/%s\n", id, sub.doc.Bundle.Candidate.CandidateID, state.Stage, state.StageStatus)
	if kind == bundle.TypeSuspension {
		if err := o.holder(cmd, c, sub, state.DeployableID); err != nil {
			return err
		}
	}
	if err := o.confirm(question); err != nil {
		return err
	}
	return o.post(cmd.Context(), c, sub, kind, predicate(o.common(sub)), key)
}

// holder says which other revision the registry lets run the same, as far as it is of the
// same family: a stop reaches that one too.
func (o *stopOptions) holder(cmd *cobra.Command, c *client, sub *subject, deployable string) error {
	b := &sub.doc.Bundle
	reg := &promotion.Registry{}
	if err := c.get(cmd.Context(), "/deployable-registry/"+b.Candidate.FamilyID, reg); err != nil {
		return err
	}
	for _, e := range reg.Entries {
		if e.DeployableID == deployable && e.CandidateRevisionID != b.CandidateRevisionID {
			fmt.Fprintf(o.out(), "%s runs the same and holds the place: %s in %s. It is stopped with it.\n", e.CandidateRevisionID, e.Status, e.Stage)
		}
	}
	return nil
}

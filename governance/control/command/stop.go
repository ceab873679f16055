package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/field"
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

// holder names the other revision that the registry lets run the same, as far as it is of the
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

type incidentOptions struct {
	signing
	open, close, severity  string
	drill, run, result, at string
	stateDir               string
}

func incidentCommand(w World) *cobra.Command {
	o := &incidentOptions{signing: signing{w: w}}
	cmd := &cobra.Command{
		Use: "incident CR", Short: "Open or close an incident, or record a drill", Args: cobra.ExactArgs(1),
		Long: "A critical incident stops everything that runs the same, until it is closed and two people let it go on.",
		Example: "  governance incident cr-... --open inc-1 --severity critical --reason \"fills nobody ordered\" --key host.key\n" +
			"  governance incident cr-... --close inc-1 --key otto.key\n  governance incident cr-... --drill kill_switch --run svc_01 --result pass --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error { return o.record(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&o.open, "open", "", "id of the incident to open")
	cmd.Flags().StringVar(&o.severity, "severity", "", "warning, or critical: stops everything that runs the same")
	cmd.Flags().StringVar(&o.close, "close", "", "id of the incident to close")
	cmd.Flags().StringVar(&o.drill, "drill", "", "kill_switch")
	cmd.Flags().StringVar(&o.run, "run", "", "the paper or live run that the drill was done on; it is over")
	cmd.Flags().StringVar(&o.stateDir, "run-state-dir", ".assay",
		"state directory of the service that made the run: its metadata.json is read there")
	cmd.Flags().StringVar(&o.result, "result", "", "pass or fail")
	cmd.Flags().StringVar(&o.at, "done-at", "",
		"when the drill was done, RFC 3339 with Z (default: when the run ended)")
	o.register(cmd, validStop)
	complete(cmd, "severity", "warning", "critical")
	complete(cmd, "drill", "kill_switch")
	complete(cmd, "result", "pass", "fail")
	return cmd
}

func (o *incidentOptions) check() error {
	given := slices.DeleteFunc([]string{o.open, o.close, o.drill}, func(s string) bool { return s == "" })
	switch {
	case len(given) != 1:
		return usagef("one of --open, --close and --drill is needed")
	case o.open != "" && o.severity != "warning" && o.severity != "critical":
		return usagef("--severity: warning or critical")
	case o.drill != "" && (o.drill != "kill_switch" || o.run == "" || o.result != "pass" && o.result != "fail"):
		return usagef("a drill is --drill kill_switch --run ID --result pass|fail")
	}
	return nil
}

func (o *incidentOptions) record(cmd *cobra.Command, id string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, key, err := o.signing.open(cmd, id)
	if err != nil {
		return err
	}
	sub, err := c.subject(cmd.Context(), id)
	if err != nil {
		return err
	}
	kind, question := bundle.TypeIncident, "Open incident "+o.open+"?"
	o.reason = cmp.Or(o.reason, "by the command line")
	var predicate any
	common := o.common(sub)
	switch {
	case o.open != "":
		predicate = bundle.Incident{Common: common, IncidentID: o.open, Event: "open", Severity: o.severity}
	case o.close != "":
		question = "Close incident " + o.close + "?"
		predicate = bundle.Incident{Common: common, IncidentID: o.close, Event: "close"}
	default:
		kind, question = bundle.TypeDrill, "Record the drill as "+o.result+"?"
		d := bundle.Drill{Common: common, Drill: o.drill, Result: o.result, RunID: o.run, DoneAt: o.at}
		if err := o.prove(&d, sub); err != nil {
			return err
		}
		predicate = d
	}
	if err := o.confirm(question); err != nil {
		return err
	}
	return o.post(cmd.Context(), c, sub, kind, predicate, key)
}

// prove gives a drill the record of its run, and refuses it here if the plane would.
func (o *incidentOptions) prove(d *bundle.Drill, sub *subject) error {
	if !field.IsIdentifier(d.RunID) {
		return usagef("--run: %.80q is no run_id", d.RunID)
	}
	path := filepath.Join(o.stateDir, "runs", d.RunID, evidence.MetadataName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refusef("RUN_NOT_FOUND: there is no %s: name a paper or live run that has ended, "+
			"and the state directory of its service with --run-state-dir", path)
	}
	if err != nil {
		return usagef("--run: %v", err)
	}
	m, err := evidence.ParseMetadata(text)
	if err != nil {
		return refusef("INVALID_DRILL: %s: %v", path, err)
	}
	d.Metadata, d.DoneAt = string(text), cmp.Or(d.DoneAt, m.Volatile.CompletedAt)
	if refused := evidence.CheckDrill(d, &sub.doc.Bundle, "", o.w.Now()); refused != nil {
		return refusef("%s: %s (%s)", refused.Code, refused.Message, refused.Reason)
	}
	return nil
}

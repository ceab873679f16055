package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/governance/promotion"
)

type suspendOptions struct {
	signing
	To   string `flag:"to" usage:"lower it to this stage instead: research, paper or canary" values:"research,paper,canary"`
	Kill bool   `flag:"kill" usage:"end its runs at once"`
}

type retireOptions struct {
	signing
	ReplacedBy string `flag:"replaced-by" usage:"the revision that takes its place"`
}

func rejectCommand(w World) *cobra.Command {
	o := &signing{w: w, Valid: validStop}
	cmd := &cobra.Command{
		Use: "reject CR", Short: "Refuse a revision for good", Args: cobra.ExactArgs(1),
		Long:    "Refuses a revision for good: it never runs again, and neither does what it runs in its family.",
		Example: "  governance reject cr-... --reason \"looks ahead\" --key anna.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.stop(cmd.Context(), args[0], "Reject it for good?", bundle.TypeRejection,
				func(c bundle.Common) any { return bundle.Ending{Common: c} })
		},
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func retireCommand(w World) *cobra.Command {
	o := &retireOptions{signing: signing{w: w, Valid: validStop}}
	cmd := &cobra.Command{
		Use: "retire CR", Short: "End a revision that has done its work", Args: cobra.ExactArgs(1),
		Example: "  governance retire cr-... --replaced-by cr-... --reason \"better one is live\" --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.ReplacedBy != "" && !field.IsRevision(o.ReplacedBy) {
				return usagef("--replaced-by: %q is no candidate_revision_id: it begins with cr-", o.ReplacedBy)
			}
			return o.stop(cmd.Context(), args[0], "Retire it for good?", bundle.TypeRetirement,
				func(c bundle.Common) any { return bundle.Ending{Common: c, ReplacedBy: o.ReplacedBy} })
		},
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func suspendCommand(w World) *cobra.Command {
	o := &suspendOptions{signing: signing{w: w, Valid: validStop}}
	cmd := &cobra.Command{
		Use: "suspend CR", Short: "Stop a revision until people agree again, or lower it", Args: cobra.ExactArgs(1),
		Example: "  governance suspend cr-... --kill --reason \"odd fills\" --key host.key\n  governance suspend cr-... --to paper --reason \"too large\" --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.stop(cmd.Context(), args[0], "Stop it?", bundle.TypeSuspension, func(c bundle.Common) any {
				return bundle.Suspension{Common: c, ToStage: bundle.Stage(o.To), Kill: o.Kill}
			})
		},
	}
	o.set = bind(cmd, w, o)
	return cmd
}

// stop posts a statement that ends or lowers a revision.
func (s *signing) stop(ctx context.Context, id, question, kind string, predicate func(bundle.Common) any) error {
	if s.Reason == "" {
		return usagef("--reason is missing: a stop says why")
	}
	c, key, err := s.open(id)
	if err != nil {
		return err
	}
	sub, err := c.subject(ctx, id)
	if err != nil {
		return err
	}
	state, err := c.state(ctx, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out(), "%s (%s) is %s/%s\n", id, sub.doc.Bundle.Candidate.CandidateID, state.Stage, state.StageStatus)
	if kind == bundle.TypeSuspension {
		if err := s.holder(ctx, c, sub, state.DeployableID); err != nil {
			return err
		}
	}
	if err := s.confirm(question); err != nil {
		return err
	}
	return s.post(ctx, c, sub, kind, predicate(s.common(sub)), key)
}

// holder names the other revision that the registry lets run the same, as far as it is of the
// same family: a stop reaches that one too.
func (s *signing) holder(ctx context.Context, c *client, sub *subject, deployable string) error {
	b := &sub.doc.Bundle
	reg := &promotion.Registry{}
	if err := c.get(ctx, "/deployable-registry/"+b.Candidate.FamilyID, reg); err != nil {
		return err
	}
	for _, e := range reg.Entries {
		if e.DeployableID == deployable && e.CandidateRevisionID != b.CandidateRevisionID {
			fmt.Fprintf(s.out(), "%s runs the same and holds the place: %s in %s. It is stopped with it.\n", e.CandidateRevisionID, e.Status, e.Stage)
		}
	}
	return nil
}

type incidentOptions struct {
	signing
	Open     string `flag:"open" usage:"id of the incident to open"`
	Severity string `flag:"severity" usage:"warning, or critical: stops everything that runs the same" complete:"warning,critical"`
	Close    string `flag:"close" usage:"id of the incident to close"`
	Drill    string `flag:"drill" usage:"kill_switch" complete:"kill_switch"`
	Run      string `flag:"run" usage:"the paper or live run that the drill was done on; it is over"`
	StateDir string `flag:"run-state-dir" default:".assay" usage:"state directory of the service that made the run: its metadata.json is read there"`
	Result   string `flag:"result" usage:"pass or fail" complete:"pass,fail"`
	At       string `flag:"done-at" usage:"when the drill was done, RFC 3339 with Z (default: when the run ended)"`
}

func incidentCommand(w World) *cobra.Command {
	o := &incidentOptions{signing: signing{w: w, Valid: validStop}}
	cmd := &cobra.Command{
		Use: "incident CR", Short: "Open or close an incident, or record a drill", Args: cobra.ExactArgs(1),
		Long: "A critical incident stops everything that runs the same, until it is closed and two people let it go on.",
		Example: "  governance incident cr-... --open inc-1 --severity critical --reason \"fills nobody ordered\" --key host.key\n" +
			"  governance incident cr-... --close inc-1 --key otto.key\n  governance incident cr-... --drill kill_switch --run svc_01 --result pass --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error { return o.record(cmd, args[0]) },
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func (o *incidentOptions) check() error {
	given := slices.DeleteFunc([]string{o.Open, o.Close, o.Drill}, func(s string) bool { return s == "" })
	switch {
	case len(given) != 1:
		return usagef("one of --open, --close and --drill is needed")
	case o.Open != "" && o.Severity != "warning" && o.Severity != "critical":
		return usagef("--severity: warning or critical")
	case o.Drill != "" && (o.Drill != "kill_switch" || o.Run == "" || o.Result != "pass" && o.Result != "fail"):
		return usagef("a drill is --drill kill_switch --run ID --result pass|fail")
	}
	return nil
}

func (o *incidentOptions) record(cmd *cobra.Command, id string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, key, err := o.open(id)
	if err != nil {
		return err
	}
	sub, err := c.subject(cmd.Context(), id)
	if err != nil {
		return err
	}
	kind, question := bundle.TypeIncident, "Open incident "+o.Open+"?"
	o.Reason = cmp.Or(o.Reason, "by the command line")
	var predicate any
	common := o.common(sub)
	switch {
	case o.Open != "":
		predicate = bundle.Incident{Common: common, IncidentID: o.Open, Event: "open", Severity: o.Severity}
	case o.Close != "":
		question = "Close incident " + o.Close + "?"
		predicate = bundle.Incident{Common: common, IncidentID: o.Close, Event: "close"}
	default:
		kind, question = bundle.TypeDrill, "Record the drill as "+o.Result+"?"
		d := bundle.Drill{Common: common, Drill: o.Drill, Result: o.Result, RunID: o.Run, DoneAt: o.At}
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
	path := filepath.Join(o.StateDir, "runs", d.RunID, evidence.MetadataName)
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

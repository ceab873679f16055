package command

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/bundle/field"
)

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
		RunE: func(cmd *cobra.Command, args []string) error { return o.tell(cmd, args[0]) },
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

func (o *incidentOptions) tell(cmd *cobra.Command, id string) error {
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

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/field"
)

type approveOptions struct {
	signing
	Stage  string `flag:"stage" usage:"paper, canary or live" values:"paper,canary,live"`
	Role   string `flag:"role" usage:"risk or approver; with --resume by default the one that trust.json gives the key" values:"risk,approver"`
	Resume bool   `flag:"resume" usage:"resume a stopped revision"`
	Waive  string `flag:"waive" usage:"let this gate pass for at most 7 days; needs --reason"`
}

func approveCommand(w World) *cobra.Command {
	o := &approveOptions{signing: signing{w: w, Valid: validApproval}}
	cmd := &cobra.Command{
		Use:   "approve CR",
		Short: "Agree that a revision enters a stage, goes on, or passes a gate for some days",
		Args:  cobra.ExactArgs(1),
		Long: "Shows the plan, asks, signs and posts. An approval is of the plan that was shown: when " +
			"the plan changes, it counts no more.",
		Example: "  governance approve cr-... --stage canary --role risk --key rita.key\n  governance " +
			"approve cr-... --resume --role approver --key anna.key\n" +
			"  governance approve cr-... --stage canary --waive soak.paper --reason \"ran on the old " +
			"host\" --key rita.key",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func (o *approveOptions) check() error {
	switch {
	case o.Resume && (o.Waive != ""):
		return usagef("--resume and --waive are two statements")
	case !o.Resume && o.Stage == "":
		return usagef("--stage is missing: paper, canary or live")
	case o.Waive == "" && !o.Resume && o.Role == "":
		return usagef("--role is missing: risk or approver")
	case o.Waive != "" && o.Reason == "":
		return usagef("--reason is missing: a waiver says why")
	}
	return nil
}

func (o *approveOptions) run(cmd *cobra.Command, id string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, key, err := o.open(id)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	sub, err := c.subject(ctx, id)
	if err != nil {
		return err
	}
	if o.Role == "" && o.Resume {
		if o.Role, err = c.approvesAs(ctx, key.Public()); err != nil {
			return err
		}
	}
	stage, stop := o.Stage, ""
	var resume *promotion.Approvals
	if o.Resume {
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
	if err := mayWaive(plan, o.Waive); err != nil {
		return err
	}
	showPlan(o.out(), sub, plan, resume)
	fmt.Fprintf(o.out(), "plan: %s/promotion-plans/%s/%s/%s\n\n", c.base, bundle.SubjectRevision, id, stage)
	o.plan = plan
	if o.Waive != "" {
		if err := o.confirm(fmt.Sprintf("Waive gate %s of %s?", o.Waive, stage)); err != nil {
			return err
		}
		return o.post(ctx, c, sub, bundle.TypeWaiver,
			bundle.Waiver{Common: o.common(sub), Stage: bundle.Stage(stage), GateID: o.Waive}, key)
	}
	approval := bundle.Approval{Common: o.common(sub), Action: "promote", Stage: bundle.Stage(stage),
		Role: o.Role, PlanDigest: plan.PlanDigest}
	if plan.TrustDigest != nil {
		approval.TrustDigest = *plan.TrustDigest
	}
	if o.Resume {
		approval.Action, approval.SuspensionID = "resume", stop
	}
	if err := o.confirm(fmt.Sprintf("Approve to %s in %s as %s?", approval.Action, stage,
		o.Role)); err != nil {
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
		waivable := len(g.WaivableBy) > 0
		switch {
		case g.GateID != id && waivable:
			may = append(may, g.GateID)
		case g.GateID == id && !waivable:
			return usagef("--waive: %s cannot be waived, it is of kind %s", id, g.Kind)
		case g.GateID == id:
			return nil
		}
	}
	return usagef("--waive: the plan for %s has no gate %q that can be waived; it has %s", p.Stage, id,
		strings.Join(may, ", "))
}

// showPlan prints what is about to be signed. Who resumes agrees to another thing than who
// promotes: resume is who has done that, nil where it is not about that.
func showPlan(out io.Writer, sub *subject, p *promotion.Plan, resume *promotion.Approvals) {
	b := &sub.doc.Bundle
	fmt.Fprintf(out, "%s (%s, owner %s)\n", b.CandidateRevisionID, b.Candidate.CandidateID, b.Candidate.Owner)
	fmt.Fprintf(out, "plan for %s: %s, policy %s v%d\nplan_digest %s\n",
		p.Stage, p.Verdict, p.Policy.ID, p.Policy.Version, p.PlanDigest)
	if p.TrustDigest != nil {
		fmt.Fprintf(out, "trust_digest %s\n", *p.TrustDigest)
	}
	fmt.Fprintln(out)
	if p.Policy.Note != "" {
		fmt.Fprintf(out, "%s\n\n", p.Policy.Note)
	}
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(tab, "verdict\tgate\tvalue\tbound\treason\n")
	for _, g := range p.Gates {
		bound := ""
		if g.Op != nil {
			bound = *g.Op + " " + brief(g.Threshold)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", g.Verdict, g.GateID, brief(g.Observed), bound, g.Reason)
	}
	_ = tab.Flush() // to people: nothing is left to be done about it
	showReasons(out, p)
	showNumbers(out, &p.Numbers)
	if p.Shadow != nil {
		for _, c := range p.Shadow.Compared {
			fmt.Fprintf(out, "%s %s beside its shadow: %d of %d fills diverge; %s\n", c.Role, c.RunID,
				c.Diverging, c.Fills, c.Beside)
		}
	}
	a, what := &p.Approvals, "approv"
	if resume != nil {
		a, what = resume, "resumption approv"
	}
	for _, g := range a.Granted {
		fmt.Fprintf(out, "%sed by %s (%s) until %s\n", what, g.Principal, g.Role, g.ExpiresAt)
	}
	fmt.Fprintf(out, "%sals missing: %d\n\n", what, a.Missing)
	if p.Verdict != policy.Pass {
		fmt.Fprint(out, "This plan does not pass. "+
			"It changes when its gates do, and approvals of it do not count then.\n\n")
	}
}

// showReasons prints why the policy has those gates that have a bound, or do not pass.
func showReasons(out io.Writer, p *promotion.Plan) {
	title := "\nwhy these gates:\n"
	for _, g := range p.Gates {
		if g.Why == "" || g.Verdict == policy.Pass && g.Kind != policy.Metric && g.Kind != policy.Falsified {
			continue
		}
		fmt.Fprintf(out, "%s  %s: %s", title, g.GateID, g.Why)
		if len(g.WaivableBy) > 1 {
			fmt.Fprintf(out, " (waived only by %s together)", strings.Join(g.WaivableBy, " and "))
		}
		fmt.Fprintln(out)
		title = ""
	}
}

// showNumbers prints what the runs came to, and what has changed.
func showNumbers(out io.Writer, n *promotion.Numbers) {
	fmt.Fprint(out, "\nout of sample, by the files that the plane has read:\n")
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(tab, "role\trun\tsplit\treturn\tsharpe\tdrawdown\ttrades\n")
	for _, r := range n.Runs {
		for _, s := range r.Splits {
			fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Role, r.RunID, s.SplitID,
				number(s.TotalReturn), number(s.SharpeRatio), number(s.MaxDrawdown), number(s.TotalTrades))
		}
	}
	_ = tab.Flush()
	if len(n.Runs) == 0 {
		fmt.Fprint(out, "no run was read\n")
	}
	for _, r := range n.Runs {
		derivedLine(out, r.RunID, r.Derived)
	}
	for _, f := range n.Falsifications {
		derivedLine(out, f.RunID, f.Derived)
	}
	for _, f := range n.Falsifications {
		fmt.Fprintf(out, "falsification %s of %s: %s%s\n", f.RunID, f.BaseRunID, f.Overall, verdicts(f.Tests))
		fmt.Fprintf(out, "  %s\n  page: %s\n", squares(f.Tests), f.Page)
	}
	fmt.Fprintf(out, "trials: %d declared, %d counted by the falsifications, %d by this plane on these "+
		"days (%d on the same candles); %s\n", n.Trials.Declared, n.Trials.Counted, n.Trials.Plane,
		n.Trials.SameCandles, n.Trials.Limit)
	if p := n.Trials.Plan; p != nil {
		fmt.Fprintf(out, "search %s of %d trials, registered at %s: %s\n", p.PlanID, p.Trials, p.RegisteredAt,
			p.Reason)
	}
	if n.Trials.Looks != nil {
		fmt.Fprintf(out, "looks at held out candles: %d declared\n", *n.Trials.Looks)
	}
	switch {
	case n.Since == nil:
		fmt.Fprint(out, "no revision of this candidate was approved before\n")
	case len(n.Changes) == 0:
		fmt.Fprintf(out, "nothing that runs or that it was judged on has changed since %s was approved\n",
			*n.Since)
	default:
		fmt.Fprintf(out, "changed since %s was approved:\n", *n.Since)
		for _, c := range n.Changes {
			fmt.Fprintf(out, "  %s: %s -> %s\n", c.Pointer, brief(c.Before), brief(c.Now))
		}
	}
	fmt.Fprintln(out)
}

// squares is a mark for each test in their order, for a look.
func squares(tests []bundle.TestVerdict) string {
	marks := map[string]string{"pass": "■", "warn": "▲", "fail": "✗", "inconclusive": "?", "error": "!"}
	var text strings.Builder
	for _, t := range tests {
		text.WriteString(cmp.Or(marks[t.Verdict], "·"))
	}
	return text.String() + "  (■ pass  ▲ warn  ✗ fail  ? inconclusive  ! error  · not made)"
}

// derivedLine prints the numbers that the plane has worked out of daily results.
func derivedLine(out io.Writer, runID string, figures map[string]float64) {
	if len(figures) == 0 {
		return
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		list = append(list, name+" "+brief(figures[name]))
	}
	fmt.Fprintf(out, "%s: %s\n", runID, strings.Join(list, ", "))
}

// verdicts names the tests that are not passed, by verdict, and counts the others.
func verdicts(tests []bundle.TestVerdict) string {
	var names []string
	passed := 0
	for _, t := range tests {
		switch t.Verdict {
		case "pass":
			passed++
		case "fail", "warn", "inconclusive", "error":
			names = append(names, t.ID+" "+t.Verdict)
		}
	}
	text := fmt.Sprintf(", %d of %d tests passed", passed, len(tests))
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	return text
}

// number is a number as people read it, - where it is undefined.
func number(x *float64) string {
	if x == nil {
		return "-"
	}
	return brief(*x)
}

// brief is a value of a plan on one line.
func brief(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	case string:
		if len(v) == 64 { // a digest
			return v[:12] + "…"
		}
		return v
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, brief(e))
		}
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}

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
		Long: "Refuses a revision for good: it never runs again, and neither does what it runs in its " +
			"family.",
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
		Example: "  governance retire cr-... --replaced-by cr-... --reason \"better one is live\" --key " +
			"otto.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.ReplacedBy != "" && !field.IsRevision(o.ReplacedBy) {
				return usagef("--replaced-by: %q is no candidate_revision_id: it begins with cr-",
					o.ReplacedBy)
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
		Use: "suspend CR", Short: "Stop a revision until people agree again, or lower it",
		Args: cobra.ExactArgs(1),
		Example: "  governance suspend cr-... --kill --reason \"odd fills\" --key host.key\n  governance " +
			"suspend cr-... --to paper --reason \"too large\" --key otto.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.stop(cmd.Context(), args[0], "Stop it?", bundle.TypeSuspension,
				func(c bundle.Common) any {
					return bundle.Suspension{Common: c, ToStage: bundle.Stage(o.To), Kill: o.Kill}
				})
		},
	}
	o.set = bind(cmd, w, o)
	return cmd
}

// stop posts a statement that ends or lowers a revision.
func (s *signing) stop(ctx context.Context, id, question, kind string,
	predicate func(bundle.Common) any) error {
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
	fmt.Fprintf(s.out(), "%s (%s) is %s/%s\n", id, sub.doc.Bundle.Candidate.CandidateID, state.Stage,
		state.StageStatus)
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
			fmt.Fprintf(s.out(), "%s runs the same and holds the place: %s in %s. It is stopped with it.\n",
				e.CandidateRevisionID, e.Status, e.Stage)
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
		Long: "A critical incident stops everything that runs the same, until it is closed and two people " +
			"let it go on.",
		Example: "  governance incident cr-... --open inc-1 --severity critical --reason \"fills without " +
			"orders\" --key host.key\n" +
			"  governance incident cr-... --close inc-1 --key otto.key\n  governance incident cr-... " +
			"--drill kill_switch --run svc_01 --result pass --key otto.key",
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
	case o.Drill != "" &&
		(o.Drill != "kill_switch" || o.Run == "" || o.Result != "pass" && o.Result != "fail"):
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

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
	"github.com/assay-run/assay/lab/search/selection"
)

func trialsCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "trials [strategy-or-run]",
		Short: "List what counts as a trial, and why",
		Long: "Trials lists every run of the registry: those that count on the days of a run, or of the " +
			"newest run of\na strategy, in the order in which they ended, each with what adds nothing to " +
			"it, and then those\nthat do not count. Without an argument it is about all days. The count " +
			"covers every strategy,\nsymbol, timeframe, exchange and command of this state directory; " +
			registry.NotCounted + ".",
		Example: Examples("lab trials", "lab trials sma_cross", "lab trials run_6rvs7gxczpvrxcpd --json"),
	}
	a.Arguments(c, func(args []string) []string { return append(a.AskedSlugs(args), a.Runs(args)...) })
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		if len(args) > 1 {
			return Outcome{}, Usage(args[1], "%q is too much: lab trials takes one strategy or one run",
				args[1])
		}
		return listTrials(ctx, a, strings.Join(args, ""))
	})
}

// trialsResult is what lab trials prints.
type trialsResult struct {
	// RunID is the run whose days are meant, "" where all are.
	RunID    string `json:"run_id"`
	FamilyID string `json:"family_id"`
	From     string `json:"from"`
	To       string `json:"to"`
	N        int    `json:"n"`
	NFamily  int    `json:"n_family"`
	// Limit is what no count covers.
	Limit string `json:"limit"`
	// Looks are those at held out candles of the markets of the run, of all without one.
	Looks   []registry.Look   `json:"looks"`
	Entries []selection.Entry `json:"entries"`
}

func listTrials(ctx context.Context, a *App, name string) (Outcome, error) {
	result := trialsResult{Limit: registry.NotCounted, Looks: []registry.Look{}, Entries: []selection.Entry{}}
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		rows, err := reg.ListMetadata(ctx, registry.Filter{})
		if err != nil {
			return err
		}
		days, judged, err := daysNamed(rows, name)
		if err != nil {
			return err
		}
		if judged != nil {
			result.RunID, result.FamilyID = judged.RunID, judged.FamilyID
		}
		if days.To > 0 {
			result.From, result.To = days.From.String(), days.To.String()
		}
		book, err := selection.ReadBook(ctx, reg, store)
		if err != nil {
			return err
		}
		result.N, result.NFamily = book.Count(days, result.FamilyID)
		list, err := book.Account(ctx, reg, days)
		if err != nil {
			return err
		}
		result.Entries = append(result.Entries, list...)
		result.Looks = append(result.Looks, book.Looks(result.RunID)...)
		return nil
	})
	return Outcome{Result: result, Print: func(w io.Writer) { printAccount(w, &result) }}, err
}

// daysNamed are the days of a run, of the newest run of a strategy, or of all runs where
// no name is given; judged is the row of that run.
func daysNamed(rows []registry.Run, name string) (d selection.Days, judged *registry.Run, err error) {
	known := false
	for i := range rows {
		row := &rows[i]
		if name != "" && row.RunID != name && row.Slug != name {
			continue
		}
		known = true
		m, err := artifact.DecodeMetadata(row.Payload)
		if err != nil {
			continue // a legacy payload may be anything
		}
		own := selection.DaysOf(m.Data)
		switch {
		case own.To == 0:
		case name != "" && (row.RunID == name || row.Kind != artifact.KindFalsification):
			d, judged = own, row
		case name == "" && d.To == 0:
			d = own
		case name == "":
			d.From, d.To = min(d.From, own.From), max(d.To, own.To)
		}
	}
	switch {
	case name != "" && !known:
		return d, nil, request.Errorf(request.CodeRunNotFound,
			"there is no run %q, and no run of a strategy of that name: lab trials lists all", name).
			With("flag", "strategy-or-run", "run_id", name)
	case name != "" && judged == nil:
		return d, nil, request.Errorf(request.CodeRunNotFound,
			"%q has no candles yet, so that there are no days to count on: lab trials lists all", name).
			With("flag", "strategy-or-run", "run_id", name)
	}
	return d, judged, nil
}

func printAccount(w io.Writer, r *trialsResult) {
	if len(r.Entries) == 0 {
		fmt.Fprintln(w, "no runs yet")
		return
	}
	days := "all days"
	if r.RunID != "" {
		days = fmt.Sprintf("the days of %s, %.10s to %.10s, %d of them of its family", r.RunID, r.From, r.To,
			r.NFamily)
	}
	fmt.Fprintf(w, "%d trials on %s\n%s\n\n", r.N, days, r.Limit)
	cells := [][]string{{"TRIAL", "RUN", "STRATEGY", "KIND", "MARKET", "FROM", "TO", "COMPLETED", "WHY"}}
	for _, e := range r.Entries {
		number := ""
		if e.Counts {
			number = count(e.Trial)
		}
		market := strings.Join(e.Symbols, "+") + " " + e.Timeframe + " " + e.Exchange
		cells = append(cells, []string{number, e.RunID, e.Slug, e.Kind, strings.TrimSpace(market),
			fmt.Sprintf("%.10s", e.From), fmt.Sprintf("%.10s", e.To),
			cmp.Or(fmt.Sprintf("%.19s", e.CompletedAt), "running"), e.Sentence()})
	}
	Table(w, cells)
	fmt.Fprintln(w)
	printLooks(w, r.Looks)
}

// registerPlan names a plan in the log of the control plane and returns when it was first there.
func registerPlan(ctx context.Context, a *App, url string, made *family.Proposed) (*string, error) {
	plane, err := openPlane(a, &planeOptions{ControlURL: url})
	if err != nil {
		return nil, err
	}
	receipt, err := plane.RegisterPlan(ctx, &bundle.PlanRegistration{
		Schema: bundle.SchemaPlan, PlanID: made.ID, PlanSHA256: made.Hash, FamilyID: made.Plan.FamilyID,
		Slug: made.Plan.Slug, Trials: int64(len(made.Plan.Trials)),
	})
	if err != nil {
		return nil, err
	}
	return &receipt.RegisteredAt, nil
}

func planWarnings(made *family.Proposed) []Warning {
	var list []Warning
	if n := len(made.Others); n > 0 && made.Plan.Amends == nil && made.Added {
		list = append(list, Warning{Code: "PLAN_EXISTS", Message: fmt.Sprintf(
			"this is plan %d of %s: if it changes an earlier one say so with --amends %s; the trials of "+
				"all of them count", n+1, made.Plan.Slug, made.Others[n-1])})
	}
	if made.Left > 0 {
		list = append(list, Warning{Code: "GRID_CUT", Message: fmt.Sprintf(
			"max_trials leaves out %d points of the grid, the last ones: a corner of the space is never "+
				"tried", made.Left)})
	}
	return list
}

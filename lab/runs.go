package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/selection/trials"
)

func (a *app) runsCommand() *cobra.Command {
	c := a.Group("runs", "The registry of runs: list, show, verify", a.runsListCommand(), a.runsShowCommand(), a.runsVerifyCommand())
	c.Long = "The registry holds a row for every run of the lab and of the service that shares the state directory."
	return c
}

func (a *app) runsListCommand() *cobra.Command {
	var f registry.Filter
	c := &cobra.Command{
		Use:   "list",
		Short: "List every run, oldest first",
		Long:  "List shows one line per run of the registry: those of the lab and those of the service. Numbers are of\nthe stitched walk-forward, or of the whole run where there is none. TRIAL counts what has been tried on\nthe days of a run, whatever the strategy and the command.",
		Example: cli.Examples(
			"lab runs list",
			"lab runs list --slug sma_cross --status completed --json",
		),
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.Slug, "slug", "", "only runs of this strategy")
	c.Flags().StringVar(&f.FamilyID, "family", "", "only runs of this family")
	c.Flags().StringVar(&f.Kind, "kind", "", "only this kind: run, trial, falsification, service, legacy")
	c.Flags().StringVar(&f.Status, "status", "", "only this status: running, completed, failed")
	a.Offer(c, "slug", a.AskedSlugs)
	a.Offer(c, "family", a.Families)
	a.OneOf(c, "kind", artifact.KindRun, artifact.KindTrial, artifact.KindFalsification, artifact.KindService, registry.KindLegacy)
	a.OneOf(c, "status", artifact.StatusRunning, artifact.StatusCompleted, artifact.StatusFailed)
	return a.Action(c, func(ctx context.Context, _ []string) (cli.Outcome, error) { return a.runsList(ctx, f) })
}

// runRow is a run as it is listed.
type runRow struct {
	RunID       string           `json:"run_id"`
	RequestHash string           `json:"request_hash"`
	Slug        string           `json:"slug"`
	FamilyID    string           `json:"family_id"`
	Kind        string           `json:"kind"`
	Status      string           `json:"status"`
	CompletedAt *string          `json:"completed_at"`
	Params      json.RawMessage  `json:"params"`
	Summary     artifact.Summary `json:"summary"`
	// Trials is which trial the run was, null for one that is none.
	Trials *registry.Place `json:"trials"`
}

func rowOf(r registry.Run, book *trials.Book) runRow {
	row := runRow{Trials: book.Place(r.RunID), RunID: r.RunID, RequestHash: r.RequestHash, Slug: r.Slug, FamilyID: r.FamilyID, Kind: r.Kind, Status: r.Status, Params: json.RawMessage("{}")}
	if r.CompletedAt != "" {
		row.CompletedAt = &r.CompletedAt
	}
	if m, err := artifact.DecodeMetadata(r.Payload); err == nil { // a legacy payload may be anything
		row.Summary = m.Summary
		var compact bytes.Buffer
		if json.Compact(&compact, m.Params) == nil {
			row.Params = compact.Bytes()
		}
	}
	return row
}

func (a *app) runsList(ctx context.Context, f registry.Filter) (cli.Outcome, error) {
	rows := []runRow{}
	var warnings []cli.Warning
	err := a.withRegistry(ctx, func(store *artifact.Store, reg *registry.Registry) error {
		warnings = warningsOf(reg)
		runs, err := reg.ListMetadata(ctx, f)
		if err != nil {
			return err
		}
		book, err := trials.Read(ctx, reg, store)
		if err != nil {
			return err
		}
		for _, r := range runs {
			rows = append(rows, rowOf(r, book))
		}
		return nil
	})
	return cli.Outcome{Result: map[string]any{"runs": rows}, Warnings: warnings, Print: func(w io.Writer) { printRows(w, rows) }}, err
}

func printRows(w io.Writer, rows []runRow) {
	cells := [][]string{{"RUN", "STRATEGY", "KIND", "STATUS", "COMPLETED", "RETURN", "SHARPE", "TRIAL", "MAX DRAWDOWN", "TRADES", "PARAMETERS"}}
	for _, r := range rows {
		completed := ""
		if r.CompletedAt != nil {
			completed = *r.CompletedAt
		}
		s := r.Summary
		cells = append(cells, []string{
			r.RunID, r.Slug, r.Kind, r.Status, completed, cell(s.TotalReturn, "%+.2f %%", 100), cell(s.SharpeRatio, "%.2f", 1), trialCell(r.Trials),
			cell(s.MaxDrawdown, "%.2f %%", 100), cell(s.TotalTrades, "%.0f", 1), string(r.Params),
		})
	}
	cli.Table(w, cells)
}

// trialCell is which trial a run was, nothing for one that is none.
func trialCell(p *registry.Place) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d", p.Position, p.N)
}

// cell is a number as text; n/a if it is undefined.
func cell(x *float64, format string, factor float64) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf(format, factor**x)
}

func (a *app) runsShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "show <run>",
		Short:   "Show one run: splits, stress, hashes",
		Long:    "Show prints the report of a run. Metrics of a locked split are not shown.",
		Example: cli.Examples("lab runs show run_6rvs7gxczpvrxcpd", "lab runs show run_6rvs7gxczpvrxcpd --json"),
		Args:    cobra.ExactArgs(1),
	}
	a.Arguments(c, a.Runs)
	return a.Action(c, func(ctx context.Context, args []string) (cli.Outcome, error) { return a.runsShow(ctx, args[0]) })
}

func (a *app) runsShow(ctx context.Context, id string) (cli.Outcome, error) {
	var out cli.Outcome
	err := a.withRegistry(ctx, func(store *artifact.Store, reg *registry.Registry) error {
		row, err := reg.Get(ctx, id)
		if errors.Is(err, registry.ErrNotFound) {
			return runNotFound(id)
		}
		if err != nil {
			return err
		}
		out.Warnings = warningsOf(reg)
		payload := json.RawMessage(row.Payload)
		book, err := trials.Read(ctx, reg, store)
		if err != nil {
			return err
		}
		shown := rowOf(row, book)
		result := map[string]any{"run": shown, "metadata": payload, "report": nil}
		out.Result = result
		out.Print = func(w io.Writer) { printRows(w, []runRow{shown}) }
		report, err := artifact.ReadReport(store.Dir(id))
		if err != nil {
			return nil // a running, failed or legacy run may have no files
		}
		metadata, err := artifact.DecodeMetadata(row.Payload)
		if err != nil {
			return err
		}
		result["report"] = report
		out.Print = func(w io.Writer) {
			answer := &evaluate.Answer{RunID: id, RequestHash: row.RequestHash, Metadata: metadata, Report: report}
			printRun(w, answer, nil, shown.Trials)
			cli.Table(w, [][]string{{"request", row.RequestHash}, {"decisions", report.DecisionHash}, {"result", report.ResultHash}, {"plugin", metadata.Plugin.SHA256}, {"engine", metadata.Engine.SHA256}})
		}
		return nil
	})
	return out, err
}

func runNotFound(id string) *cli.Error {
	return &cli.Error{Code: "RUN_NOT_FOUND", Message: fmt.Sprintf("there is no run %q: lab runs list shows what there is", id), Details: map[string]any{"flag": "run", "run_id": id}}
}

// withRegistry opens the registry alone.
func (a *app) withRegistry(ctx context.Context, use func(*artifact.Store, *registry.Registry) error) (err error) {
	store := artifact.NewStore(a.RunsDir())
	reg, err := registry.Open(ctx, store, a.Logger.Named("registry"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	for _, w := range reg.Warnings() {
		a.Note(cli.Warning(w))
	}
	return use(store, reg)
}

func warningsOf(reg *registry.Registry) []cli.Warning {
	list := []cli.Warning{}
	for _, w := range reg.Warnings() {
		list = append(list, cli.Warning(w))
	}
	return list
}

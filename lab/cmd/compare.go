package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/project"
)

// The formats of a comparison.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatCSV   = "csv"
	formatMD    = "md"
)

// compareOptions are the flags of lab compare.
type compareOptions struct {
	compare.Options
	format             string
	failOnIncomparable bool
}

func compareCommand(a *App) *cobra.Command {
	var o compareOptions
	c := &cobra.Command{
		Use:   "compare <slug> [run...]",
		Short: "Put runs side by side: what changed, and whether it is real",
		Long: "Compare shows how runs differ in what was asked and in what came out, whether the difference to the\n" +
			"baseline is more than luck, how many trials were made to find it and what a falsification said. Without\n" +
			"runs it takes the newest 10 completed ones and the one that the newest plan has selected; the baseline\n" +
			"is the oldest. Runs on other data, splits, execution or metrics are marked ~. Nothing is executed.",
		Example: Examples(
			"lab compare sma_cross",
			"lab compare sma_cross run_6rvs7gxczpvrxcpd run_p7nuzqkypkht3b65 --only-changed",
			"lab compare sma_cross --sort sharpe_ratio --top 5 --format md",
			"lab compare sma_cross --split validation --format csv > runs.csv",
		),
		Args: cobra.MinimumNArgs(1),
	}
	f := c.Flags()
	f.StringVar(&o.Baseline, "baseline", "", "the run that the others are compared with (default: the oldest)")
	f.StringVar(&o.Split, "split", "", "walk_forward or a split id (default walk_forward)")
	f.BoolVar(&o.OnlyChanged, "only-changed", false, "leave out parameters and metrics that are equal in all runs")
	f.StringVar(&o.Sort, "sort", "", "order by this metric, best first (default: by run id)")
	f.IntVar(&o.Top, "top", 0, "show only so many runs (default: all)")
	f.StringVar(&o.format, "format", formatTable, "table, json, csv or md")
	f.BoolVar(&o.RevealTest, "reveal-test", false, "show the locked test metrics; this is noted, and later new trials of the family are post_peek")
	f.BoolVar(&o.failOnIncomparable, "fail-on-incomparable", false, "exit 3 if the numbers of the runs do not mean the same")
	a.Arguments(c, a.AskedSlugs, a.RunsOf)
	a.Offer(c, "baseline", a.RunsOf)
	a.Offer(c, "split", a.Splits)
	a.Offer(c, "sort", func([]string) []string { return compare.Metrics() })
	a.OneOf(c, "format", formatTable, formatJSON, formatCSV, formatMD)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		if c.Flags().Changed("top") && o.Top < 1 {
			return Outcome{}, Usage("--top", "--top must be at least 1")
		}
		o.Slug, o.Runs, o.Author = args[0], args[1:], authorName(a)
		return compareRuns(ctx, a, o)
	})
}

func compareRuns(ctx context.Context, a *App, o compareOptions) (Outcome, error) {
	if a.JSON && (o.format == formatCSV || o.format == formatMD) {
		return Outcome{}, Usage("--format", "--json and --format %s exclude each other", o.format)
	}
	if err := project.CheckSlug(o.Slug); err != nil {
		return Outcome{}, err
	}
	var result *compare.Comparison
	var warnings []Warning
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		warnings = warningsOf(reg)
		var err error
		result, err = compare.Compare(ctx, store, reg, o.Options)
		return err
	})
	var refused *compare.Error
	if errors.As(err, &refused) {
		return Outcome{}, &Error{Code: refused.Code, Message: refused.Message, Details: refused.Details}
	}
	if err != nil {
		return Outcome{}, err
	}
	for _, w := range result.Warnings {
		warnings = append(warnings, Warning(w))
	}
	out := Outcome{Result: result, Warnings: warnings, Print: func(w io.Writer) { printComparison(a, w, result, o.format) }}
	if o.failOnIncomparable && !result.Comparability.Comparable {
		return out, &Error{
			Code: "INCOMPARABLE", Message: "the runs differ in what has to be equal for their numbers to mean the same",
			Details: map[string]any{"differences": result.Comparability.Differences, "baseline": result.Baseline},
		}
	}
	return out, nil
}

func printComparison(a *App, w io.Writer, c *compare.Comparison, format string) {
	var err error
	switch format {
	case formatJSON:
		err = c.WriteJSON(w)
	case formatCSV:
		err = c.WriteCSV(w)
	case formatMD:
		err = c.WriteMarkdown(w)
	default:
		for i, s := range c.Sections() {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, s.Title)
			for _, note := range s.Notes {
				fmt.Fprintln(w, note)
			}
			Table(w, s.Rows)
		}
	}
	if err != nil {
		a.Logger.Debug("the comparison was not written to its end", "error", err)
	}
}

package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

// compareOptions are the flags of lab compare.
type compareOptions struct {
	Baseline           string `flag:"baseline" usage:"the run that the others are compared with (default: the oldest)" complete:"runs-of"`
	Split              string `flag:"split" usage:"walk_forward or a split id (default walk_forward)" complete:"splits"`
	OnlyChanged        bool   `flag:"only-changed" usage:"leave out parameters and metrics that are equal in all runs"`
	Sort               string `flag:"sort" usage:"order by this metric, best first (default: by run id)" complete:"metrics"`
	Top                int    `flag:"top" usage:"show at most so many runs (default: all)" min:"1"`
	RevealTest         bool   `flag:"reveal-test" usage:"show the locked test metrics; this is noted, and later new trials of the family are post_peek"`
	Format             string `flag:"format" usage:"table, json, csv or md" default:"table" values:"table,json,csv,md"`
	FailOnIncomparable bool   `flag:"fail-on-incomparable" usage:"exit 3 if the numbers of the runs do not mean the same"`
}

func compareCommand(a *App) *cobra.Command {
	var o compareOptions
	c := &cobra.Command{
		Use:   "compare <slug> [run...]",
		Short: "Put runs side by side: what changed, and whether it is real",
		Long: "Compare shows how runs differ in what was asked and in what came out, whether the " +
			"difference to the\n" +
			"baseline is more than luck, how many trials were made to find it and what a falsification " +
			"said. Without\n" +
			"runs it takes the newest 10 completed ones and the one that the newest plan has selected; " +
			"the baseline\n" +
			"is the oldest. Runs on other data, splits, execution or metrics are marked ~. Nothing is " +
			"executed.",
		Example: Examples(
			"lab compare sma_cross",
			"lab compare sma_cross run_6rvs7gxczpvrxcpd run_p7nuzqkypkht3b65 --only-changed",
			"lab compare sma_cross --sort sharpe_ratio --top 5 --format md",
			"lab compare sma_cross --split validation --format csv > runs.csv",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.AskedSlugs, a.RunsOf)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return compareRuns(ctx, a, args[0], args[1:], o)
	})
}

func compareRuns(ctx context.Context, a *App, slug string, runs []string, o compareOptions) (Outcome, error) {
	if a.JSON && (o.Format == "csv" || o.Format == "md") {
		return Outcome{}, Usage("--format", "--json and --format %s exclude each other", o.Format)
	}
	if err := project.CheckSlug(slug); err != nil {
		return Outcome{}, err
	}
	var result *compare.Comparison
	var warnings []Warning
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		var err error
		result, err = compare.Compare(ctx, store, reg, compare.Options{
			Slug: slug, Runs: runs, Baseline: o.Baseline, Split: o.Split, Sort: o.Sort, Top: o.Top,
			OnlyChanged: o.OnlyChanged, RevealTest: o.RevealTest, Author: authorName(a), StateDir: a.StateDir,
		})
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	if err := sayComparison(a, result); err != nil {
		return Outcome{}, err
	}
	for _, w := range result.Warnings {
		warnings = append(warnings, Warning(w))
	}
	out := Outcome{Result: result, Warnings: warnings, Print: func(w io.Writer) {
		printComparison(a, w, result, o.Format)
	}}
	if o.FailOnIncomparable && !result.Comparability.Comparable {
		return out, request.Errorf("INCOMPARABLE",
			"the runs differ in what has to be equal for their numbers to mean the same").
			With("differences", result.Comparability.Differences, "baseline", result.Baseline)
	}
	return out, nil
}

// sayComparison writes the page of a comparison and says where it is. The name comes from the runs.
// A revealed test is not written down: the page would show it to whoever opens it.
func sayComparison(a *App, c *compare.Comparison) error {
	if c.Revealed {
		return nil
	}
	ids := []string{c.Slug, c.Baseline, c.Split}
	for _, r := range c.Runs {
		ids = append(ids, r.RunID)
	}
	id := "compare_" + digest.SHA256Hex([]byte(strings.Join(ids, "\n")))[:16]
	var text bytes.Buffer
	if err := c.WritePage(&text); err != nil {
		return err
	}
	if err := writePage(a, id, text.Bytes()); err != nil {
		return err
	}
	a.say("page: %s", filepath.Join(a.StateDir, filepath.FromSlash(pagePath(id))))
	return nil
}

func printComparison(a *App, w io.Writer, c *compare.Comparison, format string) {
	var err error
	switch format {
	case "json":
		err = c.WriteJSON(w)
	case "csv":
		err = c.WriteCSV(w)
	case "md":
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
			for _, text := range s.Code {
				fmt.Fprint(w, text)
			}
			Table(w, s.Rows)
		}
	}
	if err != nil {
		a.Logger.Debug("the comparison was not written to its end", "error", err)
	}
}

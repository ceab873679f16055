package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/check"
	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/evaluate"
)

func (a *app) validateCommand() *cobra.Command {
	var dir string
	var noTest bool
	var testTimeout time.Duration
	c := &cobra.Command{
		Use:   "validate <slug>",
		Short: "Check everything that needs no full run",
		Long: "Validate reads lab.json, builds the plugin, asks it to describe itself, checks parameters, data and\n" +
			"splits, runs the author's tests, plays 2,000 candles twice and looks for what makes runs differ.\n" +
			"It goes on after a failure.",
		Example: cli.Examples(
			"lab validate sma_cross",
			"lab validate sma_cross --no-test --json",
		),
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&dir, "dir", "", "folder of the strategy (default: looked up by slug)")
	c.Flags().BoolVar(&noTest, "no-test", false, "leave the author's tests out")
	c.Flags().DurationVar(&testTimeout, "test-timeout", check.TestTimeout, "how long the tests may run")
	a.Arguments(c, a.Slugs)
	a.Folder(c, "dir")
	return a.Action(c, func(ctx context.Context, args []string) (cli.Outcome, error) {
		if testTimeout <= 0 {
			return cli.Outcome{}, cli.Usage("--test-timeout",
				"--test-timeout must be above zero, for example 2m")
		}
		return a.validate(ctx, args[0], dir, noTest, testTimeout)
	})
}

func (a *app) validate(
	ctx context.Context, slug, dir string, noTest bool, testTimeout time.Duration,
) (cli.Outcome, error) {
	p, err := a.project(slug, dir)
	if err != nil {
		if e := cli.Classify(err); e.Code != "LAB_JSON_INVALID" && e.Code != "NAME_MISMATCH" {
			return cli.Outcome{}, err // there is nothing to check
		}
	}
	if err == nil {
		a.sayFirstBuild(p)
	}
	working, err := os.Getwd()
	if err != nil {
		return cli.Outcome{}, err
	}
	var list []check.Outcome
	err = a.WithHost(ctx, func(h *evaluate.Host) error {
		s := &check.Subject{
			Slug: slug, Dir: dir, Working: working, Host: h, NoTest: noTest, TestTimeout: testTimeout,
		}
		var err error
		list, err = check.All(ctx, s, func(o check.Outcome) {
			if !a.JSON {
				fmt.Fprintln(a.IO.Out, checkLine(o))
			}
		})
		return err
	})
	if err != nil {
		return cli.Outcome{}, err
	}
	out := cli.Outcome{Result: map[string]any{"checks": list}, Print: func(io.Writer) {}}
	failed := 0
	for i, o := range list {
		switch o.Status {
		case check.Failed:
			failed++
			// The code of what went wrong, also where only the text of the error is known.
			if list[i].Code == "" {
				list[i].Code = cli.CodeCheckFailed
			}
		case check.Warned:
			out.Warnings = append(out.Warnings, cli.Warning{Code: strings.ToUpper(o.ID), Message: o.Message})
		}
	}
	if failed > 0 {
		return out, &cli.Error{Code: cli.CodeCheckFailed, Message: fmt.Sprintf("%d of %d checks failed", failed, len(list)), Details: map[string]any{"checks": list}}
	}
	return out, nil
}

// checkLine is one line for people.
func checkLine(o check.Outcome) string {
	return fmt.Sprintf("%-8s %-12s %s", o.Status, o.ID, strings.ReplaceAll(o.Message, "\n", "\n                      "))
}

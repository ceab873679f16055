package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/eval"
)

func statsCommand(a *App) *cobra.Command {
	return a.Group("stats", "Compute one statistic, or list them all",
		"The statistics are those that reports and comparisons are made of, each with the inputs that it "+
			"names.",
		statsEvalCommand(a), statsListCommand(a))
}

func statsEvalCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "eval",
		Short: "Answer statistics, a JSON line each, from standard input",
		Long: "Eval reads requests {\"fn\":NAME,\"inputs\":{...}} from standard input, one on a line, and " +
			"answers each\n" +
			"with a line in the same order: {\"value\":...}, {\"value\":null,\"reason\":...} or " +
			"{\"error\":{...}}. An \"id\"\n" +
			"comes back with its answer. The command fails if any line is an error.",
		Example: Examples(
			`echo '{"fn":"psr_2012","inputs":{"sr":0.458,"sr_benchmark":0,"T":24,"skew":-2.448,`+
				`"kurt_raw":10.164}}' | lab stats eval`,
			"lab stats eval < requests.jsonl > answers.jsonl",
		),
	}
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		return runStatsEval(ctx, a, c.InOrStdin())
	})
}

// runStatsEval writes answers as they are computed, but with --json, which prints one
// object, all at the end.
func runStatsEval(ctx context.Context, a *App, in io.Reader) (Outcome, error) {
	out := bufio.NewWriter(a.IO.Out)
	answers := []json.RawMessage{}
	answer := func(text []byte) {
		if a.JSON {
			answers = append(answers, text)
			return
		}
		_, _ = out.Write(append(text, '\n')) // Flush has the error
	}
	lines, failed, err := eval.New().Run(ctx, in, answer, out.Flush)
	if err != nil {
		return Outcome{}, err
	}
	result := map[string]any{"lines": lines, "errors": failed, "answers": answers}
	if failed > 0 {
		return Outcome{},
			request.Errorf(request.CodeCheckFailed, "%d of %d lines could not be computed", failed, lines).
				With("lines", lines, "errors", failed, "answers", answers)
	}
	return Outcome{Result: result}, nil
}

func statsListCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [function...]",
		Short: "List the statistics with their inputs and values",
		Long: "List shows every function of stats eval, or those that are named. Names and inputs are " +
			"matched literally;\n" +
			"square brackets are an array, answered element by element. Names of earlier versions are " +
			"answered as well.",
		Example: Examples(
			"lab stats list",
			"lab stats list psr_2012 min_trl_2025",
			"lab stats list --json",
		),
	}
	a.Arguments(c, statisticNames)
	return a.Action(c, func(_ context.Context, args []string) (Outcome, error) {
		list, err := statistics(args)
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{
			Result: map[string]any{"rules": stat.Rules, "functions": list},
			Print:  func(w io.Writer) { printStatistics(w, list) },
		}, nil
	})
}

// statistics are the functions of these names, in the order of the catalogue; all
// without names.
func statistics(names []string) ([]eval.Function, error) {
	all := eval.All()
	if len(names) == 0 {
		return all, nil
	}
	var list []eval.Function
	found := map[string]bool{}
	for _, f := range all {
		wanted := false
		for _, name := range names {
			if f.Answers(name) {
				wanted, found[name] = true, true
			}
		}
		if wanted {
			list = append(list, f)
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, Unknown("function", name, statisticNames(nil))
		}
	}
	return list, nil
}

func statisticNames([]string) []string {
	var names []string
	for _, f := range eval.All() {
		for _, name := range f.Names {
			names = append(names, cobra.CompletionWithDesc(name, f.Doc))
		}
	}
	return names
}

func printStatistics(w io.Writer, list []eval.Function) {
	rows := [][]string{{"FUNCTION", "INPUTS", "VALUE"}}
	for _, f := range list {
		rows = append(rows, []string{strings.Join(f.Names, ", "), f.Inputs(), f.Value})
	}
	Table(w, rows)
}

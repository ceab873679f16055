package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/python"
)

// sdkMatched is the result of lab sdk match.
type sdkMatched struct {
	Steps      int64  `json:"steps"`
	Trades     int    `json:"trades"`
	FinalValue string `json:"final_value"`
	Digest     string `json:"ledger_digest"`
	File       string `json:"file"`
}

func matchCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "match <folder>",
		Short: "Match the orders of a strategy that a test runs in its own process",
		Long: "Match plays the candles of <folder>/request.json in the simulator. The strategy answers\n" +
			"each step on <folder>/strategy.sock in frames, as a bundle does; the books go to\n" +
			"<folder>/result.json. assay.testing.backtest of the SDK for Python calls it.",
		Example: Examples("lab sdk match /tmp/backtest-x1 --json"),
		Args:    cobra.ExactArgs(1),
	}
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		r, err := python.Match(ctx, args[0])
		if err != nil {
			return Outcome{}, err
		}
		out := sdkMatched{Steps: r.Steps, Trades: len(r.Trades), FinalValue: r.FinalValue.String(),
			Digest: r.Digest, File: filepath.Join(args[0], python.MatchResult)}
		return Outcome{Result: out, Print: func(w io.Writer) {
			fmt.Fprintf(w, "%d steps, %d trades, %s\n", out.Steps, out.Trades, out.FinalValue)
		}}, nil
	})
}

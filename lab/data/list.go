package data

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/cli"
)

func (a *app) dataListCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the stored candles",
		Long:  "List shows the current dataset of every exchange, symbol and timeframe. Timeframes that divide\ninto a stored one are resampled when a run asks for them, and listed from then on.",
		Example: cli.Examples(
			"lab data list",
			"lab data list --all --json",
		),
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&all, "all", false, "earlier versions, too")
	return a.Action(c, func(ctx context.Context, _ []string) (cli.Outcome, error) { return a.runDataList(ctx, all) })
}

func (a *app) runDataList(ctx context.Context, all bool) (cli.Outcome, error) {
	list := []datasetSummary{}
	err := a.withStore(ctx, func(s *candle.Store) error {
		datasets, err := s.List(ctx)
		for _, d := range datasets {
			if d.Current || all {
				list = append(list, summaryOf(d))
			}
		}
		return err
	})
	if err != nil {
		return cli.Outcome{}, err
	}
	return cli.Outcome{
		Result: map[string]any{"datasets": list},
		Print:  func(w io.Writer) { printDatasets(w, list) },
	}, nil
}

func printDatasets(w io.Writer, list []datasetSummary) {
	rows := [][]string{{"EXCHANGE", "SYMBOL", "TIMEFRAME", "CANDLES", "MISSING", "FROM", "TO", "CALENDAR", "SHA256", "NOTE"}}
	for _, d := range list {
		note := ""
		if d.DerivedFrom != "" {
			note = "resampled from " + cli.Short(d.DerivedFrom)
		}
		if !d.Current {
			note = "earlier version"
		}
		rows = append(rows, []string{
			d.Exchange, string(d.Symbol), d.Timeframe.String(), count(d.Rows), count(d.Missing),
			day(d.Start), day(d.End), string(d.Calendar), cli.Short(d.SHA256), note,
		})
	}
	cli.Table(w, rows)
}

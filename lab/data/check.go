package data

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/cli"
)

// dataChecked is one dataset with what the check found.
type dataChecked struct {
	datasetSummary
	OK      bool              `json:"ok"`
	Problem string            `json:"problem"`
	Gaps    *candle.GapReport `json:"gaps"`
}

func (a *app) dataCheckCommand() *cobra.Command {
	var exchange string
	c := &cobra.Command{
		Use:   "check",
		Short: "Hash the stored candles again and report their gaps",
		Long:  "Check reads every candle file, compares its hash and content with the catalogue, and counts\nthe candles that are missing in it. A damaged file makes the command fail.",
		Example: cli.Examples(
			"lab data check",
			"lab data check --exchange sample --json",
		),
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&exchange, "exchange", "", "only this exchange")
	return a.Action(c, func(ctx context.Context, _ []string) (cli.Outcome, error) { return a.runDataCheck(ctx, exchange) })
}

func (a *app) runDataCheck(ctx context.Context, exchange string) (cli.Outcome, error) {
	list, bad := []dataChecked{}, 0
	err := a.withStore(ctx, func(s *candle.Store) error {
		datasets, err := s.List(ctx)
		if err != nil {
			return err
		}
		for _, d := range datasets {
			if exchange != "" && d.Exchange != exchange {
				continue
			}
			checked, err := s.Check(ctx, d)
			if err != nil {
				return err
			}
			c := dataChecked{datasetSummary: summaryOf(d), OK: checked.Problem == "", Problem: checked.Problem}
			if c.OK {
				c.Gaps = &checked.Gaps
			} else {
				bad++
			}
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		return cli.Outcome{}, err
	}
	if len(list) == 0 && exchange != "" {
		return cli.Outcome{}, &cli.Error{Code: cli.CodeDataUnavailable, Message: "nothing is stored for the exchange " + exchange, Details: map[string]any{"flag": "--exchange"}}
	}
	out := cli.Outcome{Result: map[string]any{"datasets": list}, Print: func(w io.Writer) { printChecked(w, list) }}
	if bad > 0 {
		return out, &cli.Error{
			Code: cli.CodeCheckFailed, Message: fmt.Sprintf("%d of %d candle files are damaged: import them again", bad, len(list)),
			Details: map[string]any{"datasets": list},
		}
	}
	return out, nil
}

func printChecked(w io.Writer, list []dataChecked) {
	rows := [][]string{{"DATASET", "STATE", "CANDLES", "MISSING", "GAPS", "LONGEST", "NO VOLUME", "FLAT"}}
	for _, c := range list {
		if !c.OK {
			rows = append(rows, []string{c.ID, "damaged: " + c.Problem})
			continue
		}
		g := c.Gaps
		rows = append(rows, []string{c.ID, "ok", count(g.Rows), count(g.Missing), count(g.GapCount), count(g.Longest), count(g.ZeroVolume), count(g.Flat)})
	}
	cli.Table(w, rows)
}

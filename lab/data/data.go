package data

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// app is one invocation; each command is a method in a file of its own.
type app struct{ *cli.App }

// Command is the group of commands.
func Command(shared *cli.App) *cobra.Command {
	a := &app{shared}
	c := a.Group("data", "Import, list and check candles", a.dataImportCommand(), a.dataListCommand(), a.dataCheckCommand())
	c.Long = "The candle store of the state directory: every series has the hash of its content, which runs name."
	return c
}

// withStore runs f with the candle store open.
func (a *app) withStore(ctx context.Context, f func(*candle.Store) error) error {
	if err := os.MkdirAll(a.StateDir, 0o700); err != nil {
		return cli.Usage("--state-dir", "%v: choose another folder with --state-dir", err)
	}
	s, err := candle.Open(ctx, a.StateDir)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// datasetSummary is a dataset without its report.
type datasetSummary struct {
	ID          string           `json:"id"`
	Exchange    string           `json:"exchange"`
	Symbol      market.Symbol    `json:"symbol"`
	Timeframe   market.Timeframe `json:"timeframe"`
	SHA256      string           `json:"sha256"`
	Rows        int              `json:"rows"`
	Start       market.Time      `json:"start"`
	End         market.Time      `json:"end"`
	Missing     int              `json:"missing"`
	Calendar    candle.Calendar  `json:"calendar"`
	PriceStep   string           `json:"price_step"`
	VolumeUnit  string           `json:"volume_unit"`
	DerivedFrom string           `json:"derived_from"`
	CreatedAt   market.Time      `json:"created_at"`
	Current     bool             `json:"current"`
}

func summaryOf(d candle.Dataset) datasetSummary {
	return datasetSummary{
		ID: d.ID, Exchange: d.Exchange, Symbol: d.Symbol, Timeframe: d.Timeframe, SHA256: d.SHA256, Rows: d.Rows,
		Start: d.Start(), End: d.End(), Missing: d.Report.Gaps.Missing, Calendar: d.Calendar, PriceStep: d.PriceStep.String(),
		VolumeUnit: d.VolumeUnit, DerivedFrom: d.DerivedFrom, CreatedAt: d.CreatedAt, Current: d.Current,
	}
}

// day is a time as its date, for tables.
func day(t market.Time) string { return t.String()[:len("2006-01-02")] }

func count(n int) string { return strconv.Itoa(n) }

package data

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/columnar"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// dataImportOptions are the flags of data import as given.
type dataImportOptions struct {
	exchange, symbol, timeframe string
	profile, columns, ticker    string
	zone, stamp, dateOrder      string
	violations, duplicates      string
	calendar, volumeUnit        string
	merge, dryRun               bool
}

func (a *app) dataImportCommand() *cobra.Command {
	var o dataImportOptions
	c := &cobra.Command{
		Use:   "import FILE... --exchange NAME --symbol BASE/QUOTE",
		Short: "Import candles from files",
		Long:  importHelp(),
		Example: cli.Examples(
			"lab data import BTCUSDT_1h.csv --exchange binance --symbol BTC/USDT",
			"lab data import 2023.csv.gz 2024.csv.gz --exchange kraken --symbol XBT/EUR --timeframe 1h",
			"lab data import BTC_USDT-1h.feather --exchange binance",
			"lab data import candles.csv --exchange bitfinex --symbol BTC/USD --columns time,open,close,high,low,volume",
			"lab data import new.csv --exchange binance --symbol BTC/USDT --merge --duplicates last --dry-run",
		),
		Args: cobra.MinimumNArgs(1),
	}
	f := c.Flags()
	f.StringVar(&o.exchange, "exchange", "", "where the candles come from, a lower-case name (required)")
	f.StringVar(&o.symbol, "symbol", "", "what was traded, BASE/QUOTE (required unless the file names it)")
	f.StringVar(&o.timeframe, "timeframe", "", "length of a candle, for example 1h (default: as the file names it, else the commonest step)")
	f.StringVar(&o.profile, "profile", "", "format of the files (default: recognised)")
	f.StringVar(&o.columns, "columns", "", "names of the columns by position: time,open,high,low,close,volume in any order, other names are ignored")
	f.StringVar(&o.ticker, "ticker", "", "take the rows of this ticker only, where a file has several")
	f.StringVar(&o.zone, "tz", "", "time zone of times without offset, for example UTC or America/New_York")
	f.StringVar(&o.stamp, "stamp", "", "what a time says of its candle: its open or its close (default open)")
	f.StringVar(&o.dateOrder, "date-order", "", "order of dates like 01/02/2024: mdy or dmy (default: as a part above 12 shows)")
	f.StringVar(&o.violations, "ohlc-violations", "", "candles whose high or low does not enclose open and close: widen, drop or keep (default: refuse)")
	f.StringVar(&o.duplicates, "duplicates", "", "of several different candles of one time take the first or last (default: refuse)")
	f.StringVar(&o.calendar, "calendar", "", "24x7 or weekdays (default: detected)")
	f.StringVar(&o.volumeUnit, "volume-unit", "", "base, quote, contracts or ticks (default: as the format has it, else base)")
	f.BoolVar(&o.merge, "merge", false, "join with the stored candles of the same exchange, symbol and timeframe")
	f.BoolVar(&o.dryRun, "dry-run", false, "do everything but store")
	a.offerImport(c)
	return a.Action(c, func(ctx context.Context, args []string) (cli.Outcome, error) { return a.runDataImport(ctx, o, args) })
}

// offerImport completes the flags whose values are known; the importer checks them.
func (a *app) offerImport(c *cobra.Command) {
	a.Arguments(c, nil) // files
	for flag, values := range map[string][]string{
		"stamp": {"open", "close"}, "date-order": {"mdy", "dmy"}, "ohlc-violations": {"widen", "drop", "keep"}, "duplicates": {"first", "last"},
		"calendar": {"24x7", "weekdays"}, "volume-unit": {"base", "quote", "contracts", "ticks"},
	} {
		a.Offer(c, flag, func([]string) []string { return values })
	}
	a.Offer(c, "profile", func([]string) []string {
		var list []string
		for _, p := range importer.Profiles() {
			list = append(list, cobra.CompletionWithDesc(p.Name, p.Doc))
		}
		slices.Sort(list)
		return list
	})
}

// importHelp is what the command says of itself, with the formats as they describe
// themselves.
func importHelp() string {
	var b strings.Builder
	b.WriteString(`Import reads one series of candles from one or more files, refuses what contradicts
itself, and stores the rest with a report of what it did: CSV and text (comma, semicolon
or tab), JSON, each plain, .gz or in a .zip, Feather and Parquet. Columns are found by
the names in the header; --columns names them where there is none. Times are whole
numbers (seconds, milli-, micro- or nanoseconds, told apart by their size), ISO 8601
with an offset, or dates.

Formats that are recognised, or forced by --profile:
`)
	all := importer.Profiles()
	slices.SortFunc(all, func(a, b importer.Profile) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range all {
		fmt.Fprintf(&b, "  %-18s  %s\n", p.Name, p.Doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// request checks the flags and makes the request of them.
func (o dataImportOptions) request(paths []string) (r candle.ImportRequest, err error) {
	if err := candle.CheckExchange(o.exchange); err != nil {
		return r, err
	}
	r = candle.ImportRequest{
		Exchange: o.exchange, Calendar: candle.Calendar(o.calendar), VolumeUnit: o.volumeUnit, Merge: o.merge, DryRun: o.dryRun,
		Options: importer.Options{
			Symbol: market.Symbol(o.symbol), Profile: o.profile, Ticker: o.ticker, Stamp: o.stamp, DateOrder: o.dateOrder,
			Violations: o.violations, Duplicates: o.duplicates, Formats: columnar.Formats(),
		},
	}
	if o.timeframe != "" {
		if r.Options.Timeframe, err = market.ParseTimeframe(o.timeframe); err != nil {
			return r, cli.Usage("--timeframe", "--timeframe: %v", err)
		}
	}
	if o.zone != "" {
		if r.Options.Zone, err = time.LoadLocation(o.zone); err != nil || o.zone == "Local" {
			return r, cli.Usage("--tz", "--tz %s is not a time zone: write UTC or a name like America/New_York", o.zone)
		}
	}
	if r.Options.Columns, err = importer.ParseColumns(o.columns); err != nil {
		return r, err
	}
	for _, path := range paths {
		in, err := importer.File(path)
		if err != nil {
			return r, cli.Usage("FILE", "%v", err)
		}
		r.Files = append(r.Files, in)
	}
	return r, nil
}

func (a *app) runDataImport(ctx context.Context, o dataImportOptions, paths []string) (out cli.Outcome, err error) {
	req, err := o.request(paths)
	if err != nil {
		return cli.Outcome{}, err
	}
	p := a.Progress("importing").Count("bytes", 0)
	req.Options.Progress = p.Update
	var d candle.Dataset
	err = a.withStore(ctx, func(s *candle.Store) error {
		d, err = s.Import(ctx, req)
		return err
	})
	p.End()
	if err != nil {
		return cli.Outcome{}, err
	}
	a.Logger.Debug("imported", "dataset", d.ID, "rows", d.Rows, "dry_run", o.dryRun)
	for _, w := range d.Report.Warnings {
		out.Warnings = append(out.Warnings, cli.Warning(w))
	}
	out.Result = map[string]any{"dataset": d, "stored": !o.dryRun}
	out.Print = func(w io.Writer) { printImport(w, d, o.dryRun) }
	return out, nil
}

func printImport(w io.Writer, d candle.Dataset, dryRun bool) {
	verb := "stored"
	if dryRun {
		verb = "would store"
	}
	r, g := d.Report, d.Report.Gaps
	fmt.Fprintf(w, "%s %s\n", verb, d.ID)
	cli.Table(w, [][]string{
		{"format", r.Profile},
		{"candles", fmt.Sprintf("%d of %s %s on %s", d.Rows, d.Symbol, d.Timeframe, d.Exchange)},
		{"window", fmt.Sprintf("%s to %s", d.Start(), d.End())},
		{"rows", fmt.Sprintf("%d read, %d skipped, %d duplicates dropped, %d reordered, %d OHLC violations",
			r.RowsRead, r.Skipped, r.DuplicatesDropped, r.Reordered, r.OHLCViolations)},
		{"gaps", fmt.Sprintf("%d with %d candles, the longest %d", g.GapCount, g.Missing, g.Longest)},
		{"calendar", string(d.Calendar)},
		{"price step", d.PriceStep.String()},
		{"volume", fmt.Sprintf("in %s; %d candles without, %d flat", d.VolumeUnit, g.ZeroVolume, g.Flat)},
		{"sha256", d.SHA256},
	})
}

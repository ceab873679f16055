package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/columnar"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// dataCommand is the group of commands.
func dataCommand(a *App) *cobra.Command {
	return a.Group("data", "Fetch, import, export, list and check candles",
		"The candle store of the state directory: every series has the hash of its content, which runs name.",
		dataImportCommand(a), dataFetchCommand(a), dataUpdateCommand(a), dataExportCommand(a),
		dataListCommand(a), dataHoldoutCommand(a), dataCheckCommand(a))
}

// withStore runs f with the candle store open.
func withStore(ctx context.Context, a *App, f func(*candle.Store) error) error {
	if err := os.MkdirAll(a.StateDir, 0o700); err != nil {
		return Usage("--state-dir", "%v: choose another folder with --state-dir", err)
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
		ID: d.ID, Exchange: d.Exchange, Symbol: d.Symbol, Timeframe: d.Timeframe, SHA256: d.SHA256,
		Rows:  d.Rows,
		Start: d.Start(), End: d.End(), Missing: d.Report.Gaps.Missing, Calendar: d.Calendar,
		PriceStep:  d.PriceStep.String(),
		VolumeUnit: d.VolumeUnit, DerivedFrom: d.DerivedFrom, CreatedAt: d.CreatedAt, Current: d.Current,
	}
}

// day is a time as its date, for tables.
func day(t market.Time) string { return t.String()[:len("2006-01-02")] }

func count(n int) string { return strconv.Itoa(n) }

// dataImportOptions are the flags of data import as given.
type dataImportOptions struct {
	Exchange   string `flag:"exchange" usage:"where the candles come from, a lower-case name (required)"`
	Symbol     string `flag:"symbol" usage:"what was traded, BASE/QUOTE (required unless the file names it)"`
	Timeframe  string `flag:"timeframe" usage:"length of a candle, for example 1h (default: as the file names it, else the commonest step)"`
	Profile    string `flag:"profile" usage:"format of the files (default: recognised)" complete:"profiles"`
	Columns    string `flag:"columns" usage:"names of the columns by position: time,open,high,low,close,volume in any order, other names are ignored"`
	Ticker     string `flag:"ticker" usage:"take the rows of this ticker only, where a file has several"`
	Zone       string `flag:"tz" usage:"time zone of times without offset, for example UTC or America/New_York"`
	Stamp      string `flag:"stamp" usage:"what a time says of its candle: its open or its close (default open)" complete:"open,close"`
	DateOrder  string `flag:"date-order" usage:"order of dates like 01/02/2024: mdy or dmy (default: as a part above 12 shows)" complete:"mdy,dmy"`
	Violations string `flag:"ohlc-violations" usage:"candles whose high or low does not enclose open and close: widen, drop or keep (default: refuse)" complete:"widen,drop,keep"`
	Duplicates string `flag:"duplicates" usage:"of several different candles of one time take the first or last (default: refuse)" complete:"first,last"`
	Calendar   string `flag:"calendar" usage:"24x7 or weekdays (default: detected)" complete:"24x7,weekdays"`
	VolumeUnit string `flag:"volume-unit" usage:"base, quote, contracts or ticks (default: as the format has it, else base)" complete:"base,quote,contracts,ticks"`
	Input      string `flag:"input" usage:"store a series beside the candles under this name: rows of time, known and value"`
	KnownDelay string `flag:"known-delay" usage:"with --input: how long after its time each value became known, for a file that does not say, for example 1h"`
	Merge      bool   `flag:"merge" usage:"join with the stored candles of the same exchange, symbol and timeframe, or rows of the input"`
	DryRun     bool   `flag:"dry-run" usage:"do everything but store"`
}

func dataImportCommand(a *App) *cobra.Command {
	var o dataImportOptions
	c := &cobra.Command{
		Use:   "import FILE... --exchange NAME --symbol BASE/QUOTE",
		Short: "Import candles from files",
		Long:  importHelp(),
		Example: Examples(
			"lab data import BTCUSDT_1h.csv --exchange binance --symbol BTC/USDT",
			"lab data import 2023.csv.gz 2024.csv.gz --exchange kraken --symbol XBT/EUR --timeframe 1h",
			"lab data import BTC_USDT-1h.feather --exchange binance",
			"lab data import candles.csv --exchange bitfinex --symbol BTC/USD --columns "+
				"time,open,close,high,low,volume",
			"lab data import new.csv --exchange binance --symbol BTC/USDT --merge --duplicates last "+
				"--dry-run",
			"lab data import funding.csv --input funding --known-delay 1m",
		),
	}
	a.Bind(c, &o)       // the importer checks the values
	a.Arguments(c, nil) // files
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runDataImport(ctx, a, o, args)
	})
}

// importHelp is the description of the command, with the formats as they describe
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
	if err := candle.CheckExchange(o.Exchange); err != nil {
		return r, err
	}
	r = candle.ImportRequest{
		Exchange: o.Exchange, Calendar: candle.Calendar(o.Calendar), VolumeUnit: o.VolumeUnit, Merge: o.Merge,
		DryRun: o.DryRun,
		Options: importer.Options{
			Symbol: market.Symbol(o.Symbol), Profile: o.Profile, Ticker: o.Ticker, Stamp: o.Stamp,
			DateOrder:  o.DateOrder,
			Violations: o.Violations, Duplicates: o.Duplicates, Formats: columnar.Formats(),
		},
	}
	if o.Timeframe != "" {
		if r.Options.Timeframe, err = market.ParseTimeframe(o.Timeframe); err != nil {
			return r, Usage("--timeframe", "--timeframe: %v", err)
		}
	}
	if r.Options.Zone, err = o.zone(); err != nil {
		return r, err
	}
	if r.Options.Columns, err = importer.ParseColumns(o.Columns); err != nil {
		return r, err
	}
	for _, path := range paths {
		in, err := importer.File(path)
		if err != nil {
			return r, Usage("FILE", "%v", err)
		}
		r.Files = append(r.Files, in)
	}
	return r, nil
}

// zone is the time zone of --tz, nil without one.
func (o dataImportOptions) zone() (*time.Location, error) {
	if o.Zone == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(o.Zone)
	if err != nil || o.Zone == "Local" {
		return nil, Usage("--tz", "--tz %s is not a time zone: write UTC or a name like America/New_York",
			o.Zone)
	}
	return zone, nil
}

func runDataImport(ctx context.Context, a *App, o dataImportOptions,
	paths []string) (out Outcome, err error) {
	if o.Input != "" {
		return runInputImport(ctx, a, o, paths)
	}
	if o.KnownDelay != "" {
		return out, Usage("--known-delay", "--known-delay goes with --input")
	}
	req, err := o.request(paths)
	if err != nil {
		return Outcome{}, err
	}
	p := a.Progress("importing").Count("bytes", 0)
	req.Options.Progress = p.Update
	var d candle.Dataset
	var of *holdout.Standing
	err = withLedger(ctx, a, func(l holdout.Ledger) error {
		if d, err = l.Candles.Import(ctx, req); err != nil || o.DryRun {
			return err
		}
		of, err = holdoutOf(ctx, l, d)
		return err
	})
	p.End()
	if err != nil {
		return Outcome{}, err
	}
	a.Logger.Debug("imported", "dataset", d.ID, "rows", d.Rows, "dry_run", o.DryRun)
	return storedOutcome(d, of, o.DryRun), nil
}

// storedOutcome is of a dataset that was stored, or with dryRun would be.
func storedOutcome(d candle.Dataset, of *holdout.Standing, dryRun bool) (out Outcome) {
	for _, w := range d.Report.Warnings {
		out.Warnings = append(out.Warnings, Warning(w))
	}
	out.Result = map[string]any{"dataset": d, "stored": !dryRun, "holdout": of}
	out.Print = func(w io.Writer) { printImport(w, d, of, dryRun) }
	return out
}

// holdoutOf is the market of a stored dataset, nil where it has none.
func holdoutOf(ctx context.Context, l holdout.Ledger, d candle.Dataset) (*holdout.Standing, error) {
	list, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(s *holdout.Standing) bool { return s.Has(d.SHA256) })
	if at < 0 {
		return nil, nil
	}
	return list[at], nil
}

func printImport(w io.Writer, d candle.Dataset, of *holdout.Standing, dryRun bool) {
	verb := "stored"
	if dryRun {
		verb = "would store"
	}
	r, g := d.Report, d.Report.Gaps
	fmt.Fprintf(w, "%s %s\n", verb, d.ID)
	rows := [][]string{
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
	}
	if of != nil {
		rows = append(rows, []string{"held out", fmt.Sprintf("from %s on, %d looks so far (%s, stored as %s)",
			moment(of.From), len(of.Looks), of.Market, strings.Join(of.Names, ", "))})
	}
	if f := r.Fetched; f != nil {
		rows = append(rows, []string{"fetched", fmt.Sprintf("%d pages by the connector %s %s, %s to %s",
			len(f.Pages), f.Connector, f.ConnectorVersion, f.FirstRequest, f.LastRequest)})
	}
	Table(w, rows)
}

func dataListCommand(a *App) *cobra.Command {
	var o struct {
		All bool `flag:"all" usage:"earlier versions, too"`
	}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the stored candles and inputs",
		Long: "List shows the current dataset of every exchange, symbol and timeframe, and every input. " +
			"Timeframes that " +
			"divide\ninto a stored one are resampled when a run asks for them, and listed from then on. " +
			"The bar of COVERAGE\nis lower where candles lack, a dot where there are none.",
		Example: Examples(
			"lab data list",
			"lab data list --all --json",
		),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		return runDataList(ctx, a, o.All)
	})
}

// coverageCells is how many stretches of a dataset the bar of data list shows.
const coverageCells = 24

// listedDataset is a dataset with the hold-out of its market; From is null where the candles
// cannot be read. Coverage is the share of the candles that each stretch has.
type listedDataset struct {
	datasetSummary
	GapCount int       `json:"gap_count"`
	Coverage []float64 `json:"coverage"`

	Market string       `json:"market"`
	From   *market.Time `json:"holdout_from"`
	Looks  int          `json:"holdout_looks"`
}

func listedAs(d holdout.Dataset, gaps []candle.Gap) listedDataset {
	out := listedDataset{datasetSummary: summaryOf(d.Dataset), GapCount: d.Report.Gaps.GapCount,
		Coverage: d.Coverage(gaps, coverageCells)}
	if s := d.Market; s != nil {
		out.Market, out.From, out.Looks = s.Market, &s.From, len(s.Looks)
	}
	return out
}

func runDataList(ctx context.Context, a *App, all bool) (Outcome, error) {
	list := []listedDataset{}
	var inputs []candle.StoredInput
	var damaged error
	err := withLedger(ctx, a, func(l holdout.Ledger) error {
		if err := l.Know(ctx); err != nil {
			return err
		}
		inputs, damaged = l.Candles.Inputs().List()
		datasets, err := l.Datasets(ctx)
		for _, d := range datasets {
			if !d.Current && !all {
				continue
			}
			gaps, err := l.Candles.AllGaps(ctx, d.Dataset)
			if err != nil {
				return err
			}
			list = append(list, listedAs(d, gaps))
		}
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{
		Result: map[string]any{"datasets": list, "inputs": inputs},
		Print: func(w io.Writer) {
			printDatasets(w, list)
			printInputs(w, inputs)
		},
	}
	if damaged != nil {
		out.Warnings = []Warning{{Code: codeInputUnreadable, Message: damaged.Error()}}
	}
	return out, nil
}

func printDatasets(w io.Writer, list []listedDataset) {
	rows := [][]string{{"EXCHANGE", "SYMBOL", "TIMEFRAME", "CANDLES", "MISSING", "FROM", "COVERAGE", "TO",
		"HELD OUT FROM", "LOOKS", "CALENDAR", "SHA256", "NOTE"}}
	for _, d := range list {
		note := ""
		if d.DerivedFrom != "" {
			note = "resampled from " + Short(d.DerivedFrom)
		}
		if !d.Current {
			note = "earlier version"
		}
		held := "unknown"
		if d.From != nil {
			held = moment(*d.From)
		}
		rows = append(rows, []string{
			d.Exchange, string(d.Symbol), d.Timeframe.String(), count(d.Rows), count(d.Missing),
			day(d.Start), coverageBar(d.Coverage), day(d.End), held, count(d.Looks),
			string(d.Calendar), Short(d.SHA256), note,
		})
	}
	Table(w, rows)
}

// coverageBar draws shares of candles: a full block is a stretch that lacks none, a dot one that has
// none.
func coverageBar(shares []float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	bar := make([]rune, len(shares))
	for i, share := range shares {
		bar[i] = '·'
		if share > 0 {
			bar[i] = levels[max(0, min(int(share*8), len(levels))-1)]
		}
	}
	return string(bar)
}

// dataChecked is one dataset with what the check found.
type dataChecked struct {
	datasetSummary
	OK      bool              `json:"ok"`
	Problem string            `json:"problem"`
	Gaps    *candle.GapReport `json:"gaps"`
}

func dataCheckCommand(a *App) *cobra.Command {
	var o struct {
		Exchange string `flag:"exchange" usage:"only this exchange"`
	}
	c := &cobra.Command{
		Use:   "check",
		Short: "Hash the stored candles again and report their gaps",
		Long: "Check reads every candle file, compares its hash and content with the catalogue, and " +
			"counts\nthe candles that are missing in it. A damaged file makes the command fail.",
		Example: Examples(
			"lab data check",
			"lab data check --exchange sample --json",
		),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		return runDataCheck(ctx, a, o.Exchange)
	})
}

func runDataCheck(ctx context.Context, a *App, exchange string) (Outcome, error) {
	list, bad := []dataChecked{}, 0
	err := withStore(ctx, a, func(s *candle.Store) error {
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
			c := dataChecked{datasetSummary: summaryOf(d), OK: checked.Problem == "",
				Problem: checked.Problem}
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
		return Outcome{}, err
	}
	if len(list) == 0 && exchange != "" {
		return Outcome{},
			request.Errorf(run.CodeDataUnavailable, "nothing is stored for the exchange %s", exchange).
				With("flag", "--exchange")
	}
	out := Outcome{Result: map[string]any{"datasets": list}, Print: func(w io.Writer) {
		printChecked(w, list)
	}}
	if bad > 0 {
		return out, request.Errorf(request.CodeCheckFailed,
			"%d of %d candle files are damaged: import them again", bad, len(list)).
			With("datasets", list)
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
		rows = append(rows,
			[]string{c.ID, "ok", count(g.Rows), count(g.Missing), count(g.GapCount), count(g.Longest),
				count(g.ZeroVolume), count(g.Flat)})
	}
	Table(w, rows)
}

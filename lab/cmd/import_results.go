package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/foreign"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

func importResultsCommand(a *App) *cobra.Command {
	return a.Group("import-results", "Keep what another engine has computed, to compare with",
		"The results become a run of the registry that is marked imported: our metrics of their trades.\n"+
			"Nothing is played again, so it is no trial, and it is neither attacked nor packed.",
		importFreqtradeCommand(a), importBacktestingCommand(a))
}

func importFreqtradeCommand(a *App) *cobra.Command {
	var o struct {
		Strategy string `flag:"strategy" usage:"the strategy to take, where the file has several"`
		Slug     string `flag:"slug" usage:"name of the strategy here (default: that of the class)"`
	}
	c := &cobra.Command{
		Use:   "freqtrade <FILE>",
		Short: "Keep a result of freqtrade backtesting",
		Long: "FILE is the zip or the JSON that freqtrade backtesting --export trades writes. Equity\n" +
			"is made of the closed trades: the file has none.",
		Example: Examples(
			"lab import-results freqtrade user_data/backtest_results/backtest-result-2026-01-31.zip",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, nil)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		text, source, err := readResults(args[0])
		if err != nil {
			return Outcome{}, err
		}
		r, err := foreign.Freqtrade(text, foreign.Options{Strategy: o.Strategy})
		if err != nil {
			return Outcome{}, err
		}
		r.Source.Files = []artifact.ImportFile{source}
		return keepResults(ctx, a, r, FirstOf(o.Slug, snake(r.Strategy)))
	})
}

func importBacktestingCommand(a *App) *cobra.Command {
	var o struct {
		Symbol    string `flag:"symbol" usage:"what was traded, BASE/QUOTE"`
		Slug      string `flag:"slug" usage:"name of the strategy here (default: that of FILE)"`
		Timeframe string `flag:"timeframe" usage:"of the candles (default: the steps of EQUITY)"`
		Cash      string `flag:"cash" usage:"cash at the start, without EQUITY (default 10000)"`
	}
	c := &cobra.Command{
		Use:   "backtesting.py <FILE> [EQUITY]",
		Short: "Keep a result of backtesting.py",
		Long: "FILE has the trades, EQUITY the equity curve, as CSV or JSON records. In Python:\n" +
			"stats[\"_trades\"].to_csv(\"sma_cross.csv\")\n" +
			"stats[\"_equity_curve\"].to_csv(\"equity.csv\")",
		Example: Examples(
			"lab import-results backtesting.py sma_cross.csv equity.csv --symbol BTC/USD",
			"lab import-results backtesting.py sma_cross.csv --symbol BTC/USD --timeframe 1h --cash 10000",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, nil, nil)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		trades, source, err := readResults(args[0])
		if err != nil {
			return Outcome{}, err
		}
		files := []artifact.ImportFile{source}
		var equity []byte
		if len(args) > 1 {
			if equity, source, err = readResults(args[1]); err != nil {
				return Outcome{}, err
			}
			files = append(files, source)
		}
		name := filepath.Base(args[0])
		slug := FirstOf(o.Slug, snake(name[:len(name)-len(filepath.Ext(name))]))
		r, err := foreign.Backtesting(trades, equity, foreign.Options{
			Strategy: slug, Symbol: o.Symbol, Timeframe: o.Timeframe, Cash: o.Cash,
		})
		if err != nil {
			return Outcome{}, err
		}
		r.Source.Files = files
		return keepResults(ctx, a, r, slug)
	})
}

// readResults reads a file of results within the limit.
func readResults(path string) ([]byte, artifact.ImportFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, artifact.ImportFile{}, Usage("FILE", "%v", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, foreign.MaxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, artifact.ImportFile{}, Usage("FILE", "%v", err)
	}
	if len(text) > foreign.MaxFile {
		return nil, artifact.ImportFile{}, &foreign.Error{Code: foreign.CodeTooLarge,
			Message: fmt.Sprintf("%s has more than %d bytes", path, foreign.MaxFile)}
	}
	return text, artifact.ImportFile{Name: filepath.Base(path), SHA256: digest.SHA256Hex(text)}, nil
}

// imported is the result of lab import-results.
type imported struct {
	RunID       string             `json:"run_id"`
	RequestHash string             `json:"request_hash"`
	ResultHash  string             `json:"result_hash"`
	Slug        string             `json:"slug"`
	Reused      bool               `json:"reused"`
	Summary     artifact.Summary   `json:"summary"`
	Imported    *artifact.Imported `json:"imported"`
	Assumptions []artifact.Note    `json:"assumptions"`
}

func keepResults(ctx context.Context, a *App, r *foreign.Results, slug string) (Outcome, error) {
	if err := project.CheckSlug(slug); err != nil {
		return Outcome{}, err
	}
	var kept *foreign.Kept
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) (err error) {
		kept, err = foreign.Keep(ctx, store, reg, r, slug, a.now())
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	m := kept.Metadata
	out := imported{RunID: m.RunID, RequestHash: m.RequestHash, ResultHash: kept.Report.ResultHash,
		Slug: m.Slug, Reused: kept.Known, Summary: m.Summary, Imported: m.Imported,
		Assumptions: kept.Report.Assumptions}
	var warnings []Warning
	for _, w := range kept.Report.Warnings {
		warnings = append(warnings, Warning{w.Code, w.Message})
	}
	return Outcome{Result: out, Warnings: warnings, Print: func(w io.Writer) {
		printRun(w, &request.Result{RunID: m.RunID, RequestHash: m.RequestHash, Metadata: m,
			Report: kept.Report, Reused: kept.Known}, nil, nil)
		fmt.Fprintf(w, "imported from %s: no trial, and no evidence\n", r.Source.Tool)
		for _, n := range out.Assumptions {
			fmt.Fprintf(w, "%s\n", n.Message)
		}
	}}, nil
}

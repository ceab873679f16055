package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/lab/columnar"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func dataExportCommand(a *App) *cobra.Command {
	var o struct {
		Out       string `flag:"out" usage:"file to write, .csv or .parquet (required); one that exists is refused"`
		NoHoldout bool   `flag:"no-holdout" usage:"without the candles that are held out"`
	}
	c := &cobra.Command{
		Use:   "export <dataset> --out FILE",
		Short: "Write stored candles as CSV or Parquet",
		Long: "Export writes the candles of a dataset, named by its id or the beginning of its hash, into " +
			"a new file.\nThe same candles are the same bytes, and importing the file gives the same hash.",
		Example: Examples(
			"lab data export sample-btc-usdt-1h-ad153fb10704 --out btc.csv",
			"lab data export ad153fb10704 --no-holdout --out btc.parquet",
		),
		Args: cobra.ExactArgs(1),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.datasets)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runDataExport(ctx, a, args[0], o.Out, o.NoHoldout)
	})
}

func runDataExport(ctx context.Context, a *App, dataset, path string,
	noHoldout bool) (out Outcome, err error) {
	write := map[string]func(io.Writer, *market.Series) error{
		".csv": candle.WriteCSV, ".parquet": columnar.WriteParquet,
	}[strings.ToLower(filepath.Ext(path))]
	if write == nil {
		return out, Usage("--out", "--out %s: write a name that ends in .csv or .parquet", path)
	}
	var d candle.Dataset
	rows := 0
	err = withLedger(ctx, a, func(l holdout.Ledger) (err error) {
		if d, err = datasetNamed(ctx, l.Candles, dataset); err != nil {
			return err
		}
		of, err := holdoutOf(ctx, l, d)
		if err != nil {
			return err
		}
		f, err := l.Candles.OpenSeries(d)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		series := f.Series()
		if known := developed(series, of); noHoldout && known == 0 {
			return Usage("--no-holdout", "%s is held out whole, from %s on", d.ID, moment(of.From))
		} else if noHoldout {
			series = series.Slice(0, known)
		} else if known < series.Len() {
			out.Warnings = []Warning{{"HOLDOUT_EXPORTED", fmt.Sprintf("the candles from %s on are held out: "+
				"this is a look, and what is tried on the file elsewhere is not counted; --no-holdout "+
				"leaves them out", moment(of.From))}}
		}
		rows = series.Len()
		return exportTo(path, func(w io.Writer) error {
			if len(out.Warnings) > 0 {
				if err := l.Registry.Markets().Exported(ctx, d.SHA256, authorName(a)); err != nil {
					return err
				}
			}
			return write(w, series)
		})
	})
	if err != nil {
		return out, err
	}
	sum, err := digest.File(path)
	if err != nil {
		return out, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return out, err
	}
	out.Result = map[string]any{"dataset": d.ID, "file": path, "rows": rows, "bytes": info.Size(),
		"sha256": sum}
	out.Print = func(w io.Writer) {
		fmt.Fprintf(w, "wrote %d candles of %s to %s (%s)\n", rows, d.ID, path, byteCount(info.Size()))
	}
	return out, nil
}

// developed is how many candles of a dataset are over when its hold-out begins: all of them where its
// market has none.
func developed(s *market.Series, of *holdout.Standing) int {
	if of == nil {
		return s.Len()
	}
	return sort.Search(s.Len(), func(i int) bool { return s.CloseTime(i) > of.From })
}

// exportTo makes a file, complete or not at all.
func exportTo(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return Usage("--out", "--out %s is there already: name another file, or remove it", path)
	}
	if err := file.WriteFrom(path, 0o644, write); err != nil {
		return Usage("--out", "--out %s cannot be written: %v", path, err)
	}
	return nil
}

// byteCount is a size for people.
func byteCount(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

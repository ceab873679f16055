package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/columnar"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func dataExportCommand(a *App) *cobra.Command {
	var o struct {
		Out string `flag:"out" usage:"file to write, .csv or .parquet (required); one that exists is refused"`
	}
	c := &cobra.Command{
		Use:   "export <dataset> --out FILE",
		Short: "Write stored candles as CSV or Parquet",
		Long: "Export writes the candles of a dataset, named by its id or the beginning of its hash, into " +
			"a new file.\nThe same candles are the same bytes, and importing the file gives the same hash.",
		Example: Examples(
			"lab data export sample-btc-usdt-1h-ad153fb10704 --out btc.csv",
			"lab data export ad153fb10704 --out btc.parquet",
		),
		Args: cobra.ExactArgs(1),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.datasets)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runDataExport(ctx, a, args[0], o.Out)
	})
}

func runDataExport(ctx context.Context, a *App, dataset, path string) (out Outcome, err error) {
	write := map[string]func(io.Writer, *market.Series) error{
		".csv": candle.WriteCSV, ".parquet": columnar.WriteParquet,
	}[strings.ToLower(filepath.Ext(path))]
	if write == nil {
		return out, Usage("--out", "--out %s: write a name that ends in .csv or .parquet", path)
	}
	var d candle.Dataset
	err = withStore(ctx, a, func(s *candle.Store) error {
		if d, err = datasetNamed(ctx, s, dataset); err != nil {
			return err
		}
		f, err := s.OpenSeries(d)
		if err != nil {
			return err
		}
		return errors.Join(exportTo(path, func(w io.Writer) error { return write(w, f.Series()) }), f.Close())
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
	out.Result = map[string]any{"dataset": d.ID, "file": path, "rows": d.Rows, "bytes": info.Size(),
		"sha256": sum}
	out.Print = func(w io.Writer) {
		fmt.Fprintf(w, "wrote %d candles of %s to %s (%s)\n", d.Rows, d.ID, path, byteCount(info.Size()))
	}
	return out, nil
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

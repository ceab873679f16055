package candle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/candle/sample"
)

// installSample stores the sets of the sample that are not there. Later starts only
// look: one query, and the size of each file.
func (s *Store) installSample(ctx context.Context) error {
	bundled := func(d *Dataset) bool { return d.Exchange == sample.Exchange && d.Current }
	stored, err := s.query(ctx, bundled, `SELECT `+datasetColumns+` FROM datasets WHERE exchange = ? AND current = 1`, sample.Exchange)
	if err != nil {
		return err
	}
	for _, set := range sample.Sets() {
		if s.installed(set, stored) {
			continue
		}
		if err := s.install(ctx, set); err != nil {
			return fmt.Errorf("install the sample candles %s: %w", set.Name, err)
		}
	}
	return nil
}

func (s *Store) installed(set sample.Set, stored []Dataset) bool {
	for _, d := range stored {
		if d.SHA256 == set.SHA256 && d.Symbol == set.Symbol && d.Timeframe == set.Timeframe {
			info, err := os.Stat(s.Path(d.SHA256))
			return err == nil && info.Size() == fileSize(d.Rows)
		}
	}
	return false
}

// fileSize is the length of a candle file.
func fileSize(rows int) int64 { return 64 + 48*int64(rows) }

func (s *Store) install(ctx context.Context, set sample.Set) error {
	in := importer.Input{Name: set.Name, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(set.CSV)), nil
	}}
	result, err := importer.Read(ctx, []importer.Input{in}, importer.Options{Symbol: set.Symbol, Timeframe: set.Timeframe})
	if err != nil {
		return err
	}
	d, err := s.put(ctx, PutRequest{Exchange: sample.Exchange, Series: result.Series, Report: result.Report}, nil)
	if err == nil && d.SHA256 != set.SHA256 {
		err = fmt.Errorf("they became the file %s instead of %s", d.SHA256, set.SHA256)
	}
	return err
}

package candle

import (
	"context"
	"fmt"
	"os"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

// SampleExchange is the id under which the sample is stored; imports may not use it.
const SampleExchange = "sample"

// sampleSet is a series of the bundled candles and the hash of the file that it becomes.
type sampleSet struct {
	symbol    market.Symbol
	timeframe market.Timeframe
	sha256    string
	rows      int
	name      string // of the embedded file, gzipped
}

var sampleSets = [...]sampleSet{
	{
		symbol: "BTC/USDT", timeframe: market.Timeframe{Count: 1, Unit: 'h'}, rows: 58419,
		sha256: "ad153fb1070403bf43c4f69de68013905c6fbad6c9827619413e805ca5de7476", name: sample.BTCUSDT1h,
	},
	{
		symbol: "ETH/USDT", timeframe: market.Timeframe{Count: 1, Unit: 'd'}, rows: 1991,
		sha256: "85f2085ddcb9f7662f4a4d35d8e54a8c05251bb0215c22a9a6b18937d44ae639", name: sample.ETHUSDT1d,
	},
}

// installSample stores the sets of the sample that are not there. Later starts only
// look: one query, and the size of each file.
func (s *Store) installSample(ctx context.Context) error {
	bundled := func(d *Dataset) bool { return d.Exchange == SampleExchange && d.Current }
	stored, err := s.query(ctx, bundled,
		`SELECT `+datasetColumns+` FROM datasets WHERE exchange = ? AND current = 1`, SampleExchange)
	if err != nil {
		return err
	}
	for _, set := range sampleSets {
		if s.installed(set, stored) {
			continue
		}
		if err := s.install(ctx, set); err != nil {
			return fmt.Errorf("install the sample candles %s: %w", set.name, err)
		}
	}
	return nil
}

func (s *Store) installed(set sampleSet, stored []Dataset) bool {
	for _, d := range stored {
		if d.SHA256 == set.sha256 && d.Symbol == set.symbol && d.Timeframe == set.timeframe {
			info, err := os.Stat(s.Path(d.SHA256))
			return err == nil && info.Size() == fileSize(d.Rows)
		}
	}
	return false
}

// fileSize returns the length of a candle file.
func fileSize(rows int) int64 { return 64 + 48*int64(rows) }

func (s *Store) install(ctx context.Context, set sampleSet) error {
	in := []importer.Input{importer.Bytes(set.name, sample.File(set.name))}
	result, err := importer.Read(ctx, in, importer.Options{Symbol: set.symbol, Timeframe: set.timeframe})
	if err != nil {
		return err
	}
	d, err := s.put(ctx, PutRequest{Exchange: SampleExchange, Series: result.Series, Report: result.Report},
		nil)
	if err == nil && d.SHA256 != set.sha256 {
		err = fmt.Errorf("they became the file %s instead of %s", d.SHA256, set.sha256)
	}
	return err
}

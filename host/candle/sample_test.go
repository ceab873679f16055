package candle

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

// The beginnings of the hashes are published; who has other ones has other candles.
var published = map[string]string{
	"BTCUSDT_1h.csv.gz": "ad153fb1070403bf43c4f69de680",
	"ETHUSDT_1d.csv.gz": "85f2085ddcb9f7662f4a4d35d8e5",
}

func TestSetsBecomeThePublishedFiles(t *testing.T) {
	for _, set := range sampleSets {
		in := importer.Input{Name: set.name, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(sample.File(set.name))), nil
		}}
		r, err := importer.Read(context.Background(), []importer.Input{in},
			importer.Options{Symbol: set.symbol})
		if err != nil {
			t.Fatal(err)
		}
		if r.Series.Timeframe != set.timeframe || r.Series.Len() != set.rows {
			t.Errorf("%s: %d rows of %s", set.name, r.Series.Len(), r.Series.Timeframe)
		}
		file, err := candlefile.Encode(r.Series)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(file)
		if got := hex.EncodeToString(sum[:]); got != set.sha256 ||
			!strings.HasPrefix(got, published[set.name]) {
			t.Errorf("%s: %s", set.name, got)
		}
	}
}

func TestEmbeddedEqualsCanonical(t *testing.T) {
	for _, set := range sampleSets {
		want, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "canonical",
			strings.TrimSuffix(set.name, ".gz")))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("needs the folder shared, with the reference data, beside the checkout")
		}
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(sample.File(set.name)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the canonical file (%v)", set.name, err)
		}
		if !z.ModTime.IsZero() || z.Header.Name != "" {
			t.Errorf("%s carries a name or time: pack it with gzip -n", set.name)
		}
	}
}

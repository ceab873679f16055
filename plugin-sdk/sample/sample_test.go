package sample_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sample"
)

// The rows become the published candle files, byte for byte.
func TestRowsBecomeThePublishedFiles(t *testing.T) {
	for _, c := range []struct {
		read   func() (*market.Series, error)
		rows   int
		sha256 string
	}{
		{sample.BTCUSDT, 58419, "ad153fb1070403bf43c4f69de68013905c6fbad6c9827619413e805ca5de7476"},
		{sample.ETHUSDT, 1991, "85f2085ddcb9f7662f4a4d35d8e54a8c05251bb0215c22a9a6b18937d44ae639"},
	} {
		s, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		file, err := candlefile.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(file); s.Len() != c.rows || hex.EncodeToString(sum[:]) != c.sha256 {
			t.Errorf("%s: %d rows, %x", s.Symbol, s.Len(), sum)
		}
	}
}

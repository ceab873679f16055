package sdktest_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/sample"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

var update = flag.Bool("update", false, "rewrite sample.candles")

func TestSampleIsTheNewestBundledHours(t *testing.T) {
	whole, err := sample.BTCUSDT()
	if err != nil {
		t.Fatal(err)
	}
	want, err := candlefile.Encode(whole.Slice(whole.Len()-2000, whole.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("sample.candles", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("sample.candles")
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("sample.candles is stale (%v): run go test -update", err)
	}
	s := sdktest.Sample(t)
	if s.Len() != 2000 || s.Symbol != whole.Symbol ||
		s.CloseTime(s.Len()-1) != whole.CloseTime(whole.Len()-1) {
		t.Errorf("%d candles of %s up to %s", s.Len(), s.Symbol, s.CloseTime(s.Len()-1))
	}
}

package candle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// TestAuthorsReadWhatIsExported: the candles of an export are those of the store in an author's test.
func TestAuthorsReadWhatIsExported(t *testing.T) {
	want := sdktest.Synth(3, 500, y2020.Time(), 15*time.Minute)
	var b bytes.Buffer
	if err := candle.WriteCSV(&b, want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "candles.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sdktest.Load(t, path); !reflect.DeepEqual(got, want) {
		t.Errorf("%d candles of %s, want %d of %s", got.Len(), got.Timeframe, want.Len(), want.Timeframe)
	}
}

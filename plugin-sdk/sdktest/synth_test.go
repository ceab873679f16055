package sdktest_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

func at(t *testing.T, s string) market.Time {
	t.Helper()
	v, err := market.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ticksHash is the SHA-256 of the rows as six little-endian int64: time, prices in
// hundredths, volume.
func ticksHash(s *market.Series) string {
	h := sha256.New()
	row := make([]byte, 48)
	for i := range s.Len() {
		c := s.At(i)
		values := []int64{int64(c.OpenTime), 0, 0, 0, 0, int64(c.Volume)}
		for k, p := range []float64{c.Open, c.High, c.Low, c.Close} {
			values[k+1] = int64(math.Round(p * 100))
		}
		for k, v := range values {
			binary.LittleEndian.PutUint64(row[k*8:], uint64(v))
		}
		h.Write(row)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestSynthReferenceHashes(t *testing.T) {
	small := sdktest.Synth(42, 20000, at(t, "2020-01-01").Time(), time.Hour)
	if got := ticksHash(small); !strings.HasPrefix(got, "ffd29a11e2d1243e4db1e053c158") {
		t.Errorf("rows of SYNTH42: %s", got)
	}
	if small.Timeframe.String() != "1h" || small.Symbol != sdktest.SynthSymbol {
		t.Errorf("got %s %s", small.Symbol, small.Timeframe)
	}
	file, err := candlefile.Encode(small)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(file)); !strings.HasPrefix(got,
		"b0916e0de819254d58afabe0fb19") {
		t.Errorf("candle file of SYNTH42: %s", got)
	}
	big := sdktest.Synth(1, 1500000, at(t, "2017-01-01").Time(), time.Minute)
	if got := ticksHash(big); !strings.HasPrefix(got, "5655d08709e2ab0e0a694c7b82f3") {
		t.Errorf("rows of B: %s", got)
	}
}

func TestSynthEqualsPublishedCSV(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "canonical", "SYNTH42_1h.csv")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared reference data is not beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := sdktest.Synth(42, 20000, at(t, "2020-01-01").Time(), time.Hour)
	var b strings.Builder
	b.WriteString("time_ms,open,high,low,close,volume\n")
	number := func(x float64) string {
		if x == math.Trunc(x) {
			return fmt.Sprintf("%.1f", x)
		}
		return fmt.Sprint(x)
	}
	for i := range s.Len() {
		c := s.At(i)
		fmt.Fprintf(&b, "%d,%s,%s,%s,%s,%s\n", int64(c.OpenTime), number(c.Open), number(c.High),
			number(c.Low), number(c.Close), number(c.Volume))
	}
	if b.String() != string(raw) {
		t.Error("the generated candles differ from SYNTH42_1h.csv")
	}
}

func TestSynthTimeframes(t *testing.T) {
	for step, want := range map[time.Duration]string{
		time.Second: "1s", 90 * time.Second: "90s", time.Minute: "1m", 4 * time.Hour: "4h",
		24 * time.Hour: "1d", 7 * 24 * time.Hour: "1w",
	} {
		if got := sdktest.Synth(1, 1, time.Unix(0, 0), step).Timeframe.String(); got != want {
			t.Errorf("step %s: %s, want %s", step, got, want)
		}
	}
}

func ExampleSynth() {
	s := sdktest.Synth(42, 3, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
	for i := range s.Len() {
		c := s.At(i)
		fmt.Println(c.OpenTime, c.Open, c.High, c.Low, c.Close, c.Volume)
	}
	// Output:
	// 2020-01-01T00:00:00.000Z 1000 1000 997.5 999.5 126
	// 2020-01-01T01:00:00.000Z 999.5 1000.3 994.81 997.61 650
	// 2020-01-01T02:00:00.000Z 997.61 1003.77 997.61 1003.37 227
}

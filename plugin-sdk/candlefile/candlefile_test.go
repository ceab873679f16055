package candlefile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const start market.Time = 1577836800000 // 2020-01-01

func synth(n int) *market.Series { return sdktest.Synth(42, n, start.Time(), time.Hour) }

func encode(t testing.TB, s *market.Series) []byte {
	t.Helper()
	b, err := candlefile.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.candles")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sameCandles(a, b *market.Series) bool {
	return a.Timeframe == b.Timeframe && slices.Equal(a.Time, b.Time) && slices.Equal(a.Open, b.Open) &&
		slices.Equal(a.High, b.High) && slices.Equal(a.Low, b.Low) && slices.Equal(a.Close, b.Close) &&
		slices.Equal(a.Volume, b.Volume)
}

func TestHeaderLayout(t *testing.T) {
	s := synth(3)
	s.Timeframe = market.MustTimeframe("4h")
	b := encode(t, s)
	if len(b) != 64+3*48 {
		t.Fatalf("%d bytes", len(b))
	}
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	if string(b[:8]) != "ASSAYCDL" || u32(b[8:]) != 1 || u32(b[12:]) != 64 || u64(b[16:]) != 3 {
		t.Errorf("begin of header: % x", b[:24])
	}
	if u64(b[24:]) != uint64(s.Time[0]) || u64(b[32:]) != uint64(s.Time[2]) ||
		string(b[40:48]) != "4h\x00\x00\x00\x00\x00\x00" {
		t.Errorf("times and timeframe: % x", b[24:48])
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	if u32(b[48:]) != crc32.Checksum(b[64:], table) || u64(b[52:]) != 0 ||
		u32(b[60:]) != crc32.Checksum(b[:60], table) {
		t.Errorf("checksums, flags and reserved: % x", b[48:64])
	}
	for column, values := range [][]float64{s.Open, s.High, s.Low, s.Close, s.Volume} {
		for row, want := range values {
			if got := math.Float64frombits(u64(b[64+8*((column+1)*3+row):])); got != want {
				t.Errorf("column %d row %d: %v, want %v", column+1, row, got, want)
			}
		}
	}
}

func TestOpenGivesWhatWasWritten(t *testing.T) {
	for _, n := range []int{1, 2, 2047, 2048, 2049, 20000, 70001, 150000} {
		s := synth(n)
		path := filepath.Join(t.TempDir(), "x.candles")
		if err := candlefile.Create(path, s); err != nil {
			t.Fatal(err)
		}
		f, err := candlefile.Open(path)
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if !sameCandles(s, f.Series()) || f.Series().Symbol != "" {
			t.Errorf("%d rows: candles differ", n)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(raw)); f.SHA256() != want || f.Size() != int64(len(raw)) {
			t.Errorf("%d rows: hash %s of %d bytes, want %s of %d", n, f.SHA256(), f.Size(), want, len(raw))
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestEqualCandlesEqualBytes(t *testing.T) {
	a, b := synth(500), synth(800).Slice(0, 500)
	b.Symbol = "OTHER/EUR"
	if !bytes.Equal(encode(t, a), encode(t, b)) {
		t.Error("equal candles gave different files")
	}
}

func TestEveryFlippedByteIsRefused(t *testing.T) {
	good := encode(t, synth(5))
	path := write(t, good)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := candlefile.Open(path)
		var corrupt *candlefile.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Path != path || corrupt.Reason == "" {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}

func TestFlippedByteInEveryStretchOfALargeFile(t *testing.T) {
	good := encode(t, synth(80000))
	for i := 64; i < len(good); i += 99991 {
		good[i] ^= 4
		if _, err := candlefile.Decode(good); err == nil {
			t.Errorf("byte %d flipped: accepted", i)
		}
		good[i] ^= 4
	}
	if _, err := candlefile.Decode(good); err != nil {
		t.Error(err)
	}
}

// reseal makes both checksums right again, so that only the other checks can object.
func reseal(b []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	if len(b) >= 64 {
		binary.LittleEndian.PutUint32(b[48:], crc32.Checksum(b[64:], table))
		binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], table))
	}
	return b
}

func TestChecksBehindTheChecksums(t *testing.T) {
	const rows = 4
	put64 := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return b }
	}
	cell := func(column, row int, v float64) func([]byte) []byte {
		return put64(64+8*(column*rows+row), math.Float64bits(v))
	}
	cases := []struct {
		name, reason string
		change       func([]byte) []byte
	}{
		{"empty", "too few", func(b []byte) []byte { return b[:0] }},
		{"header only", "too few", func(b []byte) []byte { return b[:64] }},
		{"magic", "begin", func(b []byte) []byte { b[0] = 'X'; return b }},
		{"version", "version 2", func(b []byte) []byte { b[8] = 2; return b }},
		{"header size", "header size", func(b []byte) []byte { b[12] = 72; return b }},
		{"flags", "flags", func(b []byte) []byte { b[52] = 1; return b }},
		{"reserved", "reserved", func(b []byte) []byte { b[56] = 1; return b }},
		{"no rows", "rows", put64(16, 0)},
		{"too many rows", "rows", put64(16, 1<<61)},
		{"rows that overflow", "rows", put64(16, (1<<64-1)/48+5)},
		{"one row less", "rows", func(b []byte) []byte { return b[:len(b)-48] }},
		{"half a row more", "rows", func(b []byte) []byte { return append(b, make([]byte, 24)...) }},
		{"first time", "first or last", put64(24, uint64(start)-1)},
		{"last time", "first or last", put64(32, uint64(start))},
		{"timeframe", "timeframe", func(b []byte) []byte { copy(b[40:], "0h"); return b }},
		{"timeframe twice", "padded", func(b []byte) []byte { copy(b[40:], "1h\x001"); return b }},
		{"equal times", "ascend", put64(64+8, uint64(start))},
		{"price zero", "high 0", cell(2, 1, 0)},
		{"price negative", "open -1", cell(1, 0, -1)},
		{"price infinite", "low +Inf", cell(3, 3, math.Inf(1))},
		{"price NaN", "close NaN", cell(4, 2, math.NaN())},
		{"volume negative", "volume -1", cell(5, 0, -1)},
		{"volume -0", "volume -0", cell(5, 0, math.Copysign(0, -1))},
		{"volume infinite", "volume +Inf", cell(5, 3, math.Inf(1))},
		{"volume NaN", "volume NaN", cell(5, 3, math.NaN())},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := candlefile.Open(write(t, reseal(c.change(encode(t, synth(rows))))))
			var corrupt *candlefile.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(corrupt.Reason, c.reason) {
				t.Errorf("reason %q does not mention %q", corrupt.Reason, c.reason)
			}
		})
	}
	if _, err := candlefile.Decode(reseal(cell(5, 0, 0)(encode(t, synth(rows))))); err != nil {
		t.Errorf("a volume of zero is allowed: %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	cases := map[string]func(*market.Series){
		"no candles":                         func(s *market.Series) { *s = *s.Slice(0, 0) },
		"different length":                   func(s *market.Series) { s.Volume = s.Volume[:2] },
		"timeframe":                          func(s *market.Series) { s.Timeframe = market.Timeframe{} },
		"candle 1: open times do not ascend": func(s *market.Series) { s.Time[1] = s.Time[0] },
		"candle 2: close NaN":                func(s *market.Series) { s.Close[2] = math.NaN() },
		"candle 0: volume -0":                func(s *market.Series) { s.Volume[0] = math.Copysign(0, -1) },
	}
	for want, spoil := range cases {
		s := synth(3)
		spoil(s)
		var b bytes.Buffer
		err := candlefile.Write(&b, s)
		if err == nil || !strings.Contains(err.Error(), want) || b.Len() != 0 {
			t.Errorf("want %q and nothing written, got %v and %d bytes", want, err, b.Len())
		}
		var row *candlefile.RowError
		if strings.HasPrefix(want, "candle ") != errors.As(err, &row) {
			t.Errorf("%q: %T", want, err)
		}
	}
}

func TestCreateLeavesNothingBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.candles")
	bad := synth(2)
	bad.Open[0] = 0
	if err := candlefile.Create(path, bad); err == nil {
		t.Error("a price of zero was written")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("file left behind: %v", err)
	}
	if err := candlefile.Create(path, synth(2)); err != nil {
		t.Fatal(err)
	}
	if err := candlefile.Create(path, synth(2)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file was overwritten: %v", err)
	}
}

func TestOpenOfNoFile(t *testing.T) {
	if _, err := candlefile.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	var corrupt *candlefile.CorruptError
	if _, err := candlefile.Open(t.TempDir()); !errors.As(err, &corrupt) {
		t.Errorf("a folder: %v", err)
	}
}

func TestMap(t *testing.T) {
	all := synth(100)
	path := write(t, encode(t, all))
	f, s, err := candlefile.Map(path, 10, 25)
	if err != nil {
		t.Fatal(err)
	}
	if !sameCandles(s, all.Slice(10, 35)) {
		t.Error("another stretch of candles")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for _, r := range [][2]int{{-1, 5}, {0, 0}, {0, 101}, {100, 1}, {99, 2}, {1, math.MaxInt},
		{math.MaxInt, 1}} {
		if _, _, err := candlefile.Map(path, r[0], r[1]); err == nil {
			t.Errorf("rows %v accepted", r)
		}
	}
}

func TestDecodeUnaligned(t *testing.T) {
	b := encode(t, synth(10))
	shifted := append(make([]byte, 3, len(b)+3), b...)[3:]
	f, err := candlefile.Decode(shifted)
	if err != nil {
		t.Fatal(err)
	}
	if !sameCandles(f.Series(), synth(10)) {
		t.Error("candles differ")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, synth(1)))
	f.Add(encode(f, synth(3))[:100])
	f.Add([]byte("ASSAYCDL"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, data := range [][]byte{b, reseal(slices.Clone(b))} {
			file, err := candlefile.Decode(data)
			var corrupt *candlefile.CorruptError
			if err != nil && !errors.As(err, &corrupt) {
				t.Fatalf("untyped error %v", err)
			}
			if err == nil && !bytes.Equal(encode(t, file.Series()), data) {
				t.Fatal("an accepted file is not what its candles are written as")
			}
		}
	})
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "candles")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "synth.candles")
	if err := candlefile.Create(path,
		sdktest.Synth(42, 20000, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC),
			time.Hour)); err != nil {
		panic(err)
	}
	f, err := candlefile.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Println(f.Series().Len(), f.Series().Timeframe, f.SHA256()[:12])
	// Output: 20000 1h b0916e0de819
}

package columnar

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/assay-run/assay/host/candle/importer"
)

// samples are small files of every make.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	plain := record(t, many(9))
	mixed := record(t,
		append(many(9),
			column{"ticker",
				&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
					ValueType: arrow.BinaryTypes.String}, func(b array.Builder) {
					for range 9 {
						if err := b.(*array.BinaryDictionaryBuilder).AppendString("A"); err != nil {
							t.Fatal(err)
						}
					}
				}}))
	return map[string][]byte{
		"plain.feather": featherOf(t, nil, plain),
		"lz4.feather": featherOf(t, []ipc.Option{ipc.WithLZ4()}, plain.NewSlice(0, 7),
			plain.NewSlice(7, 9)),
		"zstd.feather": featherOf(t, []ipc.Option{ipc.WithZstd()}, mixed),
		"plain.parquet": parquetOf(t, false, []parquet.WriterProperty{parquet.WithDictionaryDefault(false)},
			plain.NewSlice(0, 7), plain.NewSlice(7, 9)),
		"snappy.parquet": parquetOf(t, true,
			[]parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Snappy)}, mixed),
		"v2.parquet": parquetOf(t, false,
			[]parquet.WriterProperty{parquet.WithDataPageVersion(parquet.DataPageV2),
				parquet.WithCompression(compress.Codecs.Zstd)}, plain),
	}
}

// tryRead reads a file that may be anything: the error is a refusal, the candles are
// such as a candle file accepts.
func tryRead(t *testing.T, what string, content []byte) error {
	t.Helper()
	o := importer.Options{Symbol: "X/USD", Formats: Formats(), Zone: time.UTC, Violations: "widen",
		Duplicates: "last"}
	r, err := importer.Read(context.Background(), []importer.Input{importer.Bytes("x", content)}, o)
	if err != nil {
		var e *importer.Error
		if !errors.As(err, &e) || len(e.Cases) > 5 {
			t.Fatalf("%s: untyped error %v", what, err)
		}
		return err
	}
	s := r.Series
	for i := range s.Len() {
		if !(s.Low[i] > 0) || s.High[i] < s.Low[i] || math.IsInf(s.High[i], 0) || !(s.Volume[i] >= 0) ||
			math.IsInf(s.Volume[i], 0) || i > 0 && s.Time[i] <= s.Time[i-1] {
			t.Fatalf("%s: candle %d is %+v", what, i, s.At(i))
		}
	}
	return nil
}

func TestCutFiles(t *testing.T) {
	for name, content := range samples(t) {
		for n := 8; n < len(content); n++ {
			e := refused(t, name, tryRead(t, name, content[:n]), importer.Encoding)
			if !strings.Contains(e.Message, "damaged or cut short") {
				t.Fatalf("%s cut to %d bytes: %v", name, n, e)
			}
		}
		if err := tryRead(t, name, content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFlippedBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, content := range samples(t) {
		for i := 8; i < len(content); i += 1 + random.IntN(4) {
			bad := bytes.Clone(content)
			bad[i] ^= byte(1 + random.IntN(255))
			_ = tryRead(t, name, bad) // a value may have changed, but nothing breaks
		}
	}
}

// Lengths inside a compressed batch that no file can have.
func TestHugeSizesInFeather(t *testing.T) {
	content := featherOf(t, []ipc.Option{ipc.WithLZ4()}, record(t, many(5000)))
	frame := append(binary.LittleEndian.AppendUint64(nil, 8*5000), 0x04, 0x22, 0x4d, 0x18)
	if n := bytes.Count(content, frame); n == 0 {
		t.Fatal("no buffer found")
	}
	for declared, code := range map[int64]importer.Code{
		1 << 50:       importer.TooLarge,
		1<<30 + 1:     importer.TooLarge,
		math.MaxInt64: importer.TooLarge,
		math.MinInt64: importer.TooLarge, // an overflow of what may be
		8 * 6000:      importer.Encoding,
		8 * 4000:      importer.Encoding,
	} {
		lie := binary.LittleEndian.AppendUint64(nil, uint64(declared))
		bad := bytes.ReplaceAll(content, frame, append(lie, frame[8:]...))
		err := tryRead(t, "huge", bad)
		var e *importer.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%d bytes declared: %v, want %s", declared, err, code)
		}
	}
}

// varint is how the metadata of Parquet write a number.
func varint(n int64) []byte { return binary.AppendVarint(nil, n) }

func TestHugeSizesInParquet(t *testing.T) {
	const n = 1_100_003 // long enough for a number of 4 bytes
	ones := func(b array.Builder) {
		for range n {
			b.(*array.Float64Builder).Append(1)
		}
	}
	float := arrow.PrimitiveTypes.Float64
	r := record(t,
		[]column{{"time", float, ones}, {"open", float, ones}, {"high", float, ones}, {"low", float, ones},
			{"close", float, ones}})
	content := parquetOf(t, false, []parquet.WriterProperty{parquet.WithMaxRowGroupLength(2 * n)}, r)
	at := len(content) - 8 - int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	if bytes.Count(content[at:], varint(n)) < 7 {
		t.Fatal("the metadata do not say how many rows there are")
	}
	for declared, code := range map[int64]importer.Code{120_000_007: importer.TooLarge, 2_000_000: importer.Encoding} {
		bad := append(bytes.Clone(content[:at]),
			bytes.ReplaceAll(content[at:], varint(n), varint(declared))...)
		if len(bad) != len(content) {
			t.Fatal("numbers of different length")
		}
		err := tryRead(t, "huge", bad)
		var e *importer.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%d rows declared: %v, want %s", declared, err, code)
		}
	}
}

func TestMemoryIsLimited(t *testing.T) {
	r := record(t, many(5000))
	plain := featherOf(t, nil, r)
	packed := parquetOf(t, false,
		[]parquet.WriterProperty{parquet.WithDictionaryDefault(false),
			parquet.WithCompression(compress.Codecs.Gzip)}, r)
	c, err := openFeatherWithin("x.feather", bytes.NewReader(plain), int64(len(plain)), 100_000)
	if err == nil {
		_, err = c.Next()
	}
	// The library has noticed by itself.
	var e *importer.Error
	if !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
	p, err := openParquetWithin("x.parquet", bytes.NewReader(packed), int64(len(packed)), 10_000)
	if err == nil {
		if err = p.Select([]int{0}); err == nil {
			_, err = p.Next()
		}
	}
	if e := refused(t, "Parquet", err, importer.TooLarge); !strings.Contains(e.Message,
		"smaller batches or row groups") {
		t.Errorf("%v", e)
	}
	// Files that fit take what they need and give it back.
	big := many(10 * batchRows)
	content := featherOf(t, []ipc.Option{ipc.WithLZ4()}, split(record(t, big), batchRows)...)
	f, err := openFeatherWithin("x.feather", bytes.NewReader(content), int64(len(content)), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Select([]int{0, 1}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		b, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += b.Rows
	}
	if n != 10*batchRows || f.Close() != nil {
		t.Errorf("%d rows", n)
	}
	if live := f.(*feather).memory.live; live != 0 {
		t.Errorf("%d bytes are not given back", live)
	}
}

func split(r arrow.RecordBatch, n int64) (parts []arrow.RecordBatch) {
	for from := int64(0); from < r.NumRows(); from += n {
		parts = append(parts, r.NewSlice(from, min(from+n, r.NumRows())))
	}
	return parts
}

func TestFilesOfOtherKinds(t *testing.T) {
	for content, hint := range map[string]string{
		"FEA1" + strings.Repeat("\x00", 40) + "FEA1":     "version 1",
		"PAR1" + strings.Repeat("\x00", 40) + "PARE":     "encrypted",
		"PAR1" + strings.Repeat("\x00", 40) + "PAR1":     "damaged",
		"ARROW1" + strings.Repeat("\x00", 40) + "ARROW1": "damaged",
		"PAR1":         "damaged",
		"PAR1PAR1":     "damaged",
		"ARROW1ARROW1": "damaged",
	} {
		if e := refused(t, hint, tryRead(t, hint, []byte(content)),
			importer.Encoding); !strings.Contains(e.Message, hint) {
			t.Errorf("%q: %v", content, e)
		}
	}
}

// sick is a file whose reads fail.
type sick struct {
	io.ReaderAt
	after int64
	err   error
}

func (s sick) ReadAt(p []byte, off int64) (int, error) {
	if off < s.after {
		return 0, s.err
	}
	return s.ReaderAt.ReadAt(p, off)
}

// An error of the machine is none of the file.
func TestReadErrorsPass(t *testing.T) {
	gone := &fs.PathError{Op: "read", Path: "x", Err: errors.New("the disk is gone")}
	for name, content := range samples(t) {
		for _, f := range Formats() {
			if !bytes.HasPrefix(content, []byte(f.Magic)) {
				continue
			}
			at := sick{bytes.NewReader(content), int64(len(content) / 2), gone}
			c, err := f.Open(name, at, int64(len(content)))
			if err == nil {
				if err = c.Select([]int{0}); err == nil {
					_, err = c.Next()
				}
			}
			if !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, gone) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func FuzzFeather(f *testing.F) {
	for name, content := range samples(f) {
		if strings.HasSuffix(name, "feather") {
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_ = tryRead(t, "fuzz", content)
		_ = tryRead(t, "fuzz", append(append([]byte("ARROW1\x00\x00"), content...), "ARROW1"...))
	})
}

func FuzzParquet(f *testing.F) {
	for name, content := range samples(f) {
		if strings.HasSuffix(name, "parquet") {
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_ = tryRead(t, "fuzz", content)
		_ = tryRead(t, "fuzz", append(append([]byte("PAR1"), content...), "PAR1"...))
	})
}

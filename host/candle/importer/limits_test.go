package importer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

const limitHead = "time,open,high,low,close,volume\n"

func limited(bytes int64, rows int, files ...Input) error {
	_, err := Read(context.Background(), files,
		Options{Symbol: "X/USD", limits: limits{bytes: bytes, rows: rows}})
	return err
}

func tooLarge(t *testing.T, what string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != TooLarge {
		t.Errorf("%s: %v", what, err)
	}
}

func zipped(t *testing.T, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, m := range members {
		w, err := z.Create(string(rune('a'+i)) + ".csv")
		if err == nil {
			_, err = io.WriteString(w, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What counts is what a file unpacks to, over all files together.
func TestBytesAreLimited(t *testing.T) {
	row := "3600,1,1,1,1,1\n7200,1,1,1,1,1\n"
	plain := limitHead + row
	n := int64(len(plain))
	bomb := limitHead + strings.Repeat("\n", 10_000)
	for what, files := range map[string][]Input{
		"plain":       {Bytes("x.csv", []byte(plain+"\n"))},
		"two":         {Bytes("x.csv", []byte(plain)), Bytes("y.csv", []byte(plain))},
		"gzip":        {Bytes("x.csv.gz", gzipOf(t, bomb))},
		"zip":         {Bytes("x.zip", zipped(t, bomb))},
		"zip members": {Bytes("x.zip", zipped(t, plain, plain))},
		"JSON":        {Bytes("x.json.gz", gzipOf(t, "["+strings.Repeat("[1,1,1,1,1,1],", 1000)))},
	} {
		tooLarge(t, what, limited(n, 0, files...))
	}
	// A packed file may be larger than what is in it.
	if err := limited(400, 0, Bytes("x.zip", zipped(t, plain))); err != nil {
		t.Error(err)
	}
	if err := limited(n, 0, Bytes("x.csv", []byte(plain))); err != nil {
		t.Error(err)
	}
}

// A directory that says less than its members hold does not get around the limit.
func TestZipThatLies(t *testing.T) {
	bomb := limitHead + strings.Repeat("3600,1,1,1,1,1\n", 1000)
	content := zipped(t, bomb)
	at := bytes.Index(content, []byte("PK\x01\x02"))
	copy(content[at+24:], []byte{10, 0, 0, 0}) // the unpacked size
	err := limited(1000, 0, Bytes("x.zip", content))
	var e *Error
	if !errors.As(err, &e) || e.Code != TooLarge && e.Code != Encoding {
		t.Errorf("%v", err)
	}
}

func TestRowsAreLimited(t *testing.T) {
	three := limitHead + "3600,1,1,1,1,1\n7200,1,1,1,1,1\n10800,1,1,1,1,1\n"
	tooLarge(t, "rows", limited(0, 2, Bytes("x.csv", []byte(three))))
	tooLarge(t, "rows of two files",
		limited(0, 5, Bytes("x.csv", []byte(three)), Bytes("y.csv", []byte(three))))
	tooLarge(t, "rows without a price",
		limited(0, 2, Bytes("x.csv", []byte(limitHead+"1,,,,,\n2,,,,,\n3,,,,,\n"))))
	if err := limited(0, 3, Bytes("x.csv", []byte(three))); err != nil {
		t.Error(err)
	}
}

func TestTheRealLimits(t *testing.T) {
	o := Options{}
	if o.maxBytes() != 8<<30 || o.maxRows() != 100_000_000 {
		t.Errorf("%d bytes, %d rows", o.maxBytes(), o.maxRows())
	}
	if got := o.tooManyBytes("x").Error(); !strings.Contains(got, "8 GiB") {
		t.Error(got)
	}
	// A file that is too large is not even opened.
	in := Input{Name: "x.csv", Size: 8<<30 + 1, Open: func() (io.ReadCloser, error) { panic("opened") }}
	tooLarge(t, "a large file", limited(0, 0, in))
}

// A bomb costs no memory on its way to the refusal.
func TestABombStaysSmall(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := bufio.NewWriterSize(z, 1<<20)
	for range 48 << 10 {
		if _, err := w.WriteString(strings.Repeat("\n", 1024)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), z.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tooLarge(t, "bomb", limited(32<<20, 0, Bytes("x.csv.gz", b.Bytes())))
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes were allocated for %d packed ones", grown, b.Len())
	}
}

// A line that is longer than a block, and one that ends with it.
func TestBlocksAreWholeLines(t *testing.T) {
	long := strings.Repeat("x", blockSize+10)
	exact := strings.Repeat("y", blockSize-1)
	content := long + "\n" + exact + "\nlast"
	s, err := openSource("x", "", bufio.NewReader(strings.NewReader(content)), func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for {
		b, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.Write(b); got.Len() < len(content) && b[len(b)-1] != '\n' {
			t.Errorf("a block ends with %q", b[len(b)-1])
		}
	}
	if got.String() != content {
		t.Error("content differs")
	}
}

// failing gives its text and then an error.
type failing struct {
	text string
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.text == "" {
		return 0, f.err
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

// Errors of the machine are no refusals.
func TestReadErrorsPass(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, text := range map[string]string{"at once": "", "later": limitHead + "3600,1,1,1,1,1\n",
		"JSON": "[[1,1"} {
		in := Input{Name: "x.csv", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(&failing{text, broken}), nil
		}}
		if err := limited(0, 0, in); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := Input{Name: "x.csv", Open: func() (io.ReadCloser, error) { return nil, broken }}
	if err := limited(0, 0, in); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

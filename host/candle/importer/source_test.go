package importer

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestTooLarge(t *testing.T) {
	in := Input{Name: "x.csv", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("time\n1\n")), nil }}
	s, err := openSource(in)
	if err != nil {
		t.Fatal(err)
	}
	s.read = maxBytes // as if that much had come before
	_, err = s.next()
	var e *Error
	if !errors.As(err, &e) || e.Code != TooLarge {
		t.Errorf("got %v", err)
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\n":              "plain",
		"a\x00b\tc":              "a\ufffdb\tc",
		"\xff":                   "\ufffd",
		strings.Repeat("é", 200): strings.Repeat("é", 120) + "…",
	} {
		if got := shorten(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// A line that is longer than a block, and one that ends with it.
func TestBlocksAreWholeLines(t *testing.T) {
	long := strings.Repeat("x", blockSize+10)
	exact := strings.Repeat("y", blockSize-1)
	content := long + "\n" + exact + "\nlast"
	s, err := openSource(Input{Name: "x", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }})
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
